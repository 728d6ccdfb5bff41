"""Fixtures for the tests in `tests/classroom`."""

import tempfile
from pathlib import Path

import pytest

from tests.support.collect import write_files


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for temporary files."""
    folder = write_files(tmp_path / "scratch", {})
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
