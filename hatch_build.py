"""Put challenges, solutions and the page of conventions into a wheel, not an editable install.

An editable install finds them in the checkout. A second copy among the installed packages would
be readable for submissions.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackHook(BuildHookInterface):
    """The build hook that pyproject.toml calls `custom`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the built-in pack to a wheel. `version` is "standard" or "editable"."""
        if version != "editable":
            for part in ("challenges", "solutions"):
                build_data["force_include"][str(Path(self.root, part))] = f"trainer/_pack/{part}"
            for page in Path(self.root, "docs").glob("conventions*.md"):
                build_data["force_include"][str(page)] = f"trainer/_pack/docs/{page.name}"
