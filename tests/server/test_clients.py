"""Clients of grading servers: the async client, the pool, and `pack check`."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from attn_drill.packs.content_check import Row, items
from attn_drill.server import clients as pool_module
from attn_drill.server.clients import ServerProcess, answer, check_pack, pool
from attn_drill.server.messages import Refused, Reply, Request, Verdict, packed, unpacked_reply
from tests.support.classroom import PACKS, soon, task
from tests.support.paths import ROOT, SOURCE, TINY_PACK


@pytest.mark.thorough
def test_server_imports_nothing_from_the_folder_of_the_learner(tmp_path: Path) -> None:
    """A learner's file with the name of another module does not break the grading process."""
    for name in ("random", "torch", "attn_drill"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from attn_drill.server.clients import AsyncClient\n"
        "client = AsyncClient(Path(sys.argv[1]))\n"
        "print(client.output.read(4))\n"
        "client.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, str(ROOT)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert re.match(r"b'.", done.stdout), done.stderr
    assert done.stdout != "b''\n", done.stderr


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
        assert "ended the grading process 2 times" in found.sentence
        assert not found.is_for_all
    finally:
        pool.close()
    assert soon(lambda: all(not Path(f"/proc/{server.pid}").exists() for server in servers))
    found = unpacked_reply(answer(PACKS, packed(task())))
    assert isinstance(found, Refused), "no server starts after `close`"
    assert "was stopped: this program has ended its grading processes" in found.sentence
    pool.open()


def checked(root: Path, processes: int) -> list[Row]:
    """Check a pack with two seeds and return all rows in order."""
    challenges = pack_reader.read_pack(root)
    wanted = {challenge: items(challenge) for challenge in challenges}
    packs = [root, pack_reader.built_in_pack()]
    return check_pack(packs, [1, 2], processes, wanted)


@pytest.mark.thorough
def test_two_processes_give_the_same_rows_as_one() -> None:
    """There is one row for every item, in the same order."""
    alone = checked(TINY_PACK, 1)
    assert checked(TINY_PACK, 2) == alone
    assert [(row.challenge, row.kind, row.name) for row in alone] == [
        (challenge.id, *item)
        for challenge in pack_reader.read_pack(TINY_PACK)
        for item in items(challenge)
    ]
    assert {row.name: row.refused_by for row in alone if row.kind == "mistake"} == {
        "wrong-axis": ("values",),
        "matrix": ("memory",),
        "negative": ("values",),
    }


@pytest.mark.thorough
@pytest.mark.parametrize("processes", [1, 2])
def test_fault_of_a_challenge_is_reported_once(tiny_pack: Path, processes: int) -> None:
    """A challenge that cannot be read has a single row with the reason. Others have all rows."""
    path = tiny_pack / "challenges" / "prefix_sum" / "cases.py"
    path.write_text(path.read_text().replace("def drive", "def driven"))
    rows = checked(tiny_pack, processes)
    texts, cases = [row for row in rows if row.challenge == "prefix-sum"]
    assert (texts.name, cases.name) == ("texts", "cases")
    (problem,) = cases.problems
    assert problem.startswith(f"{path} defines no `drive` that can be called.")
    assert len([row for row in rows if row.challenge == "signs"]) == 5
