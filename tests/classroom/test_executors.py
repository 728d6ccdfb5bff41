"""Tests of the choice of an executor."""

import re

import pytest

from tests.support.classroom import PACKS, task
from trainer.classroom.executors import executor_for
from trainer.model.errors import DrillError
from trainer.server import pool as pool_module
from trainer.server.messages import Refused, Reply, Request


@pytest.mark.parametrize(
    "where",
    [
        "",
        "dask",
        "dask://",
        "dask://host",
        "dask://host:port",
        "dask://host:123456",
        "ray://a:1",
        "dask://a/b:80",
    ],
)
def test_unknown_executor_is_refused(where: str) -> None:
    """The sentence has the given value and the possible values."""
    message = f"--executor is {where!r}; it must be local or dask://HOST:PORT"
    with pytest.raises(DrillError, match=re.escape(message)), executor_for(where, 1):
        pass


def test_local_executor_runs_jobs_until_it_is_closed() -> None:
    """The executor gets one submission at a time for each job."""
    with executor_for("local", 2) as (executor, at_once):
        assert at_once == 2
        assert executor.submit(sum, (1, 2)).result() == 3
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(sum, (1, 2))


def test_grading_goes_on_after_the_local_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook may grade a class and then a cell: the next request starts a server again."""

    class Server:
        def __init__(self, folders: tuple[str, ...]) -> None: ...

        def ask(self, request: Request) -> Reply:
            return Refused(7, "a server answered")

        def close(self) -> None: ...

    monkeypatch.setattr(pool_module, "ServerProcess", Server)
    with executor_for("local", 1):
        pass
    assert pool_module.pool.ask(PACKS, task()) == Refused(7, "a server answered")
    pool_module.pool.close()
    pool_module.pool.open()
