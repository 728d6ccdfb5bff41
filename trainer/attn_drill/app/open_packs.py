"""The packs that a run of the program knows, and the settings of the learner."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from attn_drill.packs.catalogue import KnownPacks
from attn_drill.packs.stub_levels import Level
from attn_drill.packs.toml import read_toml

__all__ = ["KnownPacks", "open_packs"]

LEAST_MINUTES, MOST_MINUTES = 5, 240  # of a planned review
_VARIABLES = {
    "language": "ATTN_DRILL_LANG",
    "packs": "ATTN_DRILL_PACK",
    "theme": "ATTN_DRILL_THEME",
}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings: the keys of config.toml."""

    language: str = "en"  # of the prompts
    packs: tuple[str, ...] = ()  # folders; like ATTN_DRILL_PACK
    theme: Literal["dark", "light"] | None = None  # None: by the terminal's background
    level: Level = "standard"  # of a new stub
    hints_first: bool | None = None  # None: only at the level guided
    # `review` without an ID plans so many minutes; None: it hands out the longest due challenge.
    review_minutes: Annotated[int, msgspec.Meta(ge=LEAST_MINUTES, le=MOST_MINUTES)] | None = None


def config_path() -> Path:
    """Return the path of config.toml: in ATTN_DRILL_HOME, or the platform's config folder."""
    if home := os.environ.get("ATTN_DRILL_HOME"):
        return Path(os.path.expanduser(home)) / "config.toml"
    import platformdirs

    return Path(platformdirs.user_config_dir("attn-drill", appauthor=False)) / "config.toml"


def settings() -> Settings:
    """Return the settings that hold, or raise a DrillError if config.toml has a mistake."""
    chosen = _of_file()
    language = _variable("language") or chosen.language
    packs, theme = _variable("packs"), _variable("theme").lower()
    return msgspec.structs.replace(
        chosen,
        language=language.partition("_")[0].lower() or "en",
        packs=tuple(packs.split(os.pathsep)) if packs else chosen.packs,
        theme=theme if theme in ("dark", "light") else chosen.theme,
    )


def sources() -> dict[str, str]:
    """Return for each setting where it comes from: a variable, the file, or the default."""
    usual, chosen = Settings(), _of_file()
    places = {}
    for key in Settings.__struct_fields__:
        is_usual = getattr(chosen, key) == getattr(usual, key)
        places[key] = "default" if is_usual else "config.toml"
        if _variable(key):
            places[key] = _VARIABLES[key]
    return places


def _variable(key: str) -> str:
    return os.environ.get(_VARIABLES.get(key, ""), "")


def _of_file() -> Settings:
    path = config_path()
    return read_toml(path, Settings) if path.exists() else Settings()


def open_packs(named: Iterable[Path | str] = ()) -> KnownPacks:
    """Return the known packs: the folders `named`, and those of the settings."""
    return KnownPacks(variable=os.pathsep.join(settings().packs)).naming(named)
