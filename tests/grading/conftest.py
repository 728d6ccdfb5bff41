"""Fixtures of the tests in `tests/grading`."""

import shutil
from pathlib import Path

import pytest

from tests.support.paths import TINY_PACK


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of the small pack, to be broken."""
    return Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))
