"""What a diagnosis adds to a failing check, as a ratio to the bare check: `import torch`, which every check does, and grading. Both, in turn.

    python tests/benchmarks/diagnosis.py [ROUNDS] [--all] [--every N]

The files of tests/by_hand of the challenges with the most known mistakes, or every Nth of them; with --all of every challenge. Of the first, none may
add more than the bound: half a second, where a bare check takes 0.9 s. What is over it is measured anew, twice at most: other work on the machine only adds. Ends with 1 where
one stays over it.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from trainer.diagnosis.diagnose import Diagnoser
from trainer.model.submission import Submission

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from trainer.grading.grader import Grader
from trainer.model.challenge import Challenge
from trainer.packs import pack_reader
from trainer.packs.mistakes import read_mistakes

ROOT = Path(__file__).resolve().parents[2]
SEED = 7
MOST = 0.55


def seconds_of_import() -> float:
    """`import torch` in a process of its own."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.perf_counter() - started


def added(grader: Grader, challenge: Challenge, path: Path, rounds: int, torch: float) -> float:
    """What the diagnosis of one file adds to its bare check: the quickest of the rounds, which all begin anew with the same cases.

    `torch`: the seconds of its import, measured not long ago.
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
    """Measure every file in turn with its yardstick."""
    words = argparse.ArgumentParser()
    words.add_argument("rounds", type=int, nargs="?", default=2)
    words.add_argument("--all", action="store_true")
    words.add_argument("--every", type=int, default=1)
    asked = words.parse_args()
    challenges = pack_reader.read_pack(pack_reader.built_in_pack())
    counts = {one.id: len(read_mistakes(one)) for one in challenges}
    largest = [one for one in challenges if counts[one.id] == max(counts.values())]
    over = False
    with Grader([pack_reader.built_in_pack()]) as grader:
        for challenge in challenges if asked.all else largest:
            paths = sorted((ROOT / "tests" / "by_hand" / challenge.folder.name).glob("*.py"))[
                :: asked.every
            ]
            ratios = []
            torch = 0.0
            for number, path in enumerate(paths):
                if number % 3 == 0:
                    torch = min(seconds_of_import() for _ in range(asked.rounds))
                tries = (added(grader, challenge, path, asked.rounds, torch) for _ in range(3))
                ratio = next(tries)
                ratios.append(
                    ratio if ratio <= MOST or challenge not in largest else min(ratio, *tries)
                )
            bound = f" (the bound: {MOST})" if challenge in largest else ""
            print(
                f"{challenge.id:<18} adds {statistics.median(ratios):.2f} in the middle, {max(ratios):.2f} at most x the bare check{bound}"
            )
            over |= challenge in largest and max(ratios) > MOST
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
