"""Questions, follow-up questions and gaps on a plain terminal."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from attn_drill.app.grade_file import open_grader
from attn_drill.app.open_packs import KnownPacks
from attn_drill.cli._ask import (
    Grade,
    StoppedError,
    ask_follow_up,
    ask_gaps,
    ask_question,
    is_coloured,
    read_line,
    typed,
)
from attn_drill.exercises.altered_reference import gap_exercise
from attn_drill.exercises.questions import FindLine
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.packs.question_bank import FollowUp
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import rated_reviews
from tests.support.cli import GQA, type_lines
from tests.support.rows import each_row

QUESTION = FindLine(
    item="line:a:b", topic="t", text="Which?", explanation="So.", code="a\nb", lines=(2,)
)
FOLLOW_UP = FollowUp("a", 1, "Why is it\nfast?", "It reads `few`\nbytes.")
EXERCISE = gap_exercise(pack_reader.solution(GQA), read_mistakes(GQA), Random(3))
GAPS = EXERCISE.gaps
ROOT = "math.sqrt(self.head_dim)"  # the right answer of a gap

Answer = Callable[[Callable[[], Any], Sequence[str]], tuple[Any, str]]


@pytest.fixture
def journal(home: Any) -> Journal:
    """Return the journal of this home."""
    return Journal(home)


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Answer:
    """Return a function that answers with lines, and returns the result and the output."""

    def run(ask: Callable[[], Any], lines: Sequence[str]) -> tuple[Any, str]:
        type_lines(monkeypatch, *lines)
        try:
            result = ask()
        except StoppedError:
            result = None
        return result, capsys.readouterr().out

    return run


def test_lines_of_a_pipe_are_echoed(answer: Answer) -> None:
    """The end of the input is None. An empty line is no end."""
    lines, shown = answer(lambda: [read_line("line: ") for _ in range(4)], ["2", "", "last"])
    assert lines == ["2\n", "\n", "last\n", None]
    assert shown == "line: 2\nline: \nline: last\nline: \n"


@pytest.mark.parametrize("no_color", ["", "1"])
def test_only_a_terminal_has_colours(no_color: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR removes them."""
    assert not is_coloured()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", no_color)
    assert is_coloured() == (not no_color)


@pytest.mark.parametrize(
    ("lines", "result"), [(["x", "7"], 7), (["x", " Quit "], None), (["q"], None), (["x"], None)]
)
def test_typed_asks_until_a_line_has_a_meaning(
    lines: list[str], result: int | None, answer: Answer
) -> None:
    """`q`, `quit` and the end of the input stop."""
    ask = lambda: typed("n: ", lambda line: int(line) if line.isdecimal() else None)  # noqa: E731
    assert answer(ask, lines)[0] == result


@pytest.mark.parametrize(
    ("lines", "result", "rating"),
    [
        (["two", "2"], True, [3]),
        (["1"], False, [1]),
        (["?"], False, [1]),
        (["q"], None, []),
        ([], None, []),
    ],
)
def test_question_is_judged_and_recorded(
    lines: list[str], result: bool | None, rating: list[int], journal: Journal, answer: Answer
) -> None:
    """A line that is not understood is asked again. After the end nothing is recorded."""
    right, shown = answer(lambda: ask_question(QUESTION, journal), lines)
    assert right is result
    reviews = rated_reviews(journal.facts(), "line:a:b")
    assert [(review.rating, review.reason) for review in reviews] == [
        (each, lines[-1]) for each in rating
    ]
    assert ("Answer: line 2." in shown) == bool(rating)


@pytest.mark.parametrize(
    ("lines", "rating"),
    [(["", "5", "3"], 3), (["my answer", "4"], 4), (["q"], None), (["", "q"], None), ([""], None)],
)
def test_follow_up_is_rated_by_the_learner(
    lines: list[str], rating: int | None, journal: Journal, answer: Answer
) -> None:
    """The answer is shown only after Enter. A number that is no rating is asked again."""
    shown = answer(lambda: ask_follow_up(FOLLOW_UP, journal), lines)[1]
    parts = ["Why is it fast?", "Think, then press Enter.", "It reads few bytes.", "1 again"]
    places = [shown.index(part) for part in parts if part in shown]
    assert places == sorted(places)
    assert len(places) == (2 if lines == ["q"] else 4)
    assert ("Answer with a number, 1 to 4." in shown) == ("5" in lines)
    reviews = rated_reviews(journal.facts())
    assert [(review.item, review.rating, review.reason) for review in reviews] == [
        ("follow-up:a:1", rating, "own rating") for _ in range(rating is not None)
    ]


@pytest.fixture
def grade() -> Any:
    """Return the grade of answers to the challenge of the gaps."""
    with open_grader(KnownPacks(), GQA) as opened:
        yield opened


@each_row(
    "line, right, says",
    {
        "code of the reference": (ROOT, 1, "Right."),
        "other code that is right": ("self.head_dim**0.5", 1, "Right."),
        "wrong values": ("3.3", 0, "values of out differ"),
        "known mistake": (
            "self.head_dim",
            0,
            "Wrong. The scores are divided by head_dim instead of its square root. The reference",
        ),
        "crash": ("foo", 0, "Wrong. NameError: name 'foo' is not defined. The"),
        "no Python": ("self.head_dim +", 0, "That is no Python expression. Type"),
        "nothing": ("", 0, "That is no Python expression. Type"),
        "the name of a tensor": ("q", 0, "Wrong. "),
        "quit": ("quit", None, ""),
    },
)
def test_gaps_are_graded(
    line: str, right: int | None, says: str, grade: Grade, answer: Answer
) -> None:
    """`?` shows the code of the reference. Text that is no expression is asked again."""
    assert EXERCISE is not None
    lines = [line if gap.right == ROOT else "?" for gap in GAPS]
    assert line in lines
    result, shown = answer(lambda: ask_gaps(EXERCISE, grade), [*lines, "?"])
    assert result == right
    assert says in " ".join(shown.split())
    if right is not None:
        assert shown.count("The reference has:") == len(GAPS) - right
