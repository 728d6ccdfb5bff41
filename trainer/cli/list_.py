"""`attn-drill list`: the challenges with level, minutes, what they build on, the learner's state, and the pack of those that are not ours."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from typing import Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.warn import warn, warn_journal
from trainer.practice.journal import default_journal


def list_challenges(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON list.")] = False,
) -> None:
    """List the challenges with level, minutes and state."""
    known_packs: KnownPacks = context.obj
    known = known_packs.catalogue()
    warn(known.troubles)
    journal = default_journal()
    progress = journal.progress()
    warn_journal(journal)
    rows = [
        (one, progress[one.id].state if one.id in progress else "new") for one in known.challenges
    ]
    names = {
        one.id: "" if pack.how == "built in" else pack.name
        for one in known.challenges
        for pack in (known.pack_of(one),)
    }
    if as_json:
        keys = (
            {
                "id": one.id,
                "title": one.title,
                "level": one.level,
                "minutes": one.minutes,
                "builds_on": list(one.builds_on),
                "state": state,
            }
            | {"pack": names[one.id] or None}
            for one, state in rows
        )
        typer.echo(json.dumps(list(keys), indent=2, ensure_ascii=False))
        return
    longest = max((len(one.id) for one, _ in rows), default=2)
    before = (
        longest + 2 + 6 + 2 + 3 + 2 + 7 + 2
    )  # where the column of packs begins, and without it the last one
    room = shutil.get_terminal_size((80, 24)).columns - before
    widest = max((len(name) for name in names.values()), default=0)
    column = (
        max(widest, 4) + 2 if widest and widest + 2 <= room - longest else 0
    )  # else the pack of a challenge has a line of its own
    before, room = before + column, room - column
    aside = room >= longest  # else what a challenge builds on has a line of its own
    heads = f"{'pack' if column else '':<{column}}{'builds on' if aside else ''}"
    typer.echo(
        f"{'challenge':<{longest}}  {'level':<6}  {'min':>3}  {'state':<7}  {heads}".rstrip()
    )
    colours = (
        {"passed": "blue", "started": "yellow"}
        if sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        else {}
    )
    for one, state in rows:
        words = (
            textwrap.wrap(", ".join(one.builds_on), room, break_on_hyphens=False) if aside else []
        )
        shown = typer.style(f"{state:<7}", fg=colours[state]) if state in colours else f"{state:<7}"
        last = f"{names[one.id] if column else '':<{column}}{words[0] if words else ''}"
        typer.echo(
            f"{one.id:<{longest}}  {one.level:<6}  {one.minutes:>3}  {shown}  {last}".rstrip()
        )
        for more in words[1:]:
            typer.echo(" " * before + more)
        if one.builds_on and not aside:
            typer.echo(f"  builds on {', '.join(one.builds_on)}")
        if names[one.id] and not column:
            typer.echo(f"  of the pack {names[one.id]}")
    typer.echo("\nattn-drill start ID hands one out.")
