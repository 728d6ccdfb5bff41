"""The packs that a run of the program knows."""

from pathlib import Path

import pytest

from tests.support.paths import TINY_PACK
from trainer.app.open_packs import KnownPacks, open_packs


def test_environment_names_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """ATTN_DRILL_PACK names packs. `naming` adds more."""
    monkeypatch.setenv("ATTN_DRILL_PACK", str(TINY_PACK))
    assert open_packs().find("prefix-sum").folder.parent.parent == TINY_PACK
    assert open_packs(["one"]).naming(["two"]).named == (Path("one"), Path("two"))


def test_pack_option_is_shown_for_named_packs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shown command needs `--pack` only for a pack that `--pack` named."""
    named = KnownPacks((TINY_PACK,))
    assert named.pack_option(named.find("prefix-sum")) == f" --pack {TINY_PACK}"
    assert named.pack_option(named.find("gqa")) == ""
    monkeypatch.setenv("ATTN_DRILL_PACK", str(TINY_PACK))
    assert open_packs().pack_option(open_packs().find("prefix-sum")) == ""
