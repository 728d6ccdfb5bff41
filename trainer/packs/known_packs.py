"""Find all known packs, and join their challenges into one catalogue.

Packs are searched in this order: folders named by `--pack`, folders named in ATTN_DRILL_PACK, the
built-in pack, then installed packages with an entry point of the group `attn_drill.packs`. If two
challenges have the same id, the first is used and the second is hidden.
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
    """The places that name packs.

    Attributes:
        named: the folders of `--pack`.
        variable: the value of ATTN_DRILL_PACK.
    """

    named: tuple[Path, ...] = ()
    variable: str = ""


class KnownPack(msgspec.Struct, frozen=True):
    """A pack that this run of the program knows.

    Attributes:
        root: the folder with challenges/ and solutions/, with symlinks resolved.
        name: the name of the folder or of the entry point.
        how: the way in which the pack became known.
        copies: other folders with the same content, which submissions must not see either.
    """

    root: Path
    name: str
    how: Literal["named", "built in", "installed"]
    copies: tuple[Path, ...] = ()


class Catalogue(msgspec.Struct, frozen=True):
    """The content of all known packs.

    Attributes:
        packs: the packs in the order in which they are searched.
        challenges: the challenges that an id can find. Easy challenges come first, and each
            challenge comes after those that it builds on.
        troubles: a sentence for each item that is hidden or cannot be read.
    """

    packs: tuple[KnownPack, ...]
    challenges: tuple[Challenge, ...]
    troubles: tuple[str, ...]

    @property
    def roots(self) -> list[Path]:
        """The folders of the packs."""
        return [pack.root for pack in self.packs]

    def pack_of(self, challenge: Challenge) -> KnownPack:
        """Return the pack that contains a challenge of the catalogue."""
        return next(pack for pack in self.packs if pack.root == challenge.folder.parent.parent)


def known_packs(places: Places) -> list[KnownPack]:
    """Return all known packs in search order.

    Raises:
        DrillError: if a named folder is not a pack.
    """
    return list(_packs_in_order(places, []))


def find(places: Places, wanted: str) -> Challenge:
    """Return the challenge with this id.

    Installed packages are searched only if no earlier pack has the id, because that search is slow.

    Raises:
        DrillError: if no pack has the id (the message names the nearest ids), or if a named folder
            is not a pack.
    """
    found = pack_reader.look_up((pack.root for pack in _packs_in_order(places, [])), wanted)
    if found is None:
        ids = [challenge.id for challenge in catalogue(places).challenges]
        raise pack_reader.unknown_id(wanted, ids)
    return found


def catalogue(places: Places) -> Catalogue:
    """Read all challenges of all known packs. Leave out and report those that cannot be read.

    Raises:
        DrillError: if a named folder is not a pack.
    """
    troubles: list[str] = []
    known = tuple(_packs_in_order(places, troubles))
    found: dict[str, Challenge] = {}
    for pack in known:
        for folder in _folders(pack.root, troubles):
            if folder.name != pack_reader.folder_name(folder.name.lower()):
                troubles.append(
                    f"{folder} is left out, because no id can name it. "
                    "Use only lower-case letters, digits and underscores in its name."
                )
                continue
            try:
                challenge = pack_reader.read_challenge(folder)
            except PackError as error:
                troubles.append(f"{folder} is left out: {error}")
                continue
            if (first := found.setdefault(challenge.id, challenge)) is not challenge:
                troubles.append(
                    f"{folder} is hidden: {first.folder} has the same id, {first.id}, and comes "
                    "first. Rename one of the two folders to use both."
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
        for challenge in pack_reader.prerequisites_first(challenges):
            found.append(challenge)
    except PackError as error:  # a circle may go through several packs
        troubles.append(str(error))
        found += [challenge for challenge in challenges if challenge not in found]
    return tuple(found)


def _packs_in_order(places: Places, troubles: list[str]) -> Iterator[KnownPack]:
    """Yield the packs in search order, each folder once.

    The search for installed packs starts only after all other packs were yielded.
    """
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
    for pack_of_package in installed:
        if pack_of_package.root not in seen:
            seen.add(pack_of_package.root)
            yield KnownPack(
                pack_of_package.root, pack_of_package.name, "installed", pack_of_package.copies
            )


def _named(folder: Path, who: str) -> KnownPack:
    """Return the pack in a folder that the user named.

    Args:
        folder: the folder, as the user wrote it.
        who: the beginning of an error message, for example "--pack names".

    Raises:
        DrillError: if the folder is not a pack.
    """
    place = folder.expanduser().resolve()
    if not place.is_dir():
        raise DrillError(
            f"{who} {folder}, but there is no such folder. `attn-drill pack new NAME` makes a pack."
        )
    if missing := [
        f"{part}/" for part in ("challenges", "solutions") if not (place / part).is_dir()
    ]:
        raise DrillError(
            f"{who} {folder}, which is not a pack: it has no folder "
            f"{' and no folder '.join(missing)}. `attn-drill pack new NAME` makes a pack."
        )
    return KnownPack(place, place.name, "named")


# Nothing is installed while a command runs, so one search for each process is enough.
_installed = functools.cache(installed_packs)
