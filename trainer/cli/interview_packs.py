"""The packs and the grader of the interview's command, for files that do not take them yet.

To be deleted when the interview takes a `KnownPacks`, which its command has as `context.obj`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from typer.main import get_current_context  # type: ignore[attr-defined]

from trainer.app.grading import open_grader
from trainer.app.packs import KnownPacks, open_packs
from trainer.content.known_packs import Catalogue

if TYPE_CHECKING:
    from trainer.grading.grader import Grader


def catalogue() -> Catalogue:
    """Return all challenges of all known packs."""
    return _known_packs().catalogue()


def pack_roots() -> tuple[Path, ...]:
    """Return the folders of all known packs and of their copies."""
    return _known_packs().roots()


def grader_for() -> Grader:
    """Start a grader with the usual limits."""
    return open_grader(_known_packs())


def _known_packs() -> KnownPacks:
    context = get_current_context(silent=True)
    return open_packs() if context is None else context.obj
