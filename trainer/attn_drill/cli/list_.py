"""`attn-drill list`: the challenges, with title and the learner's state."""

from __future__ import annotations

from typing import Any

import typer

from attn_drill.app.warn import say_json, warn
from attn_drill.cli.ask import is_coloured, width
from attn_drill.cli.columns import in_columns
from attn_drill.cli.parameters import AsJson, Desk
from attn_drill.practice.progress import ChallengeProgress, progress_of
from attn_drill.report.visible import visible


def list_challenges(context: typer.Context, as_json: AsJson = False) -> None:
    """List the challenges with title, level, minutes and state."""
    desk: Desk = context.obj
    catalogue = desk.packs.catalogue()
    warn(catalogue.troubles)
    progress = progress_of(desk.journal.facts())
    rows: list[dict[str, Any]] = []
    for challenge in catalogue.challenges:
        pack = catalogue.pack_of(challenge)
        rows.append(
            {
                "id": challenge.id,
                "title": challenge.title,
                "level": challenge.level,
                "minutes": challenge.minutes,
                "asked": challenge.asked,
                "builds_on": challenge.builds_on,
                "state": progress.get(challenge.id, ChallengeProgress()).state,
                "pack": None if pack.how == "built in" else pack.name,
            }
        )
    if as_json:
        say_json(rows)
        return
    is_wide = width() >= 100
    heads = {"challenge": "id", "level": "level", "min": "minutes", "state": "state"}
    if is_wide:
        heads["asked"] = "asked"
    table = []
    for row in rows:
        title = row["title"]
        if row["pack"]:
            title += f" ({row['pack']})"
        if is_wide and row["builds_on"]:
            title += f" (builds on {', '.join(row['builds_on'])})"
        table.append([*(str(row[key]) for key in heads.values()), visible(title)])
    colours = {"passed": "blue", "started": "yellow"} if is_coloured() else {}
    for line in in_columns([*heads, "title"], table, width(), colours):
        typer.echo(line)
    typer.echo("\nattn-drill start ID hands out a challenge.")
