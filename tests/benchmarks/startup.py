"""Whole-process time of commands as ratios to an import, run side by side and in turn.

    python tests/benchmarks/startup.py [ROUNDS]

`check` of a passing file against `import torch`: at most 1.10. `list`, `--help`, `hint`, `start` into a pipe against
`import typer`: at most 2.5. Of each the best round counts, so that what else the machine does is left out; `check` asks
for two cores, and finds both free less often than its yardstick finds one. So where a ratio is over its bound, up to four
times as many rounds are added. Ends with 1 where it stays over it.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_TIMES = 5
HEAVY, LIGHT = "import torch", "import typer"
COMMANDS = {
    "check gqa": (["check", "gqa", str(ROOT / "solutions/gqa/solution.py")], HEAVY, 1.10),
    "list": (["list"], LIGHT, 2.5),
    "--help": (["--help"], LIGHT, 2.5),
    "hint gqa": (["hint", "gqa"], LIGHT, 2.5),
    "start gqa": (["start", "gqa"], LIGHT, 2.5),
}


def seconds(command: list[str], folder: str) -> float:
    """Wall-clock time of one process, with our modules compiled once as the yardstick's are: who installs the package has them so."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    environment["ATTN_DRILL_HOME"] = folder
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    elapsed = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr.decode()}")
    return elapsed


def measured(
    arguments: list[str], yardstick: str, rounds: int, bound: float, folder: str
) -> tuple[float, float]:
    """The ratio to the yardstick, and the seconds, in the best round of each."""
    mine, its = [], []
    for number in range(1 + MOST_TIMES * rounds):
        if number > rounds and min(mine) <= bound * min(its):
            break
        mine.append(seconds([sys.executable, "-m", "trainer", *arguments], folder))
        its.append(seconds([sys.executable, "-c", yardstick], folder))
        if number == 0:  # it has warmed the file cache, and compiled
            mine, its = [], []
    return min(mine) / min(its), min(mine)


def main() -> int:
    """Measure every command in turn with its yardstick."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    over = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (arguments, yardstick, bound) in COMMANDS.items():
            ratio, best = measured(arguments, yardstick, rounds, bound, folder)
            over += ratio > bound
            print(
                f"{name:<10} {1000 * best:7.0f} ms = {ratio:.2f} x `{yardstick}` (at most {bound})"
            )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
