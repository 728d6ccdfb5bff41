"""The journal goes out as JSON lines and comes in again: nothing lost, nothing twice, all or nothing."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.cli import drill
from trainer.packs import pack_reader


def test_import_from_stdin(there: bytes, tmp_path: Path) -> None:
    """`-` reads a pipe."""
    done = subprocess.run(
        [sys.executable, "-m", "trainer", "import", "-"],
        input=there,
        env={
            **os.environ,
            "PYTHONPATH": str(pack_reader.TRAINER.parent),
            "ATTN_DRILL_HOME": str(tmp_path / "other"),
        },
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout.split()[0]) == (0, str(there.count(b"\n") - 1).encode())


def test_import_is_all_or_nothing(there: bytes, tmp_path: Path) -> None:
    """One broken line at the end of a good file: exit code 2, one sentence with its number, and no row of the others is there."""
    (tmp_path / "cut").write_bytes(there[:-20])
    other = str(tmp_path / "other")
    done = drill("import", "cut", cwd=tmp_path, code=2, ATTN_DRILL_HOME=other)
    number = there.count(b"\n")
    assert done.stderr.startswith(f"attn-drill: cut, line {number}: ")
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert not (tmp_path / "other").exists(), "the journal was not even touched"


def test_no_such_file(tmp_path: Path) -> None:
    """A name that is none, and a folder: a sentence each."""
    assert "absent cannot be read" in drill("import", "absent", cwd=tmp_path, code=2).stderr
    assert ". cannot be read" in drill("import", ".", cwd=tmp_path, code=2).stderr
