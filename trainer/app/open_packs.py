"""The packs that a run of the program knows."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from trainer.app.settings import settings
from trainer.model.challenge import Challenge
from trainer.packs import known_packs
from trainer.packs.known_packs import Catalogue, Places


class KnownPacks(Places, frozen=True):
    """The packs of one run: named by `--pack` and in the settings, built in, installed.

    A folder is read when a challenge is looked up, so a bad `--pack` is reported only then.
    """

    def naming(self, folders: Iterable[Path | str]) -> KnownPacks:
        """Return the same packs and those in `folders`, which come after the named ones."""
        return KnownPacks((*self.named, *map(Path, folders)), self.variable)

    def find(self, challenge_id: str) -> Challenge:
        """Return the challenge with this id.

        Raises:
            DrillError: if no pack has it (the message names the nearest ids), or if a named folder
                is no pack.
        """
        return known_packs.find(self, challenge_id)

    def catalogue(self) -> Catalogue:
        """Return all challenges of all packs.

        Raises:
            DrillError: if a named folder is no pack.
        """
        return known_packs.catalogue(self)

    def roots(self) -> tuple[Path, ...]:
        """Return the folders of all packs in order, then their copies. A grader hides them all."""
        packs = known_packs.known_packs(self)
        copies = [copy for pack in packs for copy in pack.copies]
        return (*(pack.root for pack in packs), *copies)

    def pack_option(self, challenge: Challenge) -> str:
        """Return ` --pack DIR` if a shown command needs it to find this challenge, else ""."""
        root = challenge.folder.parent.parent
        for folder in self.named:
            if folder.expanduser().resolve() == root:
                return f" --pack {shlex.quote(str(folder))}"
        return ""


def open_packs(named: Iterable[Path | str] = ()) -> KnownPacks:
    """Return the known packs: the folders `named`, and those of the settings."""
    return KnownPacks(variable=os.pathsep.join(settings().packs)).naming(named)
