"""The answer that a learner means: its challenge, its file and its text."""

import json
import os
from pathlib import Path

import pytest

from attn_drill.app.answer import LearnerAnswer, find_answer, hand_out
from attn_drill.app.open_packs import KnownPacks
from attn_drill.model.errors import DrillError
from attn_drill.practice.facts import Started
from attn_drill.practice.journal import Journal
from tests.support.paths import TINY_PACK

PACKS = KnownPacks()
GQA = PACKS.find("gqa")
HERE = Path("gqa.py")


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a new folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def find(journal: Journal, word: str | None, file: Path | None = None) -> LearnerAnswer:
    """Return the answer among the built-in challenges."""
    return find_answer(word, file, journal, PACKS)


def test_named_file_goes_before_this_folder_and_the_started_stub(
    work: Path, journal: Journal
) -> None:
    """Without a file the message names `start`, or the stub that is gone."""
    with pytest.raises(DrillError, match="`attn-drill start gqa` writes it"):
        find(journal, "gqa")
    elsewhere = work / "elsewhere" / "gqa.py"
    hand_out(GQA, elsewhere, journal, "standard")
    assert find(journal, "gqa").path == elsewhere
    HERE.write_text("here = 1\n")
    assert find(journal, "gqa") == LearnerAnswer(GQA, HERE, "here = 1\n", is_default=True)
    (work / "x.py").write_text("x = 1\n")
    assert find(journal, "gqa", Path("x.py")) == LearnerAnswer(GQA, Path("x.py"), "x = 1\n")
    HERE.unlink()
    elsewhere.unlink()
    with pytest.raises(DrillError, match=f"{elsewhere}, the stub that `start` wrote, is gone"):
        find(journal, "gqa")


def test_default_file_needs_no_argument(work: Path, journal: Journal) -> None:
    """The file in this folder goes before the stub that was started elsewhere."""

    def is_default(file: Path) -> bool:
        return find(journal, "gqa", file).is_default

    elsewhere = work / "elsewhere" / "gqa.py"
    hand_out(GQA, elsewhere, journal, "standard")
    assert is_default(elsewhere)
    assert is_default(Path("elsewhere", "..", "elsewhere", "gqa.py"))
    HERE.write_text("here = 1\n")
    link, copy = Path("link.py"), Path("copy.py")
    link.symlink_to(HERE)
    copy.write_text("here = 1\n")
    for same in (HERE, HERE.absolute(), link):
        assert is_default(same)
    assert not is_default(elsewhere)
    assert not is_default(copy)


def test_challenge_that_was_started_last_is_meant(work: Path, journal: Journal) -> None:
    """An id goes before it. The challenge may be of a pack that is unknown now."""
    with pytest.raises(DrillError, match="begin with `attn-drill start ID`"):
        find(journal, None)
    for name in ("mha", "gqa"):
        hand_out(PACKS.find(name), work / name, journal, "standard")
    assert find(journal, None).challenge.id == "gqa"
    assert find(journal, "mha").challenge.id == "mha"
    hand_out(PACKS.find("mha"), work / "mha", journal, "standard")
    assert find(journal, None).challenge.id == "mha", "its file was there"
    with_tiny = KnownPacks((TINY_PACK,))
    hand_out(with_tiny.find("prefix-sum"), work / "sums.py", journal, "standard")
    assert find_answer(None, None, journal, with_tiny).challenge.id == "prefix-sum"
    with pytest.raises(DrillError, match="prefix-sum"):
        find(journal, None)


@pytest.mark.parametrize("word", ["gqq", "", "-", "my_answer.py"])
def test_word_that_is_no_id_is_refused(word: str, journal: Journal) -> None:
    """The challenge that was started last does not take its place."""
    journal.add(Started("gqa", 1.0, path=os.devnull))
    with pytest.raises(DrillError):
        find(journal, word)


@pytest.mark.parametrize("name", ["gqa_kv_cache.py", "work/gqa_kv_cache.py"])
def test_name_of_a_file_is_enough(name: str, work: Path, journal: Journal) -> None:
    """The stem names the challenge. With a file, the first argument is an id."""
    (work / "work").mkdir()
    Path(name).write_text("x = 1\n")
    answer = find(journal, name)
    assert (answer.challenge.id, answer.path) == ("gqa-kv-cache", Path(name))
    with pytest.raises(DrillError, match="is the name of a file"):
        find(journal, name, Path(name))


def test_answer_is_read_from_the_cells_of_a_notebook(work: Path, journal: Journal) -> None:
    """Cells that it does not need are left out. A notebook without the answer is refused."""
    path = work / "sdpa.ipynb"
    (entry,) = PACKS.find("sdpa").entry
    cells = ["import torch", f"def {entry}(q, k, v, mask=None):\n    return q", "print(1)"]
    notebook = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    path.write_text(json.dumps(notebook))
    source = find(journal, "sdpa.ipynb").source
    assert f"def {entry}" in source
    assert "print" not in source
    path.write_text(json.dumps({"cells": []}))
    with pytest.raises(DrillError, match=r"sdpa\.ipynb"):
        find(journal, "sdpa", path)
