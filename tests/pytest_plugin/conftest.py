"""Fixtures of the tests in `tests/pytest_plugin`."""

from pathlib import Path

import pytest

from tests.support.pytest_plugin import CONFTEST, project
from trainer.pytest_plugin import drill_run as drill_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a project that is graded by the fake server."""
    return project(tmp_path / "project", CONFTEST)
