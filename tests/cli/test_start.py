"""The commands `start` and `reset`: the stub, its level and folder, and the session."""

import json
import os
from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Started
from attn_drill.practice.journal import Journal
from tests.support.cli import BUILT_IN, GQA, drill
from tests.support.session import RIGHT, WRONG, read_until, terminal


def test_start_never_overwrites_a_file(tmp_path: Path) -> None:
    """The second `start` names `reset`."""
    first = drill("start", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(GQA)
    assert "Grouped-query attention" in first.stdout
    assert "gqa.py is the stub: write your answer there." in first.stdout
    assert "  attn-drill check gqa    grades it    par time 20 min" in first.stdout
    (tmp_path / "gqa.py").write_text("my work\n")
    second = drill("start", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == "my work\n"
    assert "`attn-drill reset gqa` gives a fresh stub" in second.stdout


def test_start_makes_the_folder_and_takes_the_language(tmp_path: Path) -> None:
    """`check` finds the stub in that folder."""
    done = drill("start", "gqa", "--dir", "deep/er", cwd=tmp_path, ATTN_DRILL_LANG="zh")
    assert "分组" in done.stdout
    assert (tmp_path / "deep/er/gqa.py").exists()
    report = json.loads(drill("check", "gqa", "--json", cwd=tmp_path, code=1).stdout)
    assert report["file"].endswith("deep/er/gqa.py")


@pytest.mark.parametrize("level", ["arrange", "guided", "blank"])
def test_start_and_reset_take_a_level(tmp_path: Path, home: Path, level: str) -> None:
    """The journal has the level."""
    drill("start", "gqa", "--level", level, cwd=tmp_path)
    gqa = pack_reader.find_challenge(BUILT_IN, "gqa")
    text = (tmp_path / "gqa.py").read_text()
    assert text == pack_reader.stub(gqa, level)  # type: ignore[arg-type]
    assert ("-> [B, H, L, D]" in text) == (level == "guided")
    start = Journal(home).last(Started, subject="gqa")
    assert start is not None
    assert start.level == level
    drill("reset", "gqa", "--level", "guided", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(gqa, "guided")
    assert "guided" in drill("start", "gqa", "--level", "steep", cwd=tmp_path, code=2).stderr


def test_settings_have_the_level_of_a_new_stub(tmp_path: Path, home: Path) -> None:
    """A file that is there keeps its level, and `--level` wins."""
    home.mkdir()
    (home / "config.toml").write_text('level = "blank"\n')
    drill("start", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(GQA, "blank")
    drill("reset", "gqa", "--level", "guided", cwd=tmp_path)
    drill("start", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(GQA, "guided")


def test_start_says_that_a_file_keeps_its_level(tmp_path: Path) -> None:
    """The command that gives the level is named. An untouched stub is replaced at once."""
    drill("start", "gqa", "--level", "blank", cwd=tmp_path)
    says = "gqa.py has your work and was handed out at the level standard; "
    assert says not in drill("start", "gqa", "--level", "standard", cwd=tmp_path).stdout
    (tmp_path / "gqa.py").write_text("my work")
    shown = drill("start", "gqa", "--level", "arrange", cwd=tmp_path).stdout
    assert f"{says}`attn-drill reset gqa --level arrange` gives a fresh stub" in shown
    assert says not in drill("start", "gqa", "--level", "standard", cwd=tmp_path).stdout
    assert says not in drill("start", "gqa", cwd=tmp_path).stdout


@pytest.mark.thorough  # tests/benchmarks/session.py starts one in CI
def test_start_on_a_terminal_opens_a_session(tmp_path: Path) -> None:
    """The line after the session has its result.

    With --no-watch the output is plain.
    """
    with terminal(["-m", "attn_drill", "start", "gqa"], tmp_path) as (pid, end):
        read_until(end, lambda seen: "Every save of" in seen)
        (tmp_path / "gqa.py").write_text(WRONG)
        read_until(end, lambda seen: "LIKELY" in seen)
        (tmp_path / "gqa.py").write_text(RIGHT)
        read_until(end, lambda seen: "PASSED" in seen)
        os.write(end, b"q")
        drawn = read_until(end, lambda seen: "as you left it" in seen)
        assert "gqa: passed, 1 attempt," in drawn, "the wrong answer was replaced at once"
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with terminal(["-m", "attn_drill", "start", "gqa", "--no-watch"], tmp_path) as (pid, end):
        drawn = read_until(end, lambda seen: "shows a hint, one of three" in seen)
        assert "\x1b[?1049h" not in drawn


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
