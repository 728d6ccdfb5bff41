"""The share of each check that a submission gets right. The points of a class follow from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from statistics import fmean

from torch import Tensor

from trainer.grading.case_set import CaseSet
from trainer.grading.comparison import CaseResult, Comparison
from trainer.grading.judge import CHECKS, Check
from trainer.grading.prepared_case import PreparedCase

# A trivial answer also has some right values. These checks count only beyond the best of them.
_BEYOND_TRIVIAL = ("values", "masks", "train/eval", "properties")
# These checks look at values, so a case with several outputs counts by its right outputs.
_BY_OUTPUT = ("values", "masks")


def shares(comparison: Comparison) -> dict[str, float]:
    """Return the share of each due check that is right, 0 to 1, in the order of the checks.

    Each case counts for itself: a crash or a wrong shape costs the cases and the outputs in which
    it happens, and no check waits for another check.
    """
    trivial = _trivial_credits(comparison.case_set)
    found: dict[str, float] = {}
    for check in CHECKS:
        if check.is_due(comparison):
            right = _right_share(comparison, check)
            if check.name in _BEYOND_TRIVIAL:
                cases = check.cases(comparison)
                base = max(fmean(credits[case] for case in cases) for credits in trivial.values())
                right = max(0.0, (right - base) / (1 - base)) if base < 1 else right
            found[check.name] = right
    return found


def _right_share(comparison: Comparison, check: Check) -> float:
    """Return the share of a check's cases that are right, or of its outcomes without a case."""
    if check.name in _BY_OUTPUT:
        right = {result.index: _right_outputs(comparison, result) for result in comparison.results}
        return fmean(right.get(case, 0.0) for case in check.cases(comparison))
    outcomes = list(check.run(comparison))
    by_case: dict[int | None, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        by_case[outcome.number].append(outcome.status == "passed")
    if None in by_case:
        return fmean(outcome.status == "passed" for outcome in outcomes)
    due = {case + 1 for case in check.cases(comparison)} | by_case.keys()
    return sum(fmean(passed) for passed in by_case.values()) / len(due) if due else 0.0


def _right_outputs(comparison: Comparison, result: CaseResult) -> float:
    """Return the share of the outputs of a case that are right."""
    if not result.has_run:
        return 0.0
    count = len(result.expected.outputs) + len(result.expected.plain)
    return 1 - len(comparison.wrong_outputs(result)) / count


def _trivial_credits(case_set: CaseSet) -> Mapping[str, Mapping[int, float]]:
    """Return for each trivial answer the share of right outputs in each case.

    The trivial answers are zeros, ones, each input itself, and the mean of an input along one of
    its dimensions.
    """
    by_answer: dict[str, dict[int, float]] = {}
    cases = dict(enumerate(case_set.prepared))
    for index, prepared in cases.items():
        for answer, right in _trivial_outputs(prepared):
            by_answer.setdefault(answer, dict.fromkeys(cases, 0.0))[index] = right
    return by_answer


def _trivial_outputs(prepared: PreparedCase) -> Iterator[tuple[str, float]]:
    """Yield the name of each trivial answer with the share of its right outputs in one case."""
    expected = prepared.expected
    count = len(expected.outputs) + len(expected.plain)
    answers: dict[str, Tensor] = {}
    for name, tensor in prepared.tensors.items():
        if tensor.is_floating_point():
            answers[name] = tensor
            for dim in range(tensor.dim()):
                answers[f"mean of {name} along {dim}"] = tensor.mean(dim, keepdim=True)
    for answer in ("zeros", "ones", *answers):
        right = 0
        for output, want in expected.outputs.items():
            value = answers.get(answer, want.value.new_full((), float(answer == "ones")))
            right += _is_within(value, want.value, expected.bounds[output])
        yield answer, right / count


def _is_within(value: Tensor, want: Tensor, bound: Tensor) -> bool:
    """Return whether a value that fills the shape of the right one is as near as a right answer."""
    if value.dim() not in (0, want.dim()) or not _fills(value.shape, want.shape):
        return False
    return bool(((value.double() - want.double()).abs() <= bound).all())


def _fills(shape: Collection[int], wanted: Collection[int]) -> bool:
    return not shape or all(size in (1, want) for size, want in zip(shape, wanted, strict=True))
