"""Tests of the results of a submission and their excerpts."""

import pytest

from trainer.classroom.records import StudentResult
from trainer.export.student_results import excerpt_of, with_failure, with_trouble


@pytest.mark.parametrize(("line", "first", "count"), [(1, 1, 3), (3, 1, 5), (6, 4, 3)])
def test_excerpts_stay_within_the_file(line: int, first: int, count: int) -> None:
    """An excerpt has up to two lines before and after its line."""
    excerpt = excerpt_of("a\nb\nc\nd\ne\nf", line)
    assert excerpt is not None
    assert (excerpt.first, len(excerpt.lines)) == (first, count)
    assert excerpt.lines[line - first] == "abcdef"[line - 1]


@pytest.mark.parametrize("line", [None, 0, -1, 7])
def test_no_excerpt_of_a_missing_line(line: int | None) -> None:
    """A worker process reports the line, so the line may be any number."""
    assert excerpt_of("a\nb", line) is None


def test_unreadable_file_fails_the_check_loads() -> None:
    """The result has a report with 0 points, and its text has the reason with escapes."""
    handed_in = StudentResult(student="ana", challenge="gqa", file="ana.py", score=0.0)
    found = with_trouble(handed_in, "ana.py is empty.\x1b[2J")
    assert (found.verdict, found.score, found.statuses()) == ("error", 0.0, {"loads": "failed"})
    assert found.text == "ERROR  gqa\nana.py\nX loads\n\nloads\n  ana.py is empty.\\x1b[2J\n"


def test_failure_of_the_grader_gives_no_verdict_and_no_score() -> None:
    """The result keeps the sentence as its error."""
    handed_in = StudentResult(student="ana", challenge="gqa", file="ana.py", score=0.0)
    found = with_failure(handed_in, "The disk is full.")
    assert (found.verdict, found.score, found.error) == (None, None, "The disk is full.")
    assert found.text == "NOT GRADED  gqa\nThe disk is full.\n"
