"""Where a class is graded: on this machine, or on a Dask cluster. The seam is `concurrent.futures.Executor`; another engine is another branch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from trainer.model.errors import DrillError
from trainer.server.pool import pool

_CONNECT_SECONDS = 15


_DASK = re.compile(r"dask://(\[[0-9a-fA-F:.]+\]|[^:/]+):(\d{1,5})")


def check_executor(where: str) -> None:
    """Refuse what is no place to grade at.

    Raises:
        DrillError: naming both.
    """
    if where != "local" and _DASK.fullmatch(where) is None:
        raise DrillError(f"--executor is {where!r}; it can be local or dask://HOST:PORT.")


@contextmanager
def executor_for(where: str, jobs: int) -> Iterator[tuple[Executor, int]]:
    """An executor for `local` or `dask://HOST:PORT`, and how many submissions it should be given at a time.

    Args:
        jobs: how many are graded at a time on this machine; a cluster has as many as its workers have threads.

    Raises:
        DrillError: where there is no such place, or it cannot be reached.
    """
    check_executor(where)
    if found := _DASK.fullmatch(where):
        with _dask(f"tcp://{found[1]}:{found[2]}") as both:
            yield both
    else:
        with _local(jobs) as executor:
            yield executor, jobs


@contextmanager
def _local(jobs: int) -> Iterator[Executor]:
    """Threads that wait for a station each."""
    executor = ThreadPoolExecutor(jobs)
    pool.open()
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        pool.close()  # those at work too: after Ctrl-C nobody waits for a submission that hangs
        executor.shutdown(wait=True)


@contextmanager
def _dask(address: str) -> Iterator[tuple[Executor, int]]:
    try:
        from distributed import Client  # noqa: PLC0415  # an extra of its own
    except ImportError:
        raise DrillError(
            "Grading on a cluster needs Dask. Install it here and on the workers: pip install 'attn-drill[cluster]'."
        ) from None
    try:
        client: Any = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise DrillError(
            f"No Dask scheduler answers at {address} within {_CONNECT_SECONDS} s: {error}. Start one with `dask scheduler`."
        ) from None
    try:
        threads = sum(client.nthreads().values())
        if not threads:
            raise DrillError(
                f"The Dask scheduler at {address} has no workers. Start some: `dask worker {address.removeprefix('tcp://')}`."
            )
        executor = client.get_executor(pure=False)
        try:
            yield executor, 2 * threads  # one at work, one on its way
        finally:
            executor.shutdown(wait=False)
    finally:
        client.close()
