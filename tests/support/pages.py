"""Helpers for the tests of HTML pages."""

from tests.support.class_results import assignment, make_gradebook
from trainer.classroom.records import StudentResult
from trainer.export.class_page import class_html


def class_page(results: list[StudentResult], *challenges: str) -> str:
    """Return the HTML page of a class."""
    gradebook = make_gradebook(results, assignment(challenges))
    return "".join(class_html(results, gradebook))
