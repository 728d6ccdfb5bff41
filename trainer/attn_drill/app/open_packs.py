"""The packs that a run of the program knows."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from attn_drill.app.settings import settings
from attn_drill.packs.catalogue import KnownPacks

__all__ = ["KnownPacks", "open_packs"]


def open_packs(named: Iterable[Path | str] = ()) -> KnownPacks:
    """Return the known packs: the folders `named`, and those of the settings."""
    return KnownPacks(variable=os.pathsep.join(settings().packs)).naming(named)
