"""References and units for tests of the attention costs."""

import runpy
from typing import Any

from trainer.packs import pack_reader

MIB = 1 << 20


def reference(folder: str) -> dict[str, Any]:
    """Return the names that the reference of a challenge defines."""
    return runpy.run_path(str(pack_reader.built_in_pack() / "solutions" / folder / "solution.py"))
