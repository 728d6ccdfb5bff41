"""`attn-drill pack new`: write a new pack. `attn-drill pack check`: verify a pack's content."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.open_packs import KnownPacks
from attn_drill.cli.parameters import DrillCommand, PackCommand
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError, PackError
from attn_drill.packs import pack_reader

app = typer.Typer(help="Author and verify challenges.", rich_markup_mode=None)


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
    from attn_drill.packs.scaffold import CHALLENGE, scaffold

    folder = scaffold(name, parent)
    place = shlex.quote(str(folder))
    to_install = folder if folder.is_absolute() else shlex.quote(f"./{folder}")
    typer.echo(
        f"{folder} is a pack with one challenge, {CHALLENGE}. "
        "Change the challenge or add others. README.md in the pack says how."
    )
    typer.echo(f"  attn-drill pack check {place}    verifies the pack")
    typer.echo(f"  attn-drill start {CHALLENGE} --pack {place}    starts its challenge")
    typer.echo(f"  python -m pip install {to_install}    makes the pack known to every command")


_FOLDER = typer.Argument(
    metavar="[DIR]",
    help="The pack; by default the first of --pack and the settings, else the built-in pack.",
)
_ONLY = typer.Option("--challenge", help="Only this challenge; may be given several times.")
_SEEDS = typer.Option("--seeds", min=1, help="Grade every item with this many fresh seeds.")
_EVERY = typer.Option(
    "--every",
    min=1,
    metavar="N",
    help="Check a sample: one in N of the mistakes, pairs and other right answers; a new sample "
    "each time.",
)
_PAIRS = typer.Option(
    "--pairs", help="Check only that every pair of mistakes in different statements is refused."
)
_JOBS = typer.Option("--jobs", min=1, help="The number of processes; by default one per core.")


@app.command("check", cls=PackCommand, short_help="verify the challenges of a pack")
def check_pack(
    context: typer.Context,
    folder: Annotated[Path | None, _FOLDER] = None,
    only: Annotated[list[str] | None, _ONLY] = None,
    seeds: Annotated[int, _SEEDS] = 5,
    every: Annotated[int, _EVERY] = 1,
    with_pairs: Annotated[bool, _PAIRS] = False,
    jobs: Annotated[int | None, _JOBS] = None,
) -> None:
    """Check that right answers pass, known mistakes fail, and no part of a challenge is missing."""
    from attn_drill.app.grade_file import cores, fresh_seed
    from attn_drill.model.quantities import plural
    from attn_drill.packs.content_check import misplaced_files
    from attn_drill.packs.pack_items import items, pairs, sample_items
    from attn_drill.quiz.bank_check import bank_problems
    from attn_drill.report.class_progress import CountedProgress
    from attn_drill.report.pack_table import mistakes_table
    from attn_drill.server import pack_jobs

    known_packs: KnownPacks = context.obj
    typed = folder or known_packs.roots()[0]
    root = typed.resolve()  # a grading server works in another folder
    is_built_in = root == pack_reader.built_in_pack()
    packs = [root, *(other for other in known_packs.roots() if other != root and not is_built_in)]
    challenges, problems = _challenges(root, only or ())
    chosen_seeds = [fresh_seed() for _ in range(seeds)]
    items_of = pairs if with_pairs else items
    all_items = {challenge: items_of(challenge) for challenge in challenges}
    wanted = sample_items(all_items, every, chosen_seeds[0])
    count, is_quiet = sum(map(len, wanted.values())), not sys.stderr.isatty()
    with CountedProgress(count, sys.stderr, disable=is_quiet) as progress:
        rows = pack_jobs.check_pack(
            packs,
            chosen_seeds,
            jobs or cores(),
            wanted,
            lambda row: progress.count(f"{row.challenge} {row.kind} {row.name}"),
        )
    typer.echo(mistakes_table(rows))
    problems += misplaced_files(root)
    problems += [problem for row in rows for problem in row.problems]
    problems += bank_problems(root, packs[1:])
    problems = list(dict.fromkeys(problems))  # a missing file stops several items
    for problem in problems:
        typer.echo(f"BAD  {problem.replace(str(root), str(typed))}")
    unit = "pair" if with_pairs else "mistake"
    part = f", one {unit} in {every}" if every > 1 else ""
    scope = f"{plural(len(challenges), 'challenge')}, {plural(seeds, 'seed')}{part}"
    passed = sum(row.ok for row in rows)
    typer.echo(f"{passed} passed, {len(problems)} failed ({scope})")
    raise typer.Exit(1 if problems else 0)


def _challenges(root: Path, only: Sequence[str]) -> tuple[list[Challenge], list[str]]:
    """Return the challenges to check, and a sentence for each that cannot be read."""
    if only:
        return [pack_reader.find_challenge(root, name) for name in only], []
    challenges: list[Challenge] = []
    problems: list[str] = []
    for path in pack_reader.challenge_folders(root):
        try:
            challenges.append(pack_reader.read_challenge(path))
        except PackError as error:
            problems.append(str(error))
    try:
        challenges = list(pack_reader.prerequisites_first(challenges))
    except PackError as error:
        problems.append(str(error))
    if not challenges and not problems:
        raise DrillError(
            f"{root / 'challenges'} contains no challenge. docs/packs.md says how to add one."
        )
    return challenges, problems
