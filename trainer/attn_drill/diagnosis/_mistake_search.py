"""Find the known mistakes that fail like a submission."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, islice, permutations

import torch
from torch import Tensor

from attn_drill.diagnosis._behaviour import (
    RELATIVE,
    Agreement,
    Observed,
    are_alike,
    is_equal,
    observe,
)
from attn_drill.diagnosis.patched_references import Behaviour, Graded, Ids
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.grader import Judgement
from attn_drill.model.report import Outcome, Report


def failures(report: Report) -> set[tuple[str, int | None, str]]:
    """Return the failed checks, each with the number of its case or with its message."""
    return {
        (outcome.check, outcome.number, "" if outcome.number else outcome.message)
        for outcome in report.outcomes
        if outcome.status == "failed"
    }


def without_numbers(message: str) -> str:
    """Return a message without values and line numbers.

    >>> without_numbers("3 of 12 entries differ, the largest by 1.5e-3")
    '# of # entries differ, the largest by #'
    """
    return re.sub(r"[-+]?\d[\d.,e+-]*|nan|inf", "#", message)


def have_same_gradients(comparison: Comparison, other: Comparison, case: str | None) -> bool:
    """Return whether two runs of the case of this name have equal gradients and changed inputs."""
    results = [result for result in comparison.results if result.case.name == case]
    others = [result for result in other.results if result.case.name == case]
    if not results or not others:
        return False
    result, reply, other_reply = results[0], results[0].reply.first, others[0].reply.first
    if reply.changed != other_reply.changed:
        return False
    # A gradient that is zero, like that of the bias of the keys, is the rounding of the others.
    sizes = [_largest(others[0].tensor(index)) for index in other_reply.gradients.values()]
    dtype = result.case.dtype
    scale = max(result.expected.gradient_scale, max(sizes, default=0.0) * RELATIVE[dtype])
    for name in reply.gradients.keys() | other_reply.gradients.keys():
        value, other_value = result.gradient(name), others[0].gradient(name)
        # A missing gradient equals a gradient of zeros: a part of a fused layer has zeros, and a
        # separate layer has no gradient.
        if value is None or other_value is None:
            if any(each is not None and bool(each.any()) for each in (value, other_value)):
                return False
        elif not is_equal(value, other_value, dtype, scale):
            return False
    return True


def _largest(value: Tensor | None) -> float:
    """Return the largest absolute entry that is a number; 0 without entries."""
    if value is None or value.numel() == 0:
        return 0.0
    return float(value.abs().nan_to_num(0.0, 0.0, 0.0).max())


# The failure of one of these checks shows nothing about values.
_BEFORE_VALUES = ("loads", "interface", "from scratch", "parameters", "bad sizes")
_MOST_WORKERS = 12

Grade = Callable[[CaseSet, str], Graded]
# Returns the growth ratios of loops in the submission.
Loops = Callable[[], frozenset[Fraction]]


class MistakeSearch:
    """The search for the single known mistake of one submission; `first` is its first failure."""

    def __init__(
        self, agreement: Agreement, judgement: Judgement, first: Outcome, grade: Grade, loops: Loops
    ) -> None:
        self.agreement, self.references = agreement, agreement.references
        self._comparison, self._report, self._first = agreement.comparison, judgement.report, first
        self._grade, self._loops = grade, loops
        self._is_refused_code = judgement.report.verdict == "not-allowed"
        self._is_disputed = False

    def single(self) -> Ids:
        """Return the only mistake that agrees with all cases; () if there is none.

        If several mistakes agree and cannot be distinguished, none is named.
        """
        if self._fails_before_values() or not self.agreement.wrong_cases:
            return self.only_match(self._candidates())
        singles = [(mistake,) for mistake in self.references.mistakes]
        singles = [ids for ids in singles if self.agreement.agrees(ids)]
        self._is_disputed = len(singles) > 1
        if not self.agreement.has_wrong_values:
            singles = [ids for ids in singles if self.agreement.raises_the_same(ids)]
        return self.references.only_candidate(singles) or self.only_match(singles)

    @property
    def may_be_a_pair(self) -> bool:
        """True if two mistakes may explain the wrong values. Call `single` first."""
        if self._first.check in _BEFORE_VALUES or self._is_disputed:
            return False
        are_random = all(observed.is_random for observed in self.agreement.wrong_cases)
        return self.agreement.has_wrong_values and not are_random

    # Candidates for a failure that outputs do not show

    def _fails_before_values(self) -> bool:
        """Return whether the submission failed before its values were compared."""
        if self._is_refused_code or self._first.check == "interface":
            return True
        return self._first.check == "parameters" and self._first.number is not None

    def _candidates(self) -> list[Ids]:
        """Return the mistakes that may fail like the submission, if outputs cannot show it."""
        singles: list[Ids] = [(mistake,) for mistake in self.references.mistakes]
        candidates = [ids for ids in singles if self._may_fail(ids)]
        if self._fails_before_values():
            return candidates
        # A case of every kind shows whether a mistake changes an output.
        kinds: dict[object, Observed] = {}
        for observed in self.agreement.observed_cases:
            case = self.agreement.case_set.cases[observed.index]
            if not observed.is_random and case.probe is None:
                kinds.setdefault((case.check, case.dtype, case.mode), observed)
        return [
            ids
            for ids in candidates
            if all(self.agreement.agrees_on(ids, observed) for observed in kinds.values())
        ]

    def _may_fail(self, ids: Ids) -> bool:
        """Return whether a mistake may fail the first failed check, judged mostly by its text."""
        references, first, mistake = self.references, self._first, self.references.mistakes[ids[0]]
        if self._is_refused_code:
            names = [call.name for call in self._comparison.reply.not_allowed]
            calls = [name.rpartition(".")[2].rstrip(")") for name in names]  # "… (torch.autograd)"
            return _has_more(mistake.now, mistake.was, calls)
        match first.check:
            case "interface" | "defaults":
                return references.has_other_arguments(ids)
            case "parameters" if first.number is not None:
                return references.has_other_parameters(ids, first.number - 1)
            case "bad sizes":
                return references.refuses_alike(ids, self._comparison)
            case "vectorised":
                return _has_more(mistake.now, mistake.was, ("for ", "while ", "map("))
        return True

    # The only candidate that fails in the same way

    def only_match(self, candidates: Iterable[Ids]) -> Ids:
        """Return the only candidate that fails the same checks in the same way, or ()."""
        matching = [ids for ids in candidates if self._fails_alike(ids)]
        is_known = self._first.number is not None and self._first.check != "from scratch"
        if is_known and len(matching) < 2:
            return self.references.only_candidate(matching)
        only_of = self.references.only_candidate
        alike: list[Ids] = []
        same_message: list[Ids] = []  # for example with the same count
        for ids in matching[:_MOST_WORKERS]:
            report = self.references.report(ids, self._grade)
            if failures(report) != failures(self._report):
                continue
            alike.append(ids)
            other = report.first_failure()
            if other is not None and other.message == self._first.message:
                same_message.append(ids)
            # Each run in a worker takes as long as a check, so the search ends early.
            if not only_of(alike) and not only_of(same_message):
                return ()
        return only_of(alike) or only_of(same_message)

    def _fails_alike(self, ids: Ids) -> bool:
        """Return whether mistakes fail in the same way, as far as runs in this process show it."""
        first, case_set = self._first, self.agreement.case_set
        if not self.references.refuses_alike(ids, self._comparison):
            return False
        if first.number is None or first.check == "from scratch":
            return True
        comparison, report = self.references.graded(ids, (first.number - 1,))
        other = report.first_failure()
        if other is None or other.check != first.check:
            return False
        if without_numbers(other.message) != without_numbers(first.message):
            return False
        is_random = first.number - 1 in self.agreement.random
        if not is_random and not have_same_gradients(self._comparison, comparison, first.case):
            return False
        if first.check == "vectorised":
            ratios = self.references.loop_growth(ids, first.number - 1).ratios
            if not ratios or not ratios <= self._loops():
                return False
        if first.check == "train/eval":
            for observed in self.agreement.observed_cases:
                is_dropping = case_set.cases[observed.index].dropout is not None
                behaviour = self.references.behaviour(ids, observed.index)
                if is_dropping and not self.agreement.is_like(observed, behaviour):
                    return False
        # All cases of the same check must fail or pass together.
        cases = {
            outcome.number - 1: outcome.case
            for outcome in self._report.outcomes
            if outcome.check == first.check and outcome.number is not None
        }
        _, report = self.references.graded(ids, tuple(cases))
        return _failed_in(report, cases.values()) == _failed_in(self._report, cases.values())

    # State

    def kept_between_cases(self) -> Ids:
        """Return a mistake that keeps state between calls; () if there is none.

        It is visible only if all cases run one after another.
        """
        references, agreement = self.references, self.agreement
        stored = _count_stores(references.source)
        candidates = [(mistake,) for mistake in references.mistakes]
        agreeing = [
            ids
            for ids in candidates
            if _count_stores(references.patched(ids) or "") > stored
            if all(agreement.is_right(ids, wrong.index) for wrong in agreement.wrong_cases)
            if self._agrees_in_turn(ids)
        ]
        return references.only_candidate(agreeing)

    def _agrees_in_turn(self, ids: Ids) -> bool:
        """Return whether all cases, run one after another, give the submission's values.

        Each counted case runs in a separate import, so it shows no state of an earlier case.
        """
        cases = self.agreement.case_set.cases
        comparison, _ = self.references.graded(ids, tuple(range(len(cases))))
        others = {other.index: other.behaviour for other in observe(comparison)}
        for observed in self.agreement.observed_cases:
            if cases[observed.index].probe is not None:
                continue
            if not are_alike(observed.behaviour, others.get(observed.index), observed.dtype):
                return False
        return True


def _has_more(text: str, other: str, words: Sequence[str]) -> bool:
    return any(text.count(word) > other.count(word) for word in words)


def _failed_in(report: Report, cases: Iterable[str | None]) -> set[tuple[str, str | None]]:
    """Return the failed checks in the cases with these names."""
    names = set(cases)
    return {
        (outcome.check, outcome.case)
        for outcome in report.outcomes
        if outcome.status == "failed" and outcome.case in names
    }


def _count_stores(source: str) -> int:
    """Count the places that store a value beyond the call.

    These are attributes, entries, globals and decorators.
    """
    count = 0
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                count += 1
            case ast.Attribute(attr="setdefault") | ast.Global() | ast.Nonlocal():
                count += 1
            case ast.FunctionDef(decorator_list=decorators):
                count += len(decorators)
    return count


_SOME = 2  # wrong cases in which changes are added
_MOST_RUN = 100_000  # operations of all pairs together
_MOST_CASES = 1200  # runs of a case for all mistakes and pairs together
# Building a patched reference takes as long as 150 operations.
_BUILD = 150
_LARGEST = 1e6


def find_pair(agreement: Agreement, operations: int) -> Ids:
    """Return the first two mistakes that together agree with all cases; () if none do.

    The number of operations of the reference in a case limits the number of pairs that are tried.
    """
    before = agreement.references.case_count
    for pair in islice(_pairs(agreement), _MOST_RUN // (_BUILD + operations)):
        if agreement.references.case_count - before > _MOST_CASES:
            break
        if agreement.agrees(pair) and all(_leaves_some(agreement, mistake) for mistake in pair):
            return pair
    return ()


def _leaves_some(agreement: Agreement, mistake: str) -> bool:
    """Return whether one mistake of a pair alone fails to explain several cases.

    A difference in a single case may be chance.
    """
    enough = min(2, len(agreement.wrong_cases))
    unexplained = (
        observed
        for observed in agreement.observed_cases
        if not agreement.agrees_on((mistake,), observed)
    )
    return len(list(islice(unexplained, enough))) == enough


def _pairs(agreement: Agreement) -> Iterator[Ids]:
    """Yield pairs that may explain all cases, the most likely first, in an order that fits.

    Neither mistake changes a right case. In the first wrong case, either both mistakes change the
    result, or one mistake explains the result and the other does not change it.
    """
    references, first_wrong = agreement.references, agreement.wrong_cases[0]
    candidates = list(references.mistakes)
    for observed in agreement.observed_cases:
        if not observed.is_wrong and not observed.is_random:  # one right case is enough
            candidates = [each for each in candidates if agreement.agrees_on((each,), observed)]
            break
    sufficient = {each for each in candidates if agreement.agrees_on((each,), first_wrong)}
    changing = {each for each in candidates if not agreement.is_right((each,), first_wrong.index)}
    changing -= sufficient
    if not sufficient:
        candidates = [each for each in candidates if each in changing]
    for pair in _most_additive(agreement, candidates):
        is_explained = len(sufficient.intersection(pair)) == 1 and changing.isdisjoint(pair)
        if is_explained or changing.issuperset(pair):
            yield from islice(filter(references.patched, permutations(pair)), 1)


def _most_additive(agreement: Agreement, candidates: list[str]) -> list[tuple[str, str]]:
    """Return all pairs, ordered by how well their changes add up to those of the submission.

    The change is the difference from the right outputs in a few wrong cases. Two changes seldom add
    up exactly, but the true pair is among the first pairs.
    """
    wrong = [case for case in agreement.wrong_cases if case.behaviour.failure is None]
    some = wrong[:: max(1, len(wrong) // _SOME)][:_SOME]

    def numbers(*ids: str) -> Tensor:
        behaviours = [agreement.references.behaviour(ids, case.index) for case in some]
        return torch.cat([_numbers(behaviour) for behaviour in behaviours])

    right = numbers()
    pairs = list(combinations(candidates, 2))
    change = torch.cat([_numbers(case.behaviour) for case in some])
    if len(change) != len(right):
        return pairs
    change -= right
    changes: dict[str, Tensor] = {}
    for mistake in candidates:
        other = numbers(mistake)
        changes[mistake] = other - right if len(other) == len(right) else torch.zeros_like(right)
    pairs.sort(key=lambda pair: float((change - changes[pair[0]] - changes[pair[1]]).abs().sum()))
    return pairs


def _numbers(behaviour: Behaviour | None) -> Tensor:
    """Return all entries of the outputs as float64, within limits that leave room for a sum."""
    outputs = {} if behaviour is None else behaviour.outputs
    values = [
        value.to(torch.float64).flatten().nan_to_num(0.0).clamp(-_LARGEST, _LARGEST)
        for _, value in sorted(outputs.items())
        if isinstance(value, Tensor) and not value.is_meta
    ]
    return torch.cat(values) if values else torch.zeros(0, dtype=torch.float64)
