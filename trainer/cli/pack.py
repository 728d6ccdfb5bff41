"""`attn-drill pack new`: write a new pack. `attn-drill pack check`: verify a pack's content."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.cli.parameters import DrillCommand, PackCommand
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError, PackError
from trainer.packs import pack_reader

app = typer.Typer(help="Author and verify challenges.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def pack() -> None:
    """Author and verify challenges."""


@app.command("new", cls=DrillCommand, short_help="write a new pack with one challenge")
def new_pack(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The name of the pack and of its folder, e.g. my-pack.",
            show_default=False,
        ),
    ],
    parent: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="The folder to write the pack into.")
    ] = Path("."),
) -> None:
    """Write a new pack with one working challenge to change and to copy."""
    from trainer.packs.scaffold import scaffold

    made = scaffold(name, parent)
    place = shlex.quote(str(made.folder))
    to_install = made.folder if made.folder.is_absolute() else shlex.quote(f"./{made.folder}")
    typer.echo(
        f"{made.folder} is a pack with one challenge, {made.challenge}. "
        "Change the challenge or add others. README.md in the pack says how."
    )
    typer.echo(f"  attn-drill pack check {place}    verifies the pack")
    typer.echo(f"  attn-drill start {made.challenge} --pack {place}    starts its challenge")
    typer.echo(f"  python -m pip install {to_install}    makes the pack known to every command")


@app.command("check", cls=PackCommand, short_help="verify the challenges of a pack")
def check_pack(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="The pack; by default the pack of --pack, or the built-in pack.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--challenge", help="Only this challenge; may be given several times."),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", help="Grade every item with this many fresh seeds.")
    ] = 5,
    every: Annotated[
        int,
        typer.Option(
            "--every",
            metavar="N",
            help="Check a sample: every Nth mistake or pair, and four times as large a share of "
            "the other right answers; a new sample each time.",
        ),
    ] = 1,
    with_pairs: Annotated[
        bool,
        typer.Option(
            "--pairs",
            help="Check only that every pair of mistakes in different statements is refused.",
        ),
    ] = False,
    jobs: Annotated[
        int | None, typer.Option("--jobs", help="The number of processes; by default one per core.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--table", help="Write the table of mistakes, with the checks that fail, to this file."
        ),
    ] = None,
) -> None:
    """Check that right answers pass, known mistakes fail, and no part of a challenge is missing."""
    if seeds < 1:
        raise DrillError(f"--seeds is {seeds}; it must be 1 or more.")
    if every < 1:
        raise DrillError(f"--every is {every}; it must be 1 or more.")
    if jobs is not None and jobs < 1:
        raise DrillError(f"--jobs is {jobs}; it must be 1 or more.")
    known_packs: KnownPacks = context.obj
    root = _root(known_packs.named) if folder is None else folder
    other_packs = (
        ()
        if root == pack_reader.built_in_pack()
        else tuple(other for other in known_packs.roots() if other != root.resolve())
    )
    challenges = (
        [pack_reader.find_challenge(root, name) for name in only]
        if only
        else list(pack_reader.read_pack(root))
    )
    if not challenges:
        raise DrillError(
            f"{root / 'challenges'} contains no challenge. docs/packs.md says how to add one."
        )
    from trainer.app.grade_file import cores, fresh_seed
    from trainer.model.quantities import plural
    from trainer.packs.pack_items import items, pairs, sample_items
    from trainer.packs.pack_rows import Row
    from trainer.packs.strays import strays
    from trainer.report.pack_table import PackProgress, mistakes_table
    from trainer.server.pack_jobs import check_pack as check_all
    from trainer.server.pack_jobs import sorted_rows

    rows: list[Row] = []
    chosen = [fresh_seed() for _ in range(seeds)]
    items_of = pairs if with_pairs else items
    all_items = {challenge.id: items_of(challenge) for challenge in challenges}
    wanted = sample_items(all_items, every, chosen[0])
    total = sum(map(len, wanted.values()))
    with PackProgress(total, sys.stderr) as progress:
        for new_rows in check_all(
            root, challenges, chosen, min(jobs or cores(), total), other_packs, wanted
        ):
            for row in new_rows:
                rows.append(row)
                progress.count(f"{row.challenge} {row.kind} {row.name}")
    rows = sorted_rows(challenges, rows)
    typer.echo(mistakes_table(rows))
    if table is not None:
        table.write_text(mistakes_table(rows) + "\n", encoding="utf-8")
    bad = [row for row in rows if not row.ok]
    for row in bad:
        typer.echo(f"BAD  {row.challenge}: {row.kind} {row.name}: {row.message}")
    troubles = [
        *(f"files: {trouble}" for trouble in strays(root)),
        *(f"question bank: {trouble}" for trouble in _bank_troubles(root, other_packs)),
    ]
    for trouble in troubles:
        typer.echo(f"BAD  {trouble}")
    for challenge in _hidden_when_installed(root, challenges):
        typer.echo(
            f"NOTE {challenge.folder}: the built-in pack also has a challenge {challenge.id}. "
            "So this challenge is found only with --pack, and not if its pack is installed."
        )
    unit = "pair" if with_pairs else "mistake"
    part = f", one {unit} in {every}" if every > 1 else ""
    scope = f"{plural(len(challenges), 'challenge')}, {plural(seeds, 'seed')}{part}"
    typer.echo(f"{len(rows) - len(bad)} passed, {len(bad) + len(troubles)} failed ({scope})")
    raise typer.Exit(1 if bad or troubles else 0)


def _bank_troubles(root: Path, other_packs: Sequence[Path]) -> list[str]:
    """Return a sentence for each problem of the question bank, also if it cannot be read."""
    from trainer.quiz.bank_check import bank_troubles

    try:
        return bank_troubles(root, other_packs)
    except PackError as error:
        return [str(error)]


def _hidden_when_installed(root: Path, challenges: Sequence[Challenge]) -> list[Challenge]:
    """Return the challenges whose ids also exist in the built-in pack."""
    ours = pack_reader.built_in_pack()
    names = (
        set()
        if root.resolve() == ours
        else {folder.name for folder in pack_reader.challenge_folders(ours)}
    )
    return [challenge for challenge in challenges if challenge.folder.name in names]


def _root(named: Sequence[Path]) -> Path:
    """Return the pack that `--pack` names, else the built-in one.

    Raises:
        DrillError: if `--pack` names several.
    """
    if len(named) > 1:
        raise DrillError(
            f"--pack names {len(named)} packs, but only one can be checked at a time. "
            f"Name it: `attn-drill pack check {shlex.quote(str(named[0]))}`."
        )
    return named[0] if named else pack_reader.built_in_pack()
