"""Find the known mistake, or the two, that give exactly what a submission gives on all cases."""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, islice, permutations

from trainer.core.report import Outcome, Report
from trainer.core.words import CHECK_ORDER
from trainer.grading.case_set import CaseSet
from trainer.grading.comparison import CaseResult, Comparison
from trainer.grading.diagnosis.observed import (
    RELATIVE,
    Observed,
    are_equal,
    has_nan,
    has_same_shapes,
    is_equal,
    observe,
)
from trainer.grading.diagnosis.patched_references import (
    Behaviour,
    Graded,
    Ids,
    PatchedReferences,
    refusal,
)
from trainer.grading.grader import Judgement

_LOSSES = 8.0  # times what the dtype loses is still rounding
_SOME = 2  # cases with wrong values that are looked at for one of two mistakes
MOST_RUN = 32_000  # operations that all pairs together may take
_MOST_CASES = 600  # cases that all mistakes and pairs together are run on
_RANDOM_CASES = 2  # of each mode, in which a mistake is tried for random draws
_BUILD = 150  # building a reference takes as long as so many operations
_DRAWS = 12
_ODD_SHARE = 0.03
_MOST_WORKERS = 12  # candidates that a worker runs
# A submission that fails one of these says nothing of values.
_BEFORE_VALUES = ("loads", "interface", "from scratch", "parameters", "bad sizes")

Grade = Callable[[CaseSet, str], Graded]
Likely = Callable[[], Iterable[str]]
# How much more often loops run: in a source of the pack, or (None) in the submission.
Loops = Callable[[str | None], frozenset[Fraction]]


class Search:
    """The search for the known mistakes of one submission.

    Args:
        grade: runs content of the pack in a worker and judges it.
        loops: returns how much more often loops run.
    """

    def __init__(
        self, references: PatchedReferences, judgement: Judgement, grade: Grade, loops: Loops
    ) -> None:
        self.references = references
        self.comparison, self.report = judgement.comparison, judgement.report
        self._grade, self._loops = grade, loops
        self.seen = observe(self.comparison)
        self.wrong = [seen for seen in self.seen if seen.is_wrong]
        self._is_disputed = False  # whether several mistakes agree
        self._modes: dict[Ids, set[str]] = {}
        self._parts: dict[str, bool] = {}

    @property
    def _case_set(self) -> CaseSet:
        return self.comparison.case_set

    def _source(self, ids: Ids) -> str:
        return self.references.patched(ids) or ""

    # One mistake

    def single(self) -> Ids:
        """Return the one mistake that agrees with everything; () if none does.

        If several agree and nothing tells them apart, none is named.
        """
        first = self.report.first_failure()
        if first is None:
            return ()
        if self._is_told_early(first) or not self.wrong:
            return self._told_by_worker(self._candidates(first), first)
        singles = [(mistake,) for mistake in self.references.mistakes if self._agrees((mistake,))]
        self._is_disputed = len(singles) > 1
        if not self._has_wrong_values:
            singles = [ids for ids in singles if self._raises_the_same(ids)]
        return self._only(singles) or self._told_by_worker(singles, first)

    def _is_told_early(self, first: Outcome) -> bool:
        """Return whether the first failure says nothing of values."""
        if self.report.verdict == "not-allowed" or first.check == "interface":
            return True
        return first.check == "parameters" and first.number is not None

    def _candidates(self, first: Outcome) -> list[Ids]:
        """Return the mistakes that may fail like this, if outputs do not tell."""
        references, singles = self.references, [(known,) for known in self.references.mistakes]
        if self.report.verdict == "not-allowed":
            return self._calling([told.name for told in self.comparison.reply.not_allowed])
        if first.check == "interface":
            return [ids for ids in singles if references.has_other_arguments(ids)]
        if first.check == "parameters" and first.number is not None:
            index = first.number - 1
            return [ids for ids in singles if references.has_other_parameters(ids, index)]
        return [ids for ids in singles if self._may_fail(ids, first.check) and self._hides(ids)]

    @cached_property
    def _has_wrong_values(self) -> bool:
        """Whether something wrong came out; exceptions alone may have many reasons."""
        return any(seen.behaviour.failure is None for seen in self.wrong)

    def _raises_the_same(self, ids: Ids) -> bool:
        """Return whether mistakes raise what the submission raises in all its wrong cases."""
        for seen in self.wrong:
            behaviour = self.references.behaviour(ids, seen.index)
            if (behaviour.failure if behaviour else None) != seen.behaviour.failure:
                return False
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

    def _may_fail(self, ids: Ids, check: str) -> bool:
        """Return whether a mistake may fail this check, as far as its text tells."""
        if check == "bad sizes":
            return self._refuses_alike(ids)
        if check != "vectorised":
            return True
        mistake = self.references.mistakes[ids[0]]
        loops = ("for ", "while ", "map(")
        return any(mistake.now.count(loop) > mistake.was.count(loop) for loop in loops)

    def _refuses_alike(self, ids: Ids) -> bool:
        """Return whether the calls that must be refused have the same results."""
        mine = tuple(refusal(failure) for failure in self.comparison.reply.refusals)
        return not mine or self.references.refusals(ids) == mine

    def _hides(self, ids: Ids) -> bool:
        """Return whether a mistake changes no output in a few cases of every kind."""
        kinds: dict[object, Observed] = {}
        for seen in self.seen:
            case = self._case_set.cases[seen.index]
            if not seen.is_random and case.probe is None:
                kinds.setdefault((case.check, case.dtype, case.mode), seen)
        return all(self._agrees_on(ids, seen) for seen in kinds.values())

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
            is_hidden = all(self._is_right(ids, seen.index) for seen in self.wrong)
            if is_hidden and self._agrees_in_turn(ids):
                alike.append(ids)
        return self._only(alike)

    def _agrees_in_turn(self, ids: Ids) -> bool:
        """Return whether all cases, run one after another, give the submission's values.

        Counted cases run in an import of their own, so they tell nothing.
        """
        comparison, _ = self.references.graded(self._case_set, self._source(ids))
        theirs = {other.index: other.behaviour for other in observe(comparison)}
        for seen in self.seen:
            if self._case_set.cases[seen.index].probe is not None:
                continue
            mine, other = seen.behaviour, theirs.get(seen.index)
            if other is None or (mine.failure is None) != (other.failure is None):
                return False
            if not are_equal(mine.outputs, other.outputs, seen.dtype):
                return False
        return True

    # Agreement on cases

    def _agrees(self, ids: Ids) -> bool:
        """Return whether mistakes agree with everything, in some style of the reference."""
        odd = next((seen for seen in self.seen if not self._agrees_on(ids, seen)), None)
        if odd is None:
            return True
        if odd.is_random:
            return False
        # Another style may tell more. If there is no key left to attend to, one style gives NaN and
        # another numbers, and rounding decides at a limit.
        theirs = self.references.behaviour(ids, odd.index)
        if odd is self.seen[0] and not has_nan(theirs) and not has_nan(odd.behaviour):
            return False
        for styled in self.references.styles(ids):
            if all(self._agrees_on(styled, seen) for seen in self.seen):
                return True
        return False

    def _agrees_on(self, ids: Ids, seen: Observed) -> bool:
        """Return whether mistakes behave like the submission on a case, up to rounding."""
        other = self.references.behaviour(ids, seen.index)
        if self.is_like(seen, other):
            return True
        if other is None or other.failure is not None:
            return False
        if seen.is_extreme and seen.is_wrong and seen.behaviour.failure is None:
            return not self._is_right(ids, seen.index)
        if not seen.is_random or not has_same_shapes(seen.behaviour, other):
            return False
        case = self._case_set.cases[seen.index]
        if self._is_right(ids, seen.index) == seen.is_wrong and case.dropout is None:
            return False
        is_random = self.references.is_random(ids, seen.index)
        return is_random or case.mode in self._random_modes(ids)

    def is_like(self, seen: Observed, other: Behaviour | None) -> bool:
        """Return whether the submission behaves like this on a case, up to rounding."""
        mine = seen.behaviour
        if other is None or (mine.failure is None) != (other.failure is None):
            return False
        if mine.failure is not None:
            return True
        if mine.outputs.keys() != other.outputs.keys():
            return False
        # Float32 may lose more than usual, for example in tables of large positions.
        expected = self._case_set.prepared[seen.index].expected.outputs
        factor = _LOSSES / RELATIVE[seen.dtype]
        scales = {name: factor * want.lost for name, want in expected.items()}
        return are_equal(mine.outputs, other.outputs, seen.dtype, scales)

    def _random_modes(self, ids: Ids) -> set[str]:
        """Return the modes in which another call of a mistake gives other values.

        The first cases in which the submission is random are tried.
        """
        if ids not in self._modes:
            cases = self._case_set.cases
            random = [seen.index for seen in self.seen if seen.is_random]
            found: set[str] = set()
            for mode in ("eval", "train"):
                tried = [index for index in random if cases[index].mode == mode][:_RANDOM_CASES]
                if any(self.references.is_random(ids, index) for index in tried):
                    found.add(mode)
            self._modes[ids] = found
        return self._modes[ids]

    def changes(self, mistake: str) -> bool:
        """Return whether a mistake changes the first case with wrong values."""
        return bool(self.wrong) and not self._is_right((mistake,), self.wrong[0].index)

    def _is_right(self, ids: Ids, index: int) -> bool:
        right, other = self.references.behaviour((), index), self.references.behaviour(ids, index)
        if right is None or other is None or other.failure is not None:
            return False
        return are_equal(right.outputs, other.outputs, self._case_set.cases[index].dtype)

    # Two mistakes

    def pair(self, likely: Likely, suspects: Collection[str], operations: int) -> Ids:
        """Return the first two mistakes that agree with everything together; () if none do.

        Args:
            likely: returns mistakes that may be one of the two, among those that explain no case
                alone.
            suspects: mistakes that nothing rules out. They are tried first.
            operations: how many the reference takes in a case. As many pairs are tried as that
                allows.
        """
        first = self.report.first_failure()
        if first is None or first.check in _BEFORE_VALUES or self._is_disputed:
            return ()
        if not self._has_wrong_values or all(seen.is_random for seen in self.wrong):
            return ()
        before = self.references.case_count
        most = MOST_RUN // (_BUILD + operations)
        for pair in islice(self._pairs(likely, suspects), most):
            if self.references.case_count - before > _MOST_CASES:
                break
            if self._agrees(pair) and all(self._matters(mistake, pair) for mistake in pair):
                return pair
        return ()

    def _matters(self, mistake: str, pair: Ids) -> bool:
        """Return whether the other mistake alone fails to explain several cases.

        A single case may be explained by chance.
        """
        other = tuple(member for member in pair if member != mistake)
        enough = min(2, len(self.wrong))
        unexplained = (seen for seen in self.seen if not self._agrees_on(other, seen))
        return len(list(islice(unexplained, enough))) == enough

    def _pairs(self, likely: Likely, suspects: Collection[str]) -> Iterator[Ids]:
        """Yield pairs that may explain everything, in an order in which they can be made.

        Neither mistake changes a right case. In the first wrong case both change something, or one
        alone explains it and the other changes nothing.
        """
        able = [*suspects, *(known for known in self.references.mistakes if known not in suspects)]
        alone = {mistake for mistake in able if self._agrees_on((mistake,), self.wrong[0])}
        changing = {mistake for mistake in able if self.changes(mistake)} - alone
        if not alone:
            able = [mistake for mistake in able if mistake in changing]
        seen: set[frozenset[str]] = set()
        for pair in self._ordered_pairs(able, likely, suspects):
            members = frozenset(pair)
            if len(members) == 1 or members in seen:
                continue
            one_explains = len(members & alone) == 1 and not members & changing
            if not members <= changing and not one_explains:
                continue
            seen.add(members)
            if all(self.may_be_part(mistake) for mistake in pair):
                orders = (ids for ids in permutations(pair) if self.references.patched(ids))
                yield from islice(orders, 1)

    def _ordered_pairs(
        self, able: Sequence[str], likely: Likely, suspects: Collection[str]
    ) -> Iterator[tuple[str, str]]:
        """Yield pairs, the likely ones first. It takes as long to know these as to try a hundred."""
        in_part = self._agreeing_in_part(mistake for mistake in able if mistake in suspects)
        others = (mistake for mistake in able if mistake not in suspects)
        sources: tuple[Likely, ...] = (
            lambda: in_part,
            likely,
            lambda: self._agreeing_in_part(others),
        )
        for first in chain.from_iterable(source() for source in sources):
            for second in dict.fromkeys([*in_part, *able]):
                yield first, second
        for first_place, second_place in sorted(combinations(range(len(able)), 2), key=sum):
            yield able[first_place], able[second_place]

    def _agreeing_in_part(self, mistakes: Iterable[str]) -> list[str]:
        """Return mistakes that explain a wrong case alone: the other may not show there."""
        wrong = [
            seen for seen in self.wrong if seen.behaviour.failure is None and not seen.is_random
        ]
        some = wrong[:: max(1, len(wrong) // _SOME)][:_SOME]
        return [
            mistake
            for mistake in mistakes
            if any(self._agrees_on((mistake,), seen) for seen in some)
        ]

    def may_be_part(self, mistake: str) -> bool:
        """Return whether a mistake changes nothing in a right case, so it may be one of two."""
        if mistake not in self._parts:
            right = [seen for seen in self.seen if not seen.is_wrong and not seen.is_random][:1]
            self._parts[mistake] = all(self._agrees_on((mistake,), seen) for seen in right)
        return self._parts[mistake]

    # Mistakes that outputs do not tell apart

    def _told_by_worker(self, candidates: Iterable[Ids], first: Outcome) -> Ids:
        """Return the candidate that fails the same checks, with the same gradients and traces."""
        left = [ids for ids in candidates if self._refuses_alike(ids)]
        if first.number is not None:
            alone = self._case_set.only([first.number - 1])
            left = [ids for ids in left if self._fails_alike(ids, alone, first)]
        if first.check == "vectorised":
            left = [ids for ids in left if self._loops_alike(ids)]
        if first.check == "train/eval":
            left = [ids for ids in left if self._draws_alike(ids)]
        if len(left) > 1 and first.number is not None:
            left = [ids for ids in left if self._fails_in_the_same_cases(ids, first.check)]
        if first.check == "interface":
            nothing = self._case_set.only([])  # only the signatures are looked at
            mine = failures(self.report, "interface")
            left = [ids for ids in left if failures(self._report(nothing, ids)) == mine]
        if len(left) > 1 or first.number is None:  # last: every worker takes as long as a check
            mine = failures(self.report)
            left = [
                ids
                for ids in left[:_MOST_WORKERS]
                if failures(self._report(self._case_set, ids)) == mine
            ]
        found = self._only(left)
        if found:
            return found
        return self._only([ids for ids in left[:_MOST_WORKERS] if self._says_the_same(ids, first)])

    def _report(self, case_set: CaseSet, ids: Ids) -> Report:
        """Return the report of a mistake in a worker."""
        return self.references.report(case_set, self._source(ids), self._grade)

    def _only(self, left: Sequence[Ids]) -> Ids:
        """Return the only candidate, or the first of twins; else ()."""
        if not left:
            return ()
        first, *others = left
        mistakes = self.references.mistakes
        are_twins = all(first[0] in mistakes[ids[0]].twins for ids in others)
        return first if are_twins else ()

    def _fails_alike(self, ids: Ids, alone: CaseSet, first: Outcome) -> bool:
        """Return whether a mistake fails the same check in the explained case, with equal traces."""
        # In this process if that shows the failure: a worker takes longer.
        grade = self._grade if first.check == "from scratch" else self.references.graded
        comparison, report = grade(alone, self._source(ids))
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

    def _fails_in_the_same_cases(self, ids: Ids, check: str) -> bool:
        """Return whether a mistake fails the same checks in all cases that a check looks at."""
        looked_at = {
            outcome.number - 1: outcome.case
            for outcome in self.report.outcomes
            if outcome.check == check and outcome.number is not None
        }
        some = self._case_set.only(looked_at)
        _, report = self.references.graded(some, self._source(ids))
        names = set(looked_at.values())
        return _failed_in(self.report, names) == _failed_in(report, names)

    def _draws_alike(self, ids: Ids) -> bool:
        """Return whether a mistake fails in the same cases with dropout, and drops as much."""
        if not self._fails_in_the_same_cases(ids, "train/eval"):
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

    def _says_the_same(self, ids: Ids, first: Outcome) -> bool:
        """Return whether the first failure has the same figures too, for example counts."""
        if first.number is None:
            return False
        alone = self._case_set.only([first.number - 1])
        _, report = self.references.graded(alone, self._source(ids))
        other = report.first_failure()
        return other is not None and other.message == first.message


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
