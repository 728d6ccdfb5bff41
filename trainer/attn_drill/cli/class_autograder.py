"""`attn-drill class autograder DIR`: write a Gradescope autograder for one assignment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.open_packs import KnownPacks
from attn_drill.cli.parameters import AssignedId, AssignmentPath


def autograder(
    context: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A new folder, or one that this command wrote before."),
    ],
    challenge_id: AssignedId = None,
    assignment: AssignmentPath = None,
) -> None:
    """Write an autograder for Gradescope that grades one assignment with this version.

    It includes the challenges of your own packs that the assignment needs.
    """
    from attn_drill.app.warn import say
    from attn_drill.classroom.assignment import read_assignment
    from attn_drill.cli.class_run import check_one_of
    from attn_drill.export.autograder_folder import write_autograder
    from attn_drill.packs import pack_reader

    packs: KnownPacks = context.obj.packs
    check_one_of(challenge_id or "", str(assignment or ""))
    if assignment is not None:
        names = read_assignment(assignment, packs.find, needs_due=False).challenge_ids
        text = assignment.read_text(encoding="utf-8")
    else:
        names = [packs.find(str(challenge_id)).id]
        text = f'[[challenge]]\nid = "{names[0]}"\n'
    challenges = [packs.find(name) for name in names]
    built_in = pack_reader.built_in_pack()
    # The autograder installs attn-drill, which has the built-in pack.
    write_autograder(
        folder,
        text,
        [challenge for challenge in challenges if challenge.folder.parent.parent != built_in],
    )
    say(
        f"{folder} is ready. Zip the files in it and upload the zip to Gradescope;"
        f" {folder / 'README.md'} has the steps."
    )
