"""Fixtures for the tests in `tests/pytest_plugin`."""

from pathlib import Path

import pytest

from tests.support.pytest_plugin import CONFTEST, project


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a project with the fake grading server."""
    return project(tmp_path / "project", CONFTEST)
