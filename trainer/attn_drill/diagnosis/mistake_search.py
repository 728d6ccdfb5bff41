"""Find the known mistake that behaves exactly like a submission on all cases."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from attn_drill.diagnosis.agreement import Agreement
from attn_drill.diagnosis.observed import Observed, are_equal, observe
from attn_drill.diagnosis.patched_references import Ids
from attn_drill.diagnosis.same_failure import Grade, Loops, SameFailure
from attn_drill.grading.grader import Judgement
from attn_drill.model.report import Outcome

# The failure of one of these checks shows nothing about values.
_BEFORE_VALUES = ("loads", "interface", "from scratch", "parameters", "bad sizes")


class MistakeSearch:
    """The search for the single known mistake of one submission.

    Args:
        agreement: compares the submission with patched references.
        judgement: of the submission.
        first: the first failure of the submission.
        grade: runs a patched reference in a worker and judges it.
        loops: returns the growth ratios of loops.
    """

    def __init__(
        self, agreement: Agreement, judgement: Judgement, first: Outcome, grade: Grade, loops: Loops
    ) -> None:
        self.agreement, self.references = agreement, agreement.references
        self._comparison, self._first = agreement.comparison, first
        self._is_refused_code = judgement.report.verdict == "not-allowed"
        self._same_failure = SameFailure(agreement, judgement.report, first, grade, loops)
        self._is_disputed = False  # whether several mistakes agree

    def _source(self, ids: Ids) -> str:
        return self.references.patched(ids) or ""

    def single(self) -> Ids:
        """Return the only mistake that agrees with all cases; () if there is none.

        If several mistakes agree and cannot be distinguished, none is named.
        """
        if self._fails_before_values() or not self.agreement.wrong_cases:
            return self._same_failure.only_match(self._candidates())
        singles = [ids for ids in self._singles() if self.agreement.agrees(ids)]
        self._is_disputed = len(singles) > 1
        singles = self.agreement.closest(singles)
        if not self.agreement.has_wrong_values:
            singles = [ids for ids in singles if self.agreement.raises_the_same(ids)]
        return self.references.only_candidate(singles) or self._same_failure.only_match(singles)

    @property
    def may_be_a_pair(self) -> bool:
        """True if two mistakes may explain the wrong values. Call `single` first."""
        if self._first.check in _BEFORE_VALUES or self._is_disputed:
            return False
        are_random = all(observed.is_random for observed in self.agreement.wrong_cases)
        return self.agreement.has_wrong_values and not are_random

    def _fails_before_values(self) -> bool:
        """Return whether the submission failed before its values were compared."""
        if self._is_refused_code or self._first.check == "interface":
            return True
        return self._first.check == "parameters" and self._first.number is not None

    def _singles(self) -> list[Ids]:
        return [(mistake,) for mistake in self.references.mistakes]

    def _candidates(self) -> list[Ids]:
        """Return the mistakes that may fail like the submission, if outputs cannot show it."""
        if self._is_refused_code:
            return self._calling([call.name for call in self._comparison.reply.not_allowed])
        candidates = [ids for ids in self._singles() if self._may_fail(ids)]
        if self._fails_before_values():
            return candidates
        return [ids for ids in candidates if self._changes_no_output(ids)]

    def _may_fail(self, ids: Ids) -> bool:
        """Return whether a mistake may fail the first failed check, judged mostly by its text."""
        references, first = self.references, self._first
        match first.check:
            case "interface" | "defaults":
                return references.has_other_arguments(ids)
            case "parameters" if first.number is not None:
                return references.has_other_parameters(ids, first.number - 1)
            case "bad sizes":
                return references.refuses_alike(ids, self._comparison)
            case "vectorised":
                mistake = references.mistakes[ids[0]]
                loops = ("for ", "while ", "map(")
                return any(mistake.now.count(loop) > mistake.was.count(loop) for loop in loops)
        return True

    def _calling(self, names: Iterable[str]) -> list[Ids]:
        """Return mistakes that add calls of one of these functions to the reference."""
        words = [name.rpartition(".")[2].rstrip(")") for name in names]  # "… (torch.autograd)"
        found: list[Ids] = []
        for mistake in self.references.mistakes:
            source = self._source((mistake,))
            if any(source.count(word) > self.references.source.count(word) for word in words):
                found.append((mistake,))
        return found

    def _changes_no_output(self, ids: Ids) -> bool:
        """Return whether a mistake agrees with the submission in one case of every kind."""
        kinds: dict[object, Observed] = {}
        for observed in self.agreement.observed_cases:
            case = self.agreement.case_set.cases[observed.index]
            if not observed.is_random and case.probe is None:
                kinds.setdefault((case.check, case.dtype, case.mode), observed)
        return all(self.agreement.agrees_on(ids, observed) for observed in kinds.values())

    def kept_between_cases(self) -> Ids:
        """Return a mistake that keeps state between calls; () if there is none.

        It is visible only if all cases run one after another.
        """
        references = self.references
        stored = _count_stores(references.source)
        agreeing = []
        for mistake in references.mistakes:
            ids = (mistake,)
            if _count_stores(self._source(ids)) <= stored:
                continue
            is_hidden = all(
                self.agreement.is_right(ids, observed.index)
                for observed in self.agreement.wrong_cases
            )
            if is_hidden and self._agrees_in_turn(ids):
                agreeing.append(ids)
        return references.only_candidate(agreeing)

    def _agrees_in_turn(self, ids: Ids) -> bool:
        """Return whether all cases, run one after another, give the submission's values.

        Each counted case runs in a separate import, so it shows no state of an earlier case.
        """
        comparison, _ = self.references.graded(self.agreement.case_set, self._source(ids))
        others = {other.index: other.behaviour for other in observe(comparison)}
        for observed in self.agreement.observed_cases:
            if self.agreement.case_set.cases[observed.index].probe is not None:
                continue
            own_behaviour, other = observed.behaviour, others.get(observed.index)
            if other is None or (own_behaviour.failure is None) != (other.failure is None):
                return False
            if not are_equal(own_behaviour.outputs, other.outputs, observed.dtype):
                return False
        return True


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
            case ast.FunctionDef():
                count += len(node.decorator_list)
    return count
