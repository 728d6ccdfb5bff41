"""Fixtures of the tests in `tests/sandbox`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.syscalls import MACHINES, OWN
from trainer.sandbox import copy_check, readable_files, seccomp


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that this process and its workers import from."""
    folder = tmp_path / "lib" / "site-packages"
    (folder / "neighbour").mkdir(parents=True)
    (folder / "neighbour" / "module.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch, site: Path) -> None:
    """Search the test's own folder of packages alone: the others are searched by other tests."""

    def places(hidden: list[Path]) -> list[str]:
        # Inside bubblewrap /tmp is another folder, and this test's may lie elsewhere in it.
        return [
            *(path for path in readable_files.readable_paths(hidden) if path.startswith(str(site))),
            "/tmp",
        ]

    monkeypatch.setattr(copy_check, "_everywhere", places)
    monkeypatch.setattr(copy_check, "_near", lambda: [str(site)])


@pytest.fixture(scope="module", params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    """Each machine that there is a filter for, whatever this one is."""
    return str(request.param)


@pytest.fixture(scope="module")
def code(machine: str) -> bytes:
    """The program that is installed on such a machine."""
    return seccomp.program(machine, OWN)
