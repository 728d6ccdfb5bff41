"""Tests of the executor that grades on a Dask cluster."""

import logging
import logging.handlers
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from distributed import LocalCluster

from tests.support.classroom import soon
from trainer.classroom import dask_executor as module
from trainer.classroom.dask_executor import DaskExecutor, dask_executor, obstacle_of
from trainer.classroom.grading_jobs import ExecutorLostError
from trainer.model.errors import DrillError


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    """Return a cluster in this process with a worker."""
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        dashboard_address=None,
        local_directory=str(tmp_path),
        silence_logs=False,
    ) as local:  # type: ignore[no-untyped-call]
        yield local


def test_lost_scheduler_is_noticed_without_a_log_on_the_terminal(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before, a call gives its result, and a cluster without workers is an obstacle."""
    monkeypatch.setattr(module, "_WATCH_SECONDS", 0.02)
    address = cluster.scheduler_address
    with dask_executor(address) as (executor, at_once):
        assert isinstance(executor, DaskExecutor)
        assert (at_once, executor.submit(sum, (1, 2)).result(60), executor.obstacle()) == (2, 3, "")
        cluster.scale(0)  # type: ignore[no-untyped-call]
        says = f"a worker: the scheduler at {address} has 0 workers"
        assert soon(lambda: executor.obstacle() == says)
        waiting = executor.submit(sum, (1, 2))
        cluster.close()  # type: ignore[no-untyped-call]
        with pytest.raises(ExecutorLostError, match=f"scheduler at {address} is gone") as lost:
            soon(executor.obstacle)
    assert lost.value.remedy == "start the scheduler and its workers again"
    assert waiting.cancelled()
    assert capfd.readouterr().err == ""


def test_silent_scheduler_is_an_obstacle_and_then_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process keeps its connections open."""
    with LocalCluster(
        n_workers=0, processes=False, protocol="tcp", dashboard_address=None, silence_logs=False
    ) as local:  # type: ignore[no-untyped-call]
        with (
            pytest.raises(DrillError, match="has no workers"),
            dask_executor(local.scheduler_address),
        ):
            pass
        client = local.get_client()  # type: ignore[no-untyped-call]
        executor = DaskExecutor(client, "tcp://far:1")
        assert soon(executor.obstacle)
        executor.shutdown()
        executor._unanswered_since = time.monotonic() - 20
        assert executor.obstacle() == "an answer of the scheduler at tcp://far:1"
        executor._unanswered_since -= 120
        with pytest.raises(ExecutorLostError, match="at tcp://far:1 has not answered for 140 s"):
            executor.obstacle()
        client.close()


def worker(threads: int, status: str = "running") -> dict[str, object]:
    """Return the facts about a worker that the scheduler sends."""
    return {"nthreads": threads, "status": status}


@pytest.mark.parametrize(
    ("workers", "work", "expected"),
    [
        pytest.param({}, {}, ("a worker", "has 0 workers"), id="none"),
        pytest.param(
            {"a": worker(2, "paused")},
            {"a": ["our-1"]},
            ("a worker", "has 1 worker, and none accepts work"),
            id="paused",
        ),
        pytest.param(
            {"a": worker(2), "b": worker(1), "c": worker(9, "closing")},
            {"a": ["x", ("y", 1), "our-1"], "b": ["z"]},
            ("a free core", "has 3 cores and 3 tasks of other users"),
            id="busy elsewhere",
        ),
        pytest.param(
            {"a": worker(2), "b": worker(1)}, {"a": ["x", "our-1"], "b": ["z"]}, None, id="at work"
        ),
        pytest.param({"a": worker(2)}, {}, None, id="idle"),
    ],
)
def test_obstacles_of_a_cluster(
    workers: dict[str, dict[str, object]],
    work: dict[str, list[object]],
    expected: tuple[str, str] | None,
) -> None:
    """A cluster with a core for this grading has none."""
    assert obstacle_of(workers, work, "our-") == expected


def test_log_is_quiet_only_during_the_grading(capfd: pytest.CaptureFixture[str]) -> None:
    """A handler that a user configured still gets every line."""
    logger = logging.getLogger("distributed.test")
    printing, users = logging.StreamHandler(), logging.handlers.BufferingHandler(9)
    parent = logging.getLogger("distributed")
    for handler in (printing, users):
        parent.addHandler(handler)
    try:
        with module._quiet_logs():
            logger.error("lost")
            logging.getLogger("asyncio.test").error("never retrieved")
        assert capfd.readouterr().err == ""
        assert [record.getMessage() for record in users.buffer] == ["lost"]
        logger.error("later")
        assert "later" in capfd.readouterr().err
    finally:
        for handler in (printing, users):
            parent.removeHandler(handler)


def test_handlers_that_come_with_the_import_are_quiet(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Dask adds them when it is imported for the first time."""
    logger, printing = logging.getLogger("distributed"), logging.StreamHandler()

    def refuse(*arguments: object, **more: object) -> None:
        logger.error("refused")
        raise OSError("nobody is there")

    def imported() -> object:
        logger.addHandler(printing)
        return refuse

    monkeypatch.setattr(module, "_client_type", imported)
    try:
        with (
            pytest.raises(DrillError, match="answers at tcp://far:1 within 15 s: nobody is there"),
            dask_executor("tcp://far:1"),
        ):
            pass
    finally:
        logger.removeHandler(printing)
    assert capfd.readouterr().err == ""


def test_error_of_a_lost_client_is_the_loss() -> None:
    """`submit` of a closed client raises an error of Dask."""

    class Closed:
        status = "closed"
        scheduler_comm = None

    executor = DaskExecutor.__new__(DaskExecutor)
    executor._client, executor._address = Closed(), "tcp://far:1"
    executor._prefix, executor._numbers = "our-", iter(range(9))  # type: ignore[assignment]

    def refuse(*arguments: object, **more: object) -> None:
        raise RuntimeError("Client is closed")

    executor._executor = SimpleNamespace(submit=refuse)  # type: ignore[assignment]
    with pytest.raises(ExecutorLostError, match="is gone"):
        executor.submit(sum, (1, 2))
