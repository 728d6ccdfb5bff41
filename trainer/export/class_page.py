"""Write the results of a class as one HTML page, with the template `class.html.jinja`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from trainer.classroom.records import (
    Assignment,
    ChallengeGrade,
    Gradebook,
    StudentGrade,
    StudentResult,
)
from trainer.classroom.summary import ClassSummary, CommonMistake, Distribution, summarise
from trainer.export.grade_words import (
    WeightRow,
    late_words,
    lateness_rows,
    override_words,
    points_lines,
    time_in_words,
    weight_rows,
)
from trainer.export.to_look_at import missing_words, to_look_at
from trainer.report.class_words import VERDICTS, checks_passed, likely, points
from trainer.report.coloured import coloured
from trainer.report.pages import page


@dataclass(frozen=True)
class ResultFacts:
    """The facts of a result that the table of students shows.

    Attributes:
        likely: the ids of the likely mistakes, or "".
        passed: the number of checks that passed.
        due: the number of checks.
    """

    likely: str
    passed: int
    due: int


def class_html(
    results: Callable[[], Iterable[StudentResult]],
    gradebook: Gradebook,
    *,
    for_markers: bool = False,
) -> Iterator[str]:
    """Yield the page in small pieces.

    Args:
        results: return the results, sorted by student. Called twice, and must return the same
            results each time.
        gradebook: the grades of the class.
        for_markers: True if the page has anonymous ids. Then it gives no next step to a person who
            grades the class.
    """
    facts: dict[tuple[str, str], ResultFacts] = {}
    summary = summarise(_noted(results(), facts), gradebook)
    assignment = gradebook.assignment
    assigned_by_id = {assigned.challenge: assigned for assigned in assignment.challenges}
    grades = {
        (row.student.name, grade.challenge): grade
        for row in gradebook.rows
        for grade in row.challenges.values()
    }
    return page(
        "class",
        title=assignment.title.strip() or "Results of the class",
        summary=summary,
        assignment=assignment,
        challenges=list(assigned_by_id),
        mistakes=_most_common_first(summary),
        weights=_weights(summary, assignment),
        looks=to_look_at(gradebook),
        missing="" if for_markers else missing_words(gradebook),
        for_markers=for_markers,
        gradebook=gradebook,
        facts=facts,
        grades=grades,
        results=results,
        details=_details,
        points_lines=lambda result: points_lines(result, assigned_by_id[result.challenge]),
        verdicts=VERDICTS,
        anchor=anchor,
        bins_in_words=_bins_in_words,
        coloured=coloured,
        points=points,
        tags=_tags,
        time_in_words=time_in_words,
    )


def anchor(student: str, challenge: str) -> str:
    """Return the id of a report on the page.

    The id is the same on every page, and does not reveal the name of the student.
    """
    key = f"{student}\0{challenge}".encode(errors="surrogatepass")
    return f"r-{hashlib.sha256(key).hexdigest()[:16]}"


def _noted(
    results: Iterable[StudentResult], facts: dict[tuple[str, str], ResultFacts]
) -> Iterator[StudentResult]:
    """Yield the results, and put the facts of each into `facts`."""
    for result in results:
        facts[result.student, result.challenge] = ResultFacts(
            likely(result), *checks_passed(result)
        )
        yield result


def _most_common_first(summary: ClassSummary) -> list[tuple[str, CommonMistake]]:
    """Return every named mistake with its challenge, the most common mistake first."""
    mistakes = [
        (challenge.challenge, mistake)
        for challenge in summary.challenges
        for mistake in challenge.mistakes
    ]
    return sorted(mistakes, key=lambda pair: -pair[1].students)


def _weights(
    summary: ClassSummary, assignment: Assignment
) -> list[tuple[str, float, tuple[WeightRow, ...]]]:
    """Return each challenge with its share of the total and the weights of its checks.

    The checks are those that were due for a submission of the class.
    """
    due = {found.challenge: [check.check for check in found.checks] for found in summary.challenges}
    whole = sum(assigned.worth for assigned in assignment.challenges)
    return [
        (
            assigned.challenge,
            assigned.worth / whole,
            weight_rows(assigned, due.get(assigned.challenge, ())),
        )
        for assigned in assignment.challenges
    ]


def _tags(row: StudentGrade) -> list[str]:
    """Return short words about late submissions and overrides of a student."""
    several = len(row.challenges) > 1
    tags = [
        f"late{f' in {challenge}' if several else ''}: {late_words(grade.lateness)}"
        for challenge, grade in row.challenges.items()
        if grade.lateness.is_late
    ]
    tags += [
        f"{f'{override.challenge}, ' if override.challenge and several else ''}"
        f"override: {override_words(override)}"
        for override in row.overrides
    ]
    return tags


def _details(grade: ChallengeGrade | None) -> list[tuple[str, str]]:
    """Return labels and words about the time and the points of a submission."""
    if grade is None:
        return []
    rows = list(lateness_rows(grade.lateness))
    if grade.override is not None:
        rows.append(("override", override_words(grade.override)))
    if grade.points is not None and grade.points != grade.score:
        rows.append(("counts", f"{points(grade.points)} points"))
    return rows


def _bins_in_words(scores: Distribution) -> str:
    """Return the counts of a histogram as text, for example `0 to 10: 12, 90 to 100: 30`."""
    filled = [(10 * index, count) for index, count in enumerate(scores.bins) if count]
    return ", ".join(f"{low} to {low + 10}: {count}" for low, count in filled) or "none"
