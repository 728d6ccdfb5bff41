"""Helpers for tests of `pack check`."""

from pathlib import Path

from trainer.packs import pack_reader
from trainer.packs.pack_items import Row, items
from trainer.server.pack_jobs import check_pack, sorted_rows


def checked(root: Path, processes: int) -> list[Row]:
    """Check a pack with two seeds and return all rows in order."""
    challenges = pack_reader.read_pack(root)
    wanted = {challenge.id: items(challenge) for challenge in challenges}
    packs = [root, pack_reader.built_in_pack()]
    jobs = check_pack(packs, challenges, [1, 2], processes, wanted)
    return sorted_rows(challenges, [row for rows in jobs for row in rows])
