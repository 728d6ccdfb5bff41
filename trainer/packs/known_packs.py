"""Which packs are known, and what they hold together.

In this order, in which challenges are looked up too: folders named by `--pack`, folders named in ATTN_DRILL_PACK, the built-in pack, installed
packages with an entry point of the group `attn_drill.packs`. Of two challenges with one id the first is found, and the other is hidden.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError, PackError
from trainer.packs import pack_reader
from trainer.packs.installed_packs import installed_packs

VARIABLE = "ATTN_DRILL_PACK"


class Places(msgspec.Struct, frozen=True):
    """Where packs are named: the folders of `--pack`, and the text of ATTN_DRILL_PACK."""

    named: tuple[Path, ...] = ()
    variable: str = ""


class KnownPack(msgspec.Struct, frozen=True):
    """A pack.

    root     the folder with challenges/ and solutions/, with symlinks resolved
    name     of the folder, or of the entry point
    how      it is known
    copies   folders with the same once more, which what is graded must not see either
    """

    root: Path
    name: str
    how: Literal["named", "built in", "installed"]
    copies: tuple[Path, ...] = ()


class Catalogue(msgspec.Struct, frozen=True):
    """What all known packs hold together.

    packs        the one that is asked first comes first
    challenges   those that can be found by their id: easiest first, none before one that it builds on
    troubles     a sentence for everything that is hidden or cannot be read
    """

    packs: tuple[KnownPack, ...]
    challenges: tuple[Challenge, ...]
    troubles: tuple[str, ...]

    @property
    def roots(self) -> list[Path]:
        """The folders of the packs."""
        return [pack.root for pack in self.packs]

    def pack_of(self, challenge: Challenge) -> KnownPack:
        """The pack that a challenge of the catalogue is of."""
        return next(pack for pack in self.packs if pack.root == challenge.folder.parent.parent)


def known_packs(places: Places) -> list[KnownPack]:
    """All known packs.

    Raises:
        DrillError: where a folder that is named is no pack.
    """
    return list(_each(places, []))


def find(places: Places, wanted: str) -> Challenge:
    """The challenge with this id. Installed packages are looked for only where no earlier pack has it: that takes its time.

    Raises:
        DrillError: where no pack has it, naming the nearest ids; where a folder that is named is no pack.
    """
    found = pack_reader.look_up((pack.root for pack in _each(places, [])), wanted)
    if found is None:
        raise pack_reader.unknown(wanted, [one.id for one in catalogue(places).challenges])
    return found


def catalogue(places: Places) -> Catalogue:
    """Read all challenges of all known packs; what cannot be read is left out, and told.

    Raises:
        DrillError: where a folder that is named is no pack.
    """
    troubles: list[str] = []
    known = tuple(_each(places, troubles))
    found: dict[str, Challenge] = {}
    for pack in known:
        for folder in _folders(pack.root, troubles):
            if folder.name != pack_reader.folder_name(folder.name.lower()):
                troubles.append(
                    f"{folder} is left out, for no id leads to it. Rename it: small letters, digits and underscores."
                )
                continue
            try:
                challenge = pack_reader.read_challenge(folder)
            except PackError as error:
                troubles.append(f"{folder} is left out: {error}")
                continue
            if (first := found.setdefault(challenge.id, challenge)) is not challenge:
                troubles.append(
                    f"{folder} is hidden: {first.folder} has the same id, {first.id}, and comes first. Rename one of the two folders to have both."
                )
    return Catalogue(known, _sorted(list(found.values()), troubles), tuple(troubles))


def _folders(root: Path, troubles: list[str]) -> list[Path]:
    try:
        return pack_reader.challenge_folders(root)
    except OSError as error:
        troubles.append(f"{root} is left out: {error.strerror or error}.")
        return []


def _sorted(challenges: list[Challenge], troubles: list[str]) -> tuple[Challenge, ...]:
    found: list[Challenge] = []
    try:
        for one in pack_reader.prerequisites_first(challenges):
            found.append(one)
    except PackError as error:  # each pack may be without a circle, and all of them together not
        troubles.append(str(error))
        found += [one for one in challenges if one not in found]
    return tuple(found)


def _each(places: Places, troubles: list[str]) -> Iterator[KnownPack]:
    """The packs in order, each folder once; installed ones are looked for when all others have been given."""
    named = [_named(folder, "--pack names") for folder in places.named]
    named += [
        _named(Path(folder), f"{VARIABLE} names")
        for folder in places.variable.split(os.pathsep)
        if folder
    ]
    seen: set[Path] = set()
    for pack in [*named, KnownPack(pack_reader.built_in_pack(), "attn-drill", "built in")]:
        if pack.root not in seen:
            seen.add(pack.root)
            yield pack
    installed, broken = _installed(tuple(sys.path))
    troubles += broken
    for one in installed:
        if one.root not in seen:
            seen.add(one.root)
            yield KnownPack(one.root, one.name, "installed", one.copies)


def _named(folder: Path, who: str) -> KnownPack:
    """A pack that somebody named.

    Raises:
        DrillError: where it is none.
    """
    place = folder.expanduser().resolve()
    if not place.is_dir():
        raise DrillError(
            f"{who} {folder}, and there is no such folder. `attn-drill pack new NAME` makes a pack."
        )
    if missing := [
        f"{part}/" for part in ("challenges", "solutions") if not (place / part).is_dir()
    ]:
        raise DrillError(
            f"{who} {folder}, which is no pack: it has no folder {' and no folder '.join(missing)}. `attn-drill pack new NAME` makes a pack."
        )
    return KnownPack(place, place.name, "named")


_installed = functools.cache(
    installed_packs
)  # of a process: nothing is installed while a command runs
