"""Write the results of a class as one HTML page, with the template `class.html.jinja`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from trainer.classroom.assignment import total
from trainer.classroom.records import Assignment, StudentResult
from trainer.classroom.summary import ClassSummary, CommonMistake, Distribution, summarise
from trainer.report.class_words import VERDICTS, checks_passed, likely, points
from trainer.report.coloured import coloured
from trainer.report.pages import page


@dataclass(frozen=True)
class StudentRow:
    """One row of the table of students.

    Attributes:
        student: the name of the student.
        results: the results of the student by challenge.
        total: 0 to 100, or None if a score is missing.
    """

    student: str
    results: Mapping[str, StudentResult]
    total: float | None


def class_html(
    results: Callable[[], Iterable[StudentResult]], assignment: Assignment
) -> Iterator[str]:
    """Yield the page in small pieces.

    Args:
        results: return the results, sorted by student. Called three times, and must return the
            same results each time.
        assignment: the assignment of the class.
    """
    summary = summarise(results(), assignment)
    return page(
        "class",
        title=assignment.title.strip() or "Results of the class",
        summary=summary,
        challenges=[assigned.challenge for assigned in assignment.challenges],
        mistakes=_most_common_first(summary),
        rows=_rows(results, assignment),
        results=results,
        verdicts=VERDICTS,
        anchor=anchor,
        bins_in_words=_bins_in_words,
        checks_passed=checks_passed,
        coloured=coloured,
        likely=likely,
        points=points,
    )


def anchor(student: str, challenge: str) -> str:
    """Return the id of a report on the page.

    The id is the same on every page, and does not reveal the name of the student.
    """
    key = f"{student}\0{challenge}".encode(errors="surrogatepass")
    return f"r-{hashlib.sha256(key).hexdigest()[:16]}"


def _most_common_first(summary: ClassSummary) -> list[tuple[str, CommonMistake]]:
    """Return every named mistake with its challenge, the most common mistake first."""
    mistakes = [
        (challenge.challenge, mistake)
        for challenge in summary.challenges
        for mistake in challenge.mistakes
    ]
    return sorted(mistakes, key=lambda pair: -pair[1].students)


def _rows(
    results: Callable[[], Iterable[StudentResult]], assignment: Assignment
) -> Iterator[StudentRow]:
    for student, group in groupby(results(), key=lambda result: result.student):
        by_challenge = {result.challenge: result for result in group}
        scores = {challenge: result.score for challenge, result in by_challenge.items()}
        yield StudentRow(student, by_challenge, total(scores, assignment))


def _bins_in_words(scores: Distribution) -> str:
    """Return the counts of a histogram as text, for example `0 to 10: 12, 90 to 100: 30`."""
    filled = [(10 * index, count) for index, count in enumerate(scores.bins) if count]
    return ", ".join(f"{low} to {low + 10}: {count}" for low, count in filled) or "none"
