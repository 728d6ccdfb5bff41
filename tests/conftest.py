"""Fixtures of all tests: each test has its own home; tests of one process share one grader."""

import gc
import os
import signal
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

os.environ["OMP_NUM_THREADS"] = "1"
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A script that starts the tests in the background ignores SIGINT. Tested commands would inherit
    # this, and Ctrl-C could not end them.
    signal.signal(signal.SIGINT, signal.default_int_handler)

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Limits
from attn_drill.packs import pack_reader
from attn_drill.server import clients
from attn_drill.worker import forkserver_client
from tests.support import forked
from tests.support.paths import TINY_PACK

# A fork server in a fresh interpreter takes a second to import torch. For most tests it does not
# matter what a fork server has in its memory, so theirs is forked from the test process. The same
# holds for grading servers. A test in tests/worker/test_forkserver_client.py starts a real fork
# server, and the fixture `new_servers` starts real grading servers.
forkserver_client.start = forkserver_client.fork_here
START_SERVER = clients.start
_HOMES = count()
clients.start = forked.ForkedServer  # type: ignore[assignment]  # it has the methods that are used
gc.disable()  # until all tests are collected: it would visit millions of objects that stay


def pytest_collection_finish() -> None:
    """Collect garbage again while the tests run."""
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all rows of a sampled test as resembling, except the first of every so many."""
    rows = Counter[tuple[Path, str]]()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is None:
            continue
        test = item.path, getattr(item, "originalname", item.name)
        if rows[test] % sampled.args[0]:
            item.add_marker(pytest.mark.resembling)
        rows[test] += 1


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of this test's journal. Remove variables that a developer may have set.

    The folder does not exist yet, because most tests use no file.
    """
    folder = tmp_path_factory.getbasetemp() / f"home-{next(_HOMES)}"
    for name in (
        "ATTN_DRILL_LANG",
        "ATTN_DRILL_PACK",
        "ATTN_DRILL_THEME",
        "NO_COLOR",
        "FORCE_COLOR",
        "COLUMNS",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ATTN_DRILL_HOME", str(folder))
    return folder


@pytest.fixture
def new_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start grading servers as new processes, and not as forks of the test process."""
    monkeypatch.setattr(clients, "start", START_SERVER)


@pytest.fixture(scope="session", autouse=True)
def grader() -> Iterator[Grader]:
    """Yield the grader of all tests of this process.

    Its fork server starts before a test loads a reference. Its time limit is long, because a busy
    machine is no reason to fail.
    """
    with Grader([pack_reader.built_in_pack(), TINY_PACK], Limits(seconds=60.0)) as shared_grader:
        yield shared_grader
