"""Fixtures of the tests in `tests/app`."""

from pathlib import Path

import pytest

from attn_drill.practice.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """Return an empty journal."""
    return Journal(tmp_path / "journal")
