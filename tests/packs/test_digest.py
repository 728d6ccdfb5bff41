"""The digest of a challenge's content."""

import shutil
from pathlib import Path

import pytest

from tests.support.classroom import TINY
from tests.support.paths import TINY_PACK
from trainer.packs import pack_reader
from trainer.packs.digest import content_digest


def test_digest_does_not_depend_on_the_place(tmp_path: Path) -> None:
    """A copy of the challenge in another folder has the same digest."""
    copied = Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))
    assert content_digest(pack_reader.find_challenge(copied, "prefix-sum")) == content_digest(TINY)


@pytest.mark.parametrize(
    "name", ["challenges/prefix_sum/prompt.md", "solutions/prefix_sum/mistakes.toml"]
)
def test_every_file_changes_the_digest(tiny_pack: Path, name: str) -> None:
    """A change of any file, in challenges/ or in solutions/, gives another digest."""
    file = tiny_pack / name
    file.write_text(file.read_text() + "\n")
    changed = pack_reader.find_challenge(tiny_pack, "prefix-sum")
    assert content_digest(changed) != content_digest(TINY)
