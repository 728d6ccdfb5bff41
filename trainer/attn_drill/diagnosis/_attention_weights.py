"""Find the attention weights in a recorded run, and read the effective mask from them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attn_drill.diagnosis._recorded_case import RecordedCase
from attn_drill.diagnosis._value_graph import Node, ValueGraph, layouts_of_shape
from attn_drill.grading.pictures import rows_of
from attn_drill.model.report import AttentionWeights, EffectiveMask

_MOST_HEADS, _MOST_QUERIES, _MOST_KEYS = 16, 32, 64
_EQUAL = 1e-6  # the mean difference of equal weights
_SOFTMAX = "_softmax"
PAST = "Lpast"  # the letter for the number of cached keys


def right_weights(reference: ValueGraph) -> list[Node]:
    """Return the weights [B, H, Lq, Lk] or [B, Lq, Lk] of each attention of the reference."""
    return [
        node
        for node in reference.leading_to_outputs
        if node.operation == _SOFTMAX and node.value is not None and node.value.dim() in (3, 4)
    ]


def weights_of(recorded: RecordedCase) -> list[tuple[Tensor, Tensor]]:
    """Return the weights of each attention, and the right weights, as float64 [B, H, Lq, Lk].

    Weights that are not found are left out. H is 1 if the right weights have no axis for heads.
    """
    nodes = [
        node for node in recorded.graph.leading_to_outputs if node.lines and may_be_weights(node)
    ]
    pairs: list[tuple[Tensor, Tensor]] = []
    for node in right_weights(recorded.reference):
        right = _value(node)
        actual = _weights_like(nodes, right, recorded.sizes)
        if actual is not None:
            batch, *heads, queries, keys = right.shape
            shape = batch, *(heads or [1]), queries, keys
            pairs.append((actual.reshape(shape), right.reshape(shape)))
    return pairs


def attention_weights(recorded: RecordedCase) -> AttentionWeights | None:
    """Return the weights of one batch item; None if the reference or the submission has none.

    If a case makes several calls, the weights are of the call in which they differ most. The batch
    item is chosen in the same way.
    """
    pairs = weights_of(recorded)
    if not pairs:
        return None
    actual, right = max(pairs, key=lambda pair: float(_difference(*pair).amax()))
    item = int(_difference(actual, right).flatten(1).amax(dim=1).argmax())
    return AttentionWeights(item, _rows(actual[item]), _rows(right[item]))


def _difference(actual: Tensor, right: Tensor) -> Tensor:
    return (actual - right).abs().nan_to_num(math.inf)


def _weights_like(nodes: list[Node], right: Tensor, sizes: dict[str, int]) -> Tensor | None:
    """Return the next weights of a submission in the layout of the right weights.

    They are one of the nodes, or one node for each head. These nodes are removed from the list.
    """
    for node in nodes:
        value = _value(node)
        is_same_shape = value.shape == right.shape
        candidates = [value] if is_same_shape else []
        if value.numel() == right.numel():
            candidates += layouts_of_shape(value, tuple(right.shape), sizes)
        if candidates:
            nodes.remove(node)
            nearest = min(candidates, key=lambda each: float(_difference(each, right).mean()))
            # Wrong weights of the right shape are more likely than wrong weights in another layout.
            is_right = float(_difference(nearest, right).mean()) < _EQUAL
            return value if is_same_shape and not is_right else nearest
    if right.dim() == 4:
        heads = [node for node in nodes if _value(node).shape == right.select(1, 0).shape]
        heads = heads[: right.shape[1]]
        if len(heads) == right.shape[1]:
            nodes[:] = [node for node in nodes if node not in heads]
            return torch.stack([_value(node) for node in heads], dim=1)
    return None


def _value(node: Node) -> Tensor:
    assert node.value is not None  # `may_be_weights` has seen it
    return node.value.detach().to(torch.float64)


def may_be_weights(node: Node) -> bool:
    """Return whether a result is a softmax, or has shares that add up to 1 along an axis."""
    value = node.value
    if value is None or not value.is_floating_point():
        return False
    if node.operation == _SOFTMAX:
        return True
    if node.is_layout or value.dim() < 2 or not bool(((value >= 0) & (value <= 1)).all()):
        return False
    totals = (value.sum(dim=axis) for axis in range(value.dim()) if value.shape[axis] > 1)
    return any(bool(((total - 1).abs() < 1e-3).all()) for total in totals)


def _rows(heads: Tensor) -> tuple[tuple[tuple[float | None, ...], ...], ...]:
    """Return the weights of the first heads, queries and keys; None for entries not finite."""
    shown = heads[:_MOST_HEADS, :_MOST_QUERIES, :_MOST_KEYS]
    return tuple(
        tuple(
            tuple(round(weight, 4) if math.isfinite(weight) else None for weight in row)
            for row in head
        )
        for head in shown.tolist()
    )


_ROUNDING = 1e-3
# If a weight is smaller, a zero among the weights may be such a weight, rounded.
_LEAST = 1e-25


def effective_mask(recorded: RecordedCase) -> EffectiveMask | None:
    """Return the mask that a submission applies, next to the right mask; None if it is not clear.

    A key is hidden if its weight is exactly 0. So the scores of the case must not be so steep that
    right weights underflow.
    """
    past = recorded.sizes.get(PAST, 0)
    mask: EffectiveMask | None = None
    for weights, right in weights_of(recorded):
        if not (_are_telling(weights) and _are_telling(right)):
            return None
        seen, should_be_seen = weights != 0, right != 0
        # A weight of 0 that should not be 0 may be a small weight, rounded.
        may_be_rounded = bool(((weights > 0) & (weights < _LEAST)).any())
        if may_be_rounded and bool((should_be_seen & ~seen).any()):
            return None
        if _is_hidden_later(recorded, should_be_seen):
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


def _is_hidden_later(recorded: RecordedCase, should_be_seen: Tensor) -> bool:
    """Return whether the right weights are set to 0 after the softmax.

    Then the values of the hidden keys have no effect, although each has a weight.
    """
    for node in recorded.graph.nodes:
        value = node.value
        if value is None or value.numel() != should_be_seen.numel() or node.is_layout:
            continue
        is_equal = torch.equal(value.reshape(should_be_seen.shape) != 0, should_be_seen)
        if is_equal and not may_be_weights(node) and any(map(may_be_weights, node.parents)):
            return True
    return False


def compare_masks(seen: Tensor, should_be_seen: Tensor, cached: int, number: int) -> EffectiveMask:
    """Return two masks and their difference in words.

    Both masks are bool [B, H, Lq, Lk], true for the keys that each query attends to. The first
    `cached` keys are in the cache. The number is that of the case.
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
