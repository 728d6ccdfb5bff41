"""Check the items of a pack with several grading servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue

from trainer.model.challenge import Challenge
from trainer.model.errors import GraderError
from trainer.packs.pack_items import CASES, Item, Row, items
from trainer.server.messages import Checked, CheckItems, Refused
from trainer.server.process import ServerLostError, ServerProcess

_Job = tuple[Challenge, tuple[Item, ...]]
_AT_ONCE = 24  # items of a job: a server prepares the cases of a challenge again after another one


def check_pack(
    packs: Sequence[Path],
    challenges: Sequence[Challenge],
    seeds: Sequence[int],
    processes: int,
    wanted: Mapping[str, Sequence[Item]],
) -> Iterator[list[Row]]:
    """Yield the rows of challenges, a job at a time, in the order of completion.

    A fault that several jobs of a challenge find is reported once.

    Args:
        packs: the pack to check, then all other packs to which its challenges may refer.
        challenges: the challenges of the first pack to check.
        seeds: the seeds.
        processes: the most grading servers at the same time.
        wanted: the items to check by challenge id.

    Raises:
        GraderError: if a grading process is lost.
    """
    jobs = [job for challenge in challenges for job in _jobs(challenge, wanted[challenge.id])]
    jobs.sort(key=lambda job: -len(job[1]))  # the last jobs are short, so no server waits for long
    servers = [ServerProcess(packs) for _ in range(max(1, min(processes, len(jobs))))]
    idle = SimpleQueue[ServerProcess]()
    for server in servers:
        idle.put(server)

    def checked(job: _Job) -> list[Row]:
        server = idle.get()
        try:
            return _rows(server, job, tuple(seeds))
        finally:
            idle.put(server)

    reported: set[Row] = set()
    threads = ThreadPoolExecutor(len(servers))
    try:
        for done in as_completed([threads.submit(checked, job) for job in jobs]):
            new = [row for row in done.result() if row not in reported]
            reported.update(new)
            yield new
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for server in servers:
            server.close()


def _jobs(challenge: Challenge, all_items: Sequence[Item]) -> list[_Job]:
    """Split the items of a challenge into jobs of about the same size."""
    count = -(-len(all_items) // _AT_ONCE)
    return [(challenge, tuple(all_items[place::count])) for place in range(count)]


def _rows(server: ServerProcess, job: _Job, seeds: tuple[int, ...]) -> list[Row]:
    challenge, some_items = job
    try:
        reply = server.ask(CheckItems(challenge.id, some_items, seeds))
    except ServerLostError as error:
        raise GraderError(f"A grading process ended: {error}. Run the check again.") from None
    if isinstance(reply, Checked):
        return list(reply.rows)
    sentence = (
        reply.sentence if isinstance(reply, Refused) else "the server sent an unexpected reply"
    )
    return [Row(challenge.id, *CASES, (sentence,))]


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
