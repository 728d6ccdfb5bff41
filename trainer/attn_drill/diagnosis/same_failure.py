"""Distinguish known mistakes that have equal outputs.

They may differ in failed checks, gradients or loops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from fractions import Fraction

from torch import Tensor

from attn_drill.diagnosis.agreement import Agreement
from attn_drill.diagnosis.observed import RELATIVE, is_equal
from attn_drill.diagnosis.patched_references import Graded, Ids
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.comparison import CaseResult, Comparison
from attn_drill.model.checks import CHECK_ORDER
from attn_drill.model.report import Outcome, Report

_MOST_WORKERS = 12  # candidates that a worker runs

Grade = Callable[[CaseSet, str], Graded]
# Returns the growth ratios of loops in a patched reference, or in the submission (None).
Loops = Callable[[str | None], frozenset[Fraction]]


class SameFailure:
    """Find the known mistakes that fail like a submission.

    Args:
        agreement: compares the submission with patched references.
        report: of the submission.
        first: the first failure of the submission.
        grade: runs a patched reference in a worker and judges it.
        loops: returns the growth ratios of loops.
    """

    def __init__(
        self, agreement: Agreement, report: Report, first: Outcome, grade: Grade, loops: Loops
    ) -> None:
        self.agreement, self.references = agreement, agreement.references
        self.observed_cases = agreement.observed_cases
        self.comparison, self.report, self.first = agreement.comparison, report, first
        self._grade, self._loops = grade, loops

    def only_match(self, candidates: Iterable[Ids]) -> Ids:
        """Return the only candidate that fails the same checks in the same way, or ().

        Gradients and loops must be the same, too.
        """
        refuses_alike = self.references.refuses_alike
        matching = [ids for ids in candidates if refuses_alike(ids, self.comparison)]
        for is_like in self._tests():
            matching = [ids for ids in matching if is_like(ids)]
        if len(matching) > 1 and self.first.number is not None:
            matching = [ids for ids in matching if self._fails_in_same_cases(ids)]
        if len(matching) > 1 or self.first.number is None:
            return self._only_in_workers(matching[:_MOST_WORKERS])
        return self.references.only_candidate(matching)

    def _only_in_workers(self, candidates: Iterable[Ids]) -> Ids:
        """Return the only candidate that fails the same checks when run in a worker, or ().

        If several candidates do, the first failure must have the same message, too. The search ends
        when two candidates cannot be distinguished, because each takes as long as a check.
        """
        only = self.references.only_candidate
        alike: list[Ids] = []
        same_message: list[Ids] = []
        for ids in candidates:
            if self._fails_same_checks(ids):
                alike.append(ids)
                if self._has_same_message(ids):
                    same_message.append(ids)
                if same_message and not only(alike) and not only(same_message):
                    break
        return only(alike) or only(same_message)

    def _tests(self) -> Iterator[Callable[[Ids], bool]]:
        """Yield tests that a candidate must pass, depending on the first failed check."""
        if self.first.number is not None:
            yield self._fails_in_same_way
        match self.first.check:
            case "vectorised":
                yield self._has_same_loops
            case "train/eval":
                yield self._has_same_draws

    @property
    def _case_set(self) -> CaseSet:
        return self.comparison.case_set

    def _source(self, ids: Ids) -> str:
        return self.references.patched(ids) or ""

    def _report(self, case_set: CaseSet, ids: Ids) -> Report:
        """Return the report of a patched reference that runs in a worker."""
        return self.references.report(case_set, self._source(ids), self._grade)

    def _explained_case(self) -> CaseSet:
        """Return a set of only the case of the first failure."""
        return self._case_set.only([] if self.first.number is None else [self.first.number - 1])

    def _fails_same_checks(self, ids: Ids) -> bool:
        """Return whether mistakes fail the same checks in the same cases when run in a worker."""
        return failures(self._report(self._case_set, ids)) == failures(self.report)

    def _fails_in_same_way(self, ids: Ids) -> bool:
        """Return whether mistakes fail the same check of the explained case in the same way."""
        first = self.first
        # Run in this process if that shows the failure, because a worker takes longer.
        grade = self._grade if first.check == "from scratch" else self.references.graded
        comparison, report = grade(self._explained_case(), self._source(ids))
        other = report.first_failure()
        if other is None or other.check != first.check or _wording(other) != _wording(first):
            return False
        result = _result_named(self.comparison, first.case)
        other_result = _result_named(comparison, first.case)
        if result is None or other_result is None:
            return False
        if any(
            observed.is_random for observed in self.observed_cases if observed.index == result.index
        ):
            return True
        return _same_traces(result, other_result)

    def _has_same_loops(self, ids: Ids) -> bool:
        ratios = self._loops(self._source(ids))
        return bool(ratios) and ratios <= self._loops(None)

    def _fails_in_same_cases(self, ids: Ids) -> bool:
        """Return whether mistakes fail the same checks in all cases of the first failed check."""
        case_names = {
            outcome.number - 1: outcome.case
            for outcome in self.report.outcomes
            if outcome.check == self.first.check and outcome.number is not None
        }
        chosen_cases = self._case_set.only(case_names)
        _, report = self.references.graded(chosen_cases, self._source(ids))
        names = set(case_names.values())
        return _failed_in(self.report, names) == _failed_in(report, names)

    def _has_same_draws(self, ids: Ids) -> bool:
        """Return whether mistakes fail in the same cases and have the same values with dropout."""
        return self._fails_in_same_cases(ids) and all(
            self.agreement.is_like(observed, self.references.behaviour(ids, observed.index))
            for observed in self.observed_cases
            if self._case_set.cases[observed.index].dropout is not None
        )

    def _has_same_message(self, ids: Ids) -> bool:
        """Return whether the first failures have equal messages, for example equal counts."""
        if self.first.number is None:
            return False
        _, report = self.references.graded(self._explained_case(), self._source(ids))
        other = report.first_failure()
        return other is not None and other.message == self.first.message


def _result_named(comparison: Comparison, name: str | None) -> CaseResult | None:
    """Return the result of the case with this name."""
    return next((result for result in comparison.results if result.case.name == name), None)


def _failed_in(report: Report, names: Collection[str | None]) -> set[tuple[str, str | None]]:
    """Return the failed checks in the cases with these names."""
    return {
        (outcome.check, outcome.case)
        for outcome in report.outcomes
        if outcome.status == "failed" and outcome.case in names
    }


def _same_traces(result: CaseResult, other: CaseResult) -> bool:
    """Return whether two runs of a case have equal gradients and change the same inputs."""
    reply, other_reply, dtype = result.reply.first, other.reply.first, result.case.dtype
    if reply.changed != other_reply.changed:
        return False
    # A gradient that is zero, like that of the bias of the keys, is the rounding of the others.
    values = map(other.tensor, other_reply.gradients.values())
    largest = max(map(_largest, values), default=0.0)
    scale = max(result.expected.gradient_scale, largest * RELATIVE[dtype])
    for name in reply.gradients.keys() | other_reply.gradients.keys():
        value = result.gradient(name)
        other_value = other.gradient(name)
        # A missing gradient equals a gradient of zeros: a part of a fused layer has zeros, and a
        # separate layer has no gradient.
        if value is None and other_value is not None:
            is_same = not bool(other_value.any())
        elif other_value is None and value is not None:
            is_same = not bool(value.any())
        else:
            is_same = is_equal(value, other_value, dtype, scale)
        if not is_same:
            return False
    return True


def _largest(value: Tensor | None) -> float:
    """Return the largest absolute entry that is a number; 0 without entries."""
    if value is None or value.numel() == 0:
        return 0.0
    return float(value.abs().nan_to_num(0.0, 0.0, 0.0).max())


def _wording(outcome: Outcome) -> str:
    """Return the message of an outcome without values and line numbers."""
    return re.sub(r"[-+]?\d[\d.,e+-]*|nan|inf", "#", outcome.message)


def failures(report: Report) -> set[tuple[str, int | None, str]]:
    """Return the failed checks, each with the number of its case or with its message."""
    assert all(outcome.check in CHECK_ORDER for outcome in report.outcomes)
    return {
        (outcome.check, outcome.number, "" if outcome.number else outcome.message)
        for outcome in report.outcomes
        if outcome.status == "failed"
    }
