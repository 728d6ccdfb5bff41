"""`attn-drill autograder DIR`: a folder that Gradescope runs, for one assignment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.cli.parameters import complete_id
from trainer.model.errors import DrillError
from trainer.packs import pack_reader


def autograder(
    context: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A new folder, or one that this command wrote before."),
    ],
    challenge_id: Annotated[
        str | None,
        typer.Option(
            "--challenge", metavar="ID", help="What is asked, e.g. gqa.", autocompletion=complete_id
        ),
    ] = None,
    assignment: Annotated[
        Path | None,
        typer.Option("--assignment", help="An assignment.toml, in the place of --challenge."),
    ] = None,
) -> None:
    """Write a ready autograder for Gradescope: what grades one assignment, with this version, its challenges and those of your packs that are asked."""
    from trainer.classroom.assignment import read_assignment
    from trainer.export.autograder_folder import write_autograder

    known_packs: KnownPacks = context.obj
    if (challenge_id is None) == (assignment is None):
        raise DrillError(
            "Say what is asked: --challenge ID, or --assignment FILE for several and for weights. One of them, not both."
        )
    if assignment is not None:
        parts = read_assignment(assignment, known_packs.find).asked
        asked = [known_packs.find(part.challenge) for part in parts]
        text = assignment.read_text(encoding="utf-8")
    else:
        asked = [known_packs.find(str(challenge_id))]
        text = f'[[challenge]]\nid = "{asked[0].id}"\n'
    write_autograder(
        folder,
        text,
        pack_reader.TRAINER.parent,
        [one for one in asked if one.folder.parent.parent != pack_reader.built_in_pack()],
    )
    typer.echo(
        f"{folder} is ready. Zip what is in it and upload that to Gradescope; {folder / 'README.md'} has the steps."
    )
