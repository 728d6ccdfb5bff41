"""Tests of the results of a submission and their excerpts."""

import pytest

from trainer.export.student_results import excerpt_of


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
