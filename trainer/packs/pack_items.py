"""List the items of a challenge that `pack check` checks."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence

from trainer.model.challenge import Challenge
from trainer.model.errors import PackError
from trainer.packs import pack_reader
from trainer.packs.follow_up import answers_path
from trainer.packs.mistakes import pairs_of, read_mistakes
from trainer.packs.pack_rows import Item, pair_name
from trainer.packs.prompt_facts import translations

# The item of `follow_up.toml`: its answers, and the formulas of their quantities.
FOLLOW_UPS = "answers to follow-up questions"
# The kinds of items of which a quick check takes a sample.
_RIGHT, _WRONG = ("also right",), ("mistake", "pair")


def items(challenge: Challenge) -> list[Item]:
    """Return all items of a challenge, in the order of the rows of `pack check`."""
    found: list[Item] = [("content", "prompt, hints, cases")]
    found += [("content", path.name) for path in translations(challenge)]
    if answers_path(challenge).exists():
        found.append(("content", FOLLOW_UPS))
    found += [("stub", "stub.py"), ("reference", "solution.py")]
    found += [("also right", path.name) for path in pack_reader.also_right(challenge)]
    with contextlib.suppress(PackError):  # the item "content" reports the error
        found += [("mistake", mistake.id) for mistake in read_mistakes(challenge)]
    return found


def pairs(challenge: Challenge) -> list[Item]:
    """Return an item for every pair of known mistakes in different statements of the reference."""
    source, mistakes = pack_reader.solution(challenge), read_mistakes(challenge)
    return [
        ("pair", pair_name(first.id, second.id)) for first, second in pairs_of(source, mistakes)
    ]


def sample_items(
    all_items: Mapping[str, Sequence[Item]], every: int, first: int
) -> dict[str, list[Item]]:
    """Return a sample of the mistakes, the pairs and the other right answers, and all other items.

    The items are counted over all challenges, so a challenge with few mistakes may have none in the
    sample. There are fewer right answers than mistakes, so four times as large a share of them is
    returned.

    Args:
        all_items: the items of each challenge.
        every: the step through the mistakes, or through the pairs.
        first: the index of the first mistake to return, modulo `every`.
    """
    seen: Counter[int] = Counter()  # the items that were counted with each step
    sampled: dict[str, list[Item]] = {challenge: [] for challenge in all_items}
    for challenge, found in all_items.items():
        for item in found:
            kind, _ = item
            step = max(1, every // 4) if kind in _RIGHT else every if kind in _WRONG else 1
            if (seen[step] - first) % step == 0:
                sampled[challenge].append(item)
            seen[step] += 1
    return sampled
