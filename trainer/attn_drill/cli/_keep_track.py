"""`attn-drill list`, `stats`, `conventions`, `journal export` and `journal import`."""

from __future__ import annotations

import re
import shlex
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from attn_drill.app.open_packs import settings
from attn_drill.app.warn import say, say_json, warn
from attn_drill.cli._ask import is_coloured, width
from attn_drill.cli._command_line import AsJson, Desk, complete_id, in_columns
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Attempted, Diagnosed, Reviewed
from attn_drill.practice.progress import (
    ChallengeProgress,
    passed_challenges,
    progress_of,
    route_states,
)
from attn_drill.report.wording import visible

SCHEMA = "attn-drill.conventions/1"
# The page ends with the addresses of its links, which only a web page needs.
_LINK_TARGET = re.compile(r"(?m)^\[[a-z-]+\]: .*\n?")


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
    passed = passed_challenges(desk.journal.facts())
    states = route_states(catalogue.routes, passed)
    longest = max((len(state.title) for state in states), default=0)
    typer.echo()
    for state in states:
        typer.echo(f"{visible(state.title):<{longest}}  {state}")
    typer.echo("\nattn-drill start ID hands out a challenge.")


def stats(context: typer.Context, as_json: AsJson = False) -> None:
    """Show your progress: days, topics, times, mistakes, next challenges."""
    from attn_drill.packs.mistakes import readable_mistakes
    from attn_drill.packs.question_bank import read_bank
    from attn_drill.practice.statistics import statistics
    from attn_drill.report.code_text import console
    from attn_drill.report.results_text import EMPTY, render_statistics, statistics_as_values

    desk: Desk = context.obj
    catalogue = desk.packs.catalogue()
    bank = read_bank(catalogue.roots)
    facts = desk.journal.facts()
    diagnosed = {fact.subject for fact in facts if isinstance(fact, Diagnosed)}
    mistakes, troubles = readable_mistakes(
        challenge for challenge in catalogue.challenges if challenge.id in diagnosed
    )
    warn(troubles)
    now = time.time()
    learner = statistics(facts, catalogue.challenges, mistakes, now)
    if as_json:
        say_json(statistics_as_values(learner, bank.titles))
    elif not any(isinstance(fact, Attempted | Reviewed) for fact in facts):
        say(EMPTY)
    else:
        out = console()
        out.print(render_statistics(learner, bank.titles, now, out.width))


def export_journal(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> None:
    """Write a copy of the journal, for another machine or as a backup."""
    from attn_drill.practice.journal import export

    desk: Desk = context.obj
    count = export(desk.journal, file, overwrite=force)
    say(
        f"{file} is written: {count} {'entry' if count == 1 else 'entries'} of the journal. "
        f"`attn-drill journal import {shlex.quote(str(file))}` reads it on any machine."
    )


def import_journal(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `journal export`.")],
) -> None:
    """Add an exported journal to this journal. Entries that exist are not added again."""
    from attn_drill.practice.journal import read_export

    desk: Desk = context.obj
    rows = read_export(file)
    new = desk.journal.add_rows(rows)
    if new is None:
        raise DrillError("Nothing was imported. The journal cannot be used.")
    old = len(rows) - new
    say(
        f"{new} {'entry was' if new == 1 else 'entries were'} new, "
        f"{old} {'was' if old == 1 else 'were'} already in the journal."
    )


def conventions(
    context: typer.Context,
    challenge_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]", help="Only what matters for this challenge.", autocompletion=complete_id
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show where public code disagrees, and what is graded here."""
    from attn_drill.cli._practise import show_prompt

    page = _LINK_TARGET.sub("", pack_reader.conventions(settings().language))
    sections = sections_of(page)
    if challenge_id is not None:
        desk: Desk = context.obj
        challenge_id = desk.packs.find(challenge_id).id
        sections = [section for section in sections if f"[{challenge_id}]" in section]
    if as_json:
        say_json({"schema": SCHEMA, "challenge": challenge_id, "sections": sections})
    elif not sections:
        typer.echo(f"The page of conventions has nothing about {challenge_id}.")
    else:
        show_prompt("\n\n".join(sections))


def sections_of(page: str) -> list[str]:
    """Return the sections of a page, each with its heading.

    >>> sections_of("# Page\\n\\n## Scale\\nfor [mha]\\n\\n### Mask\\nfor [sdpa]\\n")
    ['# Page', '## Scale\\nfor [mha]', '### Mask\\nfor [sdpa]']
    """
    return [section.strip() for section in re.split(r"(?m)^(?=##+ )", page)]
