"""Check a pack's items with several grading servers."""

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

_AT_ONCE = 4  # items of a job: few, so that the last job leaves no core idle for long
_Job = tuple[Challenge, tuple[Item, ...]]


def check_pack(
    root: Path,
    challenges: Sequence[Challenge],
    seeds: Sequence[int],
    processes: int,
    beside: Sequence[Path] = (),
    wanted: Mapping[str, Sequence[Item]] | None = None,
) -> Iterator[list[Row]]:
    """Yield the rows of all challenges, a few at a time, in the order in which they are done.

    A fault that several jobs of one challenge meet is told once.

    Args:
        beside: other packs, on whose challenges the challenges of this pack may build.
        wanted: the items of each challenge, by its id; all by default.

    Raises:
        GraderError: if a grading process is lost.
    """
    jobs = _Jobs(challenges, wanted)
    done: queue.Queue[list[Row] | Exception] = queue.Queue()
    servers = [ServerProcess([root, *beside]) for _ in range(min(processes, max(1, jobs.count)))]
    told: set[Row] = set()
    try:
        for server in servers:
            arguments = (server, jobs, tuple(seeds), done)
            threading.Thread(target=_work, args=arguments, daemon=True).start()
        for _ in range(jobs.count):
            rows = done.get()
            if isinstance(rows, Exception):
                raise rows
            new = [row for row in rows if row not in told]
            told.update(new)
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
    """Have one server do jobs until none is left."""
    last: Challenge | None = None
    while (job := jobs.next_for(last)) is not None:
        last, some = job
        try:
            reply = server.ask(CheckItems(last.id, some, seeds))
        except ServerLostError as error:
            done.put(GraderError(f"A grading process ended: {error}. Run the check again."))
            return
        if isinstance(reply, Checked):
            done.put(list(reply.rows))
        else:
            sentence = reply.sentence if isinstance(reply, Refused) else "an odd reply"
            done.put([Row(last.id, "content", "readable", False, sentence)])


class _Jobs:
    """The jobs that no server has yet.

    A server stays with its challenge, because it needs time to learn its cases and known mistakes.
    """

    def __init__(
        self, challenges: Sequence[Challenge], wanted: Mapping[str, Sequence[Item]] | None
    ) -> None:
        self._lock = threading.Lock()
        self._left: dict[Challenge, list[_Job]] = {}
        for challenge in challenges:
            found = items(challenge) if wanted is None else wanted[challenge.id]
            starts = range(0, len(found), _AT_ONCE)
            jobs = [(challenge, tuple(found[start : start + _AT_ONCE])) for start in starts]
            if jobs:
                self._left[challenge] = jobs
        self.count = sum(len(jobs) for jobs in self._left.values())
        self._untouched = set(self._left)

    def next_for(self, last: Challenge | None) -> _Job | None:
        """Return a job of the last challenge, else of the longest that no server has begun.

        If all are begun, return a job of the challenge with most left. None if no job is left.
        """
        with self._lock:
            if not self._left:
                return None
            if last in self._left:
                chosen = last
            else:
                able = self._untouched & set(self._left) or set(self._left)
                chosen = max(able, key=lambda challenge: len(self._left[challenge]))
            self._untouched.discard(chosen)
            job = self._left[chosen].pop(0)
            if not self._left[chosen]:
                del self._left[chosen]
            return job


def in_order(challenges: Sequence[Challenge], rows: Sequence[Row]) -> list[Row]:
    """Return the rows sorted as the challenges and their items are."""
    ids = [challenge.id for challenge in challenges]
    places: dict[tuple[str, str, str], int] = {}
    for challenge in challenges:
        for place, (kind, name) in enumerate(items(challenge)):
            places[challenge.id, kind, name] = place

    def rank(row: Row) -> tuple[int, int]:
        return ids.index(row.challenge), places.get((row.challenge, row.kind, row.name), -1)

    return sorted(rows, key=rank)
