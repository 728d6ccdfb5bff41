"""Find out which files a worker may read: the standard library, installed packages, shared libraries.

Nothing of attn-drill, of a pack or of a copy of either may be among them. An installation may hold
such copies in places that nobody names: a build leaves them, an interrupted `pip uninstall` does,
and so does another Python on this machine.

This module needs the standard library and `trainer.model` only: it is part of the archive that is
handed into bubblewrap.
"""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from trainer.model.entry_points import entry_points_of, packages_with_packs

_SYSTEM_FOLDERS = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64")
_SYSTEM_FILES = (
    *("/usr/share/zoneinfo", "/usr/share/locale", "/etc/ld.so.cache", "/etc/localtime"),
    *("/sys/devices/system/cpu", "/proc/cpuinfo", "/dev/urandom", "/dev/random", "/dev/zero"),
)
SITE_NAMES = ("site-packages", "dist-packages")
_ARCHIVES = (".zip", ".whl", ".egg", ".pyz")
_ABOUT_PACKAGES = (".dist-info", ".egg-info")  # what installers write; no build puts a pack there
_PARTS = ("challenges", "solutions")
# folders of this engine, and of versions before 0.2
_ENGINES = (("worker", "grading"), ("running", "grading"))
_ENVIRONMENT_MARKS = frozenset(("pyvenv.cfg", "conda-meta"))
_TELLING = (*_PARTS, "_pack", "pyvenv.cfg")
_DEPTH = 3  # levels below a tree at which a copy is recognised by its name and its neighbours


def readable_paths(hidden: Iterable[Path]) -> list[str]:
    """Return the files and folders that a worker may read; a folder stands for all that is in it.

    Landlock cannot except a folder of an allowed tree. A tree with something hidden in it is
    therefore split into its entries, and so are the folders on the way to what is hidden.

    Args:
        hidden: files and folders of which no worker may read anything, besides all copies of packs
            and of attn-drill that lie in the readable trees.
    """
    sites = site_folders()
    trees = readable_trees(sites)
    kept_out = {os.path.realpath(path) for path in hidden}
    kept_out |= {project for path in kept_out if (project := _project_of(path))}
    kept_out.update(_installed_packs(sites))
    for tree in trees:
        kept_out.update(_copies_in(tree, trees, sites))
    ways = {str(parent) for path in kept_out for parent in Path(path).parents}
    found: list[str] = []
    for tree in trees:
        found.extend(_without(tree, kept_out, ways))
    found.extend(path for path in map(os.path.realpath, _SYSTEM_FILES) if os.path.exists(path))
    _remember_names(ways, sites)
    return list(dict.fromkeys(found))


def site_folders() -> list[str]:
    """Return the folders of installed packages from which this process and its workers import."""
    there = (path for path in sys.path if os.path.basename(path) in SITE_NAMES)
    return list(dict.fromkeys(os.path.realpath(path) for path in there if os.path.isdir(path)))


def readable_trees(sites: Sequence[str]) -> list[str]:
    """Return the folders that a worker may read as a whole, but for what is hidden in them."""
    stdlib = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    folders = (*_SYSTEM_FOLDERS, *stdlib, os.path.join(sys.base_prefix, "lib"), *sites)
    return list(
        dict.fromkeys(os.path.realpath(path) for path in folders if path and os.path.isdir(path))
    )


def _project_of(path: str) -> str | None:
    """Return the pack or checkout around a hidden folder: its history holds the same content."""
    parent, name = os.path.split(path)
    is_pack = name in _PARTS and all(os.path.isdir(os.path.join(parent, part)) for part in _PARTS)
    return parent if is_pack and os.path.basename(parent) not in SITE_NAMES else None


def _installed_packs(sites: Sequence[str]) -> Iterator[str]:
    """Yield the folders of packages that say that they are packs."""
    for _, text in packages_with_packs(sites):
        for _, value in entry_points_of(text):
            parts = value.partition(":")[0].strip().split(".")
            for site in sites:
                folder = os.path.join(site, *parts)
                if all(parts) and os.path.isdir(folder):
                    yield os.path.realpath(folder)


def _copies_in(tree: str, trees: Sequence[str], sites: Sequence[str]) -> Iterator[str]:
    """Yield what must not be read in a tree, as far as names tell at the first few levels.

    That is: copies of packs and of attn-drill, folders of packages that are not imported from, and
    other Python environments. The content of what lies deeper is looked for by `copies`.
    """
    waiting = [(tree, 1)]
    while waiting:
        folder, depth = waiting.pop()
        folders, files = _entries_of(folder)
        if depth > 1 and _is_kept_out(folder, folders, files):
            yield folder
            continue
        is_site = folder in sites
        for name in folders:
            path = f"{folder}/{name}"
            ours = (name in _PARTS and _is_part_of_a_pack(path, folders)) or (
                is_site and _names_us(name)
            )
            if ours or (name in SITE_NAMES and path not in sites):
                yield path
            elif (
                path not in trees
                and not name.endswith(_ABOUT_PACKAGES)
                and _is_worth_a_look(path, depth)
            ):
                waiting.append((path, depth + 1))
        for name in files if is_site else ():
            path = f"{folder}/{name}"
            if _names_us(name) or (name.endswith(_ARCHIVES) and _archive_holds_a_pack(path)):
                yield path


def _entries_of(folder: str) -> tuple[set[str], set[str]]:
    """Return the names of the folders and of the other entries in a folder, without links."""
    folders: set[str] = set()
    files: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else files).add(entry.name)
    except OSError:  # a worker of the same user cannot list the folder either
        pass
    return folders, files


def _is_kept_out(folder: str, folders: set[str], files: set[str]) -> bool:
    """Tell whether a folder is a pack, a copy of the engine or another environment, by its entries."""
    if any(folders.issuperset(parts) for parts in (_PARTS, *_ENGINES)):
        return True
    if not _ENVIRONMENT_MARKS.isdisjoint(folders | files):
        return True
    return "_pack" in folders and any(
        os.path.isdir(os.path.join(folder, "_pack", part)) for part in _PARTS
    )


def _is_part_of_a_pack(path: str, neighbours: set[str]) -> bool:
    """Tell whether a folder with such a name is one of a pack's two, alone or with the other."""
    if neighbours.issuperset(_PARTS):
        return True
    wanted = "solution" if os.path.basename(path) == "solutions" else "cases"
    for challenge in _entries_of(path)[0]:
        folders, files = _entries_of(os.path.join(path, challenge))
        if "__pycache__" in folders:  # what is compiled may be all that is left
            files |= _entries_of(os.path.join(path, challenge, "__pycache__"))[1]
        if any(
            file.partition(".")[0] == wanted and file.endswith((".py", ".pyc")) for file in files
        ):
            return True
    return False


def _names_us(name: str) -> bool:
    """Tell whether a file or folder among the packages is attn-drill's own by its name."""
    return "attn_drill" in name.lower().replace("-", "_").replace(".", "_")


def _is_worth_a_look(path: str, depth: int) -> bool:
    """Tell whether a folder has to be listed: this is what takes time.

    Most file systems count a folder's folders as links to it, which is cheaper to ask for. The
    others give 1. In the last level of the search a few names alone are asked for.
    """
    try:
        links = os.lstat(path).st_nlink
    except OSError:
        return False
    if depth >= _DEPTH or links == 2 or (links == 3 and os.path.lexists(f"{path}/__pycache__")):
        return False
    return depth < _DEPTH - 1 or any(os.path.lexists(f"{path}/{name}") for name in _TELLING)


def _archive_holds_a_pack(path: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(
                Path(name).name in ("solution.py", "cases.py") for name in archive.namelist()
            )
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


def _without(tree: str, kept_out: set[str], ways: set[str]) -> list[str]:
    """Return a tree, or where something in it is kept out, all in it but that."""
    if tree in kept_out:
        return []
    if tree not in ways:
        return [tree]
    found: list[str] = []
    waiting = [tree]
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                path = entry.path
                if path in kept_out:
                    continue
                if entry.is_symlink():
                    if _stays_among(entry, folder, kept_out, ways):
                        found.append(path)
                else:
                    (waiting if path in ways else found).append(path)
    return found


def _stays_among(link: os.DirEntry[str], folder: str, kept_out: set[str], ways: set[str]) -> bool:
    """Tell whether a link leads to a neighbour that is readable itself.

    Landlock needs no rule for it, but bubblewrap shows only what is named. A link to any other
    place is of use only where that place is readable by itself.
    """
    try:
        target = os.path.join(folder, os.readlink(link.path))
        if os.path.dirname(target) != folder or os.path.islink(target):
            target = os.path.realpath(target)
            if os.path.dirname(target) != folder:
                return False
    except OSError:
        return False
    return target not in kept_out and target not in ways and os.path.exists(target)


def _remember_names(ways: set[str], sites: Sequence[str]) -> None:
    """Have Python's import read the names in each folder that is split, while they can be listed.

    A worker cannot list such a folder, and would find no module there that is not imported yet.
    """
    for path in (*sys.path, *ways):
        real = os.path.realpath(path) if path in sys.path else path
        if real in ways and (
            path in sys.path or real.startswith(tuple(f"{site}/" for site in sites))
        ):
            PathFinder.find_spec("_no_module_has_this_name", [path])
