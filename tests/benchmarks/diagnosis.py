"""What a diagnosis adds to a failing check, as a ratio to the same check without one, in turn in one process.

    python tests/benchmarks/diagnosis.py [ROUNDS]

Every challenge with its own first files of tests/by_hand, one mistake each; a whole check also imports torch, which is the yardstick: a diagnosis
takes at most 0.6 of `import torch` in the middle, over all files of the challenge with the most mistakes. Ends with 1 where it takes more.
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
from trainer.grading.grader import Grader

ROOT = Path(__file__).resolve().parents[2]
BOUND = 0.6


def seconds_of_import() -> float:
    """`import torch` in a process of its own."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.perf_counter() - started


def main() -> int:
    """Measure every file in turn with its yardstick."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    challenges = packs.read_pack(packs.built_in_pack())
    largest = max(challenges, key=lambda one: len(read_mistakes(one)))
    yardstick = statistics.median(seconds_of_import() for _ in range(rounds + 2))
    worst = 0.0
    with Grader([packs.built_in_pack()]) as grader:
        for challenge in challenges:
            ratios = []
            for path in sorted((ROOT / "tests" / "by_hand" / challenge.folder.name).glob("*.py")):
                bare, whole = [], []
                for number in range(rounds):
                    exam = grader.exam(challenge, number)
                    for times, diagnosed in ((bare, False), (whole, True)):
                        started = time.perf_counter()
                        grader.grade_exam(exam, path.read_text(), path.name, diagnosed=diagnosed)
                        times.append(time.perf_counter() - started)
                    grader.forget(challenge)
                ratios.append((statistics.median(whole) - statistics.median(bare)) / yardstick)
            middle = statistics.median(ratios)
            of_largest = challenge == largest
            print(
                f"{challenge.id:<18} adds {middle:.2f} x `import torch` in the middle, {max(ratios):.2f} at most"
                + (f" (the middle at most {BOUND})" if of_largest else "")
            )
            worst = max(worst, middle if of_largest else 0.0)
    return 1 if worst > BOUND else 0


if __name__ == "__main__":
    sys.exit(main())
