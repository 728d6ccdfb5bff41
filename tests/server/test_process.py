"""Tests of the handle of a grading server."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from attn_drill.sandbox.isolation import descendants
from attn_drill.server.clients import ServerLostError, ServerProcess
from attn_drill.server.messages import Grade, Prepare
from tests.support.classroom import PACKS, soon, task

pytestmark = pytest.mark.usefixtures("new_servers")


@pytest.mark.thorough
def test_close_ends_a_request_and_all_child_processes() -> None:
    """A hanging submission is ended, too, and the waiting thread gets an error."""
    server = ServerProcess(PACKS)
    pid = server.pid
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(server.ask, task("while True: pass\n", seconds=600.0))
        assert soon(lambda: len(list(descendants(pid))) >= 2), "the fork server and a worker"
        family = [pid, *descendants(pid)]
        server.close()
        with pytest.raises(ServerLostError):
            waiting.result()
    assert soon(lambda: not any(Path(f"/proc/{process}").exists() for process in family))


@pytest.mark.thorough
def test_closed_server_takes_no_request() -> None:
    """After `close`, `send` returns False and `ask` raises an error."""
    server = ServerProcess(PACKS)
    server.close()
    assert not server.send(Prepare("prefix-sum"))
    with pytest.raises(ServerLostError):
        server.ask(Grade("prefix-sum", task().submission, 5))
