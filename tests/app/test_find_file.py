"""Find the learner's file for a challenge."""

from pathlib import Path

import pytest

from trainer.app.find_file import find_file
from trainer.app.open_packs import KnownPacks
from trainer.app.start_challenge import hand_out
from trainer.model.errors import DrillError
from trainer.practice.journal import Journal


def test_given_file_goes_before_this_folder_and_the_started_stub(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a file the message names `start`."""
    monkeypatch.chdir(tmp_path)
    known_packs = KnownPacks()
    gqa = known_packs.find("gqa")
    with pytest.raises(DrillError, match="`attn-drill start gqa` writes it"):
        find_file(gqa, None, journal, known_packs)
    elsewhere = tmp_path / "elsewhere" / gqa.file_name
    hand_out(gqa, elsewhere, journal, "standard")
    assert find_file(gqa, None, journal, known_packs) == elsewhere
    Path(gqa.file_name).write_text("here\n")
    assert find_file(gqa, None, journal, known_packs) == Path(gqa.file_name)
    assert find_file(gqa, Path("x.py"), journal, known_packs) == Path("x.py")


def test_message_names_the_stub_that_is_gone(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stub was in another folder."""
    monkeypatch.chdir(tmp_path)
    gqa = KnownPacks().find("gqa")
    stub = tmp_path / "elsewhere" / gqa.file_name
    hand_out(gqa, stub, journal, "standard")
    stub.unlink()
    with pytest.raises(DrillError, match=f"{stub}, the stub that `start` wrote, is gone"):
        find_file(gqa, None, journal, KnownPacks())
