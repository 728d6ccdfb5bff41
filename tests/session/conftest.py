"""Fixtures of the tests in `tests/session`."""

from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from tests.support.session import GQA


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the path of a stub that was handed out."""
    path = tmp_path / "gqa.py"
    path.write_text(pack_reader.stub(GQA))
    return path
