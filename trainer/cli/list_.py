"""`attn-drill list`: the challenges, with the learner's state and the pack of each."""

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
from trainer.practice.progress import progress_of


def list_challenges(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the challenges with level, minutes and state."""
    known_packs: KnownPacks = context.obj
    catalogue = known_packs.catalogue()
    warn(catalogue.troubles)
    journal = default_journal()
    progress = progress_of(journal.facts())
    warn_journal(journal)
    rows = [
        (challenge, progress[challenge.id].state if challenge.id in progress else "new")
        for challenge in catalogue.challenges
    ]
    # The name of a challenge's pack; "" for the built-in pack.
    pack_names = {
        challenge.id: "" if pack.how == "built in" else pack.name
        for challenge in catalogue.challenges
        for pack in (catalogue.pack_of(challenge),)
    }
    if as_json:
        objects = [
            {
                "id": challenge.id,
                "title": challenge.title,
                "level": challenge.level,
                "minutes": challenge.minutes,
                "asked": challenge.asked,
                "builds_on": list(challenge.builds_on),
                "state": state,
                "pack": pack_names[challenge.id] or None,
            }
            for challenge, state in rows
        ]
        typer.echo(json.dumps(objects, indent=2, ensure_ascii=False))
        return
    longest_id = max((len(challenge.id) for challenge, _ in rows), default=2)
    # The columns before that of the pack: id, level, minutes, asked (if there is room) and state.
    before = longest_id + 2 + 6 + 2 + 3 + 2 + 7 + 2
    room = shutil.get_terminal_size((80, 24)).columns - before
    asked_width = 11 if room >= 9 else 0
    before, room = before + asked_width, room - asked_width
    longest_pack = max((len(name) for name in pack_names.values()), default=0)
    # On a narrow terminal the pack of a challenge has its own line.
    has_pack_column = 0 < longest_pack <= room - longest_id - 2
    pack_width = max(longest_pack, 4) + 2 if has_pack_column else 0
    before, room = before + pack_width, room - pack_width
    # On a narrow terminal the challenges that a challenge builds on have their own line.
    has_bases_column = room >= longest_id
    headers = f"{'pack' if pack_width else '':<{pack_width}}"
    headers += "builds on" if has_bases_column else ""
    typer.echo(
        f"{'challenge':<{longest_id}}  {'level':<6}  {'min':>3}  "
        f"{'asked' if asked_width else '':<{asked_width}}{'state':<7}  "
        f"{headers}".rstrip()
    )
    colours = (
        {"passed": "blue", "started": "yellow"}
        if sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        else {}
    )
    for challenge, state in rows:
        bases = ", ".join(challenge.builds_on)
        base_lines = textwrap.wrap(bases, room, break_on_hyphens=False) if has_bases_column else []
        shown_state = f"{state:<7}"
        if state in colours:
            shown_state = typer.style(shown_state, fg=colours[state])
        pack_name = pack_names[challenge.id]
        last = f"{pack_name if pack_width else '':<{pack_width}}"
        last += base_lines[0] if base_lines else ""
        columns = f"{challenge.id:<{longest_id}}  {challenge.level:<6}  {challenge.minutes:>3}"
        asked = f"{challenge.asked if asked_width else '':<{asked_width}}"
        typer.echo(f"{columns}  {asked}{shown_state}  {last}".rstrip())
        for line in base_lines[1:]:
            typer.echo(" " * before + line)
        if bases and not has_bases_column:
            typer.echo(f"  builds on {bases}")
        if pack_name and not pack_width:
            typer.echo(f"  of the pack {pack_name}")
    typer.echo("\nattn-drill start ID hands out a challenge.")
