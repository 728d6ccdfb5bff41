"""Check a pack's items in several processes, each with a grader and a zygote of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
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


def check_pack(
    root: Path,
    challenges: Sequence[Challenge],
    seeds: Sequence[int],
    processes: int,
    beside: Sequence[Path] = (),
    wanted: Mapping[str, Sequence[Item]] | None = None,
) -> Iterator[list[Row]]:
    """The rows of all challenges, a few at a time, in the order in which they are done.

    A fault that several jobs of one challenge meet is told once.

    Args:
        beside: other packs, on whose challenges those of this one may build.
        wanted: what of each challenge, by its id; all by default.
    """
    found = {one.id: items(one) for one in challenges} if wanted is None else wanted
    jobs = [
        (one, list(found[one.id][start : start + _AT_ONCE]))
        for one in challenges
        for start in range(0, len(found[one.id]), _AT_ONCE)
    ]
    told: set[Row] = set()
    for rows in (
        _in_this_process(root, beside, jobs, seeds)
        if processes == 1
        else _in_processes(root, beside, jobs, seeds, processes)
    ):
        new = [row for row in rows if row not in told]
        told.update(new)
        yield new


def in_order(challenges: Sequence[Challenge], rows: Sequence[Row]) -> list[Row]:
    """The rows sorted as the challenges and their items are."""
    places = {(one.id, *item): place for one in challenges for place, item in enumerate(items(one))}
    ids = [one.id for one in challenges]
    return sorted(
        rows,
        key=lambda row: (
            ids.index(row.challenge),
            places.get((row.challenge, row.kind, row.name), -1),
        ),
    )


def _in_this_process(
    root: Path, beside: Sequence[Path], jobs: Sequence[_Job], seeds: Sequence[int]
) -> Iterator[list[Row]]:
    with Grader([root, *beside]) as grader:
        for challenge, wanted in jobs:
            yield list(check_items(grader, challenge, seeds, wanted, beside))


def _in_processes(
    root: Path, beside: Sequence[Path], jobs: Sequence[_Job], seeds: Sequence[int], processes: int
) -> Iterator[list[Row]]:
    # Spawned: a zygote has to be forked from a process without threads that has read no reference.
    context = multiprocessing.get_context("spawn")
    left = _Left(jobs)
    with contextlib.ExitStack() as ends:
        # Pools of one process each: which of them gets a job is chosen here.
        pools = [
            ends.enter_context(
                ProcessPoolExecutor(
                    1, mp_context=context, initializer=_begin, initargs=(root, beside)
                )
            )
            for _ in range(processes)
        ]
        under_way: dict[Future[list[Row]], tuple[ProcessPoolExecutor, Challenge]] = {}

        def give(pool: ProcessPoolExecutor, last: Challenge | None) -> None:
            if (job := left.next_for(last)) is not None:
                under_way[pool.submit(_check, job[0], tuple(seeds), job[1])] = pool, job[0]

        for pool in pools:
            give(pool, None)
        while under_way:
            for one in wait(under_way, return_when=FIRST_COMPLETED).done:
                give(*under_way.pop(one))
                yield one.result()


class _Left:
    """The jobs that nobody has yet. A process stays with its challenge: exam, expected values and known mistakes are made once in each that takes part."""

    def __init__(self, jobs: Sequence[_Job]) -> None:
        self._jobs: dict[Challenge, list[_Job]] = {}
        for job in jobs:
            self._jobs.setdefault(job[0], []).append(job)
        self._untouched = set(self._jobs)

    def next_for(self, last: Challenge | None) -> _Job | None:
        """Of the challenge it had last; else of the longest that nobody has begun; else of the one with most left. None where nothing is."""
        able = [one for one in self._jobs if one in self._untouched] or list(self._jobs)
        if last in self._jobs:
            chosen = last
        elif able:
            chosen = max(able, key=lambda one: len(self._jobs[one]))
        else:
            return None
        self._untouched.discard(chosen)
        job = self._jobs[chosen].pop(0)
        if not self._jobs[chosen]:
            del self._jobs[chosen]
        return job


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
