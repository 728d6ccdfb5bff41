"""Fixtures of the tests in `tests/packs`."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attn_drill.cli import _commands
from attn_drill.packs.scaffold import scaffold
from tests.support.paths import TINY_PACK


@pytest.fixture
def tiny_pack(tmp_path: Path) -> Path:
    """Return a copy of the tiny pack, which a test may change."""
    return Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder on sys.path, for installed packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a command without torch in this process.

    The function returns the exit code, the text on stdout and the text on stderr.
    """
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attn-drill", *arguments])
        code = _commands.run()
        return code, *capsys.readouterr()

    return command


@pytest.fixture(scope="module")
def new_pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a pack that `pack new` wrote. Tests must not change this pack."""
    return scaffold("my-pack", tmp_path_factory.mktemp("made"))
