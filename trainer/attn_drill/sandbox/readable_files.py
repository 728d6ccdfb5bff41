"""List the files that a worker may read: standard library, installed packages, shared libraries.

The code of attn-drill and the packs in use may lie among the installed packages. They stay hidden.

This module imports only the standard library, because it is part of the archive that is passed
into bubblewrap.
"""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

_SYSTEM_FOLDERS = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64")
_SYSTEM_FILES = (
    *("/usr/share/zoneinfo", "/usr/share/locale", "/etc/ld.so.cache", "/etc/localtime"),
    *("/sys/devices/system/cpu", "/proc/cpuinfo", "/dev/urandom", "/dev/random", "/dev/zero"),
)
_SITE_NAMES = ("site-packages", "dist-packages")


def readable_paths(hidden: Iterable[Path]) -> list[str]:
    """Return the files and folders that a worker may read.

    A folder in the list includes everything below it. Landlock cannot exclude a folder of an
    allowed tree. So a tree that contains a hidden path is split into its entries, and so is every
    folder between the tree and the hidden path.
    """
    kept_out = {os.path.realpath(path) for path in hidden}
    around = {str(parent) for path in kept_out for parent in Path(path).parents}
    paths: list[str] = []
    for tree in _trees():
        waiting = [tree]
        while waiting:
            path = waiting.pop()
            if path in kept_out:
                continue
            if path not in around:
                paths.append(path)
                continue
            with contextlib.suppress(OSError):  # a worker of the same user cannot list it either
                waiting += [entry.path for entry in os.scandir(path) if _is_kept(entry)]
    paths += [path for path in map(os.path.realpath, _SYSTEM_FILES) if os.path.exists(path)]
    return list(dict.fromkeys(paths))


def _is_kept(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry of a split folder may be listed.

    A link out of the folder needs no rule: it is useful only if its target is readable by itself.
    """
    if not entry.is_symlink():
        return True
    return os.path.dirname(os.path.realpath(entry.path)) == os.path.dirname(entry.path)


def _trees() -> list[str]:
    """Return the folders that a worker may read, except the hidden paths in them."""
    sites = [path for path in sys.path if os.path.basename(path) in _SITE_NAMES]
    stdlib = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    folders = (*_SYSTEM_FOLDERS, *stdlib, os.path.join(sys.base_prefix, "lib"), *sites)
    trees = {os.path.realpath(path): None for path in folders if path and os.path.isdir(path)}
    return list(trees)
