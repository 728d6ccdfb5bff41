"""Helpers for tests that need several packs."""

import shutil
from pathlib import Path

from attn_drill.packs import pack_reader
from tests.support.paths import TINY_PACK

BUILT_IN = pack_reader.built_in_pack()
# A topic file with one question. Its fields are the title and the id of the question.
BANK = """title = "{}"
[[question]]
id = "{}"
kind = "number"
asks = "2?"
explains = "{{answer}}"
answer = "2"
"""


def make_pack(root: Path, *folders: str, minutes: int = 5) -> Path:
    """Write a pack whose challenges are copies of the tiny pack's `prefix_sum`.

    Args:
        root: the folder of the pack.
        folders: the folder name of each challenge.
        minutes: the `minutes` of each challenge.

    Returns:
        The folder `root`.
    """
    for folder in folders:
        for part in ("challenges", "solutions"):
            shutil.copytree(TINY_PACK / part / "prefix_sum", root / part / folder)
        file = root / "challenges" / folder / "challenge.toml"
        file.write_text(file.read_text().replace("minutes = 5", f"minutes = {minutes}"))
    return root


def install_pack(site: Path, package: str, entry_points: str) -> None:
    """Write the metadata that an installer would write for a package.

    Args:
        site: the folder of installed packages.
        package: the name of the package.
        entry_points: the text of `entry_points.txt`.
    """
    folder = site / f"{package}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(entry_points)
