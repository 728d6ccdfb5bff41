"""Fixtures of the tests in `tests/report`."""

import pytest

from tests.support.display import GQA, TILED
from tests.support.grading import report_of
from trainer.grading.grader import Grader
from trainer.model.report import Report


@pytest.fixture(scope="package")
def failed(grader: Grader) -> Report:
    """Return the report on a file with tiled key heads."""
    return report_of(grader, GQA, "print('a line')\n" + TILED, "my gqa.py", 77)
