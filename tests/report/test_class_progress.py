"""The progress and the summary of a class's grading."""

import io
import re
from dataclasses import replace

import pytest

from tests.support.class_results import result, ungraded
from trainer.classroom.grading_jobs import Stall
from trainer.report.class_progress import ClassProgress, summary


def test_summary_counts_the_submissions_that_a_person_must_settle() -> None:
    """The grader did not fail on them, and the next step is named."""
    text, failed = summary([result("ann"), ungraded(), result("di", verdict=None)])
    assert failed == 1
    assert "3 results: 1 passed, 2 not graded" in text
    assert text.endswith(
        "\n1 submission of 1 student not graded: a person must settle them; the report says why."
    )
    assert "settle" not in summary([result("ann"), result("di", verdict=None)])[0]


def test_progress_without_a_terminal_is_ten_lines() -> None:
    """Each line has the counts so far, and the last line has all."""
    stream = io.StringIO()
    with ClassProgress(40, 0, stream) as progress:
        for index in range(40):
            progress.count(result(f"s{index}", verdict="failed" if index % 2 else "passed"))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "4 of 40 graded: 2 passed, 2 failed"
    assert lines[-1] == "40 of 40 graded: 20 passed, 20 failed"


def test_resumed_progress_counts_from_the_results_that_exist() -> None:
    """The verdicts are those of this run."""
    stream = io.StringIO()
    with ClassProgress(5, 4, stream) as progress:
        progress.count(result("ann", verdict=None))
    assert stream.getvalue() == "5 of 5 graded: 1 not graded\n"


def test_progress_without_a_terminal_says_every_30_seconds_what_it_waits_for() -> None:
    """A result ends the wait. Names cannot act on the terminal."""
    stream = io.StringIO()
    with ClassProgress(9, 0, stream) as progress:
        for seconds in (0.2, 29.9, 30.1, 31, 59, 61):
            progress.show_stall(Stall(seconds, ("ana.py", "b\x1b[1m.py"), 9))
        progress.count(result("ann"))
        progress.show_stall(Stall(29, ("ana.py",), 8))
        progress.show_stall(Stall(35, tuple("abcde"), 8))
    assert stream.getvalue().splitlines() == [
        r"waiting for ana.py, b\x1b[1m.py: 30 s",
        r"waiting for ana.py, b\x1b[1m.py: 61 s",
        "1 of 9 graded: 1 passed",
        "waiting for a, b, c and 2 more: 35 s",
    ]


def test_progress_names_the_obstacle() -> None:
    """The number of submissions is that of the whole class."""
    stream = io.StringIO()
    with ClassProgress(99, 0, stream) as progress:
        for seconds, left in ((30, 12), (60, 1)):
            progress.show_stall(Stall(seconds, ("ana.py",), left, "a worker: x has 0 workers"))
    assert stream.getvalue().splitlines() == [
        "waiting for a worker: x has 0 workers, 12 submissions left: 30 s",
        "waiting for a worker: x has 0 workers, 1 submission left: 60 s",
    ]


def test_progress_on_a_terminal_shows_the_wait_below_the_bar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sentence is broken at blanks, and disappears with the next result."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("TERM", "xterm")
    progress = ClassProgress(9, 0, Terminal())
    obstacle = "a worker: the scheduler at tcp://127.0.0.1:8786 has 0 workers"
    progress.show_stall(Stall(29, ("ana.py",), 9, obstacle))
    assert "waiting" not in drawn(progress)
    progress.show_stall(Stall(31, ("ana.py",), 9, obstacle))
    text = drawn(progress)
    assert max(map(len, text.splitlines())) <= 50
    assert f"waiting for {obstacle}, 9 submissions left: 31 s" in " ".join(text.split())
    progress.count(result("ann"))
    assert "waiting" not in drawn(progress)


def drawn(progress: ClassProgress) -> str:
    """Return the text of the bar and of the lines below it."""
    with progress.console.capture() as capture:
        progress.console.print(progress.get_renderable())
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capture.get())


def test_median_of_two_scores_is_between_both() -> None:
    """The median of 0 and 100 is 50."""
    text, _ = summary([replace(result("ann"), score=0.0), replace(result("bob"), score=100.0)])
    assert "points from checks: mean 50.0, median 50.0" in text
    text, _ = summary(
        [replace(result(f"s{score}"), score=score) for score in (0.0, 10.0, 20.0, 90.0)]
    )
    assert "mean 30.0, median 15.0" in text
