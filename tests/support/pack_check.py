"""Helpers for tests of `pack check`."""

from pathlib import Path

from attn_drill.packs import pack_reader
from attn_drill.packs.content_check import Row, items
from attn_drill.server.clients import check_pack


def checked(root: Path, processes: int) -> list[Row]:
    """Check a pack with two seeds and return all rows in order."""
    challenges = pack_reader.read_pack(root)
    wanted = {challenge: items(challenge) for challenge in challenges}
    packs = [root, pack_reader.built_in_pack()]
    return check_pack(packs, [1, 2], processes, wanted)
