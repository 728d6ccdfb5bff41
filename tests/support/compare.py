"""References for tests of the tools."""

import runpy
from typing import Any

from tests.support.paths import ROOT


def reference(folder: str) -> dict[str, Any]:
    """Return the names that the reference of a challenge defines."""
    return runpy.run_path(str(ROOT / "solutions" / folder / "solution.py"))
