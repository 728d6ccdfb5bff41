"""Dark or light."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal


def theme(shade: Literal["dark", "light"] | None, environment: Mapping[str, str]) -> str:
    """The name of the Textual theme: what is asked for, else ATTN_DRILL_THEME, else what the terminal says of its background."""
    if shade is None:
        named = environment.get("ATTN_DRILL_THEME", "").lower()
        background = environment.get("COLORFGBG", "").rpartition(";")[2]
        shade = (
            "light"
            if named == "light" or (named != "dark" and background in ("7", "15"))
            else "dark"
        )
    return f"textual-{shade}"
