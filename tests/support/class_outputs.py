"""Helpers for the tests of the outputs of a class."""

import csv
import io

from attn_drill.classroom.records import StudentResult
from attn_drill.export.grade_tables import grades_by_challenge_csv
from tests.support.class_results import NO_SCALE, TILED, make_class, result

EVERYONE = make_class()
FAILED = result(
    "Ann",
    verdict="failed",
    failed=("values", "masks"),
    skipped=("gradients",),
    mistakes=(NO_SCALE, TILED),
)
SHOWN = ("report", "checks", "verdict")


def rows(results: list[StudentResult]) -> list[dict[str, str]]:
    """Return the rows of grades_by_challenge.csv as a program reads them."""
    return list(csv.DictReader(io.StringIO(grades_by_challenge_csv(results), newline="")))
