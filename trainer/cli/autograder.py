"""`attn-drill autograder DIR`: write a Gradescope autograder for one assignment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.warn import say
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
            "--challenge", metavar="ID", help="The challenge, e.g. gqa.", autocompletion=complete_id
        ),
    ] = None,
    assignment: Annotated[
        Path | None,
        typer.Option("--assignment", help="An assignment.toml, instead of --challenge."),
    ] = None,
) -> None:
    """Write an autograder for Gradescope that grades one assignment with this version.

    It includes the challenges of your own packs that the assignment needs.
    """
    from trainer.classroom.assignment import read_assignment
    from trainer.export.autograder_folder import write_autograder

    known_packs: KnownPacks = context.obj
    if (challenge_id is None) == (assignment is None):
        raise DrillError(
            "Name the challenge with --challenge ID, or an assignment with --assignment FILE, for"
            " several challenges or for weights. Give one of the two options."
        )
    if assignment is not None:
        entries = read_assignment(assignment, known_packs.find).challenges
        challenges = [known_packs.find(entry.challenge) for entry in entries]
        text = assignment.read_text(encoding="utf-8")
    else:
        challenges = [known_packs.find(str(challenge_id))]
        text = f'[[challenge]]\nid = "{challenges[0].id}"\n'
    built_in = pack_reader.built_in_pack()
    write_autograder(
        folder,
        text,
        [challenge for challenge in challenges if challenge.folder.parent.parent != built_in],
    )
    say(
        f"{folder} is ready. Zip the files in it and upload the zip to Gradescope;"
        f" {folder / 'README.md'} has the steps."
    )
