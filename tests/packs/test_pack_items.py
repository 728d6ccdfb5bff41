"""The items of a challenge that `pack check` checks."""

from collections import Counter

from attn_drill.packs import pack_reader
from attn_drill.packs.content_check import ids_of_pair, items, pairs, sample_items
from attn_drill.packs.mistakes import read_mistakes

BUILT_IN = pack_reader.built_in_pack()
GQA, NORM = (pack_reader.find_challenge(BUILT_IN, name) for name in ("gqa", "rmsnorm"))


def test_samples_cover_all_items() -> None:
    """Samples from consecutive starts share no mistake, and each has all items of other kinds."""
    all_items = {GQA: items(GQA), NORM: pairs(NORM)}
    samples = [sample_items(all_items, 5, first) for first in range(32, 37)]
    counts = Counter(item for sample in samples for some in sample.values() for item in some)
    assert counts == {
        item: 5 if item[0] in ("content", "stub", "reference") else 1
        for some in all_items.values()
        for item in some
    }
    sizes = [sum(map(len, sample.values())) for sample in samples]
    assert max(sizes) - min(sizes) <= 1
    assert sample_items(all_items, 1, 5) == all_items


def test_pairs_of_mistakes_are_items_of_their_own() -> None:
    """An item names both mistakes."""
    ids = {mistake.id for mistake in read_mistakes(NORM)}
    assert all(kind == "pair" and set(ids_of_pair(name)) <= ids for kind, name in pairs(NORM))
