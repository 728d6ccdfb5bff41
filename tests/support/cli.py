"""Run `attn-drill` as a user types it."""

import os
import subprocess
from pathlib import Path

from attn_drill.packs import pack_reader
from tests.support import forked
from tests.support.paths import SOURCE

BUILT_IN = pack_reader.built_in_pack()
GQA = pack_reader.find_challenge(BUILT_IN, "gqa")


def drill(
    *arguments: str, cwd: Path, code: int | None = 0, given: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run attn-drill in a folder and return its output.

    Args:
        arguments: the command line without `attn-drill`.
        cwd: the folder.
        code: the expected exit code; None accepts every code.
        given: the standard input.
        environment: more environment variables.
    """
    python_path = str(SOURCE)
    variables = {**os.environ, "PYTHONPATH": python_path, **environment}
    completed = forked.run(arguments, cwd, variables, given)
    assert code is None or completed.returncode == code, completed.stdout + completed.stderr
    return completed


TILED = pack_reader.solution(GQA).replace(
    "k = k.repeat_interleave(group_size, dim=1)", "k = k.repeat(1, group_size, 1, 1)"
)
