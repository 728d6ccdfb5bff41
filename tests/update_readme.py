"""Put today's report into the README: python tests/update_readme.py. A test says when it is time to."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from trainer.content import packs

ROOT = packs.TRAINER.parent
BEGIN, END = "<!-- report -->\n```text\n", "\n```\n"


def current_report() -> str:
    """What `check` prints at 100 columns for tiled key heads and seed 2."""
    gqa = packs.find_challenge(packs.built_in_pack(), "gqa")
    tiled = packs.solution(gqa).replace("k = k.repeat_interleave(group_size, dim=1)", "k = k.repeat(1, group_size, 1, 1)")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "gqa.py").write_text(tiled)
        command = [sys.executable, "-m", "trainer", "check", "gqa", "gqa.py", "--seed", "2"]
        environment["ATTN_DRILL_HOME"] = folder
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def shown_report(readme: str) -> str:
    """What the README shows."""
    return readme.partition(BEGIN)[2].partition(END)[0]


if __name__ == "__main__":
    path = ROOT / "README.md"
    text = path.read_text()
    path.write_text(text.replace(BEGIN + shown_report(text) + END, BEGIN + current_report() + END))
