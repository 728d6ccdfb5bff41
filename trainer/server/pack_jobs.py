"""Check the items of a pack with several grading servers."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from trainer.model.challenge import Challenge
from trainer.model.errors import GraderError
from trainer.model.pack_rows import Item, Row
from trainer.packs.pack_items import items
from trainer.server.messages import Checked, CheckItems, Refused
from trainer.server.process import ServerLostError, ServerProcess

_AT_ONCE = 4  # items of a job; few, so that the other servers do not wait long for the last job
_Job = tuple[Challenge, tuple[Item, ...]]


def check_pack(
    root: Path,
    challenges: Sequence[Challenge],
    seeds: Sequence[int],
    processes: int,
    other_packs: Sequence[Path] = (),
    wanted: Mapping[str, Sequence[Item]] | None = None,
) -> Iterator[list[Row]]:
    """Yield the rows of all challenges, a few at a time, in the order of completion.

    A fault that several jobs of a challenge find is reported once.

    Args:
        root: the folder of the pack.
        challenges: the challenges to check.
        seeds: of the cases.
        processes: the greatest number of servers.
        other_packs: folders of packs whose challenges the challenges of this pack may build on.
        wanted: the items to check by challenge id; None for all items.

    Raises:
        GraderError: if a grading process is lost.
    """
    jobs = _Jobs(challenges, wanted)
    done: queue.Queue[list[Row] | Exception] = queue.Queue()
    servers = [
        ServerProcess([root, *other_packs]) for _ in range(min(processes, max(1, jobs.count)))
    ]
    reported: set[Row] = set()
    try:
        for server in servers:
            arguments = (server, jobs, tuple(seeds), done)
            threading.Thread(target=_work, args=arguments, daemon=True).start()
        for _ in range(jobs.count):
            rows = done.get()
            if isinstance(rows, Exception):
                raise rows
            new = [row for row in rows if row not in reported]
            reported.update(new)
            yield new
    finally:
        for server in servers:
            server.close()


def _work(
    server: ServerProcess,
    jobs: _Jobs,
    seeds: tuple[int, ...],
    done: queue.Queue[list[Row] | Exception],
) -> None:
    """Do jobs with one server until no job is left."""
    last: Challenge | None = None
    while (job := jobs.next_for(last)) is not None:
        last, some_items = job
        try:
            reply = server.ask(CheckItems(last.id, some_items, seeds))
        except ServerLostError as error:
            done.put(GraderError(f"A grading process ended: {error}. Run the check again."))
            return
        if isinstance(reply, Checked):
            done.put(list(reply.rows))
        else:
            sentence = (
                reply.sentence
                if isinstance(reply, Refused)
                else "the server sent an unexpected reply"
            )
            done.put([Row(last.id, "content", "readable", False, sentence)])


class _Jobs:
    """The jobs that no server has started.

    A server prefers jobs of its last challenge, because it has already prepared the cases and known
    mistakes of this challenge.
    """

    def __init__(
        self, challenges: Sequence[Challenge], wanted: Mapping[str, Sequence[Item]] | None
    ) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Challenge, list[_Job]] = {}
        for challenge in challenges:
            found = items(challenge) if wanted is None else wanted[challenge.id]
            starts = range(0, len(found), _AT_ONCE)
            jobs = [(challenge, tuple(found[start : start + _AT_ONCE])) for start in starts]
            if jobs:
                self._waiting[challenge] = jobs
        self.count = sum(len(jobs) for jobs in self._waiting.values())
        self._untouched = set(self._waiting)

    def next_for(self, last: Challenge | None) -> _Job | None:
        """Return a job of the last challenge if there is any.

        Otherwise return a job of the longest challenge that no server has begun. If all challenges
        are begun, return a job of the challenge with most jobs. Return None if no job is left.
        """
        with self._lock:
            if not self._waiting:
                return None
            if last in self._waiting:
                chosen = last
            else:
                candidates = self._untouched & set(self._waiting) or set(self._waiting)
                chosen = max(candidates, key=lambda challenge: len(self._waiting[challenge]))
            self._untouched.discard(chosen)
            job = self._waiting[chosen].pop(0)
            if not self._waiting[chosen]:
                del self._waiting[chosen]
            return job


def sorted_rows(challenges: Sequence[Challenge], rows: Sequence[Row]) -> list[Row]:
    """Return the rows in the order of the challenges and their items."""
    ids = [challenge.id for challenge in challenges]
    places: dict[tuple[str, str, str], int] = {}
    for challenge in challenges:
        for place, (kind, name) in enumerate(items(challenge)):
            places[challenge.id, kind, name] = place

    def rank(row: Row) -> tuple[int, int]:
        return ids.index(row.challenge), places.get((row.challenge, row.kind, row.name), -1)

    return sorted(rows, key=rank)
