"""`attn-drill doctor`: show versions, packs, the journal, and the isolation on this machine."""

from __future__ import annotations

import itertools
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trainer import __version__
from trainer.app.open_packs import KnownPacks
from trainer.app.warn import warn
from trainer.packs import pack_reader
from trainer.practice.journal import default_journal

if TYPE_CHECKING:
    from trainer.sandbox.copy_check import Copies


def doctor(context: typer.Context) -> None:
    """Show versions and what this machine supports."""
    typer.echo(
        f"attn-drill {__version__}, Python {platform.python_version()}, {platform.platform()}"
    )
    for name in ("torch", "numpy", "typer", "rich", "msgspec", "textual", "watchfiles", "fsrs"):
        typer.echo(f"  {name} {_version(name)}")
    known_packs: KnownPacks = context.obj
    known = known_packs.catalogue()
    words = itertools.chain(["challenges"], itertools.repeat(""))
    for pack, word in zip(known.packs, words, strict=False):
        count = sum(known.pack_of(challenge) == pack for challenge in known.challenges)
        typer.echo(f"{word:<10}  {count} in {pack.root} ({pack.name}, {pack.how})")
    warn(known.troubles)
    journal = default_journal()
    journal.progress()
    typer.echo(f"journal     {journal.trouble or journal.path}")
    typer.echo("isolation   attempts that a submission could make, tried just now:")
    for line in _isolation(
        [
            pack_reader.TRAINER,
            *(root / part for root in known.roots for part in ("challenges", "solutions")),
        ]
    ):
        typer.echo(line)


_MEANS = {
    "kernel": "Landlock, seccomp, limits, no capabilities",
    "bubblewrap": "bubblewrap, seccomp, limits",
    "limits": "limits only",
}


def _isolation(hidden: list[Path]) -> Iterator[str]:
    """Yield the result of each attempt to break out of the sandbox, then the conclusion."""
    if not hasattr(os, "fork"):
        yield (
            "  This system has no fork, so nothing can be graded. Use Linux, macOS or the Windows "
            "Subsystem for Linux (WSL)."
        )
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from trainer.worker.selftest import COPIES, run_selftest

    found = run_selftest(hidden)
    yield f"  by {_MEANS[found.isolation]}"
    for attempt, is_held in found.refused.items():
        yield f"  {'held' if is_held else 'OPEN'}  {attempt}"
    yield from _about_copies(found.copies)
    for feature, it_works in found.works.items():
        yield f"  {'works' if it_works else 'FAILS'} {feature}"
    if any(attempt != COPIES or found.copies.originals for attempt in found.open):
        yield (
            "Isolation is limited on this machine: check your own files only. "
            "`grade` refuses without --allow-weaker-isolation."
        )


def _about_copies(copies: Copies) -> Iterator[str]:
    """Yield the result of the search for readable copies of references, if it is worth a line."""
    from trainer.sandbox.copy_check import SECONDS

    if copies.found and not copies.originals:
        yield f"{copies.sentence} `grade` refuses until then."
    if copies.failed:
        yield (
            "The search for copies of references ended without an answer. "
            "Run `attn-drill doctor` again."
        )
    elif copies.cut:
        yield (
            f"The search for copies of references was cut off after {SECONDS:.0f} s and "
            f"{copies.files} files. There may be a copy."
        )


def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "is missing: install attn-drill again"
