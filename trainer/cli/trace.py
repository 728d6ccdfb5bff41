"""`attn-drill trace ID [FILE]`: what every line makes, with the reference's named results beside it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from trainer.cli.check import grader_for
from trainer.cli.common import complete_id, find, fresh_seed, learner_file, read_source
from trainer.practice.journal import default_journal


def trace(
    challenge_id: Annotated[
        str,
        typer.Argument(metavar="ID", help="The challenge, e.g. gqa.", autocompletion=complete_id),
    ],
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Your file; by default the stub's place."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", min=0, help="The cases of this seed; by default of your last attempt."
        ),
    ] = None,
    case: Annotated[
        int | None,
        typer.Option(
            "--case", help="This case, by its number in a report; by default the first that fails."
        ),
    ] = None,
) -> None:
    """Show the shape, dtype and range of what each line of your file makes."""
    challenge = find(challenge_id)
    journal = default_journal()
    path = learner_file(challenge, file, journal)
    source = read_source(path)
    if seed is None:
        last = journal.last_seed(challenge.id)
        seed = fresh_seed() if last is None else last
    with grader_for() as grader:
        found = grader.trace(challenge, source, str(path), seed, case)
    from trainer.display.trace import show_trace

    show_trace(found, sys.stdout)
