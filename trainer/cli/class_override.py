"""`attn-drill class override OUT STUDENT`: set the points of a student by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainer.model.errors import DrillError


def override(
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="The folder with the results of `class grade`.")
    ],
    student: Annotated[
        str,
        typer.Argument(
            metavar="STUDENT", help="The name, id, user name, e-mail address or anonymous id."
        ),
    ],
    points: Annotated[
        float | None, typer.Option("--points", metavar="P", help="The points, 0 to 100.")
    ] = None,
    comment: Annotated[
        str, typer.Option("--comment", metavar="TEXT", help="The reason, which the student reads.")
    ] = "",
    challenge: Annotated[
        str,
        typer.Option("--challenge", metavar="ID", help="Decide only this challenge."),
    ] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Take the decision back.")] = False,
) -> None:
    """Set the points of a student by hand, and write all tables again."""
    from trainer.classroom.overrides import (
        OVERRIDES_FILE,
        Entry,
        append_entry,
        decided_file,
        read_overrides,
    )
    from trainer.classroom.result_store import ResultStore, read_record
    from trainer.classroom.students import StudentIndex
    from trainer.cli.class_outputs import write_outputs

    if (points is None) != remove:
        raise DrillError("Give either --points with the new points, or --remove.")
    if points is not None and not 0 <= points <= 100:
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
    decided = {(each.student, each.challenge) for each in read_overrides(out, record)}
    if remove and (name, challenge) not in decided:
        about = f" in {challenge}" if challenge else ""
        raise DrillError(f"{out / OVERRIDES_FILE} has no points for {name}{about}.")
    file = "" if remove else decided_file(record, name, challenge)
    append_entry(out / OVERRIDES_FILE, Entry(name, challenge, points, comment, file, remove))
    write_outputs(ResultStore(out, record.challenges), record, record)
