"""Tests of the pool of grading servers."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support.classroom import PACKS, soon, task
from trainer.server import pool as pool_module
from trainer.server.messages import (
    CheckIsolation,
    Grade,
    Isolated,
    Prepare,
    Refused,
    Reply,
    Request,
    Verdict,
    packed,
    unpacked_reply,
)
from trainer.server.pool import ServerPool, answer, pool
from trainer.server.process import ServerProcess


def test_lost_server_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission survives a lost server. If two servers are lost, the submission is refused."""
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


class IsolatedServer:
    """A server that notes each request, and refuses some needs of isolation."""

    asked: ClassVar[list[Request]] = []
    too_weak_for: ClassVar[tuple[str, ...]] = ()

    def __init__(self, folders: tuple[str, ...]) -> None:
        self.folders = folders

    def ask(self, request: Request) -> Reply:
        """Refuse a need that is too weak, and every submission."""
        self.asked.append(request)
        assert not isinstance(request, Prepare)
        if isinstance(request, CheckIsolation):
            if request.isolation in self.too_weak_for:
                return Refused(request.id, "too weak", is_for_all=True)
            return Isolated(request.id)
        return Refused(request.id, "graded")

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def counted_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerPool]:
    """Yield a pool of servers that note their requests."""
    monkeypatch.setattr(pool_module, "ServerProcess", IsolatedServer)
    monkeypatch.setattr(IsolatedServer, "asked", [])
    counted = ServerPool()
    yield counted
    counted.close()


def needs(kind: type) -> list[str]:
    """Return the needs of isolation of all requests of a kind that the servers got."""
    return [
        request.isolation
        for request in IsolatedServer.asked
        if isinstance(request, kind) and isinstance(request, CheckIsolation | Grade)
    ]


def test_isolation_is_tested_once_for_all_servers(counted_pool: ServerPool) -> None:
    """Servers of several threads share a test. Each need and each choice of packs has its own."""
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: counted_pool.ask(PACKS, task()), range(12)))
    assert needs(CheckIsolation) == ["full"]
    assert needs(Grade) == ["tested"] * 12
    counted_pool.ask(PACKS, task(isolation="weaker"))
    counted_pool.ask(("other",), task())
    assert needs(CheckIsolation) == ["full", "weaker", "full"]
    counted_pool.ask(PACKS, task(isolation="own"))
    assert needs(Grade)[-1] == "own"
    assert len(needs(CheckIsolation)) == 3
    counted_pool.open()
    counted_pool.ask(PACKS, task())
    assert needs(CheckIsolation)[3:] == ["full"], "a pool that is opened again tests again"


def test_nothing_is_graded_with_too_weak_isolation(
    counted_pool: ServerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal is not remembered: the next submission tests again and is refused, too."""
    monkeypatch.setattr(IsolatedServer, "too_weak_for", ("full",))
    for _ in range(2):
        reply = counted_pool.ask(PACKS, task())
        assert isinstance(reply, Refused)
        assert reply.sentence == "too weak"
        assert reply.is_for_all
    assert needs(Grade) == []
    counted_pool.ask(PACKS, task(isolation="weaker"))
    assert needs(Grade) == ["tested"]
