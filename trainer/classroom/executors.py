"""Provide the executor that grades a class: threads on this machine, or a Dask cluster.

Both are a `concurrent.futures.Executor`. To add another engine, add a branch to `executor_for`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

from trainer.classroom.dask_executor import dask_executor
from trainer.model.errors import DrillError
from trainer.server.pool import pool

_DASK = re.compile(r"dask://(\[[0-9a-fA-F:.]+\]|[^:/]+):(\d{1,5})")


def check_executor(where: str) -> None:
    """Check the value of `--executor`.

    Raises:
        DrillError: the value is neither `local` nor `dask://HOST:PORT`.
    """
    if where != "local" and _DASK.fullmatch(where) is None:
        raise DrillError(f"--executor is {where!r}; it must be local or dask://HOST:PORT.")


@contextmanager
def executor_for(where: str, jobs: int) -> Iterator[tuple[Executor, int]]:
    """Yield an executor, and how many submissions the executor should have at a time.

    Args:
        where: `local` or `dask://HOST:PORT`.
        jobs: how many submissions are graded at a time on this machine. On a cluster, the number
            of its workers' threads counts instead.

    Raises:
        DrillError: `where` has another form, or the cluster cannot be reached.
    """
    check_executor(where)
    if found := _DASK.fullmatch(where):
        with dask_executor(f"tcp://{found[1]}:{found[2]}") as executor_and_limit:
            yield executor_and_limit
    else:
        with _local(jobs) as executor:
            yield executor, jobs


@contextmanager
def _local(jobs: int) -> Iterator[Executor]:
    """Yield an executor with threads. Each thread waits for its own grading server."""
    executor = ThreadPoolExecutor(jobs)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        # Also end the servers that are grading: after Ctrl-C nobody waits for a submission that
        # hangs.
        pool.close()
        executor.shutdown(wait=True)
        pool.open()  # a notebook may grade on in this process
