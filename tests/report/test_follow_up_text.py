"""Follow-up questions of an interview as terminal text."""

import io

import pytest
from rich.console import Console

from attn_drill.packs.question_bank import FollowUp
from attn_drill.report.lesson_text import prose_of, render_follow_up

QUESTION = FollowUp("gqa", 2, "Why is `k_proj` small?", "It has fewer heads.\n" + "Long. " * 60)


def text(width: int, *, is_revealed: bool) -> str:
    """Return the question as text of this width."""
    console = Console(width=width, file=io.StringIO(), highlight=False)
    with console.capture() as capture:
        console.print(render_follow_up(QUESTION, "GQA", is_revealed=is_revealed))
    return capture.get()


def test_answer_is_hidden_until_it_is_revealed() -> None:
    """Before that, the text says which key shows the answer."""
    hidden, shown = text(80, is_revealed=False), text(80, is_revealed=True)
    assert "Why is k_proj small?" in hidden
    assert "press Enter" in hidden
    assert "fewer heads" not in hidden
    assert "It has fewer heads. Long." in shown
    assert "1 again, 2 hard, 3 good, 4 easy" in shown


@pytest.mark.parametrize(("width", "most"), [(50, 50), (80, 80), (200, 100)])
def test_lines_fit_the_width_and_are_never_too_long_to_read(width: int, most: int) -> None:
    """No line has more than 100 columns."""
    assert most - 8 < max(len(line.rstrip()) for line in text(width, is_revealed=True).split("\n"))
    assert max(len(line.rstrip()) for line in text(width, is_revealed=True).split("\n")) <= most


@pytest.mark.parametrize(
    ("source", "prose"),
    [
        ("one\ntwo  `three`\n", "one two three"),
        ("缓存缩小,\n因为每个", "缓存缩小,因为每个"),
        ("所以\nKV 缓存", "所以 KV 缓存"),
        ("缓存。\n因为", "缓存。因为"),
    ],
)
def test_line_ends_become_blanks_except_between_chinese_characters(source: str, prose: str) -> None:
    """A Chinese text has no blanks between its words."""
    assert prose_of(source) == prose
