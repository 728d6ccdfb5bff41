"""Every test has a home of its own; the grader and its fork server are shared by the tests of one process."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["OMP_NUM_THREADS"] = "1"
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is where a script has put these tests into the background; commands that are tested would inherit it, and Ctrl-C would end none.
    signal.signal(signal.SIGINT, signal.default_int_handler)

from tests.support.paths import TINY_PACK
from trainer.grading.grader import Grader
from trainer.packs import pack_reader
from trainer.worker import counters, forbidden_ops, forkserver_client
from trainer.worker.forkserver_client import Limits

# A fork server of its own interpreter takes a second to import torch. Most tests do not ask what a fork server knows, and have it
# forked from their own process; tests/test_launch.py asks, and has real ones.
forkserver_client.start = forkserver_client.fork_here
forbidden_ops.prepare()  # for all fork servers that are forked from here
counters.controls_by_name()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all rows of a sampled test as thorough, except the first of every so many."""
    rows = Counter[tuple[Path, str]]()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is None:
            continue
        test = item.path, getattr(item, "originalname", item.name)
        if rows[test] % sampled.args[0]:
            item.add_marker(pytest.mark.thorough)
        rows[test] += 1


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The journal's folder of this test; no variable of the developer's own is seen."""
    folder = tmp_path / "home"
    for name in ("ATTN_DRILL_LANG", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ATTN_DRILL_HOME", str(folder))
    return folder


@pytest.fixture(scope="session", autouse=True)
def grader() -> Iterator[Grader]:
    """One fork server for all tests, started before any test loads a reference. It is patient: a busy machine is no reason to fail."""
    with Grader([pack_reader.built_in_pack(), TINY_PACK], Limits(seconds=60.0)) as made:
        yield made
