"""Find out which keys each query attends to, and prove it for this submission.

A pack's cases.py may name `KEYS`, the input whose entries along the last axis but one are keys,
`CACHED`, the input whose entries there are the keys of an earlier call, and `QUERIES`, the output
whose entries there are queries. Batch items lie along axis 0 of all three. For a module it may
define `values_alone(parameters)`: weights under which every query is zero.

The proof: all keys get the same entry and all other floats are zero, so every allowed key has the
same weight. Then the entry of one key after another is exchanged for another one. If influence is
attention, an output moves by `step / n` where its query attends to n keys and this key is among
them, and by exactly nothing elsewhere; `step` is the same for all queries, and the same as the
reference's. Calls that exchange several entries must move by the sum of these, and the first call
must give the same result when it is repeated. A submission that moves in any other way (queries or
keys read from the values, merged heads in disorder, dropout, NaN) gets no picture.

This shows whose values a query takes. A second series of calls, with ordinary scores, shows that
the scores of no other keys matter: values in a wrong order are no mistake of a mask. For this,
`SCORED_BY` names the input that holds the keys where another input holds their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import torch
from torch import Tensor

from trainer.grading.case_set import CaseSet
from trainer.model.report import EffectiveMask
from trainer.worker.execution import map_leaves

MOST_NUDGES = 64
_SEVERAL = 3  # calls that exchange several entries: all of them, then a random half
_ROUNDING = 1e-3  # of the greatest movement
_LEAST_STEP = 1e-2  # of the greatest output: what moves less says nothing
_SEED = 20_177
Outputs = Sequence[Mapping[str, Tensor]]  # call by call


@dataclass(frozen=True)
class Probe:
    """The calls of one case that show which keys a query attends to.

    case_set the first call, a call for every entry of `columns`, a call for every row of
             `several`, the first call again
    columns  batch item and key of every exchanged entry; the cached keys come first
    cached   how many keys of an item lie in the cache
    several  bool [calls, columns]: the entries that are exchanged together
    """

    case_set: CaseSet
    columns: tuple[tuple[int, int], ...]
    cached: int
    several: Tensor

    @property
    def items(self) -> int:
        """Return the number of batch items."""
        return self.columns[-1][0] + 1

    @property
    def keys(self) -> int:
        """Return the number of keys that an item has, the cached ones included."""
        return self.columns[-1][1] + 1


@dataclass(frozen=True)
class Attended:
    """The proved answer for one implementation.

    pattern  bool [items, queries, items, keys]: whether a query attends to a key
    steps    float64 [2, leading dims, features]: the movement of an output that attends to one
             key alone, for a cached key and for a key of the call; NaN where nobody attends to one
    """

    pattern: Tensor
    steps: Tensor


def probe(case_set: CaseSet, index: int) -> Probe | None:
    """Return the calls that prove which keys the queries of a case attend to.

    Returns None if the pack does not say which entries are keys, or if there are too many.
    """
    names = case_set.content.names
    keys, queries, cache = names.get("KEYS", ""), names.get("QUERIES"), names.get("CACHED", "")
    case, given = case_set.cases[index], case_set.prepared[index].inputs
    values, past = given.get(keys), given.get(cache)
    if not keys or queries is None or case.dtype == "bfloat16" or case.dropout is not None:
        return None
    if not _holds_keys(values):
        return None
    if past is not None and not (_holds_keys(past) and past.shape[0] == values.shape[0]):
        return None
    cached = 0 if past is None else past.shape[-2]
    items, length = values.shape[0], cached + values.shape[-2]
    if not 0 < items * length <= MOST_NUDGES:
        return None
    columns = tuple((item, key) for item in range(items) for key in range(length))
    generator = torch.Generator().manual_seed(_SEED)
    several = torch.rand(_SEVERAL, len(columns), generator=generator) < 0.5
    several[0] = True
    still = torch.zeros(1, len(columns), dtype=torch.bool)
    exchanged = torch.cat([still, torch.eye(len(columns), dtype=torch.bool), several, still])
    quiet = map_leaves(given, _without_scores)
    parts = {keys: slice(cached, length)} | ({} if past is None else {cache: slice(0, cached)})
    entries = {name: _entries(given[name], generator) for name in parts}
    calls = []
    for row in exchanged:
        at = row.reshape(items, length)
        inputs: dict[str, Any] = dict(quiet)
        for name, part in parts.items():
            inputs[name] = _exchanged(given[name], entries[name], at[:, part])
        calls.append(inputs)
    alone = names.get("values_alone")
    parameters = case_set.prepared[index].parameters
    weights = alone(parameters) if alone else parameters
    return Probe(case_set.variants(index, calls, weights), columns, cached, several)


def attended(probe: Probe, outputs: Outputs, reference: Attended | None = None) -> Attended | None:
    """Return which keys each query attends to; None if these outputs do not prove it.

    Args:
        probe: the calls.
        outputs: the outputs of all calls.
        reference: the answer for the reference, whose steps must be found again.
    """
    name, count = probe.case_set.content.names["QUERIES"], len(probe.columns)
    found = [one for one in (call.get(name) for call in outputs) if one is not None]
    if len(found) != len(probe.case_set.cases) or len({one.shape for one in found}) != 1:
        return None
    first = found[0]
    if first.dim() < 3 or first.shape[0] != probe.items or not first.is_floating_point():
        return None
    calls = torch.stack(found).to(torch.float64)  # [calls, items, leading dims, queries, features]
    calls = calls.reshape(len(found), first.shape[0], -1, *first.shape[-2:])
    if not bool(calls.isfinite().all()) or not torch.equal(calls[0], calls[-1]):
        return None
    moved = calls[1:-1] - calls[0]
    single, several = moved[:count], moved[count:]
    together = torch.einsum("ck,k...->c...", probe.several.to(torch.float64), single)
    room = _ROUNDING * float(single.abs().max())
    if room == 0 or bool(((several - together).abs() > room * count**0.5).any()):
        return None
    seen = (single != 0).any(dim=-1)  # [columns, items, leading dims, queries]
    seen_by = seen.sum(dim=0)
    if bool((seen_by == 0).any()) or bool((seen != seen[:, :, :1]).any()):
        return None
    steps = _steps(probe, single * seen_by.unsqueeze(-1), seen)
    if steps is None or float(steps.nan_to_num().abs().max()) < _LEAST_STEP * float(
        calls[0].abs().max()
    ):
        return None
    if reference is not None and not _agree(steps, reference.steps):
        return None
    pattern = seen[:, :, 0].permute(1, 2, 0)  # [items, queries, columns]
    return Attended(pattern.reshape(*pattern.shape[:2], probe.items, probe.keys), steps)


def scores_probe(case_set: CaseSet, index: int, probe: Probe, mine: Attended) -> CaseSet | None:
    """Return calls with ordinary scores that must not move the queries of `mine`.

    The first call has random inputs and weights. For every query follows a call in which all keys
    are exchanged that the query does not attend to, its own token excepted.

    Returns None if the case does not hold the scored keys as a tensor.
    """
    prepared, names = case_set.prepared[index], case_set.content.names
    given, generator = prepared.inputs, torch.Generator().manual_seed(_SEED)
    parts = {names["KEYS"]: slice(probe.cached, probe.keys)}
    if probe.cached:
        parts[names["CACHED"]] = slice(0, probe.cached)
    for values, keys in names.get("SCORED_BY", {}).items():
        if values in parts:
            parts[keys] = parts[values]
    for name, part in parts.items():
        value = given.get(name)
        if not _holds_keys(value) or value.shape[-2] != part.stop - part.start:
            return None
        if value.shape[0] != probe.items:
            return None

    def drawn(_: str, value: Tensor) -> Tensor:
        if not value.is_floating_point() or not bool(value.isfinite().all()):
            return value
        return torch.randn(value.shape, generator=generator).to(value.dtype)

    usual = map_leaves(given, drawn)
    others = {name: drawn(name, given[name]) for name in parts}
    calls = [usual]
    queries = mine.pattern.shape[1]
    for query in range(queries):
        hidden = ~mine.pattern[:, query].any(dim=0)  # [items, keys]
        if queries + probe.cached == probe.keys:
            hidden[:, probe.cached + query] = False
        inputs: dict[str, Any] = dict(usual)
        for name, part in parts.items():
            inputs[name] = _exchanged(given[name], (usual[name], others[name]), hidden[:, part])
        calls.append(inputs)
    weights = {
        name: drawn(name, value) * value.shape[1] ** -0.5 if value.dim() == 2 else value
        for name, value in prepared.parameters.items()
    }
    return case_set.variants(index, calls, weights)


def scores_agree(calls: CaseSet, outputs: Outputs) -> bool:
    """Return whether no call of `scores_probe` moved the query that it is about."""
    name = calls.content.names["QUERIES"]
    found = [call[name].to(torch.float64) for call in outputs if name in call]
    if len(found) != len(calls.cases) or len({value.shape for value in found}) != 1:
        return False
    first, *others = found
    room = _ROUNDING * float(first.abs().max())
    return all(
        bool(((value - first).select(-2, query).abs() <= room).all())
        for query, value in enumerate(others)
    )


def effective_mask(probe: Probe, mine: Attended, right: Attended) -> EffectiveMask | None:
    """Return the submission's pattern next to the reference's; `what` is "" if they agree."""
    return _compared(mine.pattern, right.pattern, probe.cached)


def odd_rows(mine: Attended, right: Attended) -> Tensor:
    """Return bool [items, queries]: the queries that attend to other keys than they should."""
    return (mine.pattern != right.pattern).flatten(2).any(dim=2)


def _holds_keys(value: object) -> TypeGuard[Tensor]:
    """Return whether keys of batch items lie in it, as floats."""
    return isinstance(value, Tensor) and value.dim() >= 3 and value.is_floating_point()


def _without_scores(_: str, value: Tensor) -> Tensor:
    """Return zeros in place of floats, so that all scores are equal. A mask of -inf stays."""
    if not value.is_floating_point() or not bool(value.isfinite().all()):
        return value
    return torch.zeros_like(value, memory_format=torch.contiguous_format)


def _entries(value: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return the usual entry of a key and the other one, the same for all items and keys."""
    shape = (1, *value.shape[1:-2], 1, value.shape[-1])
    usual, other = (torch.randn(shape, generator=generator) for _ in range(2))
    return usual.to(value.dtype), other.to(value.dtype)


def _exchanged(value: Tensor, entries: tuple[Tensor, Tensor], at: Tensor) -> Tensor:
    """Return the input with the other entry at these keys: bool [items, keys]."""
    where = at.reshape(at.shape[0], *[1] * (value.dim() - 3), at.shape[1], 1)
    return torch.where(where, entries[1], entries[0]).expand(value.shape).contiguous()


def _steps(probe: Probe, times: Tensor, seen: Tensor) -> Tensor | None:
    """Return the common movement for the cached keys and for the others; None if there is none.

    Args:
        times: float64 [columns, items, leading dims, queries, features], movement times n.
        seen: bool [columns, items, leading dims, queries].
    """
    is_cached = torch.tensor([key < probe.cached for _, key in probe.columns])
    room = _ROUNDING * float(times.abs().max())
    found = torch.full((2, times.shape[2], times.shape[-1]), torch.nan, dtype=torch.float64)
    for place, group in enumerate((is_cached, ~is_cached)):
        for lead in range(times.shape[2]):
            here = times[group][:, :, lead][seen[group][:, :, lead]]  # [seen, features]
            if len(here):
                found[place, lead] = here.mean(dim=0)
                if bool(((here - found[place, lead]).abs() > room).any()):
                    return None
    return found


def _agree(mine: Tensor, right: Tensor) -> bool:
    """Return whether every step of the submission is the reference's."""
    if mine.shape != right.shape:
        return False
    known = ~mine.isnan()
    room = _ROUNDING * float(right.nan_to_num().abs().max())
    return bool(((mine - right).abs() <= room)[known].all())


def _compared(mine: Tensor, right: Tensor, cached: int) -> EffectiveMask | None:
    if mine.shape != right.shape:
        return None
    items = torch.arange(mine.shape[0])
    own, rights = mine[items, :, items], right[items, :, items]  # [batch, query, key]
    others = mine.clone()
    others[items, :, items] = False
    differing = [
        int(item)
        for item in items
        if not torch.equal(own[item], rights[item]) or bool(others[item].any())
    ]
    if not differing:
        return EffectiveMask("", 0, (), _rows(rights[0]))
    item = differing[0]
    if bool(others.any()):
        what = "an output depends on tokens of another batch item"
    else:
        what = _what(own, rights, cached)
    if cached:
        what += f"; the first {cached} {'key is' if cached == 1 else 'keys are'} in the cache"
    return EffectiveMask(what, item, _rows(own[item]), _rows(rights[item]))


def _what(mine: Tensor, right: Tensor, cached: int = 0) -> str:
    """Return the difference of two patterns [batch, query, key] in words."""
    if bool(mine.all()):
        return "every query attends to every key, as if there were no mask"
    if torch.equal(mine, ~right):
        return "the mask is inverted: queries attend to exactly the keys that are hidden"
    if len(mine) > 1 and all(torch.equal(pattern, right[0]) for pattern in mine):
        return "every batch item is masked as item 0 is"
    queries, keys = mine.shape[1:]
    if queries == keys and torch.equal(mine, right.transpose(1, 2)):
        return "the mask is transposed: keys and queries are exchanged"
    for step in sorted(range(-(keys // 2), keys // 2 + 1), key=abs):
        if step and _is_shifted(mine, right, step):
            distance = f"{abs(step)} key{'s' if abs(step) > 1 else ''}"
            side = "right" if step > 0 else "left"
            return f"the keys that are attended to lie {distance} too far to the {side}"
    if queries + cached == keys:
        itself = torch.eye(queries, keys, dtype=torch.bool).roll(cached, dims=1)
        if torch.equal(mine, right & ~itself):
            return "a token does not attend to itself"
        if torch.equal(mine, right | itself):
            return "a token attends to itself where that is hidden"
    more, less = int((mine & ~right).sum()), int((~mine & right).sum())
    words = [
        f"{more} hidden keys are attended to" if more else "",
        f"{less} allowed keys are not attended to" if less else "",
    ]
    return "; ".join(word for word in words if word)


def _is_shifted(mine: Tensor, right: Tensor, step: int) -> bool:
    """Return whether one pattern is the other moved along the keys, as far as both reach."""
    length = mine.shape[2] - abs(step)
    moved, still = mine.narrow(2, max(step, 0), length), right.narrow(2, max(-step, 0), length)
    is_pattern = length > 1 and bool(still.any()) and not bool(still.all())
    return is_pattern and torch.equal(moved, still)


def _rows(pattern: Tensor) -> tuple[str, ...]:
    return tuple("".join("#" if seen else "." for seen in row) for row in pattern.tolist())
