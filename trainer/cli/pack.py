"""`attn-drill pack check`: hold a pack's content to the rules."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from trainer.cli.common import fresh_seed
from trainer.content import packs
from trainer.content.packs import built_in_pack
from trainer.core.words import DrillError

app = typer.Typer(help="Author and verify challenges.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def pack() -> None:
    """Author and verify challenges."""


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@app.command("check")
def check_pack(
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="The pack; by default the one that comes with attn-drill.")] = None,
    only: Annotated[list[str] | None, typer.Option("--challenge", help="Only this challenge; may be given several times.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="With how many fresh seeds everything is graded.")] = 5,
    jobs: Annotated[int | None, typer.Option("--jobs", help="In how many processes; by default one a core.")] = None,
    table: Annotated[Path | None, typer.Option("--table", help="Write the table of mistakes and the checks that refuse them here.")] = None,
) -> None:
    """Check that what is right passes, what is wrong is refused, and nothing is missing."""
    if seeds < 1:
        raise DrillError(f"--seeds is {seeds}; it must be 1 or more.")
    if jobs is not None and jobs < 1:
        raise DrillError(f"--jobs is {jobs}; it must be 1 or more.")
    root = built_in_pack() if folder is None else folder
    challenges = [packs.find_challenge(root, name) for name in only] if only else list(packs.read_pack(root))
    if not challenges:
        raise DrillError(f"{root / 'challenges'} holds no challenge. CONTRIBUTING.md says how to add one.")
    from trainer.display.pack_table import Progress, mistakes_table
    from trainer.grading.pack_check import Row, items
    from trainer.grading.pack_jobs import check_pack as check_all
    from trainer.grading.pack_jobs import in_order
    from trainer.practice.bank_check import bank_troubles

    rows: list[Row] = []
    chosen = [fresh_seed() for _ in range(seeds)]
    total = sum(len(items(one)) for one in challenges)
    with Progress(total, sys.stderr) as progress:
        for some in check_all(root, challenges, chosen, min(jobs or _cores(), total)):
            for row in some:
                rows.append(row)
                progress.advance(f"{row.challenge} {row.kind} {row.name}")
    rows = in_order(challenges, rows)
    typer.echo(mistakes_table(rows))
    if table is not None:
        table.write_text(mistakes_table(rows) + "\n", encoding="utf-8")
    bad = [row for row in rows if not row.ok]
    for row in bad:
        typer.echo(f"BAD  {row.challenge}: {row.kind} {row.name}: {row.message}")
    troubles = bank_troubles(root)
    for trouble in troubles:
        typer.echo(f"BAD  question bank: {trouble}")
    typer.echo(f"{len(rows) - len(bad)} passed, {len(bad) + len(troubles)} failed ({len(challenges)} challenges, {seeds} seeds)")
    raise typer.Exit(1 if bad or troubles else 0)
