"""`attn-drill start ID`: hand out the stub and show the prompt. Never over existing work."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from trainer.cli.common import complete_id, find, language, say_trouble, write_new
from trainer.content import packs
from trainer.core.words import Challenge, DrillError
from trainer.practice.journal import default_journal


def start(
    challenge_id: Annotated[str, typer.Argument(metavar="ID", help="The challenge, e.g. gqa.", autocompletion=complete_id)],
    folder: Annotated[Path, typer.Option("--dir", help="The folder for the stub.")] = Path("."),
) -> None:
    """Write the stub of a challenge and show its prompt."""
    challenge = find(challenge_id)
    path = folder / challenge.file_name
    stub = packs.stub(challenge)
    if path.is_dir():
        raise DrillError(f"{path} is a folder; the stub would be a file of that name. Choose another folder with --dir.")
    kept = path.exists()
    if not kept:
        write_new(path, stub)
    journal = default_journal()
    journal.record_start(challenge.id, path.resolve(), time.time())
    show_prompt(packs.prompt(challenge, language()))
    typer.echo()
    typer.echo(next_steps(challenge, path, kept=kept))
    say_trouble(journal)


def next_steps(challenge: Challenge, path: Path, *, kept: bool) -> str:
    """What to type next, with the file's place."""
    file = "" if path.parent == Path(".") else f" {path}"
    lines = [
        f"{path} is already there and is left as it is; `attn-drill reset {challenge.id}` gives a fresh stub."
        if kept
        else f"{path} is the stub: write your answer there."
    ]
    lines.append(f"  attn-drill check {challenge.id}{file}    grades it    par time {challenge.minutes} min")
    lines.append(f"  attn-drill hint {challenge.id}    a hint, three in all")
    return "\n".join(lines)


def show_prompt(text: str) -> None:
    """Rendered on a terminal, as it is in a pipe."""
    if not sys.stdout.isatty():
        typer.echo(text.rstrip())
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(highlight=False).print(Markdown(text))
