"""The packs that a run of the program knows."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from trainer.packs.catalogue import VARIABLE, KnownPacks

__all__ = ["KnownPacks", "open_packs"]


def open_packs(named: Iterable[Path | str] = ()) -> KnownPacks:
    """Return the known packs: the folders `named`, and those that the environment names."""
    return KnownPacks(variable=os.environ.get(VARIABLE, "")).naming(named)
