"""The connection to a grading process that may end."""

import asyncio

import pytest

from attn_drill.server.messages import Prepare, Ready
from attn_drill.session._practice_model import Ended
from attn_drill.session._practice_screen import GradingLink
from tests.support.fake_grader import FakeGrader


def test_process_that_keeps_ending_is_not_replaced_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each process is told the challenge, and is closed. The last end says that it is the last."""
    monkeypatch.setattr("attn_drill.session._practice_screen._REST_SECONDS", 0.0)
    clients: list[FakeGrader] = []

    def connect() -> FakeGrader:
        clients.append(FakeGrader())
        clients[-1].end()
        return clients[-1]

    async def run() -> list[object]:
        return [reply async for reply in GradingLink("gqa", connect).replies()]

    replies = asyncio.run(run())
    assert [type(reply) for reply in replies] == [Ready, Ended] * 5
    assert [reply.is_last for reply in replies if isinstance(reply, Ended)] == [False] * 4 + [True]
    assert [client.requests for client in clients] == [[Prepare("gqa")]] * 5
    assert all(client.closed for client in clients)


def test_requests_go_to_the_process_that_runs_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a replacement, the new process gets them."""
    monkeypatch.setattr("attn_drill.session._practice_screen._REST_SECONDS", 0.0)
    link = GradingLink("gqa", FakeGrader)
    first = link.client
    assert isinstance(first, FakeGrader)

    async def run() -> None:
        first.end()
        async for reply in link.replies():
            if isinstance(reply, Ready) and link.client is not first:
                return

    asyncio.run(run())
    link.send(Prepare("mha"))
    second = link.client
    assert isinstance(second, FakeGrader)
    assert second.requests == [Prepare("gqa"), Prepare("mha")]
    link.close()
    assert (first.closed, second.closed) == (True, True)
