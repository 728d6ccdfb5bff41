"""Find the attention weights in the recorded run of a submission, next to the right weights."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attn_drill.diagnosis.layout import layouts_of_shape
from attn_drill.diagnosis.recorded_case import RecordedCase
from attn_drill.diagnosis.value_graph import Node, ValueGraph
from attn_drill.model.report import AttentionWeights

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
    """Return the weights of each attention in the right layout, and the right weights.

    Returns:
        Pairs of float64 [B, H, Lq, Lk] or [B, Lq, Lk]; no pair for weights that are not found.
    """
    nodes = [
        node for node in recorded.graph.leading_to_outputs if node.lines and may_be_weights(node)
    ]
    pairs: list[tuple[Tensor, Tensor]] = []
    for node in right_weights(recorded.reference):
        right = _value(node)
        actual = _weights_like(nodes, right, recorded.sizes)
        if actual is not None:
            pairs.append((actual, right))
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
    actual, right = actual[item], right[item]
    if right.dim() == 2:
        actual, right = actual.unsqueeze(0), right.unsqueeze(0)
    return AttentionWeights(item, _rows(actual), _rows(right))


def _difference(actual: Tensor, right: Tensor) -> Tensor:
    return (actual - right).abs().nan_to_num(math.inf)


def _weights_like(nodes: list[Node], right: Tensor, sizes: dict[str, int]) -> Tensor | None:
    """Return the next weights of a submission in the layout of the right weights.

    They are the result of its softmax, the results of a softmax for each head, or a tensor whose
    entries are shares that add up to 1 along an axis.

    Args:
        nodes: the results that may be weights. Those that are returned are removed.
        sizes: the value of every letter.
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
