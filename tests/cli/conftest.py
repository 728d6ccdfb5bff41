"""Fixtures of the tests in `tests/cli`."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attn_drill.cli import _commands
from attn_drill.packs import pack_reader
from tests.support.cli import GQA, TILED


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    """Return a folder with a right gqa.py."""
    (tmp_path / "gqa.py").write_text(pack_reader.solution(GQA))
    return tmp_path


@pytest.fixture
def tiled(tmp_path: Path) -> Path:
    """Return a folder with a gqa.py whose key heads are tiled."""
    (tmp_path / "gqa.py").write_text(TILED)
    return tmp_path


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a command without torch in this process.

    The function returns the exit code, stdout and stderr.
    """
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attn-drill", *arguments])
        code = _commands.run()
        return code, *capsys.readouterr()

    return command
