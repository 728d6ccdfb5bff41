"""Find the known mistake that gives exactly what a submission gives on all cases."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from trainer.diagnosis.agreement import Agreement
from trainer.diagnosis.observed import Observed, are_equal, observe
from trainer.diagnosis.patched_references import Ids
from trainer.diagnosis.same_failure import Grade, Loops, SameFailure
from trainer.grading.grader import Judgement
from trainer.model.report import Outcome

# A submission that fails one of these says nothing of values.
_BEFORE_VALUES = ("loads", "interface", "from scratch", "parameters", "bad sizes")


class MistakeSearch:
    """The search for the single known mistake of one submission.

    Args:
        first: the first failure of the submission.
        grade: runs content of the pack in a worker and judges it.
        loops: returns how much more often loops run.
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
        """Return the one mistake that agrees with everything; () if none does.

        If several agree and nothing tells them apart, none is named.
        """
        if self._is_told_early() or not self.agreement.wrong:
            return self._same_failure.only(self._candidates())
        singles = [known for known in self._singles() if self.agreement.agrees(known)]
        self._is_disputed = len(singles) > 1
        if not self.agreement.has_wrong_values:
            singles = [ids for ids in singles if self.agreement.raises_the_same(ids)]
        return self.references.only(singles) or self._same_failure.only(singles)

    @property
    def may_be_a_pair(self) -> bool:
        """Whether two mistakes may explain the wrong values; known after the search for one."""
        if self._first.check in _BEFORE_VALUES or self._is_disputed:
            return False
        are_random = all(seen.is_random for seen in self.agreement.wrong)
        return self.agreement.has_wrong_values and not are_random

    def _is_told_early(self) -> bool:
        """Return whether the first failure says nothing of values."""
        if self._is_refused_code or self._first.check == "interface":
            return True
        return self._first.check == "parameters" and self._first.number is not None

    def _singles(self) -> list[Ids]:
        return [(mistake,) for mistake in self.references.mistakes]

    def _candidates(self) -> list[Ids]:
        """Return the mistakes that may fail like this, if outputs do not tell."""
        if self._is_refused_code:
            return self._calling([told.name for told in self._comparison.reply.not_allowed])
        candidates = [ids for ids in self._singles() if self._may_fail(ids)]
        if self._is_told_early():
            return candidates
        return [ids for ids in candidates if self._hides(ids)]

    def _may_fail(self, ids: Ids) -> bool:
        """Return whether a mistake may fail the first failed check, as far as its text tells."""
        references, first = self.references, self._first
        match first.check:
            case "interface":
                return references.has_other_arguments(ids)
            case "parameters" if first.number is not None:
                return references.has_other_parameters(ids, first.number - 1)
            case "bad sizes":
                return self._same_failure.refuses_alike(ids)
            case "vectorised":
                mistake = references.mistakes[ids[0]]
                loops = ("for ", "while ", "map(")
                return any(mistake.now.count(loop) > mistake.was.count(loop) for loop in loops)
        return True

    def _calling(self, names: Iterable[str]) -> list[Ids]:
        """Return mistakes that call one of these functions, which the reference does not."""
        words = [name.rpartition(".")[2] for name in names]
        found: list[Ids] = []
        for mistake in self.references.mistakes:
            source = self._source((mistake,))
            if any(source.count(word) > self.references.source.count(word) for word in words):
                found.append((mistake,))
        return found

    def _hides(self, ids: Ids) -> bool:
        """Return whether a mistake changes no output in a few cases of every kind."""
        kinds: dict[object, Observed] = {}
        for seen in self.agreement.seen:
            case = self.agreement.case_set.cases[seen.index]
            if not seen.is_random and case.probe is None:
                kinds.setdefault((case.check, case.dtype, case.mode), seen)
        return all(self.agreement.agrees_on(ids, seen) for seen in kinds.values())

    def kept_between_cases(self) -> Ids:
        """Return a mistake that shows only if all cases run one after another.

        Such a mistake keeps something between calls.
        """
        references = self.references
        stored = _count_stores(references.source)
        alike = []
        for mistake in references.mistakes:
            ids = (mistake,)
            if _count_stores(self._source(ids)) <= stored:
                continue
            is_hidden = all(
                self.agreement.is_right(ids, seen.index) for seen in self.agreement.wrong
            )
            if is_hidden and self._agrees_in_turn(ids):
                alike.append(ids)
        return references.only(alike)

    def _agrees_in_turn(self, ids: Ids) -> bool:
        """Return whether all cases, run one after another, give the submission's values.

        Counted cases run in an import of their own, so they tell nothing.
        """
        comparison, _ = self.references.graded(self.agreement.case_set, self._source(ids))
        theirs = {other.index: other.behaviour for other in observe(comparison)}
        for seen in self.agreement.seen:
            if self.agreement.case_set.cases[seen.index].probe is not None:
                continue
            mine, other = seen.behaviour, theirs.get(seen.index)
            if other is None or (mine.failure is None) != (other.failure is None):
                return False
            if not are_equal(mine.outputs, other.outputs, seen.dtype):
                return False
        return True


def _count_stores(source: str) -> int:
    """Count the places that put something where it outlives the call.

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
