"""A class's grading: results on disk, what is left to do, stations that are lost, the seam to executors."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.classroom import PACKS, soon, task
from trainer.server.process import ServerLostError, ServerProcess


def family_of(pid: int) -> list[int]:
    """All processes below one."""
    from trainer.sandbox.isolation import descendants

    return list(descendants(pid))


def test_a_station_ends_with_whoever_asks_it() -> None:
    """In the middle of a submission that hangs, and with all below it."""
    made = ServerProcess(PACKS)
    pid = made.pid
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(made.ask, task("while True: pass\n", seconds=600.0))
        assert soon(lambda: len(family_of(pid)) >= 2), "the fork server and a worker"
        family = family_of(pid)
        made.close()
        with pytest.raises(ServerLostError):
            waiting.result()
    assert soon(lambda: not any(Path(f"/proc/{one}").exists() for one in [pid, *family]))
