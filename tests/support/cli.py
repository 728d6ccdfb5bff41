"""Helpers of the tests of cli."""

import os
import subprocess
from pathlib import Path

from tests.support import forked
from trainer.packs import pack_reader

BUILT_IN = pack_reader.built_in_pack()


GQA = pack_reader.find_challenge(BUILT_IN, "gqa")


def drill(
    *arguments: str, cwd: Path, code: int | None = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run attn-drill in a folder; its output and exit code."""
    done = forked.run(
        arguments, cwd, {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent), **environment}
    )
    assert code is None or done.returncode == code, done.stdout + done.stderr
    return done


TILED = pack_reader.solution(GQA).replace(
    "k = k.repeat_interleave(group_size, dim=1)", "k = k.repeat(1, group_size, 1, 1)"
)
