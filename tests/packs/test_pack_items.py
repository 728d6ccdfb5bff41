"""The items of a challenge that `pack check` checks."""

from collections.abc import Sequence

import pytest

from trainer.packs import pack_reader
from trainer.packs.mistakes import read_mistakes
from trainer.packs.pack_items import Item, ids_of_pair, items, pairs, sample_items


@pytest.mark.parametrize(("every", "of_right"), [(3, 1), (16, 4)])
def test_samples_cover_all_mistakes_and_right_answers(every: int, of_right: int) -> None:
    """Samples from consecutive starts share no mistake, and each has all other items."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    all_items = items(gqa)
    samples = [
        sample_items({"gqa": all_items}, every, first)["gqa"] for first in range(32, 32 + every)
    ]

    def of(kinds: Sequence[str], found: Sequence[Item]) -> list[Item]:
        return [item for item in found if item[0] in kinds]

    others = ("content", "stub", "reference")
    assert all(of(others, sample) == of(others, all_items) for sample in samples)
    mistakes = [item for sample in samples for item in of(["mistake"], sample)]
    assert sorted(mistakes) == sorted(of(["mistake"], all_items))
    right = ("also right",)
    of_samples = [item for sample in samples[:of_right] for item in of(right, sample)]
    assert sorted(of_samples) == sorted(of(right, all_items))
    assert sample_items({"gqa": all_items}, 1, 5)["gqa"] == all_items


def test_a_sample_is_a_share_of_all_challenges() -> None:
    """No sample is without a mistake, although each challenge has fewer mistakes than the step."""
    few: list[Item] = [("mistake", name) for name in "abc"]
    for first in range(8):
        sample = sample_items({"one": few, "two": few, "three": few}, 8, first)
        assert 1 <= sum(map(len, sample.values())) <= 2


def test_pairs_of_mistakes_are_items_of_their_own() -> None:
    """An item names both mistakes. Samples of pairs cover all pairs."""
    norm = pack_reader.find_challenge(pack_reader.built_in_pack(), "rmsnorm")
    all_pairs = pairs(norm)
    known = {mistake.id for mistake in read_mistakes(norm)}
    assert all(kind == "pair" and set(ids_of_pair(name)) <= known for kind, name in all_pairs)
    samples = [sample_items({"rmsnorm": all_pairs}, 5, first)["rmsnorm"] for first in range(5)]
    assert sorted(item for sample in samples for item in sample) == sorted(all_pairs)
