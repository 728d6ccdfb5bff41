"""500 submissions of gqa, right, wrong and hostile mixed, by `grade` and by one fresh process each: submissions a second, and the graders' memory.

    python tests/benchmarks/classroom.py [SUBMISSIONS] [FRESH]

One fresh process each is `attn-drill check`, one after another, as a loop in a shell would do it, on a sample of the same submissions; beside it the
same with as many at a time as there are cores. Fails where `grade` is less than 20 times as fast as the loop, or where the graders' memory grows
by more than a fifth from 100 submissions to the end.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from trainer.packs import pack_reader  # noqa: E402
from trainer.packs.mistakes import patch, read_mistakes  # noqa: E402
from trainer.sandbox.isolation import children  # noqa: E402  # the checkout is put on the path first

LEAST_RATIO = 20.0
MOST_GROWTH = 1.2
SETTLED = 100
SECONDS = 2.0
HANGING = ("loop_at_import", "loop_in_a_thread", "loop_in_forward")
HOSTILE = (
    "closes_everything",
    "exit_zero",
    "forged_reply",
    "fork_bomb",
    "gc_search",
    "network",
    "output_flood",
    "patched_builtins",
    "reads_the_solution",
    "segfault",
)


def sources(count: int) -> list[str]:
    """So many submissions: three in five right, a third wrong, the others hostile, one in a hundred and fifty of them all hanging until its limit."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    folder = ROOT / "tests" / "hostile" / "submissions"
    right = [pack_reader.solution(gqa), *(path.read_text() for path in pack_reader.also_right(gqa))]
    wrong = [path.read_text() for path in sorted((ROOT / "tests" / "by_hand" / "gqa").glob("*.py"))]
    wrong += [patch(pack_reader.solution(gqa), one, "mistakes.toml") for one in read_mistakes(gqa)]
    hostile = [(folder / f"{name}.py").read_text() for name in HOSTILE]
    hanging = [(folder / f"{name}.py").read_text() for name in HANGING]
    draw = random.Random(7)
    made = []
    for number in range(count):
        kind = (
            hanging
            if number % 150 == 75
            else hostile
            if number % 15 == 7
            else wrong
            if number % 3 == 1
            else right
        )
        made.append(f"# {number}\n{draw.choice(kind)}")  # no two files are the same
    return made


def fresh(path: Path) -> None:
    """One process for one submission."""
    subprocess.run(
        [sys.executable, "-m", "trainer", "check", "gqa", str(path), "--time-limit", str(SECONDS)],
        cwd=path.parent,
        capture_output=True,
        check=False,
    )


def resident(pid: int) -> int:
    """Kilobytes in memory of the largest process below `pid` that grades, as the kernel counts them; the command itself where there is none."""
    found = [0]
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        try:
            waiting += children(one)
            status = dict(
                line.split(":", 1) for line in Path(f"/proc/{one}/status").read_text().splitlines()
            )
            words = Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        parent = int(status["PPid"])
        if (
            b"trainer.worker.launch" in words and parent == pid
        ):  # the stations themselves, not their fork servers and workers
            found.append(int(status["VmRSS"].split()[0]))
    return max(found)


def main() -> None:
    """Measure, print, judge."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    sample = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as scratch:
        class_, out, alone = Path(scratch, "class"), Path(scratch, "out"), Path(scratch, "alone")
        class_.mkdir()
        alone.mkdir()
        os.environ["ATTN_DRILL_HOME"] = str(Path(scratch, "home"))
        os.environ["PYTHONPATH"] = str(ROOT)
        made = sources(count)
        for number, source in enumerate(made):
            (class_ / f"s{number:04}.py").write_text(source)
        chosen = [made[index * count // sample] for index in range(sample)]
        files = [alone / f"a{number}.py" for number in range(sample)]
        for path, source in zip(files, chosen, strict=True):
            path.write_text(source)

        def in_a_loop() -> float:
            started = time.monotonic()
            for path in files:
                fresh(path)
            return sample / (time.monotonic() - started)

        loop_before = in_a_loop()
        grade = [
            sys.executable,
            "-m",
            "trainer",
            "grade",
            str(class_),
            "--challenge",
            "gqa",
            "--out",
            str(out),
            "--time-limit",
            str(SECONDS),
        ]
        started = time.monotonic()
        process = subprocess.Popen(
            [*grade, "--jobs", str(cores)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        sizes: list[tuple[int, int]] = []

        def watch() -> None:
            while process.poll() is None:
                sizes.append((len(list((out / "results").glob("*.json"))), resident(process.pid)))
                time.sleep(0.25)

        watching = threading.Thread(target=watch)
        watching.start()
        told, _ = process.communicate()
        graded = count / (time.monotonic() - started)
        watching.join()
        loop_after = in_a_loop()
        started = time.monotonic()
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(fresh, files))
        parallel = sample / (time.monotonic() - started)
        done = len(list((out / "results").glob("*.json")))
    loop = (loop_before + loop_after) / 2
    settled = max((size for number, size in sizes if number <= SETTLED), default=0)
    last = max((size for number, size in sizes if number > count * 0.9), default=0)
    print(told)
    print(f"grade: {graded:.1f} a second, {done} of {count} results, {cores} jobs")
    print(
        f"one fresh process each, in a loop: {loop:.2f} a second ({loop_before:.2f} before, {loop_after:.2f} after); {cores} at a time: {parallel:.2f}"
    )
    print(
        f"ratio to the loop {graded / loop:.1f} (at least {LEAST_RATIO:g}); to {cores} fresh processes at a time {graded / parallel:.1f}"
    )
    print(
        f"the largest grader: {settled / 1024:.0f} MiB by {SETTLED} submissions, {last / 1024:.0f} MiB at the end (at most {MOST_GROWTH:g} times)"
    )
    if (
        process.returncode != 0
        or done != count
        or graded / loop < LEAST_RATIO
        or not 0 < last <= MOST_GROWTH * settled
    ):
        sys.exit(1)


if __name__ == "__main__":
    main()
