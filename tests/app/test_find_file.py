"""Find the challenge that a learner means, and the learner's file for it."""

import os
from pathlib import Path

import pytest

from tests.support.paths import TINY_PACK
from trainer.app.find_file import (
    asked,
    find_challenge,
    find_file,
    is_default_file,
)
from trainer.app.open_packs import KnownPacks
from trainer.app.start_challenge import hand_out
from trainer.model.errors import DrillError
from trainer.practice.facts import Started
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


def test_default_file_needs_no_argument(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file in this folder goes before the stub that was started elsewhere."""
    monkeypatch.chdir(tmp_path)
    known_packs = KnownPacks()
    gqa = known_packs.find("gqa")
    here, elsewhere = Path(gqa.file_name), tmp_path / "elsewhere" / gqa.file_name

    def is_default(file: Path | None) -> bool:
        return is_default_file(gqa, file, journal, known_packs)

    assert is_default(None), "no argument is the default"
    assert not is_default(here), "without a file nothing is found"
    hand_out(gqa, elsewhere, journal, "standard")
    assert is_default(elsewhere)
    assert is_default(Path("elsewhere", "..", "elsewhere", gqa.file_name))
    assert not is_default(here), "a file that does not exist"
    here.write_text("here\n")
    for same in (here, here.absolute(), Path("./") / here):
        assert is_default(same)
    assert not is_default(elsewhere)
    link, copy = Path("link.py"), Path("copy.py")
    link.symlink_to(here)
    copy.write_text("here\n")
    assert is_default(link)
    assert not is_default(copy)


def test_file_that_is_gone_is_no_default(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands must name another file then."""
    monkeypatch.chdir(tmp_path)
    known_packs = KnownPacks()
    gqa = known_packs.find("gqa")
    stub = tmp_path / "elsewhere" / gqa.file_name
    hand_out(gqa, stub, journal, "standard")
    stub.unlink()
    assert not is_default_file(gqa, stub, journal, known_packs)
    assert not is_default_file(gqa, Path(os.devnull), journal, known_packs)


def test_challenge_that_was_started_last_is_meant(tmp_path: Path, journal: Journal) -> None:
    """An id goes before it."""
    known_packs = KnownPacks()
    with pytest.raises(DrillError, match="begin with `attn-drill start ID`"):
        find_challenge(None, journal, known_packs)
    for challenge_id in ("mha", "gqa"):
        hand_out(known_packs.find(challenge_id), tmp_path / challenge_id, journal, "standard")
    assert find_challenge(None, journal, known_packs).id == "gqa"
    assert find_challenge("sdpa", journal, known_packs).id == "sdpa"
    assert hand_out(known_packs.find("mha"), tmp_path / "mha", journal, "standard")
    assert find_challenge(None, journal, known_packs).id == "mha", "its file was there"


def test_challenge_of_a_pack_that_is_unknown_now_is_refused(
    tmp_path: Path, journal: Journal
) -> None:
    """The message has the id of the challenge that was started last."""
    with_tiny = KnownPacks((TINY_PACK,))
    hand_out(with_tiny.find("prefix-sum"), tmp_path / "sums.py", journal, "standard")
    assert find_challenge(None, journal, with_tiny).id == "prefix-sum"
    with pytest.raises(DrillError, match="prefix-sum"):
        find_challenge(None, journal, KnownPacks())


@pytest.mark.parametrize("word", ["gqa.py", "gqq", "", "-"])
def test_word_that_is_no_id_is_refused(journal: Journal, word: str) -> None:
    """The challenge that was started last does not take its place."""
    known_packs = KnownPacks()
    journal.add(Started("gqa", 1.0, path="gqa.py"))
    with pytest.raises(DrillError):
        find_challenge(word, journal, known_packs)


@pytest.mark.parametrize("name", ["gqa_kv_cache.py", "work/gqa_kv_cache.py", "gqa-kv-cache.ipynb"])
def test_name_of_a_file_is_enough(journal: Journal, name: str) -> None:
    """The stem names the challenge. With a file, the first argument is an id."""
    challenge, file = asked(name, None, journal, KnownPacks())
    assert (challenge.id, file) == ("gqa-kv-cache", Path(name))
    with pytest.raises(DrillError, match="is the name of a file"):
        asked(name, Path("x.py"), journal, KnownPacks())
    with pytest.raises(DrillError, match="is the name of a file"):
        asked("my_answer.py", None, journal, KnownPacks())
