"""Grade on the workers of a Dask cluster, and notice if the cluster is stuck or lost.

Dask itself never gives up: it waits for a worker, and for a scheduler that is silent. If the
connection is lost, Dask cancels everything and writes tracebacks to its log. So this module watches
the scheduler, and keeps the log off the terminal.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from typing import Any

from trainer.classroom.grading_jobs import ExecutorLostError, WatchedExecutor
from trainer.model.errors import DrillError

_CONNECT_SECONDS = 15
_CLOSE_SECONDS = 3
_WATCH_SECONDS = 3  # between two questions to the scheduler
_SILENT_SECONDS = 15  # without an answer, before the user is told
_LOST_SECONDS = 120  # without an answer, before the scheduler counts as lost
_LOGGERS = ("distributed", "tornado", "asyncio", "concurrent.futures")


@contextmanager
def dask_executor(address: str) -> Iterator[tuple[Executor, int]]:
    """Yield an executor for the cluster, and how many submissions it should have at a time.

    Args:
        address: the address of the scheduler, for example `tcp://127.0.0.1:8786`.

    Raises:
        DrillError: Dask is not installed, or the cluster cannot be reached or has no workers.
    """
    client_type = _client_type()  # Dask adds the handlers of its log when it is imported
    with _quiet_logs():
        client = _connected_client(client_type, address)
        try:
            executor = DaskExecutor(client, address)
            try:
                # Two submissions for each thread: one is graded, the next is on its way.
                yield executor, 2 * _threads(client, address)
            finally:
                executor.shutdown(wait=False)
        finally:
            # A lost or stopped scheduler does not answer to the end of the connection.
            with suppress(Exception):
                client.close(timeout=_CLOSE_SECONDS)


def _client_type() -> Any:
    try:
        from distributed import Client  # noqa: PLC0415  # a separate extra
    except ImportError:
        raise DrillError(
            "Grading on a cluster needs Dask. Install it here and on the workers: pip install"
            " 'attn-drill[cluster]'."
        ) from None
    return Client


def _connected_client(client_type: Any, address: str) -> Any:
    try:
        return client_type(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise _no_answer(address, error) from None


def _threads(client: Any, address: str) -> int:
    """Return the number of threads of the workers."""
    try:
        threads = client.sync(client.scheduler.ncores, callback_timeout=_CONNECT_SECONDS)
    except OSError as error:
        raise _no_answer(address, error) from None
    if not threads:
        raise DrillError(
            f"The Dask scheduler at {address} has no workers. Start some: `dask worker"
            f" {address.removeprefix('tcp://')}`."
        )
    return sum(threads.values())


def _no_answer(address: str, error: Exception) -> DrillError:
    return DrillError(
        f"No Dask scheduler answers at {address} within {_CONNECT_SECONDS} s: {error}. Start"
        " one with `dask scheduler`."
    )


class DaskExecutor(WatchedExecutor):
    """Sends calls to a cluster, and watches the scheduler.

    Args:
        client: a client of Dask that is connected to the scheduler.
        address: the address of the scheduler.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self._executor: Executor = client.get_executor(pure=False)
        # The keys tell these calls from the calls of other users of the cluster.
        self._prefix = f"attn-drill-{uuid.uuid4().hex}-"
        self._numbers = itertools.count()
        self._obstacle = ""
        self._unanswered_since: float | None = None
        self._watch_task = asyncio.run_coroutine_threadsafe(self._watch(), client.loop.asyncio_loop)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        """Send a call to the cluster.

        Raises:
            ExecutorLostError: the connection to the scheduler is lost.
        """
        try:
            key = f"{self._prefix}{next(self._numbers)}"
            return self._executor.submit(function, *arguments, key=key, **more)
        except Exception:
            self._check_connection()
            raise

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Watch the scheduler no longer. Without `wait`, cancel the calls that are not done."""
        self._watch_task.cancel()
        with suppress(Exception):
            self._executor.shutdown(wait=wait and not cancel_futures)

    def obstacle(self) -> str:
        """Return the thing that the submissions wait for, or "" if they are being graded.

        Raises:
            ExecutorLostError: the connection is lost, or the scheduler does not answer for long.
        """
        self._check_connection()
        since = self._unanswered_since
        silence = 0.0 if since is None else time.monotonic() - since
        if silence >= _LOST_SECONDS:
            raise self._lost(f"has not answered for {silence:.0f} s")
        if silence >= _SILENT_SECONDS:
            return f"an answer of the scheduler at {self._address}"
        return self._obstacle

    def _check_connection(self) -> None:
        comm = self._client.scheduler_comm
        if self._client.status != "running" or comm is None or comm.closed():
            raise self._lost("is gone")

    def _lost(self, fact: str) -> ExecutorLostError:
        return ExecutorLostError(
            f"The Dask scheduler at {self._address} {fact}",
            "start the scheduler and its workers again",
        )

    async def _watch(self) -> None:
        """Ask the scheduler again and again for its workers and their work."""
        while True:
            if self._unanswered_since is None:
                self._unanswered_since = time.monotonic()
            with suppress(OSError):
                workers = (await self._client.scheduler.identity())["workers"]
                work = await self._client.scheduler.processing()
                self._unanswered_since = None
                lack = obstacle_of(workers, work, self._prefix)
                place = f"the scheduler at {self._address}"
                self._obstacle = f"{lack[0]}: {place} {lack[1]}" if lack else ""
            await asyncio.sleep(_WATCH_SECONDS)


def obstacle_of(
    workers: Mapping[str, Mapping[str, Any]], work: Mapping[str, Sequence[Any]], prefix: str
) -> tuple[str, str] | None:
    """Return the thing that a cluster lacks and a reason, or None if the cluster is at work.

    Args:
        workers: facts about each worker, by address.
        work: the keys of the calls that each worker has, by address.
        prefix: the beginning of the keys of this grading.
    """
    if not workers:
        return "a worker", "has 0 workers"
    running = {name: worker for name, worker in workers.items() if worker["status"] == "running"}
    if not running:
        return "a worker", f"has {_count(len(workers), 'worker')}, and none accepts work"
    others = {name: _of_others(work.get(name, ()), prefix) for name in running}
    if all(others[name] >= worker["nthreads"] for name, worker in running.items()):
        threads = sum(worker["nthreads"] for worker in running.values())
        calls = _count(sum(others.values()), "task")
        return "a free core", f"has {_count(threads, 'core')} and {calls} of other users"
    return None


def _of_others(keys: Iterable[Any], prefix: str) -> int:
    return sum(not str(key).startswith(prefix) for key in keys)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Keep the log of Dask off the terminal. Handlers that a user configured still get it.

    A lost connection would fill the terminal with tracebacks, and the caller says it in a sentence.
    """
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    printing = {
        handler: handler.level
        for logger in loggers
        for handler in logger.handlers
        if type(handler) is logging.StreamHandler
    }
    silent = logging.NullHandler()  # a logger without a handler would print its errors
    for logger in loggers:
        logger.addHandler(silent)
    for handler in printing:
        handler.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for handler, level in printing.items():
            handler.setLevel(level)
        for logger in loggers:
            logger.removeHandler(silent)
