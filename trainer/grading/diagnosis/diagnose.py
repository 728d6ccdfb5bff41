"""Put the evidence together: the known mistake, the first wrong line, milestones, the effective mask, what is ruled out."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import islice, product
from typing import Any, Protocol

import msgspec
import torch
from torch import Tensor

from trainer.comparing.compare import compare_values
from trainer.core.report import Diagnosis, EffectiveMask, Frame, Outcome, Report
from trainer.core.words import CHECK_ORDER, Mistake
from trainer.grading.diagnosis.bank import Bank, Behaviour, Ids
from trainer.grading.diagnosis.calls import (
    branch_not_taken,
    function_around,
    is_called_from_several_places,
    is_told_a_constant,
    where_gradients_are_cut,
)
from trainer.grading.diagnosis.effective_mask import (
    Attended,
    Probe,
    attended,
    effective_mask,
    odd_rows,
    probe,
    scores_agree,
    scores_probe,
)
from trainer.grading.diagnosis.first_line import Parting, Path
from trainer.grading.diagnosis.known import Search, coincidences
from trainer.grading.diagnosis.layout import LAYOUTS
from trainer.grading.diagnosis.loops import Grown, around, growth
from trainer.grading.diagnosis.milestones import Reached, concerns, reached
from trainer.grading.diagnosis.relation import relation
from trainer.grading.diagnosis.shelf import Shelf
from trainer.grading.diagnosis.telling import telling_line
from trainer.grading.diagnosis.trail import Step, Trail, trail_of, with_numbers
from trainer.grading.diagnosis.variations import variation
from trainer.grading.evidence import Evidence, name_shape
from trainer.grading.exam import Exam
from trainer.running.protocol import Purpose
from trainer.running.run import Ended

_MOST_CONSIDERED = 6  # cases whose worth is measured
_MOST_LIKELY = 5
_MOST_PASSED = 8
_STEEP = 50.0  # a number that makes steep scores
_MOST_PROBED = 3  # cases in which the reference is asked whom it attends to


class Runner(Protocol):
    """What a diagnosis asks of the grader."""

    def begin(self, exam: Exam, source: str, purpose: Purpose) -> Callable[[], Ended]:
        """Start the submission in a worker; what is returned waits for it."""

    def run(self, exam: Exam, source: str, purpose: Purpose) -> Ended:
        """The same, waited for at once."""

    def grade(self, exam: Exam, source: str) -> tuple[Evidence, Report]:
        """The pack's own content in a worker, judged."""


@dataclass(frozen=True)
class Recorded:
    """One case of the submission beside right answers.

    wrong        its outputs that were not as expected among the other cases
    alone_right  whether all are as expected where the case runs alone
    """

    number: int
    exam: Exam
    trail: Trail
    rights: list[Trail]
    wrong: tuple[str, ...]
    alone_right: bool

    @cached_property
    def shelf(self) -> Shelf:
        """All right results."""
        return Shelf(self.rights, self.exam.cases[0].sizes)

    @property
    def reference(self) -> Trail:
        """What the reference makes."""
        return self.rights[0]

    def path(
        self,
        mistaken: Trail | None = None,
        passed: Callable[[int], Sequence[Trail]] = lambda line: (),
        source: str = "",
    ) -> Path:
        """The submission's trail beside them, and beside its own where it passes."""
        return Path(
            self.trail,
            self.shelf,
            self.reference,
            mistaken,
            passed,
            lambda line: function_around(source, line),
        )


def diagnose(
    bank: Bank, evidence: Evidence, report: Report, source: str, runner: Runner
) -> Diagnosis | None:
    """Where and why a submission failed; None where it passed or never came so far."""
    first = report.first_failure()
    if (
        first is None
        or evidence.ended.how != "replied"
        or evidence.reply.load_failure is not None
        or not evidence.cases
    ):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # torch warns of layers without entries, which a mistake may make
        return _Diagnosing(bank, evidence, report, source, runner, first).result()


def named(bank: Bank, evidence: Evidence, report: Report, source: str, runner: Runner) -> Ids:
    """The one known mistake that gives exactly this; () where none does."""
    first = report.first_failure()
    if (
        first is None
        or evidence.ended.how != "replied"
        or evidence.reply.load_failure is not None
        or not evidence.cases
    ):
        return ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above
        return _Diagnosing(bank, evidence, report, source, runner, first).one_mistake()


class _Diagnosing:
    """One diagnosis on its way."""

    def __init__(
        self,
        bank: Bank,
        evidence: Evidence,
        report: Report,
        source: str,
        runner: Runner,
        first: Outcome,
    ) -> None:
        self.bank, self.evidence, self.report, self.source, self.runner, self.first = (
            bank,
            evidence,
            report,
            source,
            runner,
            first,
        )
        self.exam = evidence.exam
        self._grown: dict[str | None, Grown | None] = {}
        self.search = Search(bank, evidence, report, runner.grade, self._looped)

    def one_mistake(self) -> Ids:
        """The known mistake that agrees with all that was seen."""
        ids = self.search.named()
        return (
            self.search.kept_between_cases()
            if not ids and self.search.telling and self._is_right_alone
            else ids
        )

    def result(self) -> Diagnosis:
        self._begun  # noqa: B018  # at work while the known mistakes are tried here
        ids = self.one_mistake()
        if not ids and self.search.telling and not self._is_right_alone:
            ids = self.search.named_two(
                self._likely,
                self._suspects(),
                len(self._shown.reference.steps) if self._shown else 0,
            )
        mistakes = tuple(
            self.bank.mistakes[one]
            for one in sorted(ids, key=lambda one: self.bank.lines(one).start)
        )
        shown = self._shown
        line, case, made, layout = self._first_line(ids)
        if not ids and layout is None and not self._is_right_alone:
            layout = variation(self.bank, self.search)
        far = self._reached
        mask = self._mask()
        return Diagnosis(
            mistakes=mistakes,
            first_line=line,
            case=case,
            last_reached=far.last.name if far and far.last else None,
            first_missed=far.missed.name if far and far.missed else None,
            made=made,
            layout=layout or (self._output_layout() if shown is None or layout is None else None),
            effective_mask=mask if mask is not None and mask.what else None,
            cleared=self._cleared(mistakes, mask),
        )

    # The cases that are looked at

    @cached_property
    def _most_telling(self) -> int | None:
        """The number of the case with wrong values that tells one thing from another best; None where no case does."""
        found = [
            one
            for one in self.search.telling
            if one.behaviour.failure is None
            and one.dtype != "bfloat16"
            and self.exam.cases[one.number].probe is None
            and all(
                not isinstance(value, Tensor) or not value.is_meta
                for value in one.behaviour.outputs.values()
            )
        ]
        found = [one for one in found if not one.random] or found
        found = sorted(
            found,
            key=lambda one: (
                self.first.number != one.number + 1,
                coincidences(self.exam.cases[one.number]),
            ),
        )
        if found and self.exam.cases[found[0].number].plain:
            return max((one.number for one in found), key=self._worth_of_numbers)
        return max((one.number for one in found[:_MOST_CONSIDERED]), key=self._worth, default=None)

    def _worth_of_numbers(self, number: int) -> int:
        """How many different numbers the reference makes in a case, less those that it makes twice."""
        trail = self.bank.trail(number, "lines")
        if trail is None:
            return 0
        made = [
            step.number
            for step in trail.steps
            if step.operation == "number" and len(step.parents) > 1
        ]
        return 2 * len(set(made)) - len(made)

    def _worth(self, number: int) -> float:
        """How many different results the reference makes in a case; a long way round counts less."""
        trail = self.bank.trail(number, "tensors")
        if trail is None:
            return -1.0
        leading = [
            trail.steps[number] for number in trail.leading_to_outputs
        ]  # what a constructor draws at random leads nowhere
        different = {
            tuple(f"{figure:.4g}" for figure in step.features)
            for step in leading
            if step.lines and step.features is not None
        }
        explained = (
            1.25 if self.first.number == number + 1 else 1.0
        )  # rather the case that the report shows
        return explained * len(different) * min(1.0, 120 / len(leading)) - 8 * coincidences(
            self.exam.cases[number]
        )

    @cached_property
    def _small(self) -> Exam | None:
        """The case that tells most as an exam of its own."""
        return None if self._most_telling is None else self.exam.only([self._most_telling])

    @cached_property
    def _begun(self) -> Callable[[], Ended]:
        """The submission at work in one worker: first the case that tells most, recorded, then the one that is nudged."""
        small, nudged = self._small, self._nudged
        if small is not None:
            return self.runner.begin(
                small.followed_by(nudged, "outputs") if nudged else small, self.source, "lines"
            )
        return (
            partial(Ended, "died")
            if nudged is None
            else self.runner.begin(nudged, self.source, "outputs")
        )

    @cached_property
    def _ended(self) -> tuple[Ended, Ended]:
        """What came of both, each as if it had been alone; one of no use where not all came."""
        ended, recorded = self._begun(), len(self._small.cases) if self._small else 0
        if ended.how != "replied" or len(ended.reply.runs) != recorded + (
            len(self._nudged.cases) if self._nudged else 0
        ):
            return Ended("died"), Ended("died")
        first, other = (
            msgspec.structs.replace(ended.reply, runs=runs)
            for runs in (ended.reply.runs[:recorded], ended.reply.runs[recorded:])
        )
        return replace(ended, reply=first), replace(ended, reply=other)

    @cached_property
    def _shown(self) -> Recorded | None:
        """The submission's lines in the case that tells most; None where a worker cannot tell."""
        number, small = self._most_telling, self._small
        if number is None or small is None:
            return None
        rights = self.bank.rights(number)
        ended = self._ended[0]
        if ended.how != "replied" or len(ended.reply.runs) != 1:
            return None
        trail = with_numbers(trail_of(ended.reply.runs[0], ended.tensors), self.source)
        if not trail.steps or not (trail.made_by or self.exam.cases[number].plain):
            return None
        alone = Evidence(small, ended)
        (one,) = alone.cases
        is_right = (
            alone.right(one)
            and next(alone.attribute_mismatches(one, one.told.outputs), None) is None
        )
        # What seems to be drawn at random may be kept from another call; if not, another call tells nothing of this one.
        if not is_right and any(one.random for one in self.search.seen if one.number == number):
            return None
        return Recorded(number, small, trail, rights, self._wrong_outputs(number), is_right)

    def _wrong_outputs(self, number: int) -> tuple[str, ...]:
        """The outputs of a case that are not as expected."""
        one = next(one for one in self.evidence.cases if one.number == number)
        odd = {
            mismatch.tensor
            for mismatch in self.evidence.attribute_mismatches(one, one.told.outputs)
        }
        for name, want in one.expected.outputs.items():
            value = self.evidence.value_of(one.told.outputs.get(name))
            if (
                value is None
                or value.shape != want.value.shape
                or compare_values(name, "", {}, want.value, value, one.expected.bounds[name])
            ):
                odd.add(name)
        for name, text in one.expected.plain.items():
            got = one.told.outputs.get(name)
            if got is None or (got.plain, got.text) != (one.case.plain[name], text):
                odd.add(name)
        return tuple(odd)

    @cached_property
    def _is_right_alone(self) -> bool:
        """Whether the case that is looked at is wrong among the others and right where it runs alone: then something is kept from an earlier one."""
        return self._shown is not None and bool(self._shown.wrong) and self._shown.alone_right

    # Known mistakes

    def _suspects(self) -> list[str]:
        """Mistakes but for those that change lines whose results are there, and right, and add none; first those on the way to what is missed."""
        if (far := self._reached) is None:
            return list(self.bank.mistakes)
        lines = {mistake: self.bank.lines(mistake) for mistake in self.bank.mistakes}
        adding = {
            id
            for id, one in self.bank.mistakes.items()
            if one.now.count("\n") > one.was.count("\n")
        }
        left = [one for one in lines if one in adding or not far.right_lines.issuperset(lines[one])]
        return sorted(
            left, key=lambda one: (far.lines_elsewhere.issuperset(lines[one]), lines[one].start)
        )

    def _likely(self) -> Iterator[str]:
        """Mistakes that make what the submission makes where it leaves the right path; then those that make others of its wrong results, most first."""
        shown, far = self._shown, self._reached
        if shown is None or far is None:
            return
        path, sizes = shown.path(), shown.exam.cases[0].sizes
        parting = path.parting(shown.wrong)
        entry = Shelf([Trail((shown.trail.steps[parting.step],), {})] if parting else [], sizes)
        odd = Shelf(
            [
                Trail(
                    tuple(
                        step
                        for number, step in enumerate(shown.trail.steps)
                        if _is_computed(step) and not path.is_right(number)
                    ),
                    {},
                )
            ],
            sizes,
        )
        right = {step.features for step in shown.reference.steps}
        missed = shown.reference.steps[far.missed.step].lines[:1] if far.missed else ()
        counts: Counter[str] = Counter()
        for mistake in sorted(
            self._suspects(), key=lambda one: set(missed).isdisjoint(self.bank.lines(one))
        ):
            may_be = (
                not far.lines_elsewhere.issuperset(self.bank.lines(mistake))
                and self.search.changes(mistake)
                and self.search.may_be_part(mistake)
            )
            theirs = self.bank.figures((mistake,), shown.number) - right if may_be else set()
            if entry.holds_nearly(theirs):
                yield mistake
            else:
                counts[mistake] = odd.holds_nearly(theirs)
        yield from (mistake for mistake, count in counts.most_common(_MOST_LIKELY) if count)

    # The line

    def _first_line(self, ids: Ids) -> tuple[Frame | None, int | None, str | None, str | None]:
        if self._is_right_alone:
            return (
                None,
                None,
                None,
                "alone this case is right: something is kept from an earlier call",
            )
        shown = self._shown
        mistaken = self.bank.mistaken_trail(ids, shown.number) if shown and ids else None
        parting = (
            shown.path(mistaken, self._passed_with, self.source).parting(shown.wrong)
            if shown
            else None
        )
        if shown is None or parting is None:
            line = self._line_without_values()
            return (
                (self._frame(line), self.first.number, None, None)
                if line
                else (None, None, None, None)
            )
        if parting.unfinished is not None and (place := self._branch_not_taken(shown, parting)):
            return self._frame(place), shown.number + 1, None, None
        calls = shown.trail.steps[parting.step].lines
        line, *outer = (
            calls[calls.index(parting.line) :] if parting.line in calls else (parting.line,)
        )
        while outer and is_told_a_constant(
            self.source, line, outer[0]
        ):  # which is the caller's choice
            line, *outer = outer
        return self._frame(line), shown.number + 1, *self._beside(shown, parting)

    def _branch_not_taken(self, shown: Recorded, parting: Parting) -> int | None:
        """The `if` after an operand that kept what is missing from being done."""
        steps = shown.trail.steps
        visited = {line for step in steps for line in step.lines}
        pairs = product(steps[parting.step].lines, steps[parting.unfinished or 0].lines)
        found = (
            branch_not_taken(self.source, one, other, visited, parting.names)
            for one, other in pairs
            if one <= other
        )
        return next((line for line in found if line is not None), None)

    def _passed_with(self, line: int) -> Sequence[Trail]:
        """What the submission makes in cases that it passes; () where the line's function is called from one place only."""
        return self._passed if is_called_from_several_places(self.source, line) else ()

    @cached_property
    def _passed(self) -> Sequence[Trail]:
        """The submission's trails in one case of each kind of which it passes all."""
        failed = {outcome.number for outcome in self.report.outcomes if outcome.status == "failed"}
        chosen: dict[object, int] = {}
        wrong: set[object] = set()
        for one in self.evidence.cases:
            kind = _kind_of(self.exam.given(one.number))
            if one.number + 1 in failed or not self.evidence.right(one):
                wrong.add(kind)
            elif one.case.probe is None and one.case.dtype != "bfloat16":
                chosen.setdefault(kind, one.number)
        chosen = {kind: number for kind, number in chosen.items() if kind not in wrong}
        if not chosen:
            return ()
        some = self.exam.only(list(chosen.values())[:_MOST_PASSED])
        ended = self.runner.run(
            some, self.source, "lines" if self.exam.cases[0].plain else "tensors"
        )
        return (
            [trail_of(told, ended.tensors) for told in ended.reply.runs]
            if ended.how == "replied"
            else ()
        )

    def _frame(self, line: int) -> Frame:
        lines = self.source.splitlines()
        return Frame(line, "", lines[line - 1].strip() if 0 < line <= len(lines) else "")

    def _line_without_values(self) -> int | None:
        """The line where no value is wrong: what raised, loops, cuts gradients off, or draws at random."""
        if self.first.frames:
            return self.first.frames[-1].line
        if self.first.check == "bad sizes":
            return _line_of_division(self.source, self.exam.challenge.entry[0])
        if self.first.number is None:
            return None
        if self.first.check == "vectorised":
            grown = self._loop(None)
            return None if grown is None or grown.line is None else around(self.source, grown.line)
        if self.first.check in ("gradients", "train/eval", "properties", "memory"):
            purpose: Purpose = "gradients" if self.first.check == "gradients" else "lines"
            ended = self.runner.run(self.exam.only([self.first.number - 1]), self.source, purpose)
            if ended.how == "replied" and ended.reply.runs:
                line = telling_line(
                    trail_of(ended.reply.runs[0], ended.tensors),
                    self.first.check,
                    self.exam.cases[self.first.number - 1].limit,
                )
                return (
                    where_gradients_are_cut(self.source, line)
                    if line and self.first.check == "gradients"
                    else line
                )
        return None

    def _loop(self, source: str | None) -> Grown | None:
        """What runs more often in the large case of the pair that failed: of the submission (None), or of content of the pack."""
        if source not in self._grown:
            pair = self.exam.only([(self.first.number or 0) - 1])
            ended = (
                self.runner.run(pair, self.source, "lines")
                if source is None
                else self.bank.run(pair, source, "lines")
            )
            trails = (
                [trail_of(told, ended.tensors) for told in ended.reply.runs]
                if ended.how == "replied"
                else []
            )
            self._grown[source] = growth(*trails) if len(trails) == 2 else None
        return self._grown[source]

    def _looped(self, source: str | None) -> frozenset[Fraction]:
        grown = self._loop(source)
        return frozenset() if grown is None else grown.ratios

    def _beside(self, where: Recorded, parting: Parting) -> tuple[str | None, str | None]:
        """What the line made, and in which way it is the right result."""
        step = where.trail.steps[parting.step]
        far = self._reached
        sizes = dict(where.exam.cases[0].sizes)
        if step.value is None:
            return None, None
        made = name_shape(tuple(step.value.shape), sizes)
        right = where.reference.steps[far.missed.step].value if far and far.missed else None
        if right is None:
            return made, None
        return made, relation(step.value, right, "", sizes)

    # Milestones, mask, layout of the output

    @cached_property
    def _reached(self) -> Reached | None:
        if self._shown is None:
            return None
        return reached(
            self._shown.trail,
            self._shown.reference,
            self.bank.source,
            dict(self._shown.exam.cases[0].sizes),
        )

    @cached_property
    def _probed(self) -> tuple[int, Probe, Attended] | None:
        """Return the case whose effective mask is looked at, its calls and the reference's answer.

        Cases with large numbers come last: beside a score of 200 no other key shows, so an output may
        be right with any mask. Among the others masked cases come first, then cases with a cache.
        A case in which the reference itself proves nothing is passed over: heads with masks of their
        own, for example.
        """
        if not self.search.telling or CHECK_ORDER.index(self.first.check) > CHECK_ORDER.index(
            "masks"
        ):
            return None
        numbers = [seen.number for seen in self.search.telling if _is_finite(seen.behaviour)]
        cache = self.exam.content("CACHED")

        def rank(number: int) -> tuple[bool, bool, bool]:
            has_cache = self.exam.given(number).get(cache) is not None
            return (
                self.exam.largest[number] > _STEEP,
                self.exam.cases[number].check != "masks",
                not has_cache,
            )

        numbers.sort(key=rank)
        found = ((number, probe(self.exam, number)) for number in numbers)
        calls = ((number, asked) for number, asked in found if asked is not None)
        for number, asked in islice(calls, _MOST_PROBED):
            outputs = _outputs(self.bank.nudged(number, asked.exam))
            right = None if outputs is None else attended(asked, outputs)
            if right is not None:
                return number, asked, right
        return None

    @cached_property
    def _nudged(self) -> Exam | None:
        """The calls of that case."""
        return None if self._probed is None else self._probed[1].exam

    def _mask(self) -> EffectiveMask | None:
        """Return what is proved of the submission's mask; None if nothing is."""
        outputs = _outputs(self._ended[1])
        if self._probed is None or outputs is None:
            return None
        number, asked, right = self._probed
        mine = attended(asked, outputs, right)
        if mine is None or bool((odd_rows(mine, right) & ~self._wrong_rows(number)).any()):
            return None  # a query whose output is right attends to the right keys
        found = effective_mask(asked, mine, right)
        if found is None or not found.what:
            return found
        calls = scores_probe(self.exam, number, asked, mine)
        moved = None if calls is None else _outputs(self.runner.run(calls, self.source, "outputs"))
        return found if calls and moved and scores_agree(calls, moved) else None

    def _wrong_rows(self, number: int) -> Tensor:
        """Return bool [items, queries]: the queries with a wrong entry in the graded case."""
        name = self.exam.content("QUERIES")
        case = next(case for case in self.evidence.cases if case.number == number)
        want, value = (
            case.expected.outputs[name],
            self.evidence.value_of(case.told.outputs.get(name)),
        )
        if value is None or value.shape != want.value.shape:
            return torch.zeros(1, 1, dtype=torch.bool)
        near = (value.to(torch.float64) - want.value).abs() <= case.expected.bounds[name]
        return (~near).any(dim=-1).reshape(near.shape[0], -1, near.shape[-2]).any(dim=1)

    def _cleared(self, mistakes: Sequence[Mistake], mask: EffectiveMask | None) -> tuple[str, ...]:
        """Return what is ruled out. Nothing that a named mistake is about is.

        The mask is ruled out only if the named mistakes explain all cases, the masked ones too, and
        none of them is about a mask: one case alone shows one mask.
        """
        found = [*(self._reached.cleared if self._reached else ()), *(["mask"] if mask else [])]
        is_explained = bool(mistakes) and not (mask and mask.what)
        if not is_explained or self.report.statuses().get("masks") == "failed":
            found = [topic for topic in found if topic != "mask"]
        left = (topic for topic in found if not any(concerns(one, topic) for one in mistakes))
        return tuple(dict.fromkeys(left))

    def _output_layout(self) -> str | None:
        """How the wrong output of the explained case is the right one."""
        if (
            self.first.number is None
            or self.first.mismatch is None
            or self.first.mismatch.kind not in ("value", "shape")
        ):
            return None
        one = next(
            (one for one in self.evidence.cases if one.number == (self.first.number or 0) - 1), None
        )
        name = self.first.mismatch.tensor
        if one is None or name not in one.expected.outputs:
            return None
        value = self.evidence.value_of(one.told.outputs.get(name))
        return (
            None
            if value is None
            else relation(
                value,
                one.expected.outputs[name].value,
                one.case.dims.get(name, ""),
                dict(one.case.sizes),
            )
        )


def _line_of_division(source: str, entry: str) -> int | None:
    """Where the constructor first divides: what it divides has to be looked at there at the latest."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == entry:
            divisions = [
                one.lineno
                for one in ast.walk(node)
                if isinstance(one, ast.BinOp)
                and isinstance(one.op, ast.FloorDiv | ast.Mod | ast.Div)
            ]
            return min(divisions, default=None)
    return None


def _is_computed(step: Step) -> bool:
    """Whether a step of the file's own is more than a change of layout, and says something."""
    return bool(step.lines) and step.operation not in LAYOUTS and step.features is not None


def _outputs(ended: Ended) -> list[dict[str, Tensor]] | None:
    """The tensors of every run, or None where one failed."""
    if ended.how != "replied" or any(run.failure is not None for run in ended.reply.runs):
        return None
    return [
        {
            name: ended.tensors[one.tensor]
            for name, one in run.outputs.items()
            if 0 <= one.tensor < len(ended.tensors)
        }
        for run in ended.reply.runs
    ]


def _is_finite(behaviour: Behaviour) -> bool:
    """Return whether a case came to outputs, and all of their numbers are finite."""
    values = (value for value in behaviour.outputs.values() if isinstance(value, Tensor))
    return behaviour.failure is None and all(
        not value.is_meta and bool(value.isfinite().all()) for value in values
    )


def _kind_of(given: Mapping[str, Any]) -> object:
    """What is given, and which words: cases that differ in it may take different ways through the code."""
    return frozenset(given), frozenset(value for value in given.values() if isinstance(value, str))
