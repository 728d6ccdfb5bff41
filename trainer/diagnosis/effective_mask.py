"""Find out which keys each query attends to, and prove the result for one submission.

A pack's cases.py may define these names:

- `KEYS`: the input that has keys along its second-to-last axis.
- `CACHED`: the input that has the keys of an earlier call along its second-to-last axis.
- `QUERIES`: the output that has queries along its second-to-last axis.
- `SCORED_BY`: for an input with the values of keys, the input with the keys themselves.
- `values_alone(parameters)`: weights of a module under which every query is zero.

Batch items lie along axis 0 of `KEYS`, `CACHED` and `QUERIES`.

The first series of calls shows whose values a query takes. All keys get the same entry, all other
floats are zero, so every allowed key has the same weight. Then each call replaces the entry of
another key. If only attention passes values on, an output moves by `step / n` if its query attends
to n keys and the replaced key is among them. Any other output does not move. `step` is the same for
all queries, and equals the step of the reference. Calls that replace several entries must move an
output by the sum of the single movements. The first call is repeated at the end and must give the
same result. No picture is shown for a submission that moves in any other way (queries or keys read
from the values, merged heads in disorder, dropout, NaN).

The second series of calls has ordinary scores. It shows that the scores of no other keys matter,
because values in a wrong order are not a mistake of the mask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import torch
from torch import Tensor

from trainer.grading.case_set import CaseSet
from trainer.grading.pictures import rows_of
from trainer.model.report import EffectiveMask
from trainer.worker.execution import map_leaves

MOST_REPLACED = 64  # keys of all batch items
_SEVERAL = 3  # calls that replace several entries: first all entries, then random halves
_ROUNDING = 1e-3  # of the greatest movement
_LEAST_STEP = 1e-2  # of the greatest output; smaller movements prove nothing
_SEED = 20_177
Outputs = Sequence[Mapping[str, Tensor]]  # call by call


@dataclass(frozen=True)
class Probe:
    """The calls of one case that show which keys a query attends to.

    Attributes:
        case_set: the first call, a call for every entry of `columns`, a call for every row of
            `several`, then the first call again.
        columns: batch item and key of every replaced entry. The cached keys come first.
        cached: the number of cached keys of an item.
        several: bool [calls, columns], the entries that one call replaces together.
    """

    case_set: CaseSet
    columns: tuple[tuple[int, int], ...]
    cached: int
    several: Tensor

    @property
    def items(self) -> int:
        """The number of batch items."""
        return self.columns[-1][0] + 1

    @property
    def keys(self) -> int:
        """The number of keys of an item, including the cached keys."""
        return self.columns[-1][1] + 1


@dataclass(frozen=True)
class Attended:
    """The proved attention pattern of one implementation.

    Attributes:
        pattern: bool [items, queries, items, keys], whether a query attends to a key.
        steps: float64 [2, leading dims, features], the movement of an output that attends to a
            single key: first for a cached key, then for a key of the call. NaN if no query attends
            to a key of this kind.
    """

    pattern: Tensor
    steps: Tensor


def make_probe(case_set: CaseSet, index: int) -> Probe | None:
    """Return the calls that prove which keys the queries of a case attend to.

    Returns None if the pack does not name the keys, if the case has bfloat16 or dropout,
    or if there are too many keys.
    """
    names = case_set.content.names
    keys, queries, cache = names.get("KEYS", ""), names.get("QUERIES"), names.get("CACHED", "")
    case, case_inputs = case_set.cases[index], case_set.prepared[index].inputs
    values, past = case_inputs.get(keys), case_inputs.get(cache)
    if not keys or queries is None or case.dtype == "bfloat16" or case.dropout is not None:
        return None
    if not _holds_keys(values):
        return None
    if past is not None and not (_holds_keys(past) and past.shape[0] == values.shape[0]):
        return None
    cached = 0 if past is None else past.shape[-2]
    items, length = values.shape[0], cached + values.shape[-2]
    if not 0 < items * length <= MOST_REPLACED:
        return None
    columns = tuple((item, key) for item in range(items) for key in range(length))
    generator = torch.Generator().manual_seed(_SEED)
    several = torch.rand(_SEVERAL, len(columns), generator=generator) < 0.5
    several[0] = True
    no_entry = torch.zeros(1, len(columns), dtype=torch.bool)
    replaced = torch.cat([no_entry, torch.eye(len(columns), dtype=torch.bool), several, no_entry])
    equal_scores = map_leaves(case_inputs, _without_scores)
    parts = {keys: slice(cached, length)} | ({} if past is None else {cache: slice(0, cached)})
    entries = {name: _entries(case_inputs[name], generator) for name in parts}
    calls = []
    for row in replaced:
        selected = row.reshape(items, length)
        inputs: dict[str, Any] = dict(equal_scores)
        for name, part in parts.items():
            inputs[name] = _with_replaced(case_inputs[name], entries[name], selected[:, part])
        calls.append(inputs)
    values_alone = names.get("values_alone")
    parameters = case_set.prepared[index].parameters
    weights = values_alone(parameters) if values_alone else parameters
    return Probe(case_set.variants(index, calls, weights), columns, cached, several)


def attended_keys(
    probe: Probe, outputs: Outputs, reference: Attended | None = None
) -> Attended | None:
    """Return which keys each query attends to; None if the outputs do not prove a pattern.

    Args:
        probe: the calls.
        outputs: the outputs of all calls.
        reference: the pattern of the reference; the submission must have the same steps.
    """
    name, count = probe.case_set.content.names["QUERIES"], len(probe.columns)
    query_outputs = [
        output for output in (call.get(name) for call in outputs) if output is not None
    ]
    if (
        len(query_outputs) != len(probe.case_set.cases)
        or len({output.shape for output in query_outputs}) != 1
    ):
        return None
    first = query_outputs[0]
    if first.dim() < 3 or first.shape[0] != probe.items or not first.is_floating_point():
        return None
    calls = torch.stack(query_outputs).to(
        torch.float64
    )  # [calls, items, leading dims, queries, features]
    calls = calls.reshape(len(query_outputs), first.shape[0], -1, *first.shape[-2:])
    if not bool(calls.isfinite().all()) or not torch.equal(calls[0], calls[-1]):
        return None
    moved = calls[1:-1] - calls[0]
    single, several = moved[:count], moved[count:]
    together = torch.einsum("ck,k...->c...", probe.several.to(torch.float64), single)
    room = _ROUNDING * float(single.abs().max())
    if room == 0 or bool(((several - together).abs() > room * count**0.5).any()):
        return None
    has_moved = (single != 0).any(dim=-1)  # [columns, items, leading dims, queries]
    moved_by = has_moved.sum(dim=0)
    if bool((moved_by == 0).any()) or bool((has_moved != has_moved[:, :, :1]).any()):
        return None
    steps = _steps(probe, single * moved_by.unsqueeze(-1), has_moved)
    if steps is None or float(steps.nan_to_num().abs().max()) < _LEAST_STEP * float(
        calls[0].abs().max()
    ):
        return None
    if reference is not None and not _agree(steps, reference.steps):
        return None
    pattern = has_moved[:, :, 0].permute(1, 2, 0)  # [items, queries, columns]
    return Attended(pattern.reshape(*pattern.shape[:2], probe.items, probe.keys), steps)


def scores_probe(case_set: CaseSet, index: int, probe: Probe, actual: Attended) -> CaseSet | None:
    """Return the second series of calls: ordinary scores, and replaced keys that must not matter.

    The first call has random inputs and weights. Then follows a call for every query. It replaces
    all keys that the query does not attend to, except the key of the query's own token.

    Returns None if the case does not have the scored keys as a tensor.
    """
    prepared, names = case_set.prepared[index], case_set.content.names
    case_inputs, generator = prepared.inputs, torch.Generator().manual_seed(_SEED)
    parts = {names["KEYS"]: slice(probe.cached, probe.keys)}
    if probe.cached:
        parts[names["CACHED"]] = slice(0, probe.cached)
    for values, keys in names.get("SCORED_BY", {}).items():
        if values in parts:
            parts[keys] = parts[values]
    for name, part in parts.items():
        value = case_inputs.get(name)
        if not _holds_keys(value) or value.shape[-2] != part.stop - part.start:
            return None
        if value.shape[0] != probe.items:
            return None

    def drawn(_: str, value: Tensor) -> Tensor:
        if not value.is_floating_point() or not bool(value.isfinite().all()):
            return value
        return torch.randn(value.shape, generator=generator).to(value.dtype)

    usual = map_leaves(case_inputs, drawn)
    others = {name: drawn(name, case_inputs[name]) for name in parts}
    calls = [usual]
    queries = actual.pattern.shape[1]
    for query in range(queries):
        hidden = ~actual.pattern[:, query].any(dim=0)  # [items, keys]
        if queries + probe.cached == probe.keys:
            hidden[:, probe.cached + query] = False
        inputs: dict[str, Any] = dict(usual)
        for name, part in parts.items():
            inputs[name] = _with_replaced(
                case_inputs[name], (usual[name], others[name]), hidden[:, part]
            )
        calls.append(inputs)
    weights = {
        name: drawn(name, value) * value.shape[1] ** -0.5 if value.dim() == 2 else value
        for name, value in prepared.parameters.items()
    }
    return case_set.variants(index, calls, weights)


def scores_agree(calls: CaseSet, outputs: Outputs) -> bool:
    """Return whether every call of `scores_probe` left its own query unchanged."""
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


def effective_mask(probe: Probe, actual: Attended, expected: Attended) -> EffectiveMask | None:
    """Return both patterns and their difference in words, which is "" if they agree."""
    return _compared(actual.pattern, expected.pattern, probe.cached)


def wrong_queries(actual: Attended, expected: Attended) -> Tensor:
    """Return bool [items, queries], true for queries that attend to wrong keys."""
    return (actual.pattern != expected.pattern).flatten(2).any(dim=2)


def _holds_keys(value: object) -> TypeGuard[Tensor]:
    """Return whether a value is a float tensor with axes for batch items and keys."""
    return isinstance(value, Tensor) and value.dim() >= 3 and value.is_floating_point()


def _without_scores(_: str, value: Tensor) -> Tensor:
    """Return zeros in place of floats, so that all scores are equal. Keep a mask of -inf."""
    if not value.is_floating_point() or not bool(value.isfinite().all()):
        return value
    return torch.zeros_like(value, memory_format=torch.contiguous_format)


def _entries(value: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return the usual entry and the replacement entry, the same for all items and keys."""
    shape = (1, *value.shape[1:-2], 1, value.shape[-1])
    usual, other = (torch.randn(shape, generator=generator) for _ in range(2))
    return usual.to(value.dtype), other.to(value.dtype)


def _with_replaced(value: Tensor, entries: tuple[Tensor, Tensor], selected: Tensor) -> Tensor:
    """Return an input with the replacement entry at selected keys.

    Args:
        value: the input.
        entries: the usual entry and the replacement entry.
        selected: bool [items, keys], the keys to replace.
    """
    where = selected.reshape(selected.shape[0], *[1] * (value.dim() - 3), selected.shape[1], 1)
    return torch.where(where, entries[1], entries[0]).expand(value.shape).contiguous()


def _steps(probe: Probe, times: Tensor, has_moved: Tensor) -> Tensor | None:
    """Return the common step for cached keys and for other keys; None if steps differ.

    Args:
        times: float64 [columns, items, leading dims, queries, features], movement times n.
        has_moved: bool [columns, items, leading dims, queries].
    """
    is_cached = torch.tensor([key < probe.cached for _, key in probe.columns])
    room = _ROUNDING * float(times.abs().max())
    found = torch.full((2, times.shape[2], times.shape[-1]), torch.nan, dtype=torch.float64)
    for kind, group in enumerate((is_cached, ~is_cached)):
        for lead in range(times.shape[2]):
            steps = times[group][:, :, lead][has_moved[group][:, :, lead]]  # [moved, features]
            if len(steps):
                found[kind, lead] = steps.mean(dim=0)
                if bool(((steps - found[kind, lead]).abs() > room).any()):
                    return None
    return found


def _agree(actual: Tensor, expected: Tensor) -> bool:
    """Return whether every step of the submission equals the step of the reference."""
    if actual.shape != expected.shape:
        return False
    known = ~actual.isnan()
    room = _ROUNDING * float(expected.nan_to_num().abs().max())
    return bool(((actual - expected).abs() <= room)[known].all())


def _compared(actual: Tensor, expected: Tensor, cached: int) -> EffectiveMask | None:
    if actual.shape != expected.shape:
        return None
    items = torch.arange(actual.shape[0])
    # The attention within each batch item: [batch, query, key].
    diagonal, right_diagonal = actual[items, :, items], expected[items, :, items]
    others = actual.clone()
    others[items, :, items] = False
    differing = [
        int(item)
        for item in items
        if not torch.equal(diagonal[item], right_diagonal[item]) or bool(others[item].any())
    ]
    if not differing:
        return EffectiveMask("", 0, (), rows_of(right_diagonal[0]), cached)
    item = differing[0]
    if bool(others.any()):
        difference = "an output depends on tokens of another batch item"
    else:
        difference = _difference(diagonal, right_diagonal, cached)
    if cached:
        difference += f"; the first {cached} {'key is' if cached == 1 else 'keys are'} in the cache"
    actual_rows, expected_rows = rows_of(diagonal[item]), rows_of(right_diagonal[item])
    return EffectiveMask(difference, item, actual_rows, expected_rows, cached)


def _difference(actual: Tensor, expected: Tensor, cached: int = 0) -> str:
    """Return the difference of two patterns [batch, query, key] in words."""
    if bool(actual.all()):
        return "every query attends to every key, as if there were no mask"
    if _is_complement(actual, expected):
        return "the mask is inverted: queries attend to exactly the keys that should be hidden"
    if len(actual) > 1 and all(torch.equal(pattern, expected[0]) for pattern in actual):
        return "every batch item uses the mask of item 0"
    queries, keys = actual.shape[1:]
    if queries == keys and torch.equal(actual, expected.transpose(1, 2)):
        return "the mask is transposed: keys and queries are swapped"
    for step in sorted(range(-(keys // 2), keys // 2 + 1), key=abs):
        if step and _is_shifted(actual, expected, step):
            distance = _keys(abs(step))
            side = "right" if step > 0 else "left"
            return f"the mask is shifted by {distance} to the {side}"
    if queries + cached == keys:
        itself = torch.eye(queries, keys, dtype=torch.bool).roll(cached, dims=1)
        if torch.equal(actual, expected & ~itself):
            return "no token attends to itself"
        if torch.equal(actual, expected | itself):
            return "every token attends to itself, even if the mask hides it"
    too_many, too_few = int((actual & ~expected).sum()), int((~actual & expected).sum())
    words = [
        f"queries attend to {_keys(too_many)} that should be hidden" if too_many else "",
        f"queries do not attend to {_keys(too_few)} that should be visible" if too_few else "",
    ]
    return "; ".join(word for word in words if word)


def _is_complement(actual: Tensor, expected: Tensor) -> bool:
    """Return whether queries attend to exactly the keys that should be hidden.

    A query that should attend to every key has no such key. If a large number is subtracted from
    all its scores, it still attends to every key, so either pattern is a complement there.
    """
    is_open = expected.all(dim=-1, keepdim=True)
    complement = ~expected
    both = (actual == complement) | (is_open & actual.all(dim=-1, keepdim=True))
    return bool(both.all()) and not bool(is_open.all())


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
