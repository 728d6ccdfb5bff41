"""The share of each check that a submission gets right. The points of a class follow from it."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean

from attn_drill.grading.comparison import CaseResult, Comparison
from attn_drill.grading.judge import CHECKS, Check

# A trivial answer also has some right values. These checks count only beyond the best of them.
_BEYOND_TRIVIAL = ("values", "masks", "train/eval", "properties")
# These checks look at values, so a case with several outputs counts by its right outputs.
_BY_OUTPUT = ("values", "masks")


def shares(comparison: Comparison) -> dict[str, float]:
    """Return the share of each due check that is right, 0 to 1, in the order of the checks.

    Each case counts for itself: a crash or a wrong shape costs the cases and the outputs in which
    it happens, and no check waits for another check.
    """
    trivial = comparison.case_set.trivial_credits
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
    return 1 - len(result.wrong_outputs()) / count
