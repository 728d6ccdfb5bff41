"""The progress of a bug hunt as text."""

from io import StringIO

import pytest
from rich.console import Console

from attn_drill.model.challenge import Mistake
from attn_drill.model.report import Curve, Part, Repair
from attn_drill.report._diagnosis_text import bugs_left, plotted, render_repair

BUG = Mistake("no-scale", "a", "b", "The scores are not scaled.", "Why?")


def text_of(repair: Repair) -> str:
    """Return the rendered progress in 60 columns."""
    stream = StringIO()
    console = Console(file=stream, width=60)
    for part in render_repair(repair, 60):
        console.print(part)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("left", "words"),
    [
        ((), "All 4 bugs are repaired."),
        ((BUG,), "1 of 4 bugs is left."),
        ((BUG, BUG, BUG), "3 of 4 bugs are left."),
        (None, "traded one bug for another"),
    ],
)
def test_number_of_bugs_is_said_without_naming_them(
    left: tuple[Mistake, ...] | None, words: str
) -> None:
    """The text has the number of bugs, but no bug."""
    repair = Repair(4, left)
    assert words in bugs_left(repair)
    assert BUG.says not in text_of(repair)


def test_parts_have_symbols_and_unclear_parts_are_explained() -> None:
    """A part that fails next to a wrong part is neither right nor wrong."""
    parts = (Part("model", "wrong"), Part("loss", "right"), Part("generation", "unknown"))
    text = text_of(Repair(2, None, parts))
    assert "✗ model  ✓ loss  ? generation" in text
    assert "fails, but it uses a part that is wrong" in text


def test_picture_shows_both_losses() -> None:
    """A loss that stays high is in another row than the falling loss of the reference."""
    falling = tuple(2.0 - 0.019 * step for step in range(100))
    rows = [row.plain for row in plotted(Curve((2.0,) * 100, falling), 20)]
    assert len({len(row) for row in rows}) == 1
    assert rows[1].count("●") + rows[1].count("◉") == 20
    assert "·" in rows[-2]


def test_losses_that_are_not_finite_are_counted() -> None:
    """They are not drawn."""
    curve = Curve((2.0, None, None), (2.0, 1.5, 1.0))
    assert "2 of 3 losses are not finite" in text_of(Repair(2, (BUG,), curve=curve))
    assert "raised an exception" in text_of(Repair(2, (BUG,), curve=Curve((), (2.0, 1.0))))
