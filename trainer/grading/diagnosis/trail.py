"""What every line of a file made in one case: of a submission by a worker, of the pack's own content in the grader."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from trainer.content.packs import also_right, read_text, solution
from trainer.core.words import PackError
from trainer.grading.diagnosis.layout import LAYOUTS, Core, equal, features
from trainer.grading.exam import Exam, load_module
from trainer.running.attempts import Attempts
from trainer.running.protocol import Purpose, RunReply
from trainer.running.trial import Hooks, Kept, Trial

_LARGE = 1000


@dataclass(frozen=True)
class Step:
    """One result; `recording.Recorded` says what the fields are. `like`: the step whose entries it has in another layout."""

    lines: tuple[int, ...]
    operation: str
    value: Tensor | None
    parents: tuple[int, ...]
    name: str
    into: int = -1
    entries: int = 1
    cut: bool = False
    like: Step | None = None

    @cached_property
    def features(self) -> tuple[float, ...] | None:
        """Figures that a change of layout leaves as they are."""
        if self.value is None:
            return None
        return features(self.value) if self.like is None else self.like.features

    @property
    def number(self) -> float:
        """A Python number, an integer exactly; 0 where it is none, or was not sent."""
        if self.operation != "number" or self.value is None:
            return 0
        return float(f"{float(self.value):.9g}") if self.is_float else int(self.value)

    @property
    def is_float(self) -> bool:
        """Whether its entries are no integers."""
        return self.value is not None and self.value.is_floating_point()

    @property
    def tells(self) -> bool:
        """Whether it can be compared with what others make."""
        return self.features is not None or (self.operation == "number" and self.value is not None)

    @property
    def is_large_number(self) -> bool:
        """Whether it is a number that hardly two different formulas give by chance."""
        return abs(self.number) >= _LARGE

    @cached_property
    def core(self) -> Core | None:
        """What a change of layout leaves of its value."""
        return None if self.value is None else Core(self.value)


@dataclass(frozen=True)
class Trail:
    """All results of one call, in order, and which of them are the outputs."""

    steps: tuple[Step, ...]
    made_by: Mapping[str, int]

    @cached_property
    def leading_to_outputs(self) -> tuple[int, ...]:
        """The steps from which an output was made, in order; others may be anything. All steps, where no output is a tensor."""
        return (
            self.leading_to(self.made_by.values())
            if self.made_by
            else tuple(range(len(self.steps)))
        )

    @cached_property
    def laid_out(self) -> tuple[int, ...]:
        """For every step the one whose entries it has in another layout, as far back as that goes; else itself."""
        found: list[int] = []
        for number, step in enumerate(self.steps):
            found.append(
                found[step.parents[0]]
                if step.operation in LAYOUTS and len(step.parents) == 1
                else number
            )
        return tuple(found)

    @cached_property
    def given(self) -> tuple[frozenset[str], ...]:
        """For every step the inputs and parameters that have gone into it."""
        found: list[frozenset[str]] = []
        for step in self.steps:
            own = {step.operation} if step.operation.startswith("input ") else set[str]()
            found.append(frozenset(own.union(*(found[parent] for parent in step.parents))))
        return tuple(found)

    @cached_property
    def users(self) -> dict[int, list[int]]:
        """For every step those that were made from it."""
        found: dict[int, list[int]] = {}
        for number, step in enumerate(self.steps):
            for parent in step.parents:
                found.setdefault(parent, []).append(number)
        return found

    @cached_property
    def factors(self) -> dict[int, float | None]:
        """What has been found of steps that multiply by a number; `derivation.factor_of` keeps it here."""
        return {}

    def leading_to(self, ends: Iterable[int]) -> tuple[int, ...]:
        """These steps and all that they were made from, in order."""
        found: set[int] = set()
        waiting = list(ends)
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += self.steps[number].parents
        return tuple(sorted(found))


def trail_of(told: RunReply, tensors: Sequence[Tensor]) -> Trail:
    """Read what was recorded; steps point only backwards, whatever they say."""
    steps: list[Step] = []
    for number, step in enumerate(told.steps):
        value = (
            _as_recorded(tensors[step.tensor], step.operation)
            if 0 <= step.tensor < len(tensors)
            else None
        )
        parents = tuple(one for one in step.parents if 0 <= one < number)
        into = step.into if step.into < number else -1
        before = steps[parents[0]] if step.operation in LAYOUTS and len(parents) == 1 else None
        like = (
            before
            if before is not None
            and before.value is not None
            and value is not None
            and before.value.dtype == value.dtype
            else None
        )
        steps.append(
            Step(
                tuple(step.lines),
                step.operation,
                value,
                parents,
                step.name,
                into,
                step.entries,
                step.cut,
                like,
            )
        )
    return Trail(
        tuple(steps), {name: one for name, one in told.made_by.items() if 0 <= one < len(steps)}
    )


def _as_recorded(value: Tensor, operation: str) -> Tensor | None:
    """What a recorder would have told: complex numbers as pairs, Python numbers as one entry."""
    if operation == "number" and (value.is_complex() or value.dim()):
        return None
    return torch.view_as_real(value) if value.is_complex() else value


def with_numbers(trail: Trail, source: str) -> Trail:
    """The same with the parents of Python numbers, as the names in their statements tell."""
    names = _names_by_line(source)
    steps: list[Step] = []
    latest: dict[tuple[tuple[int, ...], str], int] = {}  # by call and name
    returned: dict[tuple[int, ...], int] = {}  # by the lines of the call
    for number, step in enumerate(trail.steps):
        if step.operation == "number" and step.lines:
            call = step.lines[1:]
            if not step.parents:
                parents = [
                    latest[call, name]
                    for name in names.get(step.lines[0], ())
                    if (call, name) in latest
                ]
                parents += [returned[step.lines]] if step.lines in returned and step.name else []
                step = replace(step, parents=tuple(sorted(set(parents))))
            steps.append(step)
            if step.name:
                latest[call, step.name] = number
            else:
                returned[call] = number
        else:
            steps.append(step)
    return Trail(tuple(steps), trail.made_by)


def _names_by_line(source: str) -> dict[int, set[str]]:
    """The names that are read on each line's statement."""
    found: dict[int, set[str]] = {}
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Expr):
            read = {
                one.id
                for one in ast.walk(node)
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
            }
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                read.add(node.target.id)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found.setdefault(line, set()).update(read)
    return found


def content_trail(exam: Exam, source: str, path: str, purpose: Purpose = "lines") -> Trail | None:
    """What the pack's own file makes in the exam's one case; None where it raises."""
    request, tensors = exam.asked(purpose)
    kept = Kept()
    trial = Trial(request, tensors, Attempts(path), kept, Hooks())
    try:
        trial.run_all(load_module("recorded", path, source), exam.drive)
    except PackError:
        return None
    told = trial.runs[0]
    return trail_of(told, kept.tensors) if told.failure is None and told.steps else None


def right_trails(exam: Exam) -> list[Trail]:
    """What the reference makes in the exam's one case, then what the pack's other right answers make.

    An answer whose layers were not told apart is left out: its outputs are others. So is one that is scripted: it takes as long as all the rest.
    """
    challenge = exam.challenge
    reference = content_trail(exam, solution(challenge), str(challenge.solutions / "solution.py"))
    if reference is None:
        return []
    # Names are the reference's to give; numbers count only where no output is a tensor.
    purpose: Purpose = "tensors" if reference.made_by else "lines"
    sources = {str(path): read_text(path) for path in also_right(challenge)}
    others = (
        content_trail(exam, source, path, purpose)
        for path, source in sources.items()
        if "torch.jit" not in source
    )
    return [
        reference,
        *(trail for trail in others if trail is not None and _same_outputs(trail, reference)),
    ]


def _same_outputs(one: Trail, other: Trail) -> bool:
    pairs = [
        (one.steps[number].value, other.steps[other.made_by[name]].value)
        for name, number in one.made_by.items()
        if name in other.made_by
    ]
    return all(
        mine is None or its is None or (mine.shape == its.shape and equal(mine, its))
        for mine, its in pairs
    )
