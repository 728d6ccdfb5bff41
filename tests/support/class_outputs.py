"""Helpers of the tests of class outputs."""

import csv
import io

from tests.support.class_results import (
    NO_SCALE,
    TILED,
    a_class,
    result,
)
from trainer.classroom.records import StudentResult
from trainer.export.gradebook import grades_csv

EVERYONE = a_class()


FAILED = result(
    "Ann",
    verdict="failed",
    failed=("values", "masks"),
    skipped=("gradients",),
    mistakes=(NO_SCALE, TILED),
)


def rows(results: list[StudentResult]) -> list[dict[str, str]]:
    """The file as a program reads it."""
    return list(csv.DictReader(io.StringIO(grades_csv(results), newline="")))


SHOWN = ("report", "checks", "verdict")
