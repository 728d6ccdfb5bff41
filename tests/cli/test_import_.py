"""Tests of `attn-drill import`."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.cli import drill
from trainer.packs import pack_reader


def test_dash_imports_from_stdin(full_export: bytes, tmp_path: Path) -> None:
    """The number of new rows is printed."""
    done = subprocess.run(
        [sys.executable, "-m", "trainer", "import", "-"],
        input=full_export,
        env={
            **os.environ,
            "PYTHONPATH": str(pack_reader.TRAINER.parent),
            "ATTN_DRILL_HOME": str(tmp_path / "other"),
        },
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    count = str(full_export.count(b"\n") - 1).encode()
    assert (done.returncode, done.stdout.split()[0]) == (0, count)


def test_broken_line_stops_the_whole_import(full_export: bytes, tmp_path: Path) -> None:
    """The message has the number of the line, and no other row is imported."""
    (tmp_path / "cut").write_bytes(full_export[:-20])
    other = str(tmp_path / "other")
    done = drill("import", "cut", cwd=tmp_path, code=2, ATTN_DRILL_HOME=other)
    line_number = full_export.count(b"\n")
    assert done.stderr.startswith(f"attn-drill: cut, line {line_number}: ")
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert not (tmp_path / "other").exists(), "no journal is created"


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    """The message names the file."""
    assert "absent cannot be read" in drill("import", "absent", cwd=tmp_path, code=2).stderr
    assert ". cannot be read" in drill("import", ".", cwd=tmp_path, code=2).stderr
