"""Fixtures of the tests in `tests/cli`."""

from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from tests.support.cli import GQA, TILED


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    """Return a folder with a right gqa.py."""
    (tmp_path / "gqa.py").write_text(pack_reader.solution(GQA))
    return tmp_path


@pytest.fixture
def tiled(tmp_path: Path) -> Path:
    """Return a folder with a gqa.py whose key heads are tiled."""
    (tmp_path / "gqa.py").write_text(TILED)
    return tmp_path
