"""What a diagnosis adds to a failing check, as a ratio to `import torch`, which every check does: the same check with and without it, in turn.

    python tests/benchmarks/diagnosis.py [ROUNDS] [--all]

The files of tests/by_hand of the challenge with the most known mistakes; with --all of every challenge. Of the first, the middle file may take half of
the yardstick, and none more than it: two mistakes at once take longer to find than one. Ends with 1 where one does.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from trainer.content import packs
from trainer.content.mistakes import read_mistakes
from trainer.core.words import Challenge
from trainer.grading.grader import Grader

ROOT = Path(__file__).resolve().parents[2]
MIDDLE, MOST = 0.5, 1.0


def seconds_of_import() -> float:
    """`import torch` in a process of its own."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.perf_counter() - started


def added(grader: Grader, challenge: Challenge, path: Path, rounds: int) -> float:
    """Seconds that the diagnosis of one file takes, in the middle of the rounds; every round has cases of its own."""
    bare, whole = [], []
    for number in range(rounds):
        exam = grader.exam(challenge, number)
        for times, diagnosed in ((bare, False), (whole, True)):
            started = time.perf_counter()
            grader.grade_exam(exam, path.read_text(), path.name, diagnosed=diagnosed)
            times.append(time.perf_counter() - started)
        grader.forget(challenge)
    return statistics.median(whole) - statistics.median(bare)


def main() -> int:
    """Measure every file in turn with its yardstick."""
    rounds = next((int(one) for one in sys.argv[1:] if one.isdigit()), 3)
    challenges = packs.read_pack(packs.built_in_pack())
    largest = max(challenges, key=lambda one: len(read_mistakes(one)))
    yardstick = statistics.median(seconds_of_import() for _ in range(rounds + 2))
    over = False
    with Grader([packs.built_in_pack()]) as grader:
        for challenge in challenges if "--all" in sys.argv else [largest]:
            paths = sorted((ROOT / "tests" / "by_hand" / challenge.folder.name).glob("*.py"))
            ratios = [added(grader, challenge, path, rounds) / yardstick for path in paths]
            bound = f" (the bounds: {MIDDLE} and {MOST})" if challenge == largest else ""
            print(f"{challenge.id:<18} adds {statistics.median(ratios):.2f} in the middle, {max(ratios):.2f} at most x `import torch`{bound}")
            over |= challenge == largest and (statistics.median(ratios) > MIDDLE or max(ratios) > MOST)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
