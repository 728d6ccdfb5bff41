"""A class's grading: results on disk, what is left to do, stations that are lost, the seam to executors."""

import pytest

from trainer.export.student_results import excerpt_of


@pytest.mark.parametrize(("line", "first", "count"), [(1, 1, 3), (3, 1, 5), (6, 4, 3)])
def test_excerpts_stay_within_the_file(line: int, first: int, count: int) -> None:
    """Two lines before and after, where there are so many."""
    found = excerpt_of("a\nb\nc\nd\ne\nf", line)
    assert found is not None
    assert (found.first, len(found.lines), found.lines[line - first]) == (
        first,
        count,
        "abcdef"[line - 1],
    )


@pytest.mark.parametrize("line", [None, 0, -1, 7])
def test_no_excerpt_of_a_line_that_is_not_there(line: int | None) -> None:
    """A worker tells the line, and may tell any."""
    assert excerpt_of("a\nb", line) is None
