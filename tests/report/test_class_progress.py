"""The progress and the summary of a class's grading."""

import io

import pytest

from tests.support.class_outputs import EVERYONE
from tests.support.class_results import result, unsettled
from trainer.report.class_progress import ClassProgress, summary


def test_summary_names_the_files_with_the_same_student() -> None:
    """The grader did not fail on them, and the next step is named."""
    text, failed = summary([result("ann"), unsettled(), result("di", verdict=None)])
    assert failed == 1
    assert "3 results: 1 passed, 2 not graded" in text
    assert "\n1 to settle: more than one submission of one name\n  bob: bob.py, bob/x.py\n" in text
    assert text.endswith("\nRemove or rename all but one of each name, then add --resume.")
    assert "to settle" not in summary([result("ann"), result("di", verdict=None)])[0]


@pytest.mark.parametrize("width", [80, 50])
def test_summary_fits_the_width(width: int) -> None:
    """Of many names only ten are listed."""
    many = [unsettled(f"student number {index}") for index in range(13)]
    text, _ = summary(many, width)
    assert max(map(len, text.splitlines())) <= width
    assert "student number 9: bob.py," in " ".join(text.split())
    assert "student number 10:" not in " ".join(text.split())
    assert "and 3 more names" in " ".join(text.split())


def test_summary_lists_at_most_four_files_of_a_name() -> None:
    """Control characters in a name are shown as escapes."""
    places = [f"{index}\x1b[31m.py" for index in range(6)]
    text, _ = summary([result("bob\n", verdict=None, unsettled=places)])
    assert r"bob\n: 0\x1b[31m.py, 1\x1b[31m.py, 2\x1b[31m.py, 3\x1b[31m.py and 2 more" in text


@pytest.mark.parametrize("width", [80, 50])
def test_summary_breaks_lines_only_at_blanks(width: int) -> None:
    """Without a terminal no line is broken."""
    text, _ = summary(EVERYONE, width)
    whole, _ = summary(EVERYONE)
    assert max(map(len, text.splitlines())) <= width
    assert text.split() == whole.split()
    assert max(map(len, whole.splitlines())) > width


def test_progress_without_a_terminal_is_ten_lines() -> None:
    """Each line has the counts so far, and the last line has all."""
    stream = io.StringIO()
    with ClassProgress(40, 0, stream) as progress:
        for index in range(40):
            progress.advance(result(f"s{index}", verdict="failed" if index % 2 else "passed"))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "4 of 40 graded: 2 passed, 2 failed"
    assert lines[-1] == "40 of 40 graded: 20 passed, 20 failed"


def test_resumed_progress_counts_from_the_results_that_exist() -> None:
    """The verdicts are those of this run."""
    stream = io.StringIO()
    with ClassProgress(5, 4, stream) as progress:
        progress.advance(result("ann", verdict=None))
    assert stream.getvalue() == "5 of 5 graded: 1 not graded\n"
