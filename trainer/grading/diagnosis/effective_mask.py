"""Whom each query really attends to: nudge the value of one key and see which outputs move.

A pack's cases.py may name `KEYS`, the input whose entries along the last axis but one are keys, and `QUERIES`, the output whose
entries there are queries; batch items lie along axis 0 of both. Of a module it may define `values_alone(parameters)`: weights under
which an entry shows by its value alone (queries of zero, say).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from trainer.core.report import EffectiveMask
from trainer.grading.exam import Exam

MOST_NUDGES = 64
Outputs = Sequence[Mapping[str, Tensor]]  # case by case


def nudges(exam: Exam, number: int) -> Exam | None:
    """A case as it is, then once for every key with that key's value changed; None where the pack does not say what keys are, or there are too many."""
    keys, queries = exam.content("KEYS"), exam.content("QUERIES")
    if keys is None or queries is None:
        return None
    given = exam.given(number)
    values = given.get(keys)
    if not isinstance(values, Tensor) or values.dim() < 3 or values.shape[0] * values.shape[-2] > MOST_NUDGES:
        return None
    alone = exam.content("values_alone")
    parameters = exam.parameters(number)
    return exam.variants(number, [given, *_nudges(given, values, keys)], alone(parameters) if alone else parameters)


def effective_mask(nudged: Exam, mine: Outputs, right: Outputs) -> EffectiveMask | None:
    """Who attends to whom, the submission's way beside the right one; None where that cannot be seen.

    Args:
        nudged: what `nudges` gives.
        mine: the submission's outputs of all its cases.
        right: the reference's.
    """
    queries, items = nudged.content("QUERIES"), nudged.inputs(0)[nudged.content("KEYS")].shape[0]
    if len(mine) != len(nudged.cases) or len(right) != len(nudged.cases):
        return None
    pictures = [_picture([one.get(queries) for one in outputs], items) for outputs in (mine, right)]
    return None if pictures[0] is None or pictures[1] is None else _compared(pictures[0], pictures[1])


def _nudges(given: Mapping[str, Any], values: Tensor, name: str) -> list[dict[str, Any]]:
    """The inputs with one entry of one batch item changed, one after another."""
    found = []
    for item in range(values.shape[0]):
        for key in range(values.shape[-2]):
            changed = values.clone(memory_format=torch.contiguous_format)
            changed[item].select(-2, key).add_(1.0)
            found.append({**given, name: changed})
    return found


def _picture(outputs: Sequence[Tensor | None], items: int) -> Tensor | None:
    """bool [batch, query, batch of the key, key]: whether this output moves when that key's value does."""
    base = outputs[0]
    if base is None or base.dim() < 3 or base.shape[0] != items:
        return None
    moved = []
    for one in outputs[1:]:
        if one is None or one.shape != base.shape:
            return None
        differs = (one != base) & ~(one.isnan() & base.isnan())  # what is NaN with every value depends on none
        moved.append(differs.transpose(1, -2).flatten(2).any(dim=2))  # [batch, query]
    return torch.stack(moved, dim=-1).reshape(*moved[0].shape, items, -1)


def _compared(mine: Tensor, right: Tensor) -> EffectiveMask | None:
    if mine.shape != right.shape:
        return None
    items = torch.arange(mine.shape[0])
    own, rights = mine[items, :, items], right[items, :, items]  # [batch, query, key]
    others = mine.clone()
    others[items, :, items] = False
    differing = [int(item) for item in items if not torch.equal(own[item], rights[item]) or bool(others[item].any())]
    if not differing:
        return EffectiveMask("", 0, (), _rows(rights[0]))
    item = differing[0]
    what = "an output depends on tokens of another batch item" if bool(others.any()) else _what(own, rights)
    return EffectiveMask(what, item, _rows(own[item]), _rows(rights[item]))


def _what(mine: Tensor, right: Tensor) -> str:
    """The difference of two patterns [batch, query, key] in words."""
    if bool(mine.all()):
        return "every query attends to every key, as if there were no mask"
    if not bool(mine.any()):
        return "no output depends on any value"
    if torch.equal(mine, ~right):
        return "the mask is inverted: queries attend to exactly the keys that are hidden"
    if len(mine) > 1 and all(torch.equal(one, right[0]) for one in mine):
        return "every batch item is masked as item 0 is"
    if mine.shape[1] == mine.shape[2] and torch.equal(mine, right.transpose(1, 2)):
        return "the mask is transposed: keys and queries are exchanged"
    length = mine.shape[2]
    for step in sorted(range(1 - length, length), key=abs):
        if step and _is_shifted(mine, right, step):
            keys = f"{abs(step)} key{'s' if abs(step) > 1 else ''}"
            return f"the mask lies {keys} too far to the {'right' if step > 0 else 'left'}"
    eye = torch.eye(*mine.shape[1:], dtype=torch.bool)
    if torch.equal(mine, right & ~eye):
        return "a token does not attend to itself"
    if torch.equal(mine, right | eye):
        return "a token attends to itself where that is hidden"
    more, less = int((mine & ~right).sum()), int((~mine & right).sum())
    words = [f"{more} hidden keys are attended to" if more else "", f"{less} allowed keys are not attended to" if less else ""]
    return "; ".join(word for word in words if word)


def _is_shifted(mine: Tensor, right: Tensor, step: int) -> bool:
    """Whether one is the other moved along the keys; what lies beyond the edge is not known."""
    length = mine.shape[2] - abs(step)
    moved, still = mine.narrow(2, max(step, 0), length), right.narrow(2, max(-step, 0), length)
    return length > 1 and torch.equal(moved, still) and bool(still.any()) and not bool(still.all())


def _rows(pattern: Tensor) -> tuple[str, ...]:
    return tuple("".join("#" if seen else "." for seen in row) for row in pattern.tolist())
