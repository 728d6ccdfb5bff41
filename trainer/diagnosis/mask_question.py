"""Find out which keys a submission attends to. Only proved patterns are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trainer.diagnosis.effective_mask import (
    Attended,
    Probe,
    attended_keys,
    effective_mask,
    make_probe,
    scores_agree,
    scores_probe,
    wrong_queries,
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
_MOST_PROBED = 3  # cases in which the reference is probed

Outputs = list[dict[str, Tensor]]  # call by call


@dataclass(frozen=True)
class MaskQuestion:
    """The case whose effective mask is probed, its calls, and the pattern of the reference."""

    index: int
    probe: Probe
    right: Attended

    @property
    def calls(self) -> CaseSet:
        """The calls that the submission has to make."""
        return self.probe.case_set


def mask_question(references: PatchedReferences, wrong: Sequence[Observed]) -> MaskQuestion | None:
    """Choose the case to probe; None if no pattern can be proved even for the reference.

    Masked cases come first, then cases with a cache. Cases with large values come last: a score of
    200 hides all other keys, so the output may be right with any mask.

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

    # A random draw would look like a mask that differs from call to call.
    steady = [observed for observed in wrong if not observed.is_random]
    indices = [observed.index for observed in steady if _is_finite(observed.behaviour)]
    probed = 0
    for index in sorted(indices, key=rank):
        calls = make_probe(case_set, index)
        if calls is None:
            continue
        outputs = outputs_of(references.run_probe(index, calls.case_set))
        right = None if outputs is None else attended_keys(calls, outputs)
        if right is not None:
            return MaskQuestion(index, calls, right)
        probed += 1
        if probed == _MOST_PROBED:
            return None
    return None


def proved_mask(
    question: MaskQuestion, result: WorkerResult, comparison: Comparison, reruns: Reruns
) -> EffectiveMask | None:
    """Return the proved mask of the submission; None if no mask is proved.

    Args:
        question: the probed case.
        result: of the worker that made the calls of the question.
        comparison: of all cases of the submission.
        reruns: runs the second series of calls.
    """
    outputs = outputs_of(result)
    if outputs is None:
        return None
    actual = attended_keys(question.probe, outputs, question.right)
    if actual is None:
        return None
    wrong = wrong_queries(actual, question.right)
    if bool((wrong & ~_wrong_rows(comparison, question.index)).any()):
        return None  # impossible: a query with a right output attends to the right keys
    found = effective_mask(question.probe, actual, question.right)
    if found is None or not found.difference:
        return found
    if _may_be_values_in_another_order(question, actual):
        return None
    calls = scores_probe(comparison.case_set, question.index, question.probe, actual)
    moved = None if calls is None else outputs_of(reruns.run(calls, "outputs"))
    if calls is None or not moved or not scores_agree(calls, moved):
        return None
    return replace(found, number=question.index + 1)


def _may_be_values_in_another_order(question: MaskQuestion, actual: Attended) -> bool:
    """Return whether a right mask with values in another order would show the same pattern.

    The second series of calls never replaces a query's own token, because that changes the query.
    So the calls cannot distinguish the two mistakes if every right key was found or is the query's
    own token, and both patterns have the same columns in different order.
    """
    items = torch.arange(actual.pattern.shape[0])
    found = actual.pattern[items, :, items]  # [items, queries, keys]
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
    """Return the columns of a pattern, sorted."""
    return sorted(pattern.T.tolist())


def _wrong_rows(comparison: Comparison, index: int) -> Tensor:
    """Return bool [items, queries], true for queries with a wrong entry in the graded case."""
    result = comparison.result_of(index)
    nothing = torch.zeros(1, 1, dtype=torch.bool)
    if result is None:
        return nothing
    name = comparison.case_set.content.names["QUERIES"]
    expected = result.expected.outputs[name].value
    value = comparison.value_of(result.reply.outputs.get(name))
    if value is None or value.shape != expected.shape:
        return nothing
    is_right = (value.to(torch.float64) - expected).abs() <= result.expected.bounds[name]
    by_query = (~is_right).any(dim=-1)
    return by_query.reshape(is_right.shape[0], -1, is_right.shape[-2]).any(dim=1)


def _is_finite(behaviour: Behaviour) -> bool:
    """Return whether a case has outputs and all their entries are finite."""
    if behaviour.failure is not None:
        return False
    values = [value for value in behaviour.outputs.values() if isinstance(value, Tensor)]
    return all(not value.is_meta and bool(value.isfinite().all()) for value in values)


def outputs_of(result: WorkerResult) -> Outputs | None:
    """Return the tensors of every run; None if a run failed."""
    if result.how != "replied" or any(run.failure is not None for run in result.reply.runs):
        return None
    return [_tensors(run.outputs, result.tensors) for run in result.reply.runs]


def _tensors(outputs: Mapping[str, Returned], tensors: Sequence[Tensor]) -> dict[str, Tensor]:
    return {
        name: tensors[returned.tensor_id]
        for name, returned in outputs.items()
        if 0 <= returned.tensor_id < len(tensors)
    }
