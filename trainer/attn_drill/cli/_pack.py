"""`attn-drill pack new`: write a new pack. `attn-drill pack check`: verify a pack's content."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.open_packs import KnownPacks
from attn_drill.app.warn import say_json
from attn_drill.cli._command_line import AsJson, Jobs
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError, PackError
from attn_drill.model.words import plural
from attn_drill.packs import pack_reader
from attn_drill.packs.content_check import Row, items, sample_items

SCHEMA = "attn-drill.pack-check/1"
# Options of `new`.
_NAME = typer.Argument(metavar="NAME", help="The name of the pack, e.g. my-pack.")
_DIR = typer.Option("--dir", help="The folder to write the pack into.")

# Options of `check`.
_FOLDER = typer.Argument(
    metavar="[DIR]",
    help="The pack; by default the first of --pack and the settings, else the built-in pack.",
)
_ONLY = typer.Option("--challenge", help="Only this challenge; may be given several times.")
_EVERY = typer.Option(
    min=1,
    help="Check a sample: one in N of the mistakes and other right answers; a new sample "
    "each time.",
)


def new_pack(
    name: Annotated[str, _NAME],
    parent: Annotated[Path, _DIR] = Path("."),
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


def check_pack(
    context: typer.Context,
    folder: Annotated[Path | None, _FOLDER] = None,
    names: Annotated[list[str] | None, _ONLY] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Fresh seeds for every item.")] = 5,
    every: Annotated[int, _EVERY] = 1,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Check that right answers pass, known mistakes fail, and no part of a challenge is missing."""
    from attn_drill.app.grade_file import fresh_seed
    from attn_drill.exercises.questions import bank_problems
    from attn_drill.packs.content_check import misplaced_files
    from attn_drill.report.class_text import mistakes_table

    packs: KnownPacks = context.obj.packs
    typed = folder or packs.roots()[0]
    root = typed.resolve()  # a grading server works in another folder
    # The built-in pack refers to no other pack.
    others: list[Path] = []
    if root != pack_reader.built_in_pack():
        others = [other for other in packs.roots() if other != root]
    challenges, problems = _challenges(root, names or ())
    chosen_seeds = [fresh_seed() for _ in range(seeds)]
    rows = _check_items([root, *others], challenges, chosen_seeds, every, jobs)
    problems += misplaced_files(root)
    problems += [problem for row in rows for problem in row.problems]
    problems += bank_problems(root, others)
    # A missing file stops several items. The sentences name the folder as it was typed.
    problems = [text.replace(str(root), str(typed)) for text in dict.fromkeys(problems)]
    passed = sum(row.ok for row in rows)
    if as_json:
        say_json({"schema": SCHEMA, "passed": passed, "problems": problems, "items": rows})
    else:
        typer.echo(mistakes_table(rows))
        for problem in problems:
            typer.echo(f"BAD  {problem}")
        part = f", one mistake in {every}" if every > 1 else ""
        scope = f"{plural(len(challenges), 'challenge')}, {plural(seeds, 'seed')}{part}"
        typer.echo(f"{passed} passed, {len(problems)} failed ({scope})")
    raise typer.Exit(1 if problems else 0)


def _check_items(
    packs: Sequence[Path],
    challenges: Sequence[Challenge],
    seeds: Sequence[int],
    every: int,
    jobs: int | None,
) -> list[Row]:
    """Check a sample of the items of the challenges. A terminal shows a bar."""
    from attn_drill.app.grade_file import cores
    from attn_drill.report.class_text import CountedProgress
    from attn_drill.server import clients

    wanted = {challenge: items(challenge) for challenge in challenges}
    wanted = sample_items(wanted, every, seeds[0])
    count, is_quiet = sum(map(len, wanted.values())), not sys.stderr.isatty()
    with CountedProgress(count, sys.stderr, disable=is_quiet) as progress:
        return clients.check_pack(
            packs,
            seeds,
            jobs or cores(),
            wanted,
            lambda row: progress.count(f"{row.challenge} {row.kind} {row.name}"),
        )


def _challenges(root: Path, names: Sequence[str]) -> tuple[list[Challenge], list[str]]:
    """Return the challenges to check, and a sentence for each that cannot be read."""
    if names:
        return [pack_reader.find_challenge(root, name) for name in names], []
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
