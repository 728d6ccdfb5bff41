"""A class's grading: results on disk, what is left to do, stations that are lost, the seam to executors."""

from pathlib import Path

import pytest

from tests.support.classroom import TINY
from tests.support.paths import TINY_PACK
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.packs.digest import content_digest


def test_content_is_told_apart(tmp_path: Path) -> None:
    """Any file of a challenge, on either side, changes its digest; its place does not."""
    import shutil

    copied = Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))
    same = pack_reader.find_in([copied], "prefix-sum")
    assert content_digest(same) == content_digest(TINY)
    (same.solutions / "mistakes.toml").write_text(
        (same.solutions / "mistakes.toml").read_text() + "\n"
    )
    assert content_digest(same) != content_digest(TINY)
    with pytest.raises(DrillError, match="No challenge is called 'other'"):
        pack_reader.find_in([copied], "other")
