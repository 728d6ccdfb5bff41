"""Fixtures of the tests in `tests/packs`."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from trainer.cli import commands
from trainer.packs.scaffold import NewPack, scaffold


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on sys.path, as if it were one for packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command that needs no torch, in this process: its exit code, and what it wrote to stdout and to stderr."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attn-drill", *arguments])
        code = commands._run()
        return code, *capsys.readouterr()

    return command


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> NewPack:
    """A new pack, which no test changes."""
    return scaffold("my-pack", tmp_path_factory.mktemp("made"))
