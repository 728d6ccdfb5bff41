"""`attn-drill doctor`: show versions, packs, settings, the journal, and the isolation here."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import typer

from trainer import __version__
from trainer.app.open_packs import KnownPacks
from trainer.app.settings import config_path, settings, sources
from trainer.app.warn import say_json, warn
from trainer.cli.parameters import AsJson
from trainer.packs import pack_reader
from trainer.practice.journal import default_journal
from trainer.practice.progress import progress_of

# The versions of torch with which the tests of attn-drill run. Others from 2.6 on should work.
_TESTED_TORCH = "2.13.0; a workflow of the repository tests 2.6 and the newest"
_PACKAGES = ("torch", "numpy", "typer", "rich", "msgspec", "textual", "watchfiles", "fsrs")
_MEANS = {
    "kernel": "Landlock, seccomp, limits, no capabilities",
    "bubblewrap": "bubblewrap, seccomp, limits",
    "limits": "limits only",
}


def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Show versions and what this machine supports."""
    known_packs: KnownPacks = context.obj
    known = known_packs.catalogue()
    warn(known.troubles)
    journal = default_journal()
    progress_of(journal.facts())
    chosen = msgspec.to_builtins(settings())
    found = {
        "attn-drill": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "packs": [
            {
                "name": pack.name,
                "how": pack.how,
                "folder": str(pack.root),
                "challenges": sum(known.pack_of(each) == pack for each in known.challenges),
            }
            for pack in known.packs
        ],
        "settings": {
            key: {"value": chosen[key], "from": place} for key, place in sources().items()
        },
        "journal": journal.trouble or str(journal.path),
    }
    if not as_json:
        _show(found)
        typer.echo("isolation   attempts that a submission could make, tried just now:")
    hidden = (root / part for root in known.roots for part in ("challenges", "solutions"))
    isolation = _isolation([pack_reader.TRAINER, *hidden])
    if as_json:
        say_json({**found, "isolation": isolation})
    else:
        _show_isolation(isolation)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "is missing: install attn-drill again"


def _show(found: dict[str, Any]) -> None:
    """Show everything but the isolation, which takes a second to try."""
    typer.echo(f"attn-drill {__version__}, Python {found['python']}, {found['platform']}")
    for name, version in found["packages"].items():
        tested = f" (tested with {_TESTED_TORCH})" if name == "torch" else ""
        typer.echo(f"  {name} {version}{tested}")
    label = "challenges"
    for pack in found["packs"]:
        where = f"{pack['folder']} ({pack['name']}, {pack['how']})"
        typer.echo(f"{label:<10}  {pack['challenges']} in {where}")
        label = ""
    typer.echo(f"settings    in {config_path()}")
    for key, setting in found["settings"].items():
        value = setting["value"]
        shown = ", ".join(value) if isinstance(value, tuple) else value
        is_set = value not in (None, ())
        typer.echo(f"  {key:<14}  {shown if is_set else '-'}  ({setting['from']})")
    typer.echo(f"journal     {found['journal']}")


def _isolation(hidden: list[Path]) -> dict[str, Any] | None:
    """Return the result of each attempt to break out of the sandbox; None without fork."""
    if not hasattr(os, "fork"):
        return None
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from trainer.worker import forkserver_client
    from trainer.worker.selftest import run_selftest

    forkserver_client.prepare()  # torch is imported here already
    result = run_selftest(hidden)
    return {
        "by": result.isolation,
        "held": dict(result.refused),
        "works": dict(result.works),
        "open": bool(result.open),
    }


def _show_isolation(isolation: dict[str, Any] | None) -> None:
    if isolation is None:
        typer.echo(
            "  This system has no fork, so nothing can be graded. Use Linux, macOS or the Windows "
            "Subsystem for Linux (WSL)."
        )
        return
    typer.echo(f"  by {_MEANS[isolation['by']]}")
    for attempt, is_held in isolation["held"].items():
        typer.echo(f"  {'held' if is_held else 'OPEN'}  {attempt}")
    for feature, it_works in isolation["works"].items():
        typer.echo(f"  {'works' if it_works else 'FAILS'} {feature}")
    if isolation["open"]:
        typer.echo(
            "Isolation is limited on this machine: check your own files only. "
            "`class grade` refuses without --allow-weaker-isolation."
        )
