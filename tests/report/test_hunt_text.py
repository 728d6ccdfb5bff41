"""The mistakes of a hunt in words."""

import pytest

from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.report.question_text import describe_mistakes

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
NO_SCALE = next(mistake for mistake in read_mistakes(GQA) if mistake.id == "no-scale")


def test_mistake_comes_with_its_lines_and_its_hint() -> None:
    """The line of the reference comes before the line that was handed out."""
    text = describe_mistakes(GQA, ["no-scale"], 100)
    assert text.startswith(f"The bug: {NO_SCALE.says}")
    reference, _, handed_out = text.partition("  handed out:")
    assert "  reference, line " in reference
    assert "math.sqrt(self.head_dim)" in reference
    assert "math.sqrt(self.head_dim)" not in handed_out.partition("To remember:")[0]
    assert " ".join(text.split()).endswith(f"To remember: {' '.join(NO_SCALE.hint.split())}")


def test_each_mistake_has_its_own_paragraph() -> None:
    """A hunt may have several mistakes."""
    text = describe_mistakes(GQA, ["no-scale", "keys-tiled"], 100)
    first, second = text.split("\n\nBug 2: ")
    assert first.startswith("Bug 1: ")
    assert "k.repeat(" in second


@pytest.mark.thorough
@pytest.mark.sampled(2)
@pytest.mark.parametrize("width", [50, 80])
def test_mistakes_fit_the_width(width: int) -> None:
    """Prose and code are wrapped."""
    for mistake in read_mistakes(GQA):
        lines = describe_mistakes(GQA, [mistake.id], width).splitlines()
        assert max(map(len, lines)) <= width, mistake.id


def test_mistake_that_was_removed_is_not_described() -> None:
    """A newer version of the pack may lack the mistake of an old hunt."""
    text = describe_mistakes(GQA, ["no-scale", "gone"], 80)
    assert text == "gqa has changed: it no longer has this hunt's bugs."
