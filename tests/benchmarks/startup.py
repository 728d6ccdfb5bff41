"""Measure the whole time of commands as ratios to an import that runs in turn with them.

    python tests/benchmarks/startup.py [ROUNDS]

`check` of a passing file may take at most 1.10 times as long as `import torch`. `list`, `--help`,
`hint` and `start` into a pipe may take at most 2.5 times as long as `import typer`. A command is
compared with the import that runs right after it, because a shared machine changes its speed within
seconds, and the median of these ratios counts. `check` uses two cores, and two cores are free less
often than the single core of the import. So up to four times as many rounds are added if a ratio is
over its bound. The exit code is 1 if the ratio stays over its bound.
"""

import os
import statistics
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
    """Return the wall-clock seconds of one process.

    Modules of this package are compiled once, as in an installed package.
    """
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
    """Return the median of the ratios to the import, and the fewest seconds of the command."""
    times: list[float] = []
    ratios: list[float] = []
    for index in range(1 + MOST_TIMES * rounds):
        if index > rounds and statistics.median(ratios) <= bound:
            break
        times.append(seconds([sys.executable, "-m", "attn_drill", *arguments], folder))
        ratios.append(times[-1] / seconds([sys.executable, "-c", yardstick], folder))
        if index == 0:  # the first round fills the file cache and compiles modules
            times, ratios = [], []
    return statistics.median(ratios), min(times)


def main() -> int:
    """Measure every command next to its import. Return the exit code."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    over = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (arguments, yardstick, bound) in COMMANDS.items():
            ratio, best = measured(arguments, yardstick, rounds, bound, folder)
            over += ratio > bound
            print(
                f"{name:<10} {1000 * best:7.0f} ms at best; {ratio:.2f} x `{yardstick}` "
                f"(median, at most {bound})"
            )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
