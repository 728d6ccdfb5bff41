"""`pack check`: what is missing or wrong in a pack is told, once; several processes give the rows of one."""

import shutil
from pathlib import Path

import pytest

from tests.support.pack_check import checked
from tests.support.paths import TINY_PACK
from trainer.packs import pack_reader
from trainer.packs.pack_items import items


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of the small pack, to be broken."""
    return Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))


def test_processes_give_the_rows_of_one() -> None:
    """The same rows, one for every item."""
    alone = checked(TINY_PACK, 1)
    assert checked(TINY_PACK, 2) == alone
    assert [(row.challenge, row.kind, row.name) for row in alone] == [
        (one.id, *item) for one in pack_reader.read_pack(TINY_PACK) for item in items(one)
    ]
    assert {row.name: row.refused_by for row in alone if row.kind == "mistake"} == {
        "wrong-axis": ("values",),
        "matrix": ("memory",),
        "negative": ("values",),
    }


@pytest.mark.parametrize("processes", [1, 2])
def test_a_fault_is_told_once(pack: Path, processes: int) -> None:
    """A challenge that cannot be checked at all has one row that says why; the others have theirs."""
    path = pack / "challenges" / "prefix_sum" / "cases.py"
    path.write_text(path.read_text().replace("def drive", "def driven"))
    rows = checked(pack, processes)
    assert [row.message for row in rows if row.challenge == "prefix-sum"] == [
        f"{path} defines no `drive`."
    ]
    assert len([row for row in rows if row.challenge == "signs"]) == 4
