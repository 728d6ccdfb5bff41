"""Fixtures of the tests in `tests/sandbox`."""

from __future__ import annotations

from pathlib import Path

import pytest

from attn_drill.sandbox import _system_calls
from tests.support.isolation import MACHINES, OWN


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a package folder from which this process and its workers import."""
    folder = tmp_path / "lib" / "site-packages"
    (folder / "neighbour").mkdir(parents=True)
    (folder / "neighbour" / "module.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture(scope="module", params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    """Return each machine for which there is a filter, also if this machine is another one."""
    return str(request.param)


@pytest.fixture(scope="module")
def code(machine: str) -> bytes:
    """Return the filter program for the machine."""
    return _system_calls.program(machine, OWN)
