"""`attn-drill doctor`: show versions, packs, the journal, and the isolation on this machine."""

from __future__ import annotations

import itertools
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import typer

from trainer import __version__
from trainer.app.open_packs import KnownPacks
from trainer.app.warn import warn
from trainer.packs import pack_reader
from trainer.practice.journal import default_journal
from trainer.practice.progress import progress_of


def doctor(context: typer.Context) -> None:
    """Show versions and what this machine supports."""
    typer.echo(
        f"attn-drill {__version__}, Python {platform.python_version()}, {platform.platform()}"
    )
    for name in ("torch", "numpy", "typer", "rich", "msgspec", "textual", "watchfiles", "fsrs"):
        tested = f" (tested with {_TESTED_TORCH})" if name == "torch" else ""
        typer.echo(f"  {name} {_version(name)}{tested}")
    known_packs: KnownPacks = context.obj
    known = known_packs.catalogue()
    words = itertools.chain(["challenges"], itertools.repeat(""))
    for pack, word in zip(known.packs, words, strict=False):
        count = sum(known.pack_of(challenge) == pack for challenge in known.challenges)
        typer.echo(f"{word:<10}  {count} in {pack.root} ({pack.name}, {pack.how})")
    warn(known.troubles)
    journal = default_journal()
    progress_of(journal.facts())
    typer.echo(f"journal     {journal.trouble or journal.path}")
    typer.echo("isolation   attempts that a submission could make, tried just now:")
    for line in _isolation(
        [
            pack_reader.TRAINER,
            *(root / part for root in known.roots for part in ("challenges", "solutions")),
        ]
    ):
        typer.echo(line)


# The versions of torch with which the tests of attn-drill run. Others from 2.6 on should work.
_TESTED_TORCH = "2.13.0; a workflow of the repository tests 2.6 and the newest"
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
    from trainer.worker import forkserver_client
    from trainer.worker.selftest import run_selftest

    forkserver_client.prepare()  # torch is imported here already
    found = run_selftest(hidden)
    yield f"  by {_MEANS[found.isolation]}"
    for attempt, is_held in found.refused.items():
        yield f"  {'held' if is_held else 'OPEN'}  {attempt}"
    for feature, it_works in found.works.items():
        yield f"  {'works' if it_works else 'FAILS'} {feature}"
    if found.open:
        yield (
            "Isolation is limited on this machine: check your own files only. "
            "`grade` refuses without --allow-weaker-isolation."
        )


def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "is missing: install attn-drill again"
