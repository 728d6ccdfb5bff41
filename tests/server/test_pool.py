"""A class's grading: results on disk, what is left to do, stations that are lost, the seam to executors."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.classroom import PACKS, soon, task
from trainer.server import pool as pool_module
from trainer.server.messages import (
    Refused,
    Reply,
    Request,
    Verdict,
    packed,
    unpacked_reply,
)
from trainer.server.pool import answer, pool
from trainer.server.process import ServerProcess


def test_a_lost_station_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grading process that dies costs a submission nothing but time; one that dies twice is told, and the next one is graded."""
    pool.open()
    made: list[ServerProcess] = []

    class Counted(ServerProcess):
        def __init__(self, folders: tuple[str, ...]) -> None:
            super().__init__(folders)
            made.append(self)

        def ask(self, request: Request) -> Reply:
            if len(made) in dying:
                os.kill(self.pid, signal.SIGKILL)
            return super().ask(request)

    monkeypatch.setattr(pool_module, "ServerProcess", Counted)
    try:
        dying = {1}
        found = unpacked_reply(answer(PACKS, packed(task())))
        assert isinstance(found, Verdict)
        assert len(made) == 2
        assert isinstance(unpacked_reply(answer(PACKS, packed(task()))), Verdict)
        assert len(made) == 2, "it is kept for the next"
        dying = {2, 3}
        found = unpacked_reply(answer(PACKS, packed(task())))
        assert isinstance(found, Refused)
        assert "ended the grading process 2 times" in found.sentence
        assert not found.is_for_all
    finally:
        pool.close()
    assert soon(lambda: all(not Path(f"/proc/{one.pid}").exists() for one in made))
    assert "ended" in unpacked_reply(answer(PACKS, packed(task()))).sentence, (
        "no station is started after the end"
    )  # type: ignore[union-attr]
    pool.open()
