"""Tests of the pool of grading servers."""

import os
import signal
from pathlib import Path

import pytest

from attn_drill.server import clients as pool_module
from attn_drill.server.clients import ServerProcess, answer, pool
from attn_drill.server.messages import (
    Refused,
    Reply,
    Request,
    Verdict,
    packed,
    unpacked_reply,
)
from tests.support.classroom import PACKS, soon, task


def test_lost_server_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission survives a lost server. If two servers are lost, the submission is refused.

    A server may get ready before the first request.
    """
    pool.open()
    servers: list[ServerProcess] = []

    class CountedServer(ServerProcess):
        def __init__(self, folders: tuple[str, ...]) -> None:
            super().__init__(folders)
            servers.append(self)

        def ask(self, request: Request) -> Reply:
            if len(servers) in dying:
                os.kill(self.pid, signal.SIGKILL)
            return super().ask(request)

    monkeypatch.setattr(pool_module, "ServerProcess", CountedServer)
    try:
        pool.warm(PACKS)
        assert len(servers) == 1, "the first request finds a server"
        dying = {1}
        found = unpacked_reply(answer(PACKS, packed(task())))
        assert isinstance(found, Verdict)
        assert len(servers) == 2
        assert isinstance(unpacked_reply(answer(PACKS, packed(task()))), Verdict)
        assert len(servers) == 2, "the server is used again"
        dying = {2, 3}
        found = unpacked_reply(answer(PACKS, packed(task())))
        assert isinstance(found, Refused)
        assert "ended the grading process 2 times" in found.sentence
        assert not found.is_for_all
    finally:
        pool.close()
    assert soon(lambda: all(not Path(f"/proc/{server.pid}").exists() for server in servers))
    found = unpacked_reply(answer(PACKS, packed(task())))
    assert isinstance(found, Refused), "no server starts after `close`"
    assert "was stopped: this program has ended its grading processes" in found.sentence
    pool.open()
