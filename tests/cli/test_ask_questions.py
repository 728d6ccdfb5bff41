"""Tests of the lines that are typed as answers."""

import pytest

from tests.support.typing_lines import type_lines
from trainer.cli.ask_questions import answered, read_line
from trainer.practice.journal import Journal, default_journal
from trainer.practice.progress import rated_reviews
from trainer.quiz.drawn_questions import FindLine

QUESTION = FindLine(
    item="line:a:b", topic="t", text="Which?", explanation="So.", code="a\nb", lines=(2,)
)


@pytest.fixture
def journal() -> Journal:
    """Return the journal of this home."""
    return default_journal()


def test_lines_of_a_pipe_are_echoed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The end of the input is None. An empty line is no end."""
    type_lines(monkeypatch, "2", "", "last")
    assert [read_line("line: ") for _ in range(4)] == ["2\n", "\n", "last\n", None]
    assert capsys.readouterr().out == "line: 2\nline: \nline: last\nline: \n"


@pytest.mark.parametrize(
    ("lines", "result", "rating"),
    [
        (["two", "2"], True, 3),
        (["1"], False, 1),
        (["?"], False, 1),
        (["q"], None, 0),
        ([], None, 0),
    ],
)
def test_answer_is_judged_and_recorded(
    lines: list[str],
    result: bool | None,
    rating: int,
    journal: Journal,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A line that is not understood is asked again. After the end nothing is recorded."""
    type_lines(monkeypatch, *lines)
    assert answered(QUESTION, 80, journal) is result
    assert [review.rating for review in rated_reviews(journal.facts(), "line:a:b")] == [rating] * (
        rating > 0
    )
    assert ("Answer: line 2." in capsys.readouterr().out) == (rating > 0)
