"""The packs that a run of the program knows."""

from pathlib import Path

import pytest

from attn_drill.app.open_packs import open_packs
from tests.support.paths import TINY_PACK


def test_environment_names_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """ATTN_DRILL_PACK names packs. Folders are named before them."""
    monkeypatch.setenv("ATTN_DRILL_PACK", str(TINY_PACK))
    assert open_packs().find("prefix-sum").folder.parent.parent == TINY_PACK
    assert open_packs(["one"]).named == (Path("one"),)
