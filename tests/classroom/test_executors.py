"""Tests of the choice of an executor, and of the executors."""

import re
import time
from pathlib import Path

import pytest
from distributed import LocalCluster

from tests.support.classroom import PACKS, soon, task
from trainer.classroom.executors import check_executor, executor_for
from trainer.model.errors import DrillError
from trainer.server import pool as pool_module
from trainer.server.messages import Refused, Reply, Request


@pytest.mark.parametrize(
    "where",
    ["", "dask", "dask://host", "dask://host:port", "dask://host:123456", "ray://a:1"],
)
def test_unknown_executor_is_refused(where: str) -> None:
    """The sentence has the given value and the possible values."""
    message = f"--executor is {where!r}; it must be local or dask://HOST:PORT"
    with pytest.raises(DrillError, match=re.escape(message)):
        check_executor(where)


def test_local_executor_runs_jobs_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook may grade on: the next request starts a server again."""

    class Server:
        def __init__(self, folders: tuple[str, ...]) -> None: ...

        def ask(self, request: Request) -> Reply:
            return Refused(7, "a server answered")

        def close(self) -> None: ...

    monkeypatch.setattr(pool_module, "ServerProcess", Server)
    with executor_for("local", 2) as executor:
        assert executor.submit(sum, (1, 2)).result() == 3
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(sum, (1, 2))
    assert pool_module.pool.ask(PACKS, task()) == Refused(7, "a server answered")
    pool_module.pool.close()
    pool_module.pool.open()


def test_cluster_runs_jobs_until_it_is_lost(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It cancels its jobs if it is lost. Without workers, the sentence has the next step."""
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        dashboard_address=None,
        local_directory=str(tmp_path),
    ) as cluster:
        where = cluster.scheduler_address.replace("tcp://", "dask://")
        with executor_for(where, 1) as executor:
            assert executor.submit(sum, (1, 2)).result(60) == 3
        cluster.scale(0)
        assert soon(lambda: not cluster.scheduler.workers)
        with (
            pytest.raises(DrillError, match=r"has no workers\. Start some"),
            executor_for(where, 1),
        ):
            pass
        cluster.scale(1)
        assert soon(lambda: cluster.scheduler.workers)
        with executor_for(where, 1) as executor:
            waiting = executor.submit(time.sleep, 60)
            cluster.close()
            assert soon(waiting.cancelled)
    assert capfd.readouterr().err == ""


def test_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence has the address, the reason and the next step."""

    def refuse(*arguments: object, **more: object) -> None:
        raise OSError("nobody is there")

    monkeypatch.setattr("distributed.Client", refuse)
    with (
        pytest.raises(DrillError, match=r"answers at tcp://far:1 within 15 s: nobody is there"),
        executor_for("dask://far:1", 1),
    ):
        pass
