"""Helpers of the tests of compare."""

import runpy
from typing import Any

from trainer.packs import pack_reader

MIB = 1 << 20


def reference(folder: str) -> dict[str, Any]:
    """What the reference of a challenge defines, by name."""
    return runpy.run_path(str(pack_reader.built_in_pack() / "solutions" / folder / "solution.py"))
