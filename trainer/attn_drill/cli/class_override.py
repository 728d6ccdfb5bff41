"""`attn-drill class override OUT STUDENT`: set the points of a student by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attn_drill.model.errors import DrillError

_RESULTS = typer.Argument(metavar="OUT", help="The folder with the results of `class grade`.")
_STUDENT = typer.Argument(
    metavar="STUDENT", help="The name, id, user name, e-mail address or anonymous id."
)
_POINTS = typer.Option(metavar="P", help="The points, 0 to 100.")
_COMMENT = typer.Option(metavar="TEXT", help="The reason, which the student reads.")
_CHALLENGE = typer.Option(metavar="ID", help="Decide only this challenge.")


def override(
    out: Annotated[Path, _RESULTS],
    student: Annotated[str, _STUDENT],
    points: Annotated[float, _POINTS],
    comment: Annotated[str, _COMMENT] = "",
    challenge: Annotated[str, _CHALLENGE] = "",
) -> None:
    """Set the points of a student by hand, and write all tables again."""
    from attn_drill.classroom.overrides import OVERRIDES_FILE, Entry, append_entry, decided_file
    from attn_drill.classroom.result_store import ResultStore, read_record
    from attn_drill.classroom.students import StudentIndex
    from attn_drill.cli.class_outputs import write_outputs

    if not 0 <= points <= 100:
        raise DrillError(f"--points is {points:g}; it must be 0 to 100.")
    record = read_record(out)
    if record is None:
        raise DrillError(
            f"{out} holds no results of `attn-drill class grade`. Name the folder of its --out."
        )
    if challenge and challenge not in record.challenges:
        raise DrillError(
            f"--challenge is {challenge!r}; this grading has {', '.join(record.challenges)}."
        )
    name = StudentIndex(record.students, record.salt).find(student).name
    if len(record.challenges) == 1:
        challenge = record.challenges[0]  # its points and the total are the same
    file = decided_file(record, name, challenge)
    append_entry(out / OVERRIDES_FILE, Entry(name, points, challenge, comment, file))
    write_outputs(ResultStore(out, record.challenges), record, record)
