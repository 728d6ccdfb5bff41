"""Tell known mistakes apart that outputs do not tell apart: by checks, gradients, loops, draws."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fractions import Fraction

from trainer.diagnosis.agreement import Agreement
from trainer.diagnosis.observed import is_equal
from trainer.diagnosis.patched_references import Graded, Ids, refusal
from trainer.grading.case_set import CaseSet
from trainer.grading.comparison import CaseResult, Comparison
from trainer.model.checks import CHECK_ORDER
from trainer.model.report import Outcome, Report

_DRAWS = 12
_ODD_SHARE = 0.03
_MOST_WORKERS = 12  # candidates that a worker runs

Grade = Callable[[CaseSet, str], Graded]
# How much more often loops run: in a source of the pack, or (None) in the submission.
Loops = Callable[[str | None], frozenset[Fraction]]


class SameFailure:
    """Tell which known mistakes fail like a submission.

    Args:
        report: of the submission.
        first: its first failure.
        grade: runs content of the pack in a worker and judges it.
        loops: returns how much more often loops run.
    """

    def __init__(
        self, agreement: Agreement, report: Report, first: Outcome, grade: Grade, loops: Loops
    ) -> None:
        self.references, self.seen = agreement.references, agreement.seen
        self.comparison, self.report, self.first = agreement.comparison, report, first
        self._grade, self._loops = grade, loops

    def only(self, candidates: Iterable[Ids]) -> Ids:
        """Return the only candidate that fails the same checks in the same way; () if none does.

        The gradients, the loops and the random draws must be the same too.
        """
        left = [ids for ids in candidates if self.refuses_alike(ids)]
        for is_like in self._questions():
            left = [ids for ids in left if is_like(ids)]
        if len(left) > 1 and self.first.number is not None:
            left = [ids for ids in left if self._fails_in_the_same_cases(ids)]
        if len(left) > 1 or self.first.number is None:  # last: a worker takes as long as a check
            left = [ids for ids in left[:_MOST_WORKERS] if self._fails_the_same_checks(ids)]
        found = self.references.only(left)
        if found:
            return found
        return self.references.only(
            [ids for ids in left[:_MOST_WORKERS] if self._says_the_same(ids)]
        )

    def _questions(self) -> Iterator[Callable[[Ids], bool]]:
        """Yield what a candidate must have in common with the submission, after this failure."""
        if self.first.number is not None:
            yield self._fails_alike
        match self.first.check:
            case "vectorised":
                yield self._loops_alike
            case "train/eval":
                yield self._draws_alike
            case "interface":
                yield self._has_the_same_signatures

    @property
    def _case_set(self) -> CaseSet:
        return self.comparison.case_set

    def _source(self, ids: Ids) -> str:
        return self.references.patched(ids) or ""

    def _report(self, case_set: CaseSet, ids: Ids) -> Report:
        """Return the report of a mistake in a worker."""
        return self.references.report(case_set, self._source(ids), self._grade)

    def _explained_case(self) -> CaseSet:
        """Return the case of the first failure alone."""
        return self._case_set.only([] if self.first.number is None else [self.first.number - 1])

    def refuses_alike(self, ids: Ids) -> bool:
        """Return whether the calls that must be refused have the same results."""
        mine = tuple(refusal(failure) for failure in self.comparison.reply.refusals)
        return not mine or self.references.refusals(ids) == mine

    def _has_the_same_signatures(self, ids: Ids) -> bool:
        """Return whether a mistake fails the check of the interface alike."""
        nothing = self._case_set.only([])  # only the signatures are looked at
        return failures(self._report(nothing, ids)) == failures(self.report, "interface")

    def _fails_the_same_checks(self, ids: Ids) -> bool:
        """Return whether a mistake fails the same checks in the same cases, in a worker."""
        return failures(self._report(self._case_set, ids)) == failures(self.report)

    def _fails_alike(self, ids: Ids) -> bool:
        """Return whether a mistake fails the same check in the explained case, in the same way."""
        first = self.first
        # In this process if that shows the failure: a worker takes longer.
        grade = self._grade if first.check == "from scratch" else self.references.graded
        comparison, report = grade(self._explained_case(), self._source(ids))
        other = report.first_failure()
        if other is None or other.check != first.check or _wording(other) != _wording(first):
            return False
        mine = _result_named(self.comparison, first.case)
        theirs = _result_named(comparison, first.case)
        if mine is None or theirs is None:
            return False
        if any(seen.is_random for seen in self.seen if seen.index == mine.index):
            return True
        return _same_traces(self.comparison, mine, comparison, theirs)

    def _loops_alike(self, ids: Ids) -> bool:
        theirs = self._loops(self._source(ids))
        return bool(theirs) and theirs <= self._loops(None)

    def _fails_in_the_same_cases(self, ids: Ids) -> bool:
        """Return whether a mistake fails the same checks in all cases that the check looks at."""
        looked_at = {
            outcome.number - 1: outcome.case
            for outcome in self.report.outcomes
            if outcome.check == self.first.check and outcome.number is not None
        }
        some = self._case_set.only(looked_at)
        _, report = self.references.graded(some, self._source(ids))
        names = set(looked_at.values())
        return _failed_in(self.report, names) == _failed_in(report, names)

    def _draws_alike(self, ids: Ids) -> bool:
        """Return whether a mistake fails in the same cases with dropout, and drops as much."""
        if not self._fails_in_the_same_cases(ids):
            return False
        indices = [
            index for index, case in enumerate(self._case_set.cases) if case.dropout is not None
        ]
        some, source = self._case_set.only(indices), self._source(ids)
        draws = [
            Comparison(some, self.references.run(some, source, "outputs", draw))
            for draw in range(_DRAWS)
        ]
        mine = [result for result in self.comparison.results if result.index in indices]
        for place, result in enumerate(mine):
            for name in result.told.outputs:
                share = _share_of_zeros(self.comparison, result, name)
                theirs = [_share_of_zeros(draw, draw.results[place], name) for draw in draws]
                if not _is_likely(share, theirs):
                    return False
        return True

    def _says_the_same(self, ids: Ids) -> bool:
        """Return whether the first failure has the same figures too, for example counts."""
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


def _same_traces(
    comparison: Comparison, result: CaseResult, other_comparison: Comparison, other: CaseResult
) -> bool:
    """Return whether two runs of a case left equal gradients and changed inputs equally."""
    mine, theirs, dtype = result.told, other.told, result.case.dtype
    compared = (
        (mine.gradients, theirs.gradients, result.expected.gradient_scale),
        (mine.inputs_after, theirs.inputs_after, 0.0),
    )
    for own_ids, other_ids, scale in compared:
        for name in own_ids.keys() | other_ids.keys():
            value = comparison.tensor(own_ids.get(name, -1))
            other_value = other_comparison.tensor(other_ids.get(name, -1))
            # No gradient and a gradient of zeros are equal: a part of a fused layer has zeros, and
            # a layer of its own has none.
            if value is None and other_value is not None:
                is_same = not bool(other_value.any())
            elif other_value is None and value is not None:
                is_same = not bool(value.any())
            else:
                is_same = is_equal(value, other_value, dtype, scale)
            if not is_same:
                return False
    return True


def _is_likely(share: float, draws: Sequence[float]) -> bool:
    """Return whether a share may be one of these draws, give or take three deviations."""
    room = 3 * statistics.stdev(draws) + _ODD_SHARE
    return abs(share - statistics.fmean(draws)) <= room


def _share_of_zeros(comparison: Comparison, result: CaseResult, name: str) -> float:
    value = comparison.value_of(result.told.outputs.get(name))
    return 0.0 if value is None or not value.numel() else float((value == 0).double().mean())


def _wording(outcome: Outcome) -> str:
    """Return the message of an outcome without its figures and lines."""
    return re.sub(r"[-+]?\d[\d.,e+-]*|nan|inf", "#", outcome.message)


def failures(report: Report, check: str | None = None) -> set[tuple[str, int | None, str]]:
    """Return the failed checks with the number of their case, or with their message.

    Args:
        check: only this check.
    """
    assert all(outcome.check in CHECK_ORDER for outcome in report.outcomes)
    found: set[tuple[str, int | None, str]] = set()
    for outcome in report.outcomes:
        if outcome.status == "failed" and check in (None, outcome.check):
            message = "" if outcome.number else outcome.message
            found.add((outcome.check, outcome.number, message))
    return found
