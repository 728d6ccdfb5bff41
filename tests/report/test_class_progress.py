"""The progress and the summary of a class's grading."""

import io

from attn_drill.report.class_text import CountedProgress, summary
from tests.support.classroom import result, ungraded


def test_summary_counts_the_submissions_that_a_person_must_settle() -> None:
    """The grader did not fail on them, and the next step is named."""
    text, failed = summary([result("ann"), ungraded(), result("di", verdict=None)])
    assert failed == 1
    assert "3 results: 1 passed, 2 not graded" in text
    assert text.endswith(
        "\n1 file of 1 student was not graded: a person must settle this; the report says why."
    )
    assert "settle" not in summary([result("ann"), result("di", verdict=None)])[0]


def test_progress_without_a_terminal_is_the_last_state() -> None:
    """It counts also the items that were done before."""
    stream = io.StringIO()
    with CountedProgress(40, stream, 38) as progress:
        progress.count("1 passed")
        progress.count("2 passed")
    (line,) = stream.getvalue().splitlines()
    assert "40/40" in line
    assert line.endswith("2 passed")
