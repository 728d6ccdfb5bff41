"""Tests of the async client of a grading server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT, SOURCE


@pytest.mark.thorough
def test_server_imports_nothing_from_the_folder_of_the_learner(tmp_path: Path) -> None:
    """A learner's file with the name of another module does not break the grading process."""
    for name in ("random", "torch", "attn_drill"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from attn_drill.server.clients import AsyncClient\n"
        "client = AsyncClient(Path(sys.argv[1]))\n"
        "print(client.output.read(4))\n"
        "client.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, str(ROOT)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert re.match(r"b'.", done.stdout), done.stderr
    assert done.stdout != "b''\n", done.stderr
