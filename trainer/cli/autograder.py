"""`attn-drill autograder DIR`: a folder that Gradescope runs, for one assignment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainer.cli.common import complete_id, find
from trainer.content import packs
from trainer.core.words import DrillError


def autograder(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, or one that this command wrote before.")],
    challenge_id: Annotated[str | None, typer.Option("--challenge", metavar="ID", help="What is asked, e.g. gqa.", autocompletion=complete_id)] = None,
    assignment: Annotated[Path | None, typer.Option("--assignment", help="An assignment.toml, in the place of --challenge.")] = None,
) -> None:
    """Write a ready autograder for Gradescope: what grades one assignment, with this version and its challenges."""
    from trainer.classroom.assignment import read_assignment
    from trainer.display.autograder import write_autograder

    if (challenge_id is None) == (assignment is None):
        raise DrillError("Say what is asked: --challenge ID, or --assignment FILE for several and for weights. One of them, not both.")
    if assignment is not None:
        asked = [one.challenge for one in read_assignment(assignment, find).asked]
        text = assignment.read_text(encoding="utf-8")
    else:
        asked = [find(str(challenge_id)).id]
        text = f'[[challenge]]\nid = "{asked[0]}"\n'
    for one in asked:
        if (root := find(one).folder.parent.parent) != packs.built_in_pack():
            raise DrillError(f"{one} is of the pack {root}, which the autograder would not have. Ask for challenges that come with attn-drill.")
    write_autograder(folder, text, packs.TRAINER.parent)
    typer.echo(f"{folder} is ready. Zip what is in it and upload that to Gradescope; {folder / 'README.md'} has the steps.")
