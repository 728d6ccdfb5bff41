"""The session's screen, driven by Textual's pilot and, as a user would, in a terminal."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT
from trainer.packs import pack_reader


def test_nothing_of_the_learners_folder_is_imported(tmp_path: Path) -> None:
    """A file of the learner's named like a module of Python's or ours does not break the grading process."""
    for name in ("random", "torch", "trainer"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    script = "from pathlib import Path; from trainer.server.client import AsyncClient; import sys; g = AsyncClient(Path(sys.argv[1])); print(g._process.replies.read(4)); g.close()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, str(ROOT)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert re.match(r"b'.", done.stdout), done.stderr
    assert done.stdout != "b''\n", done.stderr
