"""A class's results as one HTML page; `templates/class.html.jinja` shows them."""

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
    """One row of the table of students; `results` by challenge, `total` of 0 to 100."""

    student: str
    results: Mapping[str, StudentResult]
    total: float | None


def class_html(
    results: Callable[[], Iterable[StudentResult]], assignment: Assignment
) -> Iterator[str]:
    """Yield the page in small pieces.

    Args:
        results: called for each of three passes; gives the same results each time, by student.
        assignment: what the class was asked.
    """
    summary = summarise(results(), assignment)
    return page(
        "class",
        title=assignment.title.strip() or "Results of the class",
        summary=summary,
        challenges=[asked.challenge for asked in assignment.asked],
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
    """Return the id of a report: the same in every file, and nothing of the name is in it."""
    key = f"{student}\0{challenge}".encode(errors="surrogatepass")
    return f"r-{hashlib.sha256(key).hexdigest()[:16]}"


def _most_common_first(summary: ClassSummary) -> list[tuple[str, CommonMistake]]:
    """Return every named mistake with its challenge."""
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
    """Return the counts of a histogram: `0 to 10: 12, 90 to 100: 30`."""
    filled = [(10 * index, count) for index, count in enumerate(scores.bins) if count]
    return ", ".join(f"{low} to {low + 10}: {count}" for low, count in filled) or "none"
