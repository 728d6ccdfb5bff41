"""The items of a challenge that `pack check` checks."""

from trainer.model.pack_rows import ids_of_pair
from trainer.packs import pack_reader
from trainer.packs.mistakes import read_mistakes
from trainer.packs.pack_items import FOLLOW_UPS, items, pairs, sample_items


def test_samples_of_mistakes_cover_all_mistakes() -> None:
    """Samples from consecutive starts share no mistake, and each has all other items."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    all_items = items(gqa)
    samples = [sample_items(all_items, 3, first) for first in (7, 8, 9)]
    others = [item for item in all_items if item[0] != "mistake"]
    assert all([item for item in sample if item[0] != "mistake"] == others for sample in samples)
    sampled = [item for sample in samples for item in sample if item[0] == "mistake"]
    assert sorted(sampled) == sorted(item for item in all_items if item[0] == "mistake")
    assert max(map(len, samples)) - min(map(len, samples)) <= 1
    assert sample_items(all_items, 1, 5) == all_items


def test_translations_and_follow_up_answers_are_items() -> None:
    """Each has its own row, so that a failure has a fitting heading."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    contents = [name for kind, name in items(gqa) if kind == "content"]
    assert contents == ["prompt, hints, cases", "prompt.zh.md", FOLLOW_UPS]


def test_pairs_of_mistakes_are_items_of_their_own() -> None:
    """An item names both mistakes. Samples of pairs cover all pairs."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    all_pairs = pairs(gqa)
    known = {mistake.id for mistake in read_mistakes(gqa)}
    assert all(kind == "pair" and set(ids_of_pair(name)) <= known for kind, name in all_pairs)
    samples = [sample_items(all_pairs, 5, first) for first in range(5)]
    assert sorted(item for sample in samples for item in sample) == sorted(all_pairs)
