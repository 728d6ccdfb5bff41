"""Find out which files a worker may read: standard library, installed packages, shared libraries.

These files must not contain any part of attn-drill, of a pack, or of a copy of attn-drill or a
pack. An installation may contain copies in unexpected places: left by a build, left by an
interrupted `pip uninstall`, or installed for another Python on this machine.

This module imports only the standard library and `trainer.model`, because it is part of the archive
that is passed into bubblewrap.
"""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from trainer.model.entry_points import entry_points_of, packages_with_packs

_SYSTEM_FOLDERS = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64")
_SYSTEM_FILES = (
    *("/usr/share/zoneinfo", "/usr/share/locale", "/etc/ld.so.cache", "/etc/localtime"),
    *("/sys/devices/system/cpu", "/proc/cpuinfo", "/dev/urandom", "/dev/random", "/dev/zero"),
)
SITE_NAMES = ("site-packages", "dist-packages")
_ARCHIVES = (".zip", ".whl", ".egg", ".pyz")
_ABOUT_PACKAGES = (".dist-info", ".egg-info")  # written by installers; no build puts a pack there
_PARTS = ("challenges", "solutions")
# Folders of this version of attn-drill, and of versions before 0.2.
_ENGINES = (("worker", "grading"), ("running", "grading"))
_ENVIRONMENT_MARKS = frozenset(("pyvenv.cfg", "conda-meta"))
_MARKS = (*_PARTS, "_pack", "pyvenv.cfg")
_DEPTH = 3  # down to this level below a tree, names and neighbours identify a copy


def readable_paths(hidden: Iterable[Path]) -> list[str]:
    """Return the files and folders that a worker may read.

    A folder in the list includes everything below it. Landlock cannot exclude a folder of an
    allowed tree. So a tree that contains a hidden path is split into its entries, and so is every
    folder between the tree and the hidden path.

    Args:
        hidden: files and folders that no worker may read. All copies of packs and of attn-drill in
            the readable trees are hidden too.
    """
    sites = site_folders()
    trees = readable_trees(sites)
    kept_out = {os.path.realpath(path) for path in hidden}
    kept_out |= {project for path in kept_out if (project := _project_of(path))}
    kept_out.update(_installed_packs(sites))
    for tree in trees:
        kept_out.update(_copies_in(tree, trees, sites))
    folders_to_split = {str(parent) for path in kept_out for parent in Path(path).parents}
    found: list[str] = []
    for tree in trees:
        found.extend(_readable_parts(tree, kept_out, folders_to_split))
    found.extend(path for path in map(os.path.realpath, _SYSTEM_FILES) if os.path.exists(path))
    return list(dict.fromkeys(found))


def site_folders() -> list[str]:
    """Return the folders of installed packages from which this process and its workers import."""
    paths = (path for path in sys.path if os.path.basename(path) in SITE_NAMES)
    return list(dict.fromkeys(os.path.realpath(path) for path in paths if os.path.isdir(path)))


def readable_trees(sites: Sequence[str]) -> list[str]:
    """Return the folders that a worker may read completely, except the hidden paths in them."""
    stdlib = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    folders = (*_SYSTEM_FOLDERS, *stdlib, os.path.join(sys.base_prefix, "lib"), *sites)
    return list(
        dict.fromkeys(os.path.realpath(path) for path in folders if path and os.path.isdir(path))
    )


def _project_of(path: str) -> str | None:
    """Return the pack or checkout around a hidden folder, or None if there is none.

    The history of a checkout contains the same texts as the hidden folder.
    """
    parent, name = os.path.split(path)
    is_pack = name in _PARTS and all(os.path.isdir(os.path.join(parent, part)) for part in _PARTS)
    return parent if is_pack and os.path.basename(parent) not in SITE_NAMES else None


def _installed_packs(sites: Sequence[str]) -> Iterator[str]:
    """Yield the folders of installed packages whose entry points declare a pack."""
    for _, text in packages_with_packs(sites):
        for _, value in entry_points_of(text):
            parts = value.partition(":")[0].strip().split(".")
            for site in sites:
                folder = os.path.join(site, *parts)
                if all(parts) and os.path.isdir(folder):
                    yield os.path.realpath(folder)


def _copies_in(tree: str, trees: Sequence[str], sites: Sequence[str]) -> Iterator[str]:
    """Yield the paths in a tree that must not be readable, as far as names show it.

    These are copies of packs and of attn-drill, package folders from which this process does not
    import, and other Python environments. Only the first few levels are looked at. `copy_search`
    finds deeper copies by their content.
    """
    unvisited = [(tree, 1)]
    while unvisited:
        folder, depth = unvisited.pop()
        folders, files = _entries_of(folder)
        if depth > 1 and _is_kept_out(folder, folders, files):
            yield folder
            continue
        is_site = folder in sites
        for name in folders:
            path = f"{folder}/{name}"
            is_ours = (name in _PARTS and _is_part_of_a_pack(path, folders)) or (
                is_site and _is_our_name(name)
            )
            if is_ours or (name in SITE_NAMES and path not in sites):
                yield path
            elif (
                path not in trees
                and not name.endswith(_ABOUT_PACKAGES)
                and _needs_listing(path, depth)
            ):
                unvisited.append((path, depth + 1))
        for name in files if is_site else ():
            path = f"{folder}/{name}"
            if _is_our_name(name) or (name.endswith(_ARCHIVES) and _archive_holds_a_pack(path)):
                yield path


def _entries_of(folder: str) -> tuple[set[str], set[str]]:
    """Return the names of a folder's subfolders, and of its other entries. Follow no links."""
    folders: set[str] = set()
    files: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else files).add(entry.name)
    except OSError:  # a worker of the same user cannot list this folder either
        pass
    return folders, files


def _is_kept_out(folder: str, folders: set[str], files: set[str]) -> bool:
    """Return True if the entries show a pack, a copy of attn-drill or another environment."""
    if any(folders.issuperset(parts) for parts in (_PARTS, *_ENGINES)):
        return True
    if not _ENVIRONMENT_MARKS.isdisjoint(folders | files):
        return True
    return "_pack" in folders and any(
        os.path.isdir(os.path.join(folder, "_pack", part)) for part in _PARTS
    )


def _is_part_of_a_pack(path: str, neighbours: set[str]) -> bool:
    """Return True if a folder called `challenges` or `solutions` belongs to a pack.

    The other of the two folders may be missing.
    """
    if neighbours.issuperset(_PARTS):
        return True
    wanted = "solution" if os.path.basename(path) == "solutions" else "cases"
    for challenge in _entries_of(path)[0]:
        folders, files = _entries_of(os.path.join(path, challenge))
        if "__pycache__" in folders:  # the compiled modules may be all that is left
            files |= _entries_of(os.path.join(path, challenge, "__pycache__"))[1]
        if any(
            file.partition(".")[0] == wanted and file.endswith((".py", ".pyc")) for file in files
        ):
            return True
    return False


def _is_our_name(name: str) -> bool:
    """Return True if the name of a file or folder among the packages is that of attn-drill."""
    return "attn_drill" in name.lower().replace("-", "_").replace(".", "_")


def _needs_listing(path: str, depth: int) -> bool:
    """Return True if a folder has to be listed. Listing is the slow part of the search.

    On most file systems the link count of a folder counts its subfolders, and reading this count is
    cheaper than listing. On the other file systems the count is 1. At the last level of the search,
    only a few names are looked up.
    """
    try:
        links = os.lstat(path).st_nlink
    except OSError:
        return False
    if depth >= _DEPTH or links == 2 or (links == 3 and os.path.lexists(f"{path}/__pycache__")):
        return False
    return depth < _DEPTH - 1 or any(os.path.lexists(f"{path}/{name}") for name in _MARKS)


def _archive_holds_a_pack(path: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(
                Path(name).name in ("solution.py", "cases.py") for name in archive.namelist()
            )
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


def _readable_parts(tree: str, kept_out: set[str], folders_to_split: set[str]) -> list[str]:
    """Return the tree, or all its readable parts if some paths in it are kept out."""
    if tree in kept_out:
        return []
    if tree not in folders_to_split:
        return [tree]
    found: list[str] = []
    unvisited = [tree]
    while unvisited:
        folder = unvisited.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                path = entry.path
                if path in kept_out:
                    continue
                if entry.is_symlink():
                    if _leads_to_readable_neighbour(entry, folder, kept_out, folders_to_split):
                        found.append(path)
                else:
                    (unvisited if path in folders_to_split else found).append(path)
    return found


def _leads_to_readable_neighbour(
    link: os.DirEntry[str], folder: str, kept_out: set[str], folders_to_split: set[str]
) -> bool:
    """Return True if a link leads to a readable entry of the same folder.

    Landlock needs no rule for such a link, but bubblewrap shows only paths that are listed. A link
    to another folder needs no rule: it is useful only if its target is readable by itself.
    """
    try:
        target = os.path.join(folder, os.readlink(link.path))
        if os.path.dirname(target) != folder or os.path.islink(target):
            target = os.path.realpath(target)
            if os.path.dirname(target) != folder:
                return False
    except OSError:
        return False
    return target not in kept_out and target not in folders_to_split and os.path.exists(target)
