"""From a save to the verdict on the screen, in a session in a real terminal, beside a cold check of the same file.

python tests/benchmarks/session.py [SAVES]    prints medians, the 95th percentile, and the ratio
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from trainer.packs import pack_reader

ID = "gqa"
MOST_RATIO = 0.2  # of a cold check; the aim on two ordinary cores is a tenth of a second


def screen_until(terminal: int, word: bytes, seconds: float = 30.0) -> None:
    """Read what the session draws until this word is drawn."""
    seen = b""
    end = time.monotonic() + seconds
    while word not in seen:
        if not select.select([terminal], [], [], max(0.0, end - time.monotonic()))[0]:
            raise SystemExit(
                f"the session has not drawn {word!r} within {seconds:.0f} s; the last it drew: {seen[-400:]!r}"
            )
        seen = seen[-64:] + os.read(terminal, 1 << 16)


def quiet(terminal: int, seconds: float) -> None:
    """Read away what is drawn within this time."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            os.read(terminal, 1 << 16)


def saves(folder: Path, environment: dict[str, str], count: int) -> list[float]:
    """Seconds from each save of a right answer to its verdict on the screen."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), ID)
    source = pack_reader.solution(challenge)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-m", "trainer", "start", ID], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    found: list[float] = []
    try:
        screen_until(terminal, b"Every save of")
        for number in range(count + 1):
            quiet(terminal, 0.7)  # a person is slower; the next worker is ready by then
            text = f"{source}\n# {number}\n"
            began = time.perf_counter()
            (folder / challenge.file_name).write_text(text)
            screen_until(terminal, b"PASSED")
            found.append(time.perf_counter() - began)
        os.write(terminal, b"q")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return found[1:]  # the first one draws everything


def cold(folder: Path, environment: dict[str, str]) -> float:
    """Seconds of a whole check from the shell."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "trainer", "check", ID],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


def measured(count: int) -> float:
    """One run; prints it and returns the ratio."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {
            **os.environ,
            "ATTN_DRILL_HOME": str(folder / "home"),
            "PYTHONPATH": str(pack_reader.TRAINER.parent),
            "TERM": "xterm-256color",
        }
        warm = saves(folder, environment, count)
        check = statistics.median(cold(folder, environment) for _ in range(3))
    median, late = statistics.median(warm), statistics.quantiles(warm, n=20)[-1]
    ratio = median / check
    print(
        f"save to verdict {1000 * median:.0f} ms in the middle, {1000 * late:.0f} ms at the 95th percentile; cold check {1000 * check:.0f} ms; ratio {ratio:.3f}"
    )
    return ratio


def main() -> int:
    """Measure; anew, twice at most, where it is over its bound: another process may have been busy."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for _ in range(3):
        if measured(count) <= MOST_RATIO:
            return 0
    print(f"over {MOST_RATIO} of a cold check")
    return 1


if __name__ == "__main__":
    sys.exit(main())
