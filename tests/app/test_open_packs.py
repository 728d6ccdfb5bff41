"""The services that commands share, and how `--pack` reaches a command."""

from pathlib import Path

import pytest

from tests.support.paths import TINY_PACK
from trainer.app.open_packs import KnownPacks, open_packs


def test_the_environment_names_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`open_packs` takes its own folders and those of ATTN_DRILL_PACK."""
    monkeypatch.setenv("ATTN_DRILL_PACK", str(TINY_PACK))
    assert open_packs().find("prefix-sum").folder.parent.parent == TINY_PACK
    assert open_packs(["one"]).naming(["two"]).named == (Path("one"), Path("two"))


def test_pack_option_is_shown_for_named_packs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shown command needs `--pack` for a pack that it named, and for no other."""
    named = KnownPacks((TINY_PACK,))
    assert named.pack_option(named.find("prefix-sum")) == f" --pack {TINY_PACK}"
    assert named.pack_option(named.find("gqa")) == ""
    monkeypatch.setenv("ATTN_DRILL_PACK", str(TINY_PACK))
    assert open_packs().pack_option(open_packs().find("prefix-sum")) == ""
