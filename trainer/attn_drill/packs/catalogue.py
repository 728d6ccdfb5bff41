"""Find all packs that a run of the program knows, and join their challenges into one catalogue.

Packs are searched in this order: folders named by `--pack`, folders named in ATTN_DRILL_PACK, the
built-in pack, then installed packages with an entry point of the group `attn_drill.packs`. If two
challenges have the same id, the first is used and the second is hidden.
"""

from __future__ import annotations

import functools
import itertools
import os
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError, PackError
from attn_drill.packs.pack_reader import (
    built_in_pack,
    challenge_folders,
    find_in,
    is_pack,
    prerequisites_first,
    read_challenge,
)
from attn_drill.packs.toml import Text, read_toml

VARIABLE = "ATTN_DRILL_PACK"
GROUP = "attn_drill.packs"


class Pack(msgspec.Struct, frozen=True):
    """A pack of challenges."""

    root: Path  # the folder with challenges/ and solutions/, with symlinks resolved
    name: str  # of the folder or of the entry point
    how: Literal["named", "built in", "installed"]  # the way in which it became known


class Route(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An order of challenges for a learner with a certain time."""

    title: Text
    challenges: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]  # ids


class RoutesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of `challenges/routes.toml`."""

    route: tuple[Route, ...]


class Catalogue(msgspec.Struct, frozen=True):
    """The content of all known packs."""

    packs: tuple[Pack, ...]  # in the order in which they are searched
    # The challenges that an id can find, in the order of `prerequisites_first`.
    challenges: tuple[Challenge, ...]
    troubles: tuple[str, ...]  # a sentence for each item that is hidden or cannot be read
    routes: tuple[Route, ...] = ()

    @property
    def roots(self) -> list[Path]:
        """The folders of the packs."""
        return [pack.root for pack in self.packs]

    def pack_of(self, challenge: Challenge) -> Pack:
        """Return the pack that contains a challenge of the catalogue."""
        return next(pack for pack in self.packs if pack.root == challenge.folder.parent.parent)


class KnownPacks(msgspec.Struct, frozen=True):
    """The places that name the packs of one run.

    Each method raises DrillError if a named folder is no pack.
    """

    named: tuple[Path, ...] = ()  # the folders of `--pack`
    variable: str = ""  # the value of ATTN_DRILL_PACK

    def naming(self, folders: Iterable[Path | str]) -> KnownPacks:
        """Return these packs and those in `folders`, which come after the named ones."""
        return KnownPacks((*self.named, *map(Path, folders)), self.variable)

    def find(self, challenge_id: str) -> Challenge:
        """Return the challenge with this id, or raise DrillError with the nearest ids."""
        # Installed packages are searched only if no earlier pack has the id, because that is slow.
        return find_in((pack.root for pack in self._packs()), challenge_id)

    def roots(self) -> tuple[Path, ...]:
        """Return the folders of all packs in order."""
        return tuple(pack.root for pack in self._packs())

    def catalogue(self) -> Catalogue:
        """Read all challenges of all packs. Leave out and report those that cannot be read."""
        packs = tuple(self._packs())
        troubles = list(_installed(tuple(sys.path))[1])
        by_id: dict[str, Challenge] = {}
        for folder in (path for pack in packs for path in challenge_folders(pack.root)):
            try:
                challenge = read_challenge(folder)
            except PackError as error:
                troubles.append(f"{folder} is left out: {error}")
                continue
            if (first := by_id.setdefault(challenge.id, challenge)) is not challenge:
                troubles.append(
                    f"{folder} is hidden: {first.folder} has the same id, {first.id}, and comes "
                    "first. Rename one of the two folders to use both."
                )
        in_order: dict[str, Challenge] = {}
        try:
            for challenge in prerequisites_first(by_id.values()):
                in_order[challenge.id] = challenge
        except PackError as error:  # a circle, perhaps through several packs
            troubles.append(str(error))
        challenges = in_order | by_id
        routes = [route for pack in packs for route in _routes(pack.root, challenges, troubles)]
        return Catalogue(packs, tuple(challenges.values()), tuple(troubles), tuple(routes))

    def pack_option(self, challenge: Challenge) -> str:
        """Return ` --pack DIR` if a shown command needs it to find this challenge, else ""."""
        root = challenge.folder.parent.parent
        for folder in self.named:
            if folder.expanduser().resolve() == root:
                return f" --pack {shlex.quote(str(folder))}"
        return ""

    def _packs(self) -> Iterator[Pack]:
        """Yield the packs in search order, each folder once."""
        named = [("--pack names", folder) for folder in self.named]
        by_variable = filter(None, self.variable.split(os.pathsep))
        named += [(f"{VARIABLE} or config.toml names", Path(folder)) for folder in by_variable]
        first: list[Pack] = []
        for words, folder in named:
            place = folder.expanduser().resolve()
            for part in ("challenges", "solutions"):
                if not (place / part).is_dir():
                    raise DrillError(
                        f"{words} {folder}, which is not a pack: it has no folder {part}/. "
                        "`attn-drill pack new NAME` makes a pack."
                    )
            first.append(Pack(place, place.name, "named"))
        first.append(Pack(built_in_pack(), "attn-drill", "built in"))

        def last() -> Iterator[Pack]:  # searched only after all others were yielded
            yield from _installed(tuple(sys.path))[0]

        seen: set[Path] = set()
        for pack in itertools.chain(first, last()):
            if pack.root not in seen:
                seen.add(pack.root)
                yield pack


def _routes(root: Path, ids: Collection[str], troubles: list[str]) -> Iterator[Route]:
    """Yield the routes of a pack without unknown challenges, and add a sentence for each fault."""
    path = root / "challenges" / "routes.toml"
    if not path.exists():
        return
    try:
        routes = read_toml(path, RoutesFile, PackError).route
    except PackError as error:
        troubles.append(str(error))
        return
    for route in routes:
        for name in route.challenges:
            if name not in ids:
                troubles.append(f"{path} names {name!r}, which no pack has; it is left out.")
        yield Route(route.title, tuple(name for name in route.challenges if name in ids))


@functools.cache  # nothing is installed while a command runs
def _installed(path: Sequence[str]) -> tuple[list[Pack], list[str]]:
    """Return the packs of installed packages on a path, and a sentence for each that is broken.

    The value of an entry point is the name of a package, which is not imported. Its folder contains
    challenges/ and solutions/. In an editable install they may also be next to this folder.
    """
    from importlib.metadata import entry_points  # takes as long as a tenth of `attn-drill list`

    packs: list[Pack] = []
    troubles: list[str] = []
    for point in entry_points(group=GROUP):
        package = point.value.partition("[")[0].strip()  # a value may end with `[extras]`
        try:
            packs.append(Pack(_root_in(package), point.name, "installed"))
        except (DrillError, ImportError, ValueError) as error:
            installed = point.dist.name if point.dist else package
            troubles.append(
                f"The pack {point.name} of the installed package {installed} is left out: {error}. "
                f"Install {installed} again, or remove it."
            )
    return packs, troubles


def _root_in(package: str) -> Path:
    first, *rest = package.split(".")
    spec = find_spec(first) if first else None
    if spec is None:
        raise DrillError(f"there is no package {package!r}")
    for place in spec.submodule_search_locations or ():
        folder = Path(place, *rest)
        if is_pack(folder):
            return folder.resolve()
        # In an editable install, the project has the pack and the package side by side.
        project = folder.parent
        if is_pack(project) and (project / "pyproject.toml").is_file():
            return project.resolve()
    raise DrillError(f"the folder of {package!r} has no challenges/ and solutions/")
