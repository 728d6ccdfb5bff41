"""Helpers of the tests of known packs."""

import shutil
from pathlib import Path

from tests.support.paths import TINY_PACK
from trainer.packs import pack_reader

BUILT_IN = pack_reader.built_in_pack()


BANK = 'title = "{}"\n[[question]]\nid = "{}"\nkind = "number"\nasks = "2?"\nexplains = "{{answer}}"\nanswer = "2"\n'


def make(root: Path, *folders: str, minutes: int = 5) -> Path:
    """A pack with challenges in these folders, all like `prefix_sum` of the small pack."""
    for folder in folders:
        for part in ("challenges", "solutions"):
            shutil.copytree(TINY_PACK / part / "prefix_sum", root / part / folder)
        file = root / "challenges" / folder / "challenge.toml"
        file.write_text(file.read_text().replace("minutes = 5", f"minutes = {minutes}"))
    return root


def install(site: Path, package: str, entry_points: str) -> None:
    """What an installer leaves of a package beside the package itself."""
    folder = site / f"{package}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(entry_points)
