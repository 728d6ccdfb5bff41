"""Provide the executor that grades a class: threads on this machine, or a Dask cluster.

Both are a `concurrent.futures.Executor`. To add another engine, add a branch to `executor_for`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress

from trainer.model.errors import DrillError
from trainer.server.pool import pool

_DASK = re.compile(r"dask://(\[[0-9a-fA-F:.]+\]|[^:/]+):(\d{1,5})")
_CONNECT_SECONDS = 15
_CLOSE_SECONDS = 3


def check_executor(where: str) -> None:
    """Raise DrillError if a value of `--executor` is neither `local` nor `dask://HOST:PORT`."""
    if where != "local" and _DASK.fullmatch(where) is None:
        raise DrillError(f"--executor is {where!r}; it must be local or dask://HOST:PORT.")


@contextmanager
def executor_for(where: str, jobs: int) -> Iterator[Executor]:
    """Yield the executor for a value of `--executor`.

    A cluster grades as many jobs at a time as its workers have threads.

    Raises:
        DrillError: the cluster cannot be reached.
    """
    match = _DASK.fullmatch(where)
    with _local(jobs) if match is None else _dask(f"tcp://{match[1]}:{match[2]}") as executor:
        yield executor


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


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client  # noqa: PLC0415  # a separate extra
    except ImportError:
        raise DrillError(
            "Grading on a cluster needs Dask. Install it here and on the workers: pip install"
            " 'attn-drill[cluster]'."
        ) from None
    # A lost connection would fill the terminal with tracebacks, and `grade_jobs` says it in a
    # sentence.
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise DrillError(
            f"No Dask scheduler answers at {address} within {_CONNECT_SECONDS} s: {error}. Start"
            " one with `dask scheduler`."
        ) from None
    try:
        if not client.nthreads():  # type: ignore[no-untyped-call]
            raise DrillError(
                f"The Dask scheduler at {address} has no workers. Start some: `dask worker"
                f" {address.removeprefix('tcp://')}`."
            )
        yield client.get_executor(pure=False)  # type: ignore[no-untyped-call]
    finally:
        with suppress(Exception):  # a scheduler that is lost does not answer
            client.close(timeout=_CLOSE_SECONDS)  # type: ignore[no-untyped-call]
