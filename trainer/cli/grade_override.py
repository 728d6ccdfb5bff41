"""`attn-drill grade override OUT STUDENT`: set the points of a student by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.model.errors import DrillError

if TYPE_CHECKING:
    from trainer.classroom.result_store import ClassFile


def override(
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="The folder with the results of `grade`.")
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
        str | None,
        typer.Option(
            "--challenge", metavar="ID", help="Set the points of this challenge, not the total."
        ),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the decision back.")] = False,
) -> None:
    """Set the points of a student by hand, and write all tables again."""
    from trainer.classroom.overrides import OVERRIDES_FILE, add_override
    from trainer.classroom.records import Override
    from trainer.classroom.result_store import ResultStore
    from trainer.classroom.students import StudentIndex
    from trainer.cli.grade_outputs import known_overrides, write_outputs

    if (points is None) != remove:
        raise DrillError("Give either --points with the new points, or --remove.")
    if points is not None and not (math.isfinite(points) and 0 <= points <= 100):
        raise DrillError(f"--points is {points:g}; it must be 0 to 100.")
    record = ResultStore(out, []).class_file()
    if record is None:
        raise DrillError(
            f"{out} holds no results of `attn-drill grade`. Name the folder of its --out."
        )
    if challenge is not None and challenge not in record.challenges:
        raise DrillError(
            f"--challenge is {challenge!r}; this grading has {', '.join(record.challenges)}."
        )
    name = StudentIndex(record.students, record.salt).find(student).name
    file = out / OVERRIDES_FILE
    if points is not None:
        known_overrides(ResultStore(out, record.challenges), record)  # repair other entries first
        add_override(file, Override(name, challenge or "", points, comment))
    else:
        _remove(file, name, challenge or "", record)
    write_outputs(ResultStore(out, record.challenges), record)


def _remove(file: Path, name: str, challenge: str, record: ClassFile) -> None:
    """Remove the points of a student from the file.

    Args:
        file: the file of overrides.
        name: the name of the student.
        challenge: the id of the challenge, or "" for the total.
        record: the students of the class.

    Raises:
        DrillError: the file has no points for this student and challenge.
    """
    from trainer.classroom.overrides import read_overrides, remove_override
    from trainer.classroom.students import StudentIndex

    # A person who edited the file may have named the student by id or address.
    index = StudentIndex(record.students, record.salt)
    keys = {
        entry.student for entry in read_overrides(file) if index.find(entry.student).name == name
    }
    # With a single challenge, its points and the total are the same.
    challenges = {challenge} if len(record.challenges) > 1 else {"", *record.challenges}
    removed = [remove_override(file, key, each) for key in keys for each in sorted(challenges)]
    if not any(removed):
        about = f" in {challenge}" if challenge else ""
        raise DrillError(f"{file} has no points for {name}{about}. Nothing was removed.")
