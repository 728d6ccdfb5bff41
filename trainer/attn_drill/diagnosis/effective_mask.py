"""Read from the attention weights which keys each query of a submission attends to."""

from __future__ import annotations

import torch
from torch import Tensor

from attn_drill.diagnosis.attention_weights import PAST, may_be_weights, weights_of
from attn_drill.diagnosis.recorded_case import RecordedCase
from attn_drill.grading.pictures import rows_of
from attn_drill.model.report import EffectiveMask

_ROUNDING = 1e-3  # of a sum of weights
_LEAST = 1e-25  # if a weight is smaller, a zero among the weights may be such a weight, rounded


def effective_mask(recorded: RecordedCase) -> EffectiveMask | None:
    """Return the mask that a submission applies, next to the right mask.

    A key is hidden if its weight is exactly 0. A head with a wrong mask comes first.

    Args:
        recorded: the recorded case. Its scores must not be so steep that right weights underflow.

    Returns:
        None if the submission or the reference has no weights, or if a mask cannot be told.
    """
    past = recorded.sizes.get(PAST, 0)
    mask: EffectiveMask | None = None
    for weights, right in weights_of(recorded):
        if not (_are_telling(weights) and _are_telling(right)):
            return None
        seen, should_be_seen = (
            (each if each.dim() == 4 else each.unsqueeze(1)) != 0 for each in (weights, right)
        )
        # A weight of 0 that should not be 0 may be a small weight, rounded.
        may_be_rounded = bool(((weights > 0) & (weights < _LEAST)).any())
        if may_be_rounded and bool((should_be_seen & ~seen).any()):
            return None
        if _is_hidden_later(recorded, right):
            return None
        queries, keys = seen.shape[-2:]
        cached = past if keys == past + queries else 0
        mask = compare_masks(seen, should_be_seen, cached, recorded.index + 1)
        if mask.difference:
            break
    return mask


def _are_telling(weights: Tensor) -> bool:
    """Return whether weights are finite and those of a query add up to at most 1.

    Otherwise the axis of the keys is not known.
    """
    is_finite = bool(weights.isfinite().all())
    return is_finite and bool((weights.sum(dim=-1) <= 1 + _ROUNDING).all())


def _is_hidden_later(recorded: RecordedCase, right: Tensor) -> bool:
    """Return whether the right weights are set to 0 after the softmax.

    Then the values of the hidden keys have no effect, although each has a weight.
    """
    for node in recorded.graph.nodes:
        value = node.value
        if value is None or value.shape != right.shape or node.is_layout or may_be_weights(node):
            continue
        if any(map(may_be_weights, node.parents)) and torch.equal(value != 0, right != 0):
            return True
    return False


def compare_masks(seen: Tensor, should_be_seen: Tensor, cached: int, number: int) -> EffectiveMask:
    """Return two masks and their difference in words.

    Args:
        seen: bool [B, H, Lq, Lk], true for the keys that each query attends to.
        should_be_seen: the same of the reference.
        cached: the number of keys in the cache; they are the first.
        number: of the case, from 1.
    """
    wrong = (seen != should_be_seen).flatten(2).any(dim=2)  # [B, H]
    if not bool(wrong.any()):
        return EffectiveMask("", 0, (), rows_of(should_be_seen[0, 0]), cached)
    head = int(wrong.any(dim=0).to(torch.uint8).argmax())
    item = int(wrong[:, head].to(torch.uint8).argmax())
    difference = difference_in_words(seen[:, head], should_be_seen[:, head], cached)
    if not bool((seen == seen[:, :1]).all()):
        difference = f"in head {head}, {difference}"
    if cached:
        difference += f"; the first {cached} {'key is' if cached == 1 else 'keys are'} in the cache"
    rows, right_rows = rows_of(seen[item, head]), rows_of(should_be_seen[item, head])
    return EffectiveMask(difference, item, rows, right_rows, cached, number)


def difference_in_words(actual: Tensor, expected: Tensor, cached: int = 0) -> str:
    """Return the difference of two patterns [batch, query, key] in words.

    >>> causal = torch.ones(1, 3, 3, dtype=torch.bool).tril()
    >>> difference_in_words(causal.tril(-1), causal)
    'the mask is shifted by 1 key to the left'
    """
    if bool(actual.all()):
        return "every query attends to every key, as if there were no mask"
    # A query that should attend to every key has no key that should be hidden. If a large number is
    # subtracted from all its scores, it still attends to every key.
    is_open = expected.all(dim=-1, keepdim=True)
    is_opposite = (actual == ~expected) | (is_open & actual.all(dim=-1, keepdim=True))
    if bool(is_opposite.all()) and not bool(is_open.all()):
        return "the mask is inverted: queries attend to exactly the keys that should be hidden"
    if len(actual) > 1 and bool((actual == expected[0]).all()):
        return "every batch item uses the mask of item 0"
    queries, keys = actual.shape[1:]
    if queries == keys and torch.equal(actual, expected.transpose(1, 2)):
        return "the mask is transposed: keys and queries are swapped"
    for step in sorted(range(-(keys // 2), keys // 2 + 1), key=abs):
        if step and _is_shifted(actual, expected, step):
            side = "right" if step > 0 else "left"
            return f"the mask is shifted by {_keys(abs(step))} to the {side}"
    if queries + cached == keys:
        itself = torch.eye(queries, keys, dtype=torch.bool).roll(cached, dims=1)
        if torch.equal(actual, expected & ~itself):
            return "no token attends to itself"
        if torch.equal(actual, expected | itself):
            return "every token attends to itself, even if the mask hides it"
    too_many, too_few = int((actual & ~expected).sum()), int((~actual & expected).sum())
    words = []
    if too_many:
        words.append(f"queries attend to {_keys(too_many)} that should be hidden")
    if too_few:
        words.append(f"queries do not attend to {_keys(too_few)} that should be visible")
    return "; ".join(words)


def _is_shifted(actual: Tensor, expected: Tensor, step: int) -> bool:
    """Return whether a pattern is the right pattern moved along the keys.

    The overlap must be equal, and the keys that the movement uncovers must continue the pattern:
    each is like its neighbour, or no query attends to it.
    """
    keys = actual.shape[2]
    length = keys - abs(step)
    actual_part = actual.narrow(2, max(step, 0), length)
    expected_part = expected.narrow(2, max(-step, 0), length)
    is_pattern = length > 1 and bool(expected_part.any()) and not bool(expected_part.all())
    if not is_pattern or not torch.equal(actual_part, expected_part):
        return False
    neighbour = actual.narrow(2, step if step > 0 else length - 1, 1)
    uncovered = actual.narrow(2, 0 if step > 0 else length, abs(step))
    return torch.equal(uncovered, neighbour.expand_as(uncovered)) or not bool(uncovered.any())


def _keys(count: int) -> str:
    return "1 key" if count == 1 else f"{count} keys"
