"""Find the packages that register an entry point of the group `attn_drill.packs`.

`importlib.metadata` could find them too. But its import takes a fifth of the time of a command
that needs no torch, and one package with unreadable entry points would hide all others.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

GROUP = "attn_drill.packs"


def packages_with_packs(path: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the name of each package that names the group, and the text of its entry points.

    Args:
        path: the folders that hold packages, for example those of `sys.path`.
    """
    for folder in path:
        try:
            with os.scandir(folder or ".") as entries:
                names = [
                    entry.name
                    for entry in entries
                    if entry.name.endswith((".dist-info", ".egg-info"))
                ]
        except OSError:  # the entry is an archive, or does not exist
            continue
        for name in sorted(names):
            try:
                with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                    text = file.read()
            except OSError:  # most packages have no entry points
                continue
            if GROUP.encode() in text:
                yield name.partition("-")[0], text.decode("utf-8", "replace")


def entry_points_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and value of each entry of the group, from the text of an `entry_points.txt`."""
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == GROUP and line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield name.strip(), value.partition("[")[0].strip()  # a value may end with `[extras]`
