"""Fixtures of the tests in `tests/classroom`."""

import tempfile
from pathlib import Path

import pytest

from tests.support.collect import lay


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files."""
    folder = lay(tmp_path / "scratch", {})
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
