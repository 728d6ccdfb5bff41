"""Ask a submission whom its queries attend to, and show only what is proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.diagnosis.effective_mask import (
    Attended,
    Probe,
    attended,
    effective_mask,
    odd_rows,
    probe,
    scores_agree,
    scores_probe,
)
from trainer.diagnosis.observed import Observed
from trainer.diagnosis.patched_references import Behaviour, PatchedReferences
from trainer.diagnosis.reruns import Reruns
from trainer.grading.case_set import CaseSet
from trainer.grading.comparison import Comparison
from trainer.model.report import EffectiveMask
from trainer.worker.protocol import Returned
from trainer.worker.worker_client import WorkerResult

_STEEP = 50.0  # a number that makes steep scores
_MOST_PROBED = 3  # cases in which the reference is asked

Outputs = list[dict[str, Tensor]]  # call by call


@dataclass(frozen=True)
class MaskQuestion:
    """The case whose effective mask is looked at, its calls, and the reference's answer."""

    index: int
    probe: Probe
    right: Attended

    @property
    def calls(self) -> CaseSet:
        """The calls that the submission has to make."""
        return self.probe.case_set


def mask_question(references: PatchedReferences, wrong: Sequence[Observed]) -> MaskQuestion | None:
    """Choose the case to ask; None if the reference itself proves nothing in any of them.

    Cases with large numbers come last: next to a score of 200 no other key shows, so an output may
    be right with any mask. Among the others masked cases come first, then cases with a cache.

    Args:
        wrong: the cases with wrong results.
    """
    case_set = references.case_set
    cache = case_set.content.names.get("CACHED", "")

    def rank(index: int) -> tuple[bool, bool, bool]:
        prepared = case_set.prepared[index]
        is_steep = prepared.largest_number > _STEEP
        has_cache = prepared.inputs.get(cache) is not None
        return is_steep, prepared.case.check != "masks", not has_cache

    indices = [seen.index for seen in wrong if _is_finite(seen.behaviour)]
    asked = 0
    for index in sorted(indices, key=rank):
        calls = probe(case_set, index)
        if calls is None:
            continue
        outputs = outputs_of(references.nudged(index, calls.case_set))
        right = None if outputs is None else attended(calls, outputs)
        if right is not None:
            return MaskQuestion(index, calls, right)
        asked += 1
        if asked == _MOST_PROBED:
            return None
    return None


def proved_mask(
    question: MaskQuestion, ended: WorkerResult, comparison: Comparison, reruns: Reruns
) -> EffectiveMask | None:
    """Return what is proved of the submission's mask; None if nothing is.

    Args:
        ended: the end of the worker that made the calls of the question.
        comparison: of all cases of the submission.
    """
    outputs = outputs_of(ended)
    if outputs is None:
        return None
    mine = attended(question.probe, outputs, question.right)
    if mine is None:
        return None
    odd = odd_rows(mine, question.right)
    if bool((odd & ~_wrong_rows(comparison, question.index)).any()):
        return None  # a query whose output is right attends to the right keys
    found = effective_mask(question.probe, mine, question.right)
    if found is None or not found.what:
        return found
    if _may_be_values_in_another_order(question, mine):
        return None
    calls = scores_probe(comparison.case_set, question.index, question.probe, mine)
    moved = None if calls is None else outputs_of(reruns.run(calls, "outputs"))
    return found if calls and moved and scores_agree(calls, moved) else None


def _may_be_values_in_another_order(question: MaskQuestion, mine: Attended) -> bool:
    """Return whether right scores with values in another order would give the same answer.

    The second series of calls never exchanges a query's own token, because that changes the query.
    So it cannot tell these two apart if the right keys are all among the keys that were found and
    the own token: then the columns of both patterns are the same, in another order.
    """
    items = torch.arange(mine.pattern.shape[0])
    found = mine.pattern[items, :, items]  # [items, queries, keys]
    right = question.right.pattern[items, :, items]
    queries, keys = found.shape[1:]
    not_exchanged = found.clone()
    if queries + question.probe.cached == keys:
        own = torch.eye(queries, keys, dtype=torch.bool).roll(question.probe.cached, dims=1)
        not_exchanged |= own
    if bool((right & ~not_exchanged).any()):
        return False
    return all(_columns(found[item]) == _columns(right[item]) for item in items)


def _columns(pattern: Tensor) -> list[list[bool]]:
    """Return the columns of a pattern in an order of their own."""
    return sorted(pattern.T.tolist())


def _wrong_rows(comparison: Comparison, index: int) -> Tensor:
    """Return bool [items, queries]: the queries with a wrong entry in the graded case."""
    result = comparison.result_of(index)
    nothing = torch.zeros(1, 1, dtype=torch.bool)
    if result is None:
        return nothing
    name = comparison.case_set.content.names["QUERIES"]
    want = result.expected.outputs[name].value
    value = comparison.value_of(result.told.outputs.get(name))
    if value is None or value.shape != want.shape:
        return nothing
    is_right = (value.to(torch.float64) - want).abs() <= result.expected.bounds[name]
    by_query = (~is_right).any(dim=-1)
    return by_query.reshape(is_right.shape[0], -1, is_right.shape[-2]).any(dim=1)


def _is_finite(behaviour: Behaviour) -> bool:
    """Return whether a case came to outputs, and all of their numbers are finite."""
    if behaviour.failure is not None:
        return False
    values = [value for value in behaviour.outputs.values() if isinstance(value, Tensor)]
    return all(not value.is_meta and bool(value.isfinite().all()) for value in values)


def outputs_of(ended: WorkerResult) -> Outputs | None:
    """Return the tensors of every run; None if a run failed."""
    if ended.how != "replied" or any(run.failure is not None for run in ended.reply.runs):
        return None
    return [_tensors(run.outputs, ended.tensors) for run in ended.reply.runs]


def _tensors(outputs: Mapping[str, Returned], tensors: Sequence[Tensor]) -> dict[str, Tensor]:
    return {
        name: tensors[returned.tensor]
        for name, returned in outputs.items()
        if 0 <= returned.tensor < len(tensors)
    }
