"""Fixtures of the tests in `tests/report`."""

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.model.report import Report
from tests.support.grading import report_of
from tests.support.report import GQA, TILED


@pytest.fixture(scope="package")
def failed(grader: Grader) -> Report:
    """Return the report on a file with tiled key heads."""
    return report_of(grader, GQA, "print('a line')\n" + TILED, "my gqa.py", 77)
