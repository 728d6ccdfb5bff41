"""The hooks of the build that pyproject.toml calls `custom`."""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class PackHook(BuildHookInterface):
    """Put challenges, solutions and the page of conventions into a wheel, not an editable install.

    An editable install finds them in the checkout. A second copy among the installed packages would
    be readable for submissions.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the built-in pack to a wheel. `version` is "standard" or "editable"."""
        if version != "editable":
            for part in ("challenges", "solutions"):
                build_data["force_include"][str(Path(self.root, part))] = f"attn_drill/_pack/{part}"
            for page in Path(self.root, "docs").glob("conventions*.md"):
                build_data["force_include"][str(page)] = f"attn_drill/_pack/docs/{page.name}"


class AddressHook(MetadataHookInterface):
    """Give the page on a package index the addresses of the repository, and absolute links.

    Only a build of the release workflow knows them: GITHUB_REPOSITORY is `owner/name` there, and
    GITHUB_REF_NAME the tag. So a fork needs no edit, and a clone keeps links that work offline.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description and the addresses."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        if repository := os.environ.get("GITHUB_REPOSITORY"):
            address = f"{os.environ['GITHUB_SERVER_URL']}/{repository}"
            tag = os.environ["GITHUB_REF_NAME"]
            metadata["urls"] = {
                "Source": address,
                "Documentation": f"{address}/tree/{tag}/docs",
                "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }
            text = re.sub(r"(!\[[^]]*\]\()(?!https?:)", rf"\1{address}/raw/{tag}/", text)
            text = re.sub(r"(\]\()(?!https?:|#)", rf"\1{address}/blob/{tag}/", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
