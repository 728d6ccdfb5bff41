"""`pack check`: what is missing or wrong in a pack is told, once; several processes give the rows of one."""

from trainer.packs import pack_reader
from trainer.packs.pack_items import items, sample_items


def test_every_so_many_mistakes() -> None:
    """Whatever the place where it begins, all of them are taken together, and what is no mistake each time."""
    (challenge,) = (
        one for one in pack_reader.read_pack(pack_reader.built_in_pack()) if one.id == "gqa"
    )
    found = items(challenge)
    parts = [sample_items(found, 3, first) for first in (7, 8, 9)]
    others = [item for item in found if item[0] != "mistake"]
    assert all([item for item in part if item[0] != "mistake"] == others for part in parts)
    assert sorted(item for part in parts for item in part if item[0] == "mistake") == sorted(
        item for item in found if item[0] == "mistake"
    )
    assert max(len(part) for part in parts) - min(len(part) for part in parts) <= 1
    assert sample_items(found, 1, 5) == found
