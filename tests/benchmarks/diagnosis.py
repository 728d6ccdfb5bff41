"""Measure the time that a diagnosis adds to a failing check, as a ratio to the bare check.

The bare check is `import torch`, which every check does, and grading.

    python tests/benchmarks/diagnosis.py [ROUNDS] [--all] [--every N]

The benchmark takes the files of tests/by_hand of the challenges with the most known mistakes, or
every Nth of these files. With --all it takes the files of every challenge. For the challenges with
the most mistakes, no file may add more than the bound: half a second if a bare check takes 0.9 s. A
file over the bound is measured again, at most twice, because other work on the machine only adds
time. The exit code is 1 if a file stays over the bound.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from attn_drill.diagnosis.diagnose import Diagnoser
from attn_drill.model.challenge import Submission

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Challenge
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes

ROOT = Path(__file__).resolve().parents[2]
SEED = 7
MOST = 0.55


def seconds_of_import() -> float:
    """Return the seconds of `import torch` in a fresh process."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.perf_counter() - started


def added(grader: Grader, challenge: Challenge, path: Path, rounds: int, torch: float) -> float:
    """Return the ratio of the time that the diagnosis adds to the time of the bare check.

    The quickest round counts. All rounds start again with the same cases.

    Args:
        grader: the grader.
        challenge: the challenge of the file.
        path: the file.
        rounds: the number of rounds.
        torch: the seconds of `import torch`, measured shortly before.
    """
    bare, whole = [], []
    for _ in range(rounds):
        case_set, diagnoser = grader.case_set(challenge, SEED), Diagnoser(grader.workers)
        for times, diagnosed in ((bare, False), (whole, True)):
            started = time.perf_counter()
            judgement = grader.judge(case_set, Submission(path.name, path.read_text()))
            if diagnosed:
                diagnoser.report(judgement)
            times.append(time.perf_counter() - started)
        grader.forget(challenge)
    return (min(whole) - min(bare)) / (torch + min(bare))


def main() -> int:
    """Measure every file next to its bare check. Return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", type=int, nargs="?", default=2)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    challenges = pack_reader.read_pack(pack_reader.built_in_pack())
    counts = {challenge.id: len(read_mistakes(challenge)) for challenge in challenges}
    most = max(counts.values())
    largest = [challenge for challenge in challenges if counts[challenge.id] == most]
    over = False
    with Grader([pack_reader.built_in_pack()]) as grader:
        for challenge in challenges if options.all else largest:
            paths = sorted((ROOT / "tests" / "by_hand" / challenge.folder.name).glob("*.py"))[
                :: options.every
            ]
            ratios = []
            torch = 0.0
            for index, path in enumerate(paths):
                if index % 3 == 0:
                    torch = min(seconds_of_import() for _ in range(options.rounds))
                tries = (added(grader, challenge, path, options.rounds, torch) for _ in range(3))
                ratio = next(tries)
                ratios.append(
                    ratio if ratio <= MOST or challenge not in largest else min(ratio, *tries)
                )
            bound = f" (the bound: {MOST})" if challenge in largest else ""
            print(
                f"{challenge.id:<18} adds {statistics.median(ratios):.2f} x the bare check "
                f"(median), {max(ratios):.2f} at most{bound}"
            )
            over |= challenge in largest and max(ratios) > MOST
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
