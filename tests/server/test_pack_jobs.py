"""Tests of `pack check` with several grading servers."""

import shutil
from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from attn_drill.packs.content_check import Row, items
from attn_drill.server.clients import check_pack
from tests.support.paths import TINY_PACK


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """Copy the tiny pack, so that a test can break it."""
    return Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))


def checked(root: Path, processes: int) -> list[Row]:
    """Check a pack with two seeds and return all rows in order."""
    challenges = pack_reader.read_pack(root)
    wanted = {challenge: items(challenge) for challenge in challenges}
    packs = [root, pack_reader.built_in_pack()]
    return check_pack(packs, [1, 2], processes, wanted)


@pytest.mark.thorough
def test_two_processes_give_the_same_rows_as_one() -> None:
    """There is one row for every item, in the same order."""
    alone = checked(TINY_PACK, 1)
    assert checked(TINY_PACK, 2) == alone
    assert [(row.challenge, row.kind, row.name) for row in alone] == [
        (challenge.id, *item)
        for challenge in pack_reader.read_pack(TINY_PACK)
        for item in items(challenge)
    ]
    assert {row.name: row.refused_by for row in alone if row.kind == "mistake"} == {
        "wrong-axis": ("values",),
        "matrix": ("memory",),
        "negative": ("values",),
    }


@pytest.mark.thorough
@pytest.mark.parametrize("processes", [1, 2])
def test_fault_of_a_challenge_is_reported_once(pack: Path, processes: int) -> None:
    """A challenge that cannot be read has a single row with the reason. Others have all rows."""
    path = pack / "challenges" / "prefix_sum" / "cases.py"
    path.write_text(path.read_text().replace("def drive", "def driven"))
    rows = checked(pack, processes)
    texts, cases = [row for row in rows if row.challenge == "prefix-sum"]
    assert (texts.name, cases.name) == ("texts", "cases")
    (problem,) = cases.problems
    assert problem.startswith(f"{path} defines no `drive` that can be called.")
    assert len([row for row in rows if row.challenge == "signs"]) == 5
