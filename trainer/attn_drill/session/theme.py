"""Choose a dark or a light theme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal


def theme(shade: Literal["dark", "light"] | None, environment: Mapping[str, str]) -> str:
    """Return the name of the Textual theme, by default that of the terminal's background."""
    if shade is None:
        # Some terminals tell the numbers of their colours in COLORFGBG.
        background = environment.get("COLORFGBG", "").rpartition(";")[2]
        shade = "light" if background in ("7", "15") else "dark"
    return f"textual-{shade}"
