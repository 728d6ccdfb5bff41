"""Reading packs by path; a broken pack gives one sentence naming file and key."""

import shutil
from pathlib import Path

import pytest

from tests.support.paths import TINY_PACK
from trainer.model.errors import PackError
from trainer.packs import pack_reader
from trainer.packs.interface import signatures


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of the small pack, to be broken."""
    return Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))


def test_signatures_come_from_the_stub() -> None:
    """Constructor and forward with names, order and defaults; `self` left out."""
    found = {
        one.name: one.parameters
        for one in signatures(pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"))
    }
    assert list(found) == ["GroupedQueryAttention.__init__", "GroupedQueryAttention.forward"]
    assert [one.name for one in found["GroupedQueryAttention.forward"]] == ["x", "mask"]
    assert found["GroupedQueryAttention.__init__"][3].default == 0.0
    assert found["GroupedQueryAttention.__init__"][2].required


def test_stub_without_entry(pack: Path) -> None:
    """A stub that does not define the entry is the pack's fault, and said so."""
    file = pack / "challenges/prefix_sum/stub.py"
    file.write_text("def other(): ...\n")
    with pytest.raises(PackError, match="defines no prefix_sum"):
        signatures(pack_reader.find_challenge(pack, "prefix-sum"))
