"""Which known mistake, or which two, give exactly this: all cases must agree, or none is named."""

from __future__ import annotations

import ast
import math
import re
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations, islice, permutations

import torch
from torch import Tensor

from trainer.core.report import Outcome, Report
from trainer.core.words import CHECK_ORDER, Case
from trainer.grading.diagnosis.bank import Bank, Behaviour, Ids, refusal
from trainer.grading.evidence import CaseEvidence, Evidence
from trainer.grading.exam import Exam
from trainer.running.protocol import DTYPES, Returned

# Two computations of the same wrong function differ by rounding: this much of the largest entry.
_RELATIVE = {"float64": 1e-4, "float32": 1e-3, "bfloat16": 4e-2}
_LOSSES = 8.0
_EXTREME = 1e9
_SOME = 2  # telling cases that are looked at for one of two mistakes
MOST_RUN = 32_000  # operations that pairs are tried with, all together
_MOST_CASES = 400  # cases that mistakes and pairs are run on, all together
_RANDOM_CASES = 2  # of each mode, in which it is looked whether a mistake draws at random
_BUILD = 150  # a reference is compiled and built in the time of so many
_BEFORE_VALUES = (
    "loads",
    "interface",
    "from scratch",
    "parameters",
    "bad sizes",
)  # what fails so says nothing of values
_DRAWS = 12
_ODD_SHARE = 0.03
_MOST_WORKERS = 12  # candidates that a worker runs

Grade = Callable[[Exam, str], tuple[Evidence, Report]]
Likely = Callable[[], Iterable[str]]
Loops = Callable[
    [str | None], frozenset[Fraction]
]  # how much more often loops run: in a source of the pack's, or (None) in the submission


@dataclass(frozen=True)
class Observed:
    """What one case of a submission came to.

    random   another call on the same inputs gives other values
    telling  a right answer gives something else
    clear    it is so far from right that a known mistake is told from a right answer by it
    extreme  numbers go in beside which a wrong computation is a matter of rounding
    """

    number: int
    dtype: str
    behaviour: Behaviour
    random: bool
    telling: bool
    clear: bool
    extreme: bool


def observe(evidence: Evidence) -> list[Observed]:
    """Every case that came to something, those with wrong values first: there a mistake is soonest told from another."""
    found = [_observed(evidence, one) for one in evidence.cases if not one.told.unassigned]
    # Random in one case, random in all of the mode: a draw that changes nothing, or the one call of what is counted, does not show it.
    modes = {evidence.exam.cases[one.number].mode for one in found if one.random}
    found = [replace(one, random=evidence.exam.cases[one.number].mode in modes) for one in found]
    cases = evidence.exam.cases
    return sorted(
        found,
        key=lambda one: (
            not one.telling,
            one.behaviour.failure is not None,
            not one.clear,
            one.dtype == "bfloat16" or cases[one.number].probe is not None,
            coincidences(cases[one.number]),
        ),
    )


def coincidences(case: Case) -> int:
    """How many sizes of a case are 1, or another's."""
    sizes = dict(case.sizes)
    if sizes.get("Hkv"):
        sizes["G"] = sizes.get("H", 0) // sizes["Hkv"]
    return len(sizes) - len({size for size in sizes.values() if size > 1})


def _observed(evidence: Evidence, one: CaseEvidence) -> Observed:
    extreme = evidence.exam.largest[one.number] > _EXTREME
    failure = one.told.failure
    if failure is not None and failure.phase != "forward with gradients":
        return Observed(
            one.number,
            one.case.dtype,
            Behaviour(f"{failure.type}: {failure.message}", {}),
            False,
            True,
            True,
            extreme,
        )
    outputs = _outputs(evidence, one.told.outputs)
    again = _outputs(evidence, one.told.outputs_once_more)
    random = bool(again) and not all(
        _equal(value, again.get(name, ""), one.case.dtype) for name, value in outputs.items()
    )
    telling = next(
        evidence.attribute_mismatches(one, one.told.outputs), None
    ) is not None or not evidence.right(one)
    expected = {
        name: want.value.to(getattr(outputs.get(name), "dtype", want.value.dtype))
        for name, want in one.expected.outputs.items()
    }
    clear = telling and not all(
        _equal(outputs.get(name), want, one.case.dtype) for name, want in expected.items()
    )
    return Observed(
        one.number, one.case.dtype, Behaviour(None, outputs), random, telling, clear, extreme
    )


def _outputs(evidence: Evidence, told: Mapping[str, Returned]) -> dict[str, Tensor | str]:
    """Tensors by name, and the text of what is none, as `Behaviour` has them."""
    found: dict[str, Tensor | str] = {}
    for name, returned in told.items():
        value = evidence.value_of(returned)
        if value is None and returned.dtype in DTYPES:  # too large to be sent
            value = torch.empty(returned.shape, dtype=DTYPES[returned.dtype], device="meta")
        found[name] = value if value is not None else f"{returned.plain}: {returned.text}"
    return found


def _equal(
    mine: Tensor | str | None, other: Tensor | str | None, dtype: str, scale: float = 0.0
) -> bool:
    """Equal up to rounding, which is measured against the largest entry, or `scale` where that is larger."""
    if not isinstance(mine, Tensor) or not isinstance(other, Tensor):
        return not isinstance(mine, Tensor) and not isinstance(other, Tensor) and mine == other
    if mine.shape != other.shape or mine.dtype != other.dtype:
        return False
    if mine.numel() == 0 or mine.is_meta or other.is_meta:
        return True
    if not mine.is_floating_point():
        return torch.equal(mine, other)
    one, two = mine.to(torch.float64), other.to(torch.float64)
    relative = _RELATIVE.get(dtype, 1e-3)
    worst = float((one - two).abs().max())
    if math.isfinite(worst):  # then neither holds NaN or infinities: most ask no more than this
        return worst <= relative * max(scale, float(two.abs().max()))
    if not torch.equal(one.isnan(), two.isnan()) or not torch.equal(one.isinf(), two.isinf()):
        return False
    one, two = one.nan_to_num(0.0, 0.0, 0.0), two.nan_to_num(0.0, 0.0, 0.0)
    return bool(((one - two).abs() <= relative * max(scale, float(two.abs().max()))).all())


def _has_nan(one: Behaviour | None) -> bool:
    return one is not None and any(
        isinstance(value, Tensor) and bool(value.isnan().any()) for value in one.outputs.values()
    )


def _same_shapes(one: Behaviour, other: Behaviour) -> bool:
    return one.outputs.keys() == other.outputs.keys() and all(
        not isinstance(value, Tensor) or value.shape == getattr(other.outputs[name], "shape", None)
        for name, value in one.outputs.items()
    )


class Search:
    """The search for the known mistakes of one submission."""

    def __init__(
        self, bank: Bank, evidence: Evidence, report: Report, grade: Grade, loops: Loops
    ) -> None:
        self.bank, self.evidence, self.report, self.grade, self.loops = (
            bank,
            evidence,
            report,
            grade,
            loops,
        )
        self.seen = observe(evidence)
        self.disputed = False  # several mistakes agree
        self._modes: dict[Ids, set[str]] = {}
        self._parts: dict[str, bool] = {}
        self.telling = [one for one in self.seen if one.telling]

    def named(self) -> Ids:
        """The id of the one mistake that agrees with all that was seen; () where none does, or where several do and nothing tells them apart."""
        first = self.report.first_failure()
        if first is None:
            return ()
        if self.report.verdict == "not-allowed":
            return self._told_by_worker(
                self._calling([one.name for one in self.evidence.reply.not_allowed]), first
            )
        if first.check == "interface":
            return self._told_by_worker(
                [(one,) for one in self.bank.mistakes if self.bank.takes_otherwise((one,))], first
            )
        if first.check == "parameters" and first.number is not None:
            return self._told_by_worker(
                [
                    (one,)
                    for one in self.bank.mistakes
                    if self.bank.is_built_otherwise((one,), first.number - 1)
                ],
                first,
            )
        if not self.telling:
            return self._told_by_worker(
                [
                    (one,)
                    for one in self.bank.mistakes
                    if self._may_fail(one, first.check) and self._may_be_hidden(one)
                ],
                first,
            )
        singles = [(one,) for one in self.bank.mistakes if self._agrees((one,))]
        self.disputed = len(singles) > 1
        if self._is_told_by_values():
            return self._the_one(singles) or self._told_by_worker(singles, first)
        worded = [
            ids
            for ids in singles
            if all(self._words(ids, one) == one.behaviour.failure for one in self.telling)
        ]
        return self._the_one(worded) or self._told_by_worker(worded, first)

    def named_two(self, likely: Likely, suspects: Collection[str], operations: int) -> Ids:
        """The first pair that agrees on all cases.

        Args:
            likely: asked for mistakes that may be one of the two, those that explain no case alone.
            suspects: mistakes that nothing clears; they are tried first.
            operations: how many the reference takes in the case that is looked at: as many pairs are tried as that allows.
        """
        first = self.report.first_failure()
        if (
            first is None
            or first.check in _BEFORE_VALUES
            or self.disputed
            or not self._is_told_by_values()
            or all(one.random for one in self.telling)
        ):
            return ()
        return self._pair(likely, suspects, MOST_RUN // (_BUILD + operations))

    def _is_told_by_values(self) -> bool:
        """Whether something wrong came out; exceptions alone may have many reasons."""
        return any(one.behaviour.failure is None for one in self.telling)

    def _may_fail(self, mistake: str, check: str) -> bool:
        """Whether a mistake may fail this check, as far as that is seen without running it on a case."""
        if check == "vectorised":
            words = self.bank.mistakes[mistake]
            return any(
                words.now.count(loop) > words.was.count(loop) for loop in ("for ", "while ", "map(")
            )
        return check != "bad sizes" or self._refuses_alike((mistake,))

    def _refuses_alike(self, ids: Ids) -> bool:
        """Whether the same comes of the constructor arguments that must be refused."""
        mine = tuple(refusal(failure) for failure in self.evidence.reply.refusals)
        return not mine or self.bank.refuses(ids) == mine

    def _may_be_hidden(self, mistake: str) -> bool:
        """Whether a mistake changes no output in a few cases of every kind."""
        kinds: dict[object, Observed] = {}
        for one in self.seen:
            case = self.evidence.exam.cases[one.number]
            if not one.random and case.probe is None:
                kinds.setdefault((case.check, case.dtype, case.mode), one)
        return all(self._agrees_on((mistake,), one) for one in kinds.values())

    def _agrees(self, ids: Ids) -> bool:
        """Whether mistakes agree with all that was seen, in one style of the reference or another."""
        odd = next((one for one in self.seen if not self._agrees_on(ids, one)), None)
        if odd is None:
            return True
        if odd.random:
            return False
        # Another style may tell more: where nothing is left to attend to one gives NaN and another numbers, and rounding decides at a limit.
        if (
            odd is self.seen[0]
            and not _has_nan(self.bank.behaviour(ids, odd.number))
            and not _has_nan(odd.behaviour)
        ):
            return False
        return any(
            all(self._agrees_on(other, one) for one in self.seen) for other in self.bank.styles(ids)
        )

    def _agrees_on(self, ids: Ids, seen: Observed) -> bool:
        """Whether a mistake's behaviour on the case is the submission's, up to rounding."""
        other = self.bank.behaviour(ids, seen.number)
        if self.is_like(seen, other):
            return True
        if seen.extreme and seen.telling and seen.behaviour.failure is None:
            return (
                other is not None and other.failure is None and not self._is_right(ids, seen.number)
            )
        if (
            not seen.random
            or other is None
            or other.failure is not None
            or not _same_shapes(seen.behaviour, other)
        ):
            return False
        if (
            self._is_right(ids, seen.number) == seen.telling
            and self.bank.exam.cases[seen.number].dropout is None
        ):
            return False
        return self.bank.is_random(ids, seen.number) or self.bank.exam.cases[
            seen.number
        ].mode in self._random_modes(ids)

    def is_like(self, seen: Observed, other: Behaviour | None) -> bool:
        """Whether what was seen of a case is this, up to rounding."""
        mine = seen.behaviour
        if other is None or (mine.failure is None) != (other.failure is None):
            return False
        if mine.failure is not None:
            return True
        if mine.outputs.keys() != other.outputs.keys():
            return False
        lost = {
            name: one.lost for name, one in self.evidence.exam.expected[seen.number].outputs.items()
        }
        # What float32 loses beside float64 may be more than the usual: large positions in tables, say.
        return all(
            _equal(
                value,
                other.outputs[name],
                seen.dtype,
                _LOSSES * lost.get(name, 0.0) / _RELATIVE[seen.dtype],
            )
            for name, value in mine.outputs.items()
        )

    def _random_modes(self, ids: Ids) -> set[str]:
        """The modes in which a mistake gives other values in another call, in the first cases that are random for the submission."""
        if ids not in self._modes:
            cases = self.bank.exam.cases
            random = [one.number for one in self.seen if one.random]
            looked_at = [
                number
                for mode in ("eval", "train")
                for number in [one for one in random if cases[one].mode == mode][:_RANDOM_CASES]
            ]
            self._modes[ids] = {
                cases[number].mode for number in looked_at if self.bank.is_random(ids, number)
            }
        return self._modes[ids]

    def _words(self, ids: Ids, seen: Observed) -> str | None:
        other = self.bank.behaviour(ids, seen.number)
        return None if other is None else other.failure

    def _calling(self, names: Iterable[str]) -> list[Ids]:
        """Mistakes that call one of these functions, which the reference does not."""
        words = [name.rpartition(".")[2] for name in names]
        return [
            (one,)
            for one in self.bank.mistakes
            if any(
                (self.bank.patched((one,)) or "").count(word) > self.bank.source.count(word)
                for word in words
            )
        ]

    def kept_between_cases(self) -> Ids:
        """A mistake that shows in no first call of a fresh import, but fails as this does where all cases run one after another."""
        keeping = [
            one
            for one in self.bank.mistakes
            if _stores(self.bank.patched((one,)) or "") > _stores(self.bank.source)
        ]
        hidden = [
            (one,)
            for one in keeping
            if all(self._is_right((one,), seen.number) for seen in self.telling)
        ]
        alike = [ids for ids in hidden if self._agrees_in_turn(ids)]
        return self._the_one(alike)

    def _agrees_in_turn(self, ids: Ids) -> bool:
        """Whether the values of all cases, run one after another, are the submission's; those that run in an import of their own tell nothing."""
        source = self.bank.patched(ids) or ""
        other = {
            one.number: one for one in observe(self.bank.graded(self.evidence.exam, source)[0])
        }
        return all(
            one.number in other
            and (one.behaviour.failure is None) == (other[one.number].behaviour.failure is None)
            and all(
                _equal(value, other[one.number].behaviour.outputs.get(name), one.dtype)
                for name, value in one.behaviour.outputs.items()
            )
            for one in self.seen
            if self.evidence.exam.cases[one.number].probe is None
        )

    def _agreeing_in_part(self, mistakes: Iterable[str]) -> list[str]:
        """Mistakes that explain a telling case by themselves: the other one may not show there."""
        telling = [one for one in self.telling if one.behaviour.failure is None and not one.random]
        some = telling[:: max(1, len(telling) // _SOME)][:_SOME]
        return [
            mistake for mistake in mistakes if any(self._agrees_on((mistake,), one) for one in some)
        ]

    def changes(self, mistake: str) -> bool:
        """Whether a mistake changes the first telling case."""
        return bool(self.telling) and not self._is_right((mistake,), self.telling[0].number)

    def _is_right(self, ids: Ids, number: int) -> bool:
        right, other = self.bank.behaviour((), number), self.bank.behaviour(ids, number)
        if right is None or other is None or other.failure is not None:
            return False
        return all(
            _equal(value, other.outputs.get(name), self.evidence.exam.cases[number].dtype)
            for name, value in right.outputs.items()
        )

    def _pair(self, likely: Likely, suspects: Collection[str], most: int) -> Ids:
        """Two mistakes, the first pair that agrees on all cases."""
        before = self.bank.ran
        for pair in islice(self._pairs(likely, suspects), most):
            if self.bank.ran - before > _MOST_CASES:
                break
            if self._agrees(pair) and all(self._matters(one, pair) for one in pair):
                return pair
        return ()

    def _matters(self, mistake: str, pair: Ids) -> bool:
        """Whether the other one alone would not do in several cases; in one it may be by chance."""
        other = tuple(one for one in pair if one != mistake)
        enough = min(2, len(self.telling))
        return (
            len(list(islice((one for one in self.seen if not self._agrees_on(other, one)), enough)))
            == enough
        )

    def _pairs(self, likely: Likely, suspects: Collection[str]) -> Iterator[Ids]:
        """Pairs that may explain it: neither changes anything on a case that is right; on the first that is wrong both do, or one alone explains it."""
        able = [*suspects, *(one for one in self.bank.mistakes if one not in suspects)]
        alone = {one for one in able if self._agrees_on((one,), self.telling[0])}
        changing = {one for one in able if self.changes(one)} - alone
        able = [one for one in able if alone or one in changing]
        seen: set[frozenset[str]] = set()
        in_part = self._agreeing_in_part(one for one in able if one in suspects)
        # One after another, for each takes its time: what is likely as long as a hundred pairs.
        sources: tuple[Likely, ...] = (
            lambda: in_part,
            likely,
            lambda: self._agreeing_in_part(one for one in able if one not in suspects),
        )
        firsts = chain.from_iterable(source() for source in sources)
        likely_pairs = (
            (first, other) for first in firsts for other in dict.fromkeys([*in_part, *able])
        )
        all_pairs = (
            (able[one], able[other])
            for one, other in sorted(combinations(range(len(able)), 2), key=sum)
        )
        for pair in chain(likely_pairs, all_pairs):
            members = frozenset(pair)
            if (
                len(members) == 1
                or members in seen
                or not (
                    members <= changing or (len(members & alone) == 1 and not members & changing)
                )
            ):
                continue
            seen.add(members)
            if all(self.may_be_part(one) for one in pair):
                yield from [
                    ids for ids in permutations(pair) if self.bank.patched(ids) is not None
                ][:1]

    def may_be_part(self, mistake: str) -> bool:
        """Whether a mistake changes nothing on cases that are right, so that it may be one of two."""
        if mistake not in self._parts:
            right = [one for one in self.seen if not one.telling and not one.random][:1]
            self._parts[mistake] = all(self._agrees_on((mistake,), one) for one in right)
        return self._parts[mistake]

    def _told_by_worker(self, candidates: Iterable[Ids], first: Outcome) -> Ids:
        """Of mistakes that outputs do not tell apart: the one that fails the same checks in a worker, with the same gradients and traces."""
        left = [ids for ids in candidates if self._refuses_alike(ids)]
        exam = self.evidence.exam
        if first.number is not None:
            small = exam.only([first.number - 1])
            left = [ids for ids in left if self._fails_alike(ids, small, first)]
        if first.check == "vectorised":
            mine = self.loops(None)
            left = [
                ids
                for ids in left
                if (theirs := self.loops(self.bank.patched(ids) or "")) and theirs <= mine
            ]
        if first.check == "train/eval":
            left = [ids for ids in left if self._draws_alike(ids)]
        if len(left) > 1 and first.number is not None:
            left = [ids for ids in left if self._fails_in_the_same_cases(ids, first.check)]
        if first.check == "interface":
            nothing = exam.only([])  # only the signatures are looked at
            left = [
                ids
                for ids in left
                if failures(self._report(nothing, ids)) == failures(self.report, "interface")
            ]
        if len(left) > 1 or first.number is None:  # last: every worker takes as long as a check
            left = [
                ids
                for ids in left[:_MOST_WORKERS]
                if failures(self._report(exam, ids)) == failures(self.report)
            ]
        return self._the_one(left) or self._the_one(
            [ids for ids in left[:_MOST_WORKERS] if self._says_the_same(ids, first)]
        )

    def _report(self, exam: Exam, ids: Ids) -> Report:
        """What a worker makes of a mistake."""
        return self.bank.report(exam, self.bank.patched(ids) or "", self.grade)

    def _fails_in_the_same_cases(self, ids: Ids, check: str) -> bool:
        """Whether it fails in the same cases, and the same checks in them, of all that a check looks at."""
        looked_at = {
            one.number - 1: one.case
            for one in self.report.outcomes
            if one.check == check and one.number is not None
        }
        reports = (
            self.report,
            self.bank.graded(self.evidence.exam.only(looked_at), self.bank.patched(ids) or "")[1],
        )
        mine, theirs = (
            {
                (one.check, one.case)
                for one in each.outcomes
                if one.status == "failed" and one.case in looked_at.values()
            }
            for each in reports
        )
        return mine == theirs

    def _draws_alike(self, ids: Ids) -> bool:
        """Whether it fails in the same cases where weights are dropped, and whether as much becomes zero in them."""
        if not self._fails_in_the_same_cases(ids, "train/eval"):
            return False
        exam = self.evidence.exam
        numbers = [number for number, case in enumerate(exam.cases) if case.dropout is not None]
        small, source = exam.only(numbers), self.bank.patched(ids) or ""
        draws = [
            Evidence(small, self.bank.run(small, source, "outputs", draw)) for draw in range(_DRAWS)
        ]
        seen = [one for one in self.evidence.cases if one.number in numbers]
        return all(
            _is_likely(
                _share_of_zeros(self.evidence, one, name),
                [_share_of_zeros(draw, draw.cases[place], name) for draw in draws],
            )
            for place, one in enumerate(seen)
            for name in one.told.outputs
        )

    def _says_the_same(self, ids: Ids, first: Outcome) -> bool:
        """Whether the first failure has the same figures too: operations counted, say."""
        if first.number is None:
            return False
        other = self.bank.graded(
            self.evidence.exam.only([first.number - 1]), self.bank.patched(ids) or ""
        )[1].first_failure()
        return other is not None and other.message == first.message

    def _the_one(self, left: Sequence[Ids]) -> Ids:
        """The only one, or the first of twins."""
        if not left:
            return ()
        return (
            left[0]
            if all(left[0][0] in self.bank.mistakes[ids[0]].twins for ids in left[1:])
            else ()
        )

    def _fails_alike(self, ids: Ids, exam: Exam, first: Outcome) -> bool:
        # In this process where that shows it: a worker takes longer.
        grade = self.grade if first.check == "from scratch" else self.bank.graded
        evidence, report = grade(exam, self.bank.patched(ids) or "")
        if (other := report.first_failure()) is None or (other.check, _wording(other)) != (
            first.check,
            _wording(first),
        ):
            return False
        theirs = next((one for one in evidence.cases if one.case.name == first.case), None)
        mine = next((one for one in self.evidence.cases if one.case.name == first.case), None)
        random = any(one.random for one in self.seen if one.number == (first.number or 0) - 1)
        return (
            theirs is not None
            and mine is not None
            and (random or _same_traces(self.evidence, mine, evidence, theirs))
        )


def _same_traces(
    evidence: Evidence, one: CaseEvidence, other_evidence: Evidence, other: CaseEvidence
) -> bool:
    """Whether two runs of one case left the same gradients and changed the same inputs to the same values."""
    pairs = [
        (
            evidence.tensor(mine.get(name, -1)),
            other_evidence.tensor(theirs.get(name, -1)),
            one.expected.gradient_scale if mine is one.told.gradients else 0.0,
        )
        for mine, theirs in (
            (one.told.gradients, other.told.gradients),
            (one.told.inputs_after, other.told.inputs_after),
        )
        for name in mine.keys() | theirs.keys()
    ]
    # No gradient and one of zeros are the same: part of a fused layer has zeros where a layer of its own has none.
    return all(
        (value is None and other is not None and not bool(other.any()))
        or (other is None and value is not None and not bool(value.any()))
        or _equal(value, other, one.case.dtype, scale)
        for value, other, scale in pairs
    )


def _is_likely(share: float, draws: Sequence[float]) -> bool:
    """Whether a share may be one of these draws: three deviations, and a little."""
    return abs(share - statistics.fmean(draws)) <= 3 * statistics.stdev(draws) + _ODD_SHARE


def _share_of_zeros(evidence: Evidence, one: CaseEvidence, name: str) -> float:
    value = evidence.value_of(one.told.outputs.get(name))
    return 0.0 if value is None or not value.numel() else float((value == 0).double().mean())


def _stores(source: str) -> int:
    """How many places of a source put something where it outlives the call: attributes, entries, globals, decorators."""
    nodes = list(ast.walk(ast.parse(source)))
    kept = sum(
        isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
        for node in nodes
    )
    kept += sum(
        isinstance(node, ast.Global | ast.Nonlocal)
        or (isinstance(node, ast.Attribute) and node.attr == "setdefault")
        for node in nodes
    )
    return kept + sum(
        len(node.decorator_list) for node in nodes if isinstance(node, ast.FunctionDef)
    )


def _wording(outcome: Outcome) -> str:
    """What an outcome says, without its figures and lines."""
    return re.sub(r"[-+]?\d[\d.,e+-]*|nan|inf", "#", outcome.message)


def failures(report: Report, check: str | None = None) -> set[tuple[str, int | None, str]]:
    """Every check that failed (or this one alone), with its case's number, or its words where it has no case."""
    assert all(one.check in CHECK_ORDER for one in report.outcomes)
    failed = [
        one for one in report.outcomes if one.status == "failed" and check in (None, one.check)
    ]
    return {(one.check, one.number, "" if one.number else one.message) for one in failed}
