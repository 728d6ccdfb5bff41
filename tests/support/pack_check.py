"""Helpers for tests of `pack check`."""

from pathlib import Path

from trainer.packs import pack_reader
from trainer.packs.pack_rows import Row
from trainer.server.pack_jobs import check_pack, sorted_rows


def checked(root: Path, processes: int) -> list[Row]:
    """Check a pack and return all rows in order."""
    challenges = pack_reader.read_pack(root)
    return sorted_rows(
        challenges,
        [row for rows in check_pack(root, challenges, [1, 2], processes) for row in rows],
    )
