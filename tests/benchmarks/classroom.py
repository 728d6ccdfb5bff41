"""Grade 500 submissions of gqa with `grade`, and with a fresh process for each submission.

The benchmark prints submissions per second and the memory of the graders. The submissions are a
mixture of right, wrong and hostile files.

    python tests/benchmarks/classroom.py [SUBMISSIONS] [FRESH]

A fresh process is `attn-drill check`. A loop runs it for a sample of the same submissions, first
one after another, then as many at a time as there are cores. The benchmark fails if `grade` is less
than 20 times as fast as the loop, or if the memory of the graders grows by more than a fifth
between 100 submissions and the end.
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
sys.path.insert(0, str(ROOT))  # before the imports of this checkout

from attn_drill.packs import pack_reader  # noqa: E402
from attn_drill.packs.mistakes import patch, read_mistakes  # noqa: E402
from attn_drill.sandbox.isolation import children  # noqa: E402
from tests.hostile.headers import read  # noqa: E402

LEAST_RATIO = 20.0
MOST_GROWTH = 1.2
SETTLED = 100
SECONDS = 2.0
HANGING = ("loop_at_import", "loop_in_forward")
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
    """Return submissions: three in five are right, a third is wrong, the others are hostile.

    Every 150th submission hangs until its time limit.
    """
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    folder = ROOT / "tests" / "hostile" / "submissions"
    right = [pack_reader.solution(gqa), *(path.read_text() for path in pack_reader.also_right(gqa))]
    wrong = [path.read_text() for path in sorted((ROOT / "tests" / "by_hand" / "gqa").glob("*.py"))]
    wrong += [
        patch(pack_reader.solution(gqa), mistake, "mistakes.toml") for mistake in read_mistakes(gqa)
    ]
    hostile, hanging = (
        [read(path, path.read_text()).source for path in (folder / f"{name}.py" for name in names)]
        for names in (HOSTILE, HANGING)
    )
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
    """Grade one submission in a fresh process."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "attn_drill",
            "check",
            "gqa",
            str(path),
            "--time-limit",
            str(SECONDS),
        ],
        cwd=path.parent,
        capture_output=True,
        check=False,
    )


def resident(pid: int) -> int:
    """Return the kilobytes in memory of the largest grading server below `pid`, or 0."""
    found = [0]
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        try:
            waiting += children(process)
            status = dict(
                line.split(":", 1)
                for line in Path(f"/proc/{process}/status").read_text().splitlines()
            )
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        parent = int(status["PPid"])
        # Count the grading servers, not their fork servers and workers.
        if b"attn_drill.server" in words and parent == pid:
            found.append(int(status["VmRSS"].split()[0]))
    return max(found)


def main() -> None:
    """Measure, print, and exit with 1 if a bound is broken."""
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
        assignment = Path(scratch, "assignment.toml")
        assignment.write_text(f'seconds = {SECONDS}\n[[challenge]]\nid = "gqa"\n')
        grade = [sys.executable, "-m", "attn_drill", "class", "grade", str(class_)]
        grade += ["--assignment", str(assignment), "--out", str(out)]
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
        output, _ = process.communicate()
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
    print(output)
    print(f"grade: {graded:.1f} a second, {done} of {count} results, {cores} jobs")
    print(
        f"fresh processes in a loop: {loop:.2f} a second ({loop_before:.2f} before, "
        f"{loop_after:.2f} after); {cores} at a time: {parallel:.2f}"
    )
    print(
        f"ratio to the loop: {graded / loop:.1f} (at least {LEAST_RATIO:g}); "
        f"to {cores} fresh processes at a time: {graded / parallel:.1f}"
    )
    print(
        f"the largest grader: {settled / 1024:.0f} MiB after {SETTLED} submissions, "
        f"{last / 1024:.0f} MiB at the end (at most {MOST_GROWTH:g} times)"
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
