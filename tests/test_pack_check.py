"""`pack check`: what is missing or wrong in a pack is told, once; several processes give the rows of one."""

import shutil
from pathlib import Path

import pytest

from tests.support.paths import TINY_PACK
from trainer.model.pack_rows import Row
from trainer.packs import pack_reader
from trainer.packs.pack_items import items, some_of
from trainer.server.pack_jobs import check_pack, in_order


def checked(root: Path, processes: int) -> list[Row]:
    """All rows of a pack, in order."""
    challenges = pack_reader.read_pack(root)
    return in_order(
        challenges,
        [row for rows in check_pack(root, challenges, [1, 2], processes) for row in rows],
    )


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


def test_every_so_many_mistakes() -> None:
    """Whatever the place where it begins, all of them are taken together, and what is no mistake each time."""
    (challenge,) = (
        one for one in pack_reader.read_pack(pack_reader.built_in_pack()) if one.id == "gqa"
    )
    found = items(challenge)
    parts = [some_of(found, 3, first) for first in (7, 8, 9)]
    others = [item for item in found if item[0] != "mistake"]
    assert all([item for item in part if item[0] != "mistake"] == others for part in parts)
    assert sorted(item for part in parts for item in part if item[0] == "mistake") == sorted(
        item for item in found if item[0] == "mistake"
    )
    assert max(len(part) for part in parts) - min(len(part) for part in parts) <= 1
    assert some_of(found, 1, 5) == found


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


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("file", "old", "new", "row", "says"),
    [
        pytest.param("solutions/prefix_sum/mistakes.toml", "dim=0)", "dim=1)", "wrong-axis", "passes with seed 1", id="a mistake that is none"),
        pytest.param("challenges/prefix_sum/stub.py", "raise NotImplementedError", "return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)", "stub.py", "passes", id="a stub that passes"),
        pytest.param("solutions/prefix_sum/mistakes.toml", "return torch.cumsum(x, dim=-1)\"\nnow = \"return torch", "torch\"\nnow = \"torch", "readable", "found 3 times", id="a mistake that applies thrice"),
        pytest.param("challenges/prefix_sum/cases.py", 'dtype="bfloat16"', 'dtype="float64"', "prompt, hints, cases", "has no case of dtype bfloat16", id="a dtype that no case has"),
        pytest.param("challenges/prefix_sum/cases.py", '"backwards"', '"forwards"', "prompt, hints, cases", "several cases named forwards", id="two cases of one name"),
        pytest.param("challenges/prefix_sum/challenge.toml", "minutes = 5", 'minutes = 5\nbuilds_on = ["sums"]', "prompt, hints, cases", "builds on sums, which", id="an unknown prerequisite"),
        pytest.param("challenges/prefix_sum/prompt.md", "Write", "", "prompt, hints, cases", "", id="an empty prompt"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(
    pack: Path, file: str, old: str, new: str, row: str, says: str
) -> None:
    """The row that is not ok, and why."""
    path = pack / file
    text = path.read_text()
    assert old in text
    path.write_text("" if file.endswith(".md") else text.replace(old, new, 1))
    found = next(
        one
        for one in checked(pack, 1)
        if one.challenge == "prefix-sum" and one.name == row and not one.ok
    )
    assert says in found.message


def test_another_right_answer_that_is_refused(pack: Path) -> None:
    """Either it or the grader is wrong: the row names the seed, the check and the case."""
    folder = pack / "solutions" / "prefix_sum" / "also_right"
    folder.mkdir(exist_ok=True)
    (folder / "forwards_only.py").write_text(
        "def prefix_sum(x, reverse=False):\n    return x.cumsum(-1)\n"
    )
    found = next(row for row in checked(pack, 1) if row.kind == "also right")
    assert not found.ok
    assert found.message.startswith("seed 1: failed: values, case 'backwards'")
