"""The right answers of a pack, with a sentence on each difference and its price."""

from pathlib import Path

import pytest

from trainer.model.challenge import Challenge
from trainer.packs import pack_reader
from trainer.packs.other_answers import other_answers


@pytest.fixture
def sums(tiny_pack: Path) -> Challenge:
    """Return a challenge whose other answers a test may write."""
    challenge = pack_reader.find_challenge(tiny_pack, "prefix-sum")
    (challenge.solutions / "also_right").mkdir(exist_ok=True)
    for path in (challenge.solutions / "also_right").glob("*.py"):
        path.unlink()
    return challenge


def test_reference_comes_first_then_the_files_in_order(sums: Challenge) -> None:
    """The paragraphs of the docstring become single lines."""
    folder = sums.solutions / "also_right"
    (folder / "loop.py").write_text('"""Add in\na loop.\n\nThis is\nslow.\n\nMore."""\nx = 1\n')
    (folder / "by_hand.py").write_text('"""Add by hand."""\n')
    (folder / "silent.py").write_text("x = 1\n")
    found = other_answers(sums)
    assert [(answer.name, answer.does, answer.costs) for answer in found] == [
        ("reference", "", ""),
        ("by_hand", "Add by hand.", ""),
        ("loop", "Add in a loop.", "This is slow."),
        ("silent", "", ""),
    ]
    assert found[0].source == pack_reader.solution(sums)
    assert found[3].source == "x = 1\n"


def test_file_that_does_not_parse_has_no_words(sums: Challenge) -> None:
    """The author of a pack may be editing the file."""
    (sums.solutions / "also_right" / "half.py").write_text('"""Add."""\nx = (\n')
    assert [(answer.name, answer.does) for answer in other_answers(sums)][1:] == [("half", "")]


def test_challenge_without_other_answers_has_its_reference(sums: Challenge) -> None:
    """The folder may be missing."""
    (sums.solutions / "also_right").rmdir()
    assert [answer.name for answer in other_answers(sums)] == ["reference"]
