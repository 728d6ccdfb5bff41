"""`attn-drill doctor`: versions, what isolation this machine gives, whether the journal can be kept."""

from __future__ import annotations

import platform

import typer

from trainer import __version__
from trainer.content import packs
from trainer.practice.journal import default_journal


def doctor() -> None:
    """Show versions and what this machine can do."""
    typer.echo(f"attn-drill {__version__}, Python {platform.python_version()}, {platform.platform()}")
    for name in ("torch", "numpy", "typer", "rich", "msgspec", "textual", "watchfiles", "fsrs"):
        typer.echo(f"  {name} {_version(name)}")
    root = packs.built_in_pack()
    typer.echo(f"challenges  {len(packs.read_pack(root))} in {root}")
    journal = default_journal()
    journal.progress()
    typer.echo(f"journal     {journal.trouble or journal.path}")
    typer.echo("isolation   what a submission tries, and what comes of it (tried just now):")
    from trainer.running.probe import probe_isolation

    held = probe_isolation([packs.TRAINER, root / "challenges", root / "solutions"])
    for what, is_held in held.items():
        typer.echo(f"  {'held' if is_held else 'OPEN'}  {what}")
    if not held or not all(held.values()):
        typer.echo("Isolation is limited on this machine: check your own files only.")


def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "is missing: install attn-drill again"
