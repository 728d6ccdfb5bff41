"""Write the results of a class as HTML pages, with the template `class.html.jinja`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from attn_drill.classroom.records import Gradebook
from attn_drill.classroom.similarity import SameText
from attn_drill.classroom.summary import summarise
from attn_drill.export._grade_words import (
    challenge_shares,
    check_weights,
    details,
    points_lines,
    points_rows,
    remarks,
    rules,
)
from attn_drill.export.to_look_at import by_kind, notes_of
from attn_drill.report.class_text import VERDICTS, likely, points
from attn_drill.report.pages import page
from attn_drill.report.words import coloured

# "class" names nobody. "markers" has anonymous ids, no next steps, and the whole file of each
# student.
Reader = Literal["teacher", "class", "markers"]


def class_html(
    gradebook: Gradebook,
    reader: Reader = "teacher",
    same_texts: Sequence[tuple[str, SameText]] = (),
) -> Iterator[str]:
    """Yield the page in small pieces.

    Args:
        gradebook: the grades of the class.
        reader: the person for whom the page is.
        same_texts: the files with the same text, each with its challenge, for the teacher.
    """
    summary = summarise(gradebook)
    assignment = gradebook.assignment
    assigned = {each.challenge: each for each in assignment.challenges}
    mistakes = [
        (challenge.challenge, mistake)
        for challenge in summary.challenges
        for mistake in challenge.mistakes
    ]
    return page(
        "class",
        title=assignment.title,
        reader=reader,
        summary=summary,
        challenges=assignment.challenge_ids,
        mistakes=sorted(mistakes, key=lambda pair: -pair[1].students),
        shares=challenge_shares(assignment),
        assigned=assigned,
        check_weights=check_weights,
        rules=rules(assignment),
        looks=by_kind(notes_of(gradebook)),
        same_texts=same_texts,
        gradebook=gradebook,
        details=details,
        points_lines=lambda result: points_lines(points_rows(result, assigned[result.challenge])),
        verdicts=VERDICTS,
        # A link must not have the name of a student.
        anchors={
            (result.student, result.challenge): f"report-{number}"
            for number, result in enumerate(gradebook.results, 1)
        },
        coloured=coloured,
        points=points,
        likely=likely,
        remarks=remarks,
    )
