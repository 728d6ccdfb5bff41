"""Write the results of a class as HTML pages, with the template `class.html.jinja`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from trainer.classroom.records import (
    Assignment,
    ChallengeGrade,
    Gradebook,
    StudentResult,
)
from trainer.classroom.similarity import SameText
from trainer.classroom.summary import ClassSummary, CommonMistake, Distribution, summarise
from trainer.export.grade_words import (
    WeightRow,
    lateness_rows,
    override_words,
    points_lines,
    points_rows,
    remarks,
    time_in_words,
    weight_rows,
)
from trainer.export.to_look_at import by_kind, notes_of
from trainer.report.class_words import VERDICTS, checks_passed, likely, points
from trainer.report.coloured import coloured
from trainer.report.pages import page

# "class" names nobody. "markers" has anonymous ids, no next steps, and the whole file of each
# student.
Reader = Literal["teacher", "class", "markers"]


def class_html(
    results: Sequence[StudentResult],
    gradebook: Gradebook,
    reader: Reader = "teacher",
    same_texts: Mapping[str, Sequence[SameText]] | None = None,
) -> Iterator[str]:
    """Yield the page in small pieces.

    Args:
        results: the results, in the order of the students.
        gradebook: the grades of the class.
        reader: the person for whom the page is.
        same_texts: the files with the same text, by challenge. Only the teacher sees them.
    """
    summary = summarise(results, gradebook)
    assignment = gradebook.assignment
    assigned_by_id = {assigned.challenge: assigned for assigned in assignment.challenges}
    return page(
        "class",
        title=assignment.title.strip() or "Results of the class",
        reader=reader,
        summary=summary,
        assignment=assignment,
        challenges=assignment.challenge_ids,
        mistakes=_most_common_first(summary),
        weights=_weights(summary, assignment),
        looks=by_kind(notes_of(gradebook, results)),
        same_texts=[
            (challenge, group)
            for challenge, groups in (same_texts or {}).items()
            for group in groups
        ],
        gradebook=gradebook,
        results=results,
        result_of={(result.student, result.challenge): result for result in results},
        grades={
            (row.student.name, grade.challenge): grade
            for row in gradebook.rows
            for grade in row.challenges.values()
        },
        details=_details,
        points_lines=lambda result: points_lines(
            points_rows(result, assigned_by_id[result.challenge])
        ),
        verdicts=VERDICTS,
        anchor=anchor,
        bins_in_words=_bins_in_words,
        coloured=coloured,
        points=points,
        likely=likely,
        checks_passed=checks_passed,
        remarks=remarks,
        time_in_words=time_in_words,
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


def _weights(
    summary: ClassSummary, assignment: Assignment
) -> list[tuple[str, float, tuple[WeightRow, ...]]]:
    """Return each challenge with its share of the total and the weights of its checks.

    The checks are those that were due for a submission of the class.
    """
    whole = sum(assigned.worth for assigned in assignment.challenges)
    return [
        (
            assigned.challenge,
            assigned.worth / whole,
            weight_rows(assigned, [check.check for check in challenge.checks]),
        )
        for assigned, challenge in zip(assignment.challenges, summary.challenges, strict=True)
    ]


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
