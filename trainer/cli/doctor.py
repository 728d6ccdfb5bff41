"""`attn-drill doctor`: versions, what isolation this machine gives, whether the journal can be kept."""

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
    """Show versions and what this machine can do."""
    typer.echo(
        f"attn-drill {__version__}, Python {platform.python_version()}, {platform.platform()}"
    )
    for name in ("torch", "numpy", "typer", "rich", "msgspec", "textual", "watchfiles", "fsrs"):
        typer.echo(f"  {name} {_version(name)}")
    known_packs: KnownPacks = context.obj
    known = known_packs.catalogue()
    for pack, word in zip(
        known.packs, itertools.chain(["challenges"], itertools.repeat("")), strict=False
    ):
        typer.echo(
            f"{word:<10}  {sum(known.pack_of(one) == pack for one in known.challenges)} in {pack.root} ({pack.name}, {pack.how})"
        )
    warn(known.troubles)
    journal = default_journal()
    journal.progress()
    typer.echo(f"journal     {journal.trouble or journal.path}")
    typer.echo("isolation   what a submission tries, and what comes of it (tried just now):")
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
    "limits": "limits alone",
}


def _isolation(hidden: list[Path]) -> Iterator[str]:
    """What holds, a line each, and what follows from it."""
    if not hasattr(os, "fork"):
        yield "  There is no fork here, and so no grading. Use Linux, macOS, or Windows' Linux subsystem (WSL)."
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from trainer.worker.selftest import COPIES, probe_isolation

    found = probe_isolation(hidden)
    yield f"  by {_MEANS[found.how]}"
    for what, is_held in found.held.items():
        yield f"  {'held' if is_held else 'OPEN'}  {what}"
    yield from _about_copies(found.copies)
    for what, it_does in found.works.items():
        yield f"  {'works' if it_does else 'FAILS'} {what}"
    if any(what != COPIES or found.copies.originals for what in found.open):
        yield "Isolation is limited on this machine: check your own files only. `grade` refuses without --allow-weaker-isolation."


def _about_copies(copies: Copies) -> Iterator[str]:
    """Yield what there is to say of the search for references that a submission can read."""
    from trainer.sandbox.copy_check import SECONDS

    if copies.found and not copies.originals:
        yield f"{copies.sentence} `grade` refuses until then."
    if copies.failed:
        yield "The search for copies of references ended without an answer. Run `attn-drill doctor` again."
    elif copies.cut:
        yield f"The search for copies of references was cut off after {SECONDS:.0f} s, at {copies.files} files: there may be one."


def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "is missing: install attn-drill again"
