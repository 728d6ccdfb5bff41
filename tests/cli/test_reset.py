"""The command `reset`."""

from pathlib import Path

from tests.support.cli import GQA, drill
from trainer.packs import pack_reader


def test_every_reset_keeps_the_old_file(tmp_path: Path) -> None:
    """Each old file gets another name."""
    drill("start", "gqa", cwd=tmp_path)
    for text in ("one\n", "two\n"):
        (tmp_path / "gqa.py").write_text(text)
        drill("reset", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.old-1.py").read_text() == "one\n"
    assert (tmp_path / "gqa.old-2.py").read_text() == "two\n"
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(GQA)


def test_reset_keeps_the_level_of_the_file(tmp_path: Path) -> None:
    """Without `--level` the fresh stub has the level of the last stub, else the level standard."""
    first = drill("reset", "gqa", cwd=tmp_path).stdout
    assert first == "gqa.py is a fresh stub of the level standard.\n"
    drill("reset", "gqa", "--level", "arrange", cwd=tmp_path)
    (tmp_path / "gqa.py").write_text("mine\n")
    assert "of the level arrange." in drill("reset", "gqa", cwd=tmp_path).stdout
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(GQA, "arrange")
