"""The commands as a user types them: what they print, where, and the exit code."""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import drill
from tests.support.known_packs import make
from trainer.packs import pack_reader


def test_list_shows_state_and_fits_narrow_terminals(solved: Path) -> None:
    """Level, minutes, state and prerequisites; under 60 columns where it must be."""
    assert re.search(r"gqa +medium +20 +new +mha", drill("list", cwd=solved).stdout)
    drill("check", "gqa", cwd=solved)
    assert re.search(r"gqa +medium +20 +passed", drill("list", cwd=solved).stdout)
    for columns in (80, 59, 50, 44):
        lines = drill("list", cwd=solved, COLUMNS=str(columns)).stdout.splitlines()
        assert max(len(line) for line in lines) <= columns
        for one in pack_reader.read_pack(pack_reader.built_in_pack()):
            (place,) = (
                number for number, line in enumerate(lines) if line.startswith(f"{one.id} ")
            )
            own = " ".join(lines[place : place + 3])
            assert re.search(rf"{one.level} +{one.minutes} +(new|started|passed)", lines[place])
            assert all(other in own for other in one.builds_on)
    assert {
        one["id"]: one["state"] for one in json.loads(drill("list", "--json", cwd=solved).stdout)
    }["gqa"] == "passed"


def read_all(terminal: int) -> str:
    """All that was written to a terminal whose other end is closed; one read may give a part of it. Linux ends it with an error."""
    found = b""
    with os.fdopen(terminal, "rb", buffering=0) as screen, contextlib.suppress(OSError):
        while part := screen.read(4096):
            found += part
    return found.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is needed")
@pytest.mark.parametrize("no_color", ["", "1"])
def test_list_on_a_terminal(solved: Path, no_color: str) -> None:
    """States are coloured on a terminal, and not with NO_COLOR."""
    drill("start", "gqa", cwd=solved)
    command = [sys.executable, "-m", "trainer", "list"]
    mine, its = os.openpty()
    subprocess.run(
        command,
        cwd=solved,
        env={**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent), "NO_COLOR": no_color},
        stdout=its,
        check=True,
    )
    os.close(its)
    shown = read_all(mine)
    assert "started" in shown
    assert ("\x1b[" in shown) == (not no_color)


@pytest.mark.parametrize("columns", [44, 60, 80, 120])
def test_the_list_fits(
    columns: int,
    tmp_path: Path,
    run: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pack's name in a column of its own, or below where the terminal is narrow."""
    monkeypatch.setenv("COLUMNS", str(columns))
    pack = make(tmp_path / "a-pack-of-a-course", "extra")
    _, out, _ = run("list", "--pack", str(pack))
    assert max(map(len, out.splitlines())) <= columns
    (place,) = (number for number, line in enumerate(out.splitlines()) if line.startswith("extra "))
    assert "a-pack-of-a-course" in " ".join(out.splitlines()[place : place + 2])
