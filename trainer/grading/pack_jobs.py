"""Check a pack's items in several processes, each with a grader and a zygote of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from trainer.core.words import Challenge
from trainer.grading.grader import Grader
from trainer.grading.pack_check import Item, Row, check_items, items

_Job = tuple[Challenge, list[Item]]
_AT_ONCE = 4  # items a job: few, so that the last job leaves no core idle for long

_grader: Grader | None = None  # of this process, where it is one of the pool's
_beside: Sequence[Path] = ()  # other packs that its jobs know
_last: Challenge | None = None


def check_pack(root: Path, challenges: Sequence[Challenge], seeds: Sequence[int], processes: int, beside: Sequence[Path] = ()) -> Iterator[list[Row]]:
    """The rows of all challenges, a few at a time, in the order in which they are done.

    A fault that several jobs of one challenge meet is told once. `beside`: other packs, on whose challenges those of this one may build.
    """
    jobs = [(one, chosen[start : start + _AT_ONCE]) for one in challenges for chosen in (items(one),) for start in range(0, len(chosen), _AT_ONCE)]
    told: set[Row] = set()
    for rows in _in_this_process(root, beside, jobs, seeds) if processes == 1 else _in_processes(root, beside, jobs, seeds, processes):
        new = [row for row in rows if row not in told]
        told.update(new)
        yield new


def in_order(challenges: Sequence[Challenge], rows: Sequence[Row]) -> list[Row]:
    """The rows sorted as the challenges and their items are."""
    places = {(one.id, *item): place for one in challenges for place, item in enumerate(items(one))}
    ids = [one.id for one in challenges]
    return sorted(rows, key=lambda row: (ids.index(row.challenge), places.get((row.challenge, row.kind, row.name), -1)))


def _in_this_process(root: Path, beside: Sequence[Path], jobs: Sequence[_Job], seeds: Sequence[int]) -> Iterator[list[Row]]:
    with Grader([root, *beside]) as grader:
        for challenge, wanted in jobs:
            yield list(check_items(grader, challenge, seeds, wanted, beside))


def _in_processes(root: Path, beside: Sequence[Path], jobs: Sequence[_Job], seeds: Sequence[int], processes: int) -> Iterator[list[Row]]:
    # Spawned: a zygote has to be forked from a process without threads that has read no reference.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_begin, initargs=(root, beside)) as pool:
        left: set[Future[list[Row]]] = {pool.submit(_check, challenge, tuple(seeds), wanted) for challenge, wanted in jobs}
        try:
            while left:
                done, left = wait(left, return_when=FIRST_COMPLETED)
                for one in done:
                    yield one.result()
        finally:
            for one in left:
                one.cancel()


def _begin(root: Path, beside: Sequence[Path]) -> None:
    """In a process of the pool: a grader for all its jobs."""
    global _grader, _beside
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the first process's to handle
    _grader, _beside = Grader([root, *beside]), beside
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A pool's process does not notice by itself when the first process is killed."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def _check(challenge: Challenge, seeds: tuple[int, ...], wanted: list[Item]) -> list[Row]:
    global _last
    assert _grader is not None
    if _last is not None and _last != challenge:
        _grader.forget(_last)
    _last = challenge
    return list(check_items(_grader, challenge, seeds, wanted, _beside))
