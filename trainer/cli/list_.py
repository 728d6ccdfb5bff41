"""`attn-drill list`: the challenges with level, minutes, what they build on, and the learner's state."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from typing import Annotated

import typer

from trainer.cli.common import say_trouble
from trainer.content import packs
from trainer.practice.journal import default_journal


def list_challenges(as_json: Annotated[bool, typer.Option("--json", help="As a JSON list.")] = False) -> None:
    """List the challenges with level, minutes and state."""
    challenges = packs.read_pack(packs.built_in_pack())
    journal = default_journal()
    progress = journal.progress()
    say_trouble(journal)
    rows = [(one, progress[one.id].state if one.id in progress else "new") for one in challenges]
    if as_json:
        keys = (
            {"id": one.id, "title": one.title, "level": one.level, "minutes": one.minutes, "builds_on": list(one.builds_on), "state": state}
            for one, state in rows
        )
        typer.echo(json.dumps(list(keys), indent=2, ensure_ascii=False))
        return
    longest = max((len(one.id) for one, _ in rows), default=2)
    before = longest + 2 + 6 + 2 + 3 + 2 + 7 + 2  # where the last column begins
    room = shutil.get_terminal_size((80, 24)).columns - before
    aside = room >= longest  # else what a challenge builds on has a line of its own
    typer.echo(f"{'challenge':<{longest}}  {'level':<6}  {'min':>3}  {'state':<7}  {'builds on' if aside else ''}".rstrip())
    colours = {"passed": "blue", "started": "yellow"} if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else {}
    for one, state in rows:
        words = textwrap.wrap(", ".join(one.builds_on), room, break_on_hyphens=False) if aside else []
        shown = typer.style(f"{state:<7}", fg=colours[state]) if state in colours else f"{state:<7}"
        typer.echo(f"{one.id:<{longest}}  {one.level:<6}  {one.minutes:>3}  {shown}  {words[0] if words else ''}".rstrip())
        for more in words[1:]:
            typer.echo(" " * before + more)
        if one.builds_on and not aside:
            typer.echo(f"  builds on {', '.join(one.builds_on)}")
    typer.echo("\nattn-drill start ID hands one out.")
