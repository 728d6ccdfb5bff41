"""Check the items of a pack with several grading servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue

from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import GraderError
from attn_drill.packs.pack_items import CASES, Item, Row
from attn_drill.server.messages import Checked, CheckItems, refusal
from attn_drill.server.process import ServerLostError, ServerProcess

_Job = tuple[Challenge, tuple[Item, ...]]
_AT_ONCE = 24  # items of a job: a server prepares the cases of a challenge again after another one


def check_pack(
    packs: Sequence[Path],
    seeds: Sequence[int],
    processes: int,
    wanted: Mapping[Challenge, Sequence[Item]],
    on_row: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Return the rows of challenges in the order of their items, and give each new one to `on_row`.

    A fault that several jobs of a challenge find is reported once.

    Args:
        packs: the pack to check, then all other packs to which its challenges may refer.
        processes: the most grading servers at the same time.
    """
    jobs: list[_Job] = []
    for challenge, some in wanted.items():
        # A challenge has several jobs of about the same size.
        count = -(-len(some) // _AT_ONCE)
        jobs += [(challenge, tuple(some[place::count])) for place in range(count)]
    jobs.sort(key=lambda job: -len(job[1]))  # the last jobs are short, so no server waits for long
    servers = [ServerProcess(packs) for _ in range(max(1, min(processes, len(jobs))))]
    idle = SimpleQueue[ServerProcess]()
    for server in servers:
        idle.put(server)

    def checked(job: _Job) -> Sequence[Row]:
        challenge, some_items = job
        server = idle.get()
        try:
            reply = server.ask(CheckItems(challenge.id, some_items, tuple(seeds)))
        except ServerLostError as error:
            raise GraderError(f"A grading process ended: {error}. Run the check again.") from None
        finally:
            idle.put(server)
        if isinstance(reply, Checked):
            return reply.rows
        return [Row(challenge.id, *CASES, (refusal(reply),))]

    rows: dict[Row, None] = {}
    threads = ThreadPoolExecutor(len(servers))
    try:
        for done in as_completed([threads.submit(checked, job) for job in jobs]):
            for row in done.result():
                if row not in rows:
                    rows[row] = None
                    on_row(row)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for server in servers:
            server.close()
    order = [(challenge.id, *item) for challenge, some in wanted.items() for item in some]
    places = {item: place for place, item in enumerate(order)}
    return sorted(rows, key=lambda row: places.get((row.challenge, row.kind, row.name), -1))
