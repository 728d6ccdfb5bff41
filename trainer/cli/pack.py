"""`attn-drill pack new`: begin a pack of your own. `attn-drill pack check`: hold a pack's content to the rules."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.cli.parameters import PackCommand
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.packs import pack_reader

app = typer.Typer(help="Author and verify challenges.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def pack() -> None:
    """Author and verify challenges."""


@app.command("new")
def new_pack(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Of the pack and of its folder, e.g. my-pack.", show_default=False
        ),
    ],
    parent: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Where the folder is to lie.")
    ] = Path("."),
) -> None:
    """Write a new pack with one challenge that works: change it, and add others."""
    from trainer.packs.scaffold import scaffold

    made = scaffold(name, parent)
    place = shlex.quote(str(made.folder))
    typer.echo(
        f"{made.folder} is a pack with one challenge, {made.challenge}. Change it, and put others beside it; README.md says how."
    )
    typer.echo(f"  attn-drill pack check {place}    holds it to the rules")
    typer.echo(f"  attn-drill start {made.challenge} --pack {place}    hands its challenge out")
    typer.echo(
        f"  python -m pip install {made.folder if made.folder.is_absolute() else shlex.quote(f'./{made.folder}')}    makes it known to every command"
    )


@app.command("check", cls=PackCommand)
def check_pack(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="The pack; by default that of --pack, or the one that comes with attn-drill.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--challenge", help="Only this challenge; may be given several times."),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", help="With how many fresh seeds everything is graded.")
    ] = 5,
    every: Annotated[
        int,
        typer.Option(
            "--every",
            metavar="N",
            help="Of the mistakes every Nth alone, other ones each time; for a quick look.",
        ),
    ] = 1,
    jobs: Annotated[
        int | None, typer.Option("--jobs", help="In how many processes; by default one a core.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--table", help="Write the table of mistakes and the checks that refuse them here."
        ),
    ] = None,
) -> None:
    """Check that what is right passes, what is wrong is refused, and nothing is missing."""
    if seeds < 1:
        raise DrillError(f"--seeds is {seeds}; it must be 1 or more.")
    if every < 1:
        raise DrillError(f"--every is {every}; it must be 1 or more.")
    if jobs is not None and jobs < 1:
        raise DrillError(f"--jobs is {jobs}; it must be 1 or more.")
    known_packs: KnownPacks = context.obj
    root = _root(known_packs.named) if folder is None else folder
    beside = (
        ()
        if root == pack_reader.built_in_pack()
        else tuple(one for one in known_packs.roots() if one != root.resolve())
    )
    challenges = (
        [pack_reader.find_challenge(root, name) for name in only]
        if only
        else list(pack_reader.read_pack(root))
    )
    if not challenges:
        raise DrillError(
            f"{root / 'challenges'} holds no challenge. CONTRIBUTING.md says how to add one."
        )
    from trainer.app.grade_file import cores, fresh_seed
    from trainer.model.pack_rows import Row
    from trainer.packs.pack_items import items, some_of
    from trainer.packs.strays import strays
    from trainer.quiz.bank_check import bank_troubles
    from trainer.report.pack_table import PackProgress, mistakes_table
    from trainer.report.wording import counted
    from trainer.server.pack_jobs import check_pack as check_all
    from trainer.server.pack_jobs import in_order

    rows: list[Row] = []
    chosen = [fresh_seed() for _ in range(seeds)]
    wanted = {one.id: some_of(items(one), every, chosen[0]) for one in challenges}
    total = sum(map(len, wanted.values()))
    with PackProgress(total, sys.stderr) as progress:
        for some in check_all(
            root, challenges, chosen, min(jobs or cores(), total), beside, wanted
        ):
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
    troubles = [
        *(f"files: {one}" for one in strays(root)),
        *(f"question bank: {one}" for one in bank_troubles(root, beside)),
    ]
    for trouble in troubles:
        typer.echo(f"BAD  {trouble}")
    for one in _hidden_when_installed(root, challenges):
        typer.echo(
            f"NOTE {one.folder}: attn-drill has a challenge {one.id} itself, so this one is found with --pack alone, and not where it is installed."
        )
    which = f", one mistake in {every}" if every > 1 else ""
    typer.echo(
        f"{len(rows) - len(bad)} passed, {len(bad) + len(troubles)} failed ({counted(len(challenges), 'challenge')}, {counted(seeds, 'seed')}{which})"
    )
    raise typer.Exit(1 if bad or troubles else 0)


def _hidden_when_installed(root: Path, challenges: Sequence[Challenge]) -> list[Challenge]:
    """Those whose ids the built-in pack has as well."""
    ours = pack_reader.built_in_pack()
    names = (
        set()
        if root.resolve() == ours
        else {folder.name for folder in pack_reader.challenge_folders(ours)}
    )
    return [one for one in challenges if one.folder.name in names]


def _root(named: Sequence[Path]) -> Path:
    """Return the pack that `--pack` names, else the built-in one.

    Raises:
        DrillError: if `--pack` names several.
    """
    if len(named) > 1:
        raise DrillError(
            f"--pack names {len(named)} packs, and one is checked at a time. "
            f"Name it: `attn-drill pack check {shlex.quote(str(named[0]))}`."
        )
    return named[0] if named else pack_reader.built_in_pack()
