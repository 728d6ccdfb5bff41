"""The bank of known mistakes: the reference with each of them patched in, and what it gives on the cases.

Everything here is the pack's own content, so it runs in the grader; what has been computed is kept for the next submission.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from trainer.content.mistakes import read_mistakes, read_styles, replaced
from trainer.content.packs import solution
from trainer.core.report import Report
from trainer.core.words import Mistake
from trainer.grading.checks_load import REFUSALS
from trainer.grading.diagnosis.layout import LAYOUTS, features
from trainer.grading.diagnosis.trail import Trail, content_trail, right_trails
from trainer.grading.evidence import Evidence
from trainer.grading.exam import Exam, load_module
from trainer.grading.judge import judge
from trainer.running.attempts import Attempts
from trainer.running.counting import tensors_in
from trainer.running.execution import Given, build
from trainer.running.protocol import DTYPES, Failure, Purpose
from trainer.running.returns import plain_value
from trainer.running.run import Ended
from trainer.running.trial import Hooks, Kept, Trial, laid_out

PATH = "solution.py"
Ids = tuple[str, ...]
_Key = tuple[tuple[int, ...], bool, str]
# Of what has been graded, so much is kept: a case or a few, as most questions are about.
_MOST_KEPT, _MOST_KEPT_CASES = 300, 16
_MOST_TRAILS = 30  # each of them holds all that a call makes
_LASTING = (
    "passed",
    "failed",
    "not-allowed",
)  # verdicts that do not depend on how busy the machine was


@dataclass(frozen=True)
class Behaviour:
    """What one call of one case came to.

    failure  the exception, as `type: message`, or None
    outputs  tensors, and the text of what is none
    """

    failure: str | None
    outputs: Mapping[str, Tensor | str]


class Bank:
    """The known mistakes of one exam. `look_up` is called before every run, and may raise to end the search."""

    def __init__(self, exam: Exam, look_up: Callable[[], None] = lambda: None) -> None:
        self.exam, self._look_up = exam, look_up
        self.source = solution(exam.challenge)
        self.mistakes: dict[str, Mistake] = {one.id: one for one in read_mistakes(exam.challenge)}
        self._styles: dict[str, Mistake] = {one.id: one for one in read_styles(exam.challenge)}
        self._sources: dict[Ids, str | None] = {}
        self._codes: dict[Ids, CodeType | None] = {}
        self._behaviours: dict[tuple[Ids, int], Behaviour | None] = {}
        self._trails: dict[tuple[int, Purpose], Trail | None] = {}
        self._mistaken: dict[tuple[Ids, int], Trail | None] = {}
        self._nudged: dict[int, Ended] = {}
        self._rights: dict[int, list[Trail]] = {}
        self._graded: dict[_Key, tuple[Evidence, Report]] = {}
        self._reports: dict[_Key, Report] = {}
        self._attempts = Attempts(PATH)

    def on(self, exam: Exam) -> Bank:
        """The same mistakes on another exam of the challenge."""
        other = copy.copy(self)
        other.exam, other._behaviours, other._trails, other._mistaken, other._rights = (
            exam,
            {},
            {},
            {},
            {},
        )
        other._nudged, other._graded, other._reports = {}, {}, {}
        return other

    def trail(self, number: int, purpose: Purpose) -> Trail | None:
        """What the reference makes in one case; None where it raises. As long as the exam, so that a class's submissions share it."""
        key = number, purpose
        if key not in self._trails:
            self._trails[key] = content_trail(self.exam.only([number]), self.source, PATH, purpose)
        return self._trails[key]

    def mistaken_trail(self, ids: Ids, number: int) -> Trail | None:
        """What the reference with these mistakes makes in one case; None where it raises."""
        key = ids, number
        if key not in self._mistaken:
            source = self.patched(ids)
            _drop_oldest(self._mistaken, _MOST_TRAILS)
            self._mistaken[key] = (
                None if source is None else content_trail(self.exam.only([number]), source, PATH)
            )
        return self._mistaken[key]

    def nudged(self, number: int, nudged: Exam) -> Ended:
        """What the reference makes of one case whose values are nudged one after another."""
        if number not in self._nudged:
            self._nudged[number] = self.run(nudged, self.source, "outputs")
        return self._nudged[number]

    def rights(self, number: int) -> list[Trail]:
        """What the reference makes in one case, then what the pack's other right answers make."""
        if number not in self._rights:
            self._rights[number] = right_trails(self.exam.only([number]))
        return self._rights[number]

    def styles(self, ids: Ids) -> Iterator[Ids]:
        """The same mistakes in every other style of the reference."""
        return (other for style in self._styles if self.patched(other := (*ids, style)) is not None)

    def patched(self, ids: Ids) -> str | None:
        """The reference with these mistakes; None where they cannot be made together."""
        if ids not in self._sources:
            self._sources[ids] = self._patch(ids)
        return self._sources[ids]

    def _patch(self, ids: Ids) -> str | None:
        if not ids:
            return self.source
        before = self.patched(ids[:-1])
        mistake = self.mistakes.get(ids[-1]) or self._styles[ids[-1]]
        if len(ids) == 1:
            return replaced(
                self.source, mistake, str(self.exam.challenge.solutions / "mistakes.toml")
            )
        return (
            before.replace(mistake.was, mistake.now)
            if before is not None and before.count(mistake.was) == 1
            else None
        )

    def lines(self, mistake: str) -> range:
        """The reference's lines that a mistake changes."""
        was = self.mistakes[mistake].was
        first = self.source.count("\n", 0, self.source.index(was)) + 1
        return range(first, first + was.count("\n") + 1)

    def namespace(self, ids: Ids) -> dict[str, Any] | None:
        """The names that the patched reference defines, imported anew: a mistake may keep something between calls."""
        source = self.patched(ids)
        if ids not in self._codes:
            try:
                self._codes[ids] = None if source is None else compile(source, PATH, "exec")
            except SyntaxError:  # two patches that do not fit together
                self._codes[ids] = None
        code = self._codes[ids]
        if code is None:
            return None
        names: dict[str, Any] = {"__name__": "reference", "__file__": PATH}
        try:
            exec(code, names)
        except Exception:  # it behaves like nothing that can be compared
            return None
        return names

    @property
    def ran(self) -> int:
        """How many cases have been run."""
        return len(self._behaviours)

    def behaviour(self, ids: Ids, number: int) -> Behaviour | None:
        """What the patched reference gives on a case; None where its weights cannot be given to it."""
        key = (ids, number)
        if key not in self._behaviours:
            self._look_up()
            self._seed()
            self._behaviours[key] = self._behave(ids, number)
        return self._behaviours[key]

    def _behave(self, ids: Ids, number: int) -> Behaviour | None:
        namespace = self.namespace(ids)
        if namespace is None:
            return None
        implementation, failure = self.built(namespace, number)
        if implementation is None:
            return None if failure is None else _raised(failure)
        return self._call(implementation, number)

    def figures(self, ids: Ids, number: int) -> set[tuple[float, ...]]:
        """The figures of all that the patched reference computes on a case; changes of layout, which leave them as they are, are left out."""
        namespace = self.namespace(ids)
        if namespace is None:
            return set()
        implementation, _ = self.built(namespace, number)
        seen = _Figures()
        with seen:
            self._call(implementation, number)
        return seen.figures

    def is_random(self, ids: Ids, number: int) -> bool:
        """Whether another call on the same inputs gives other values."""
        first, namespace = self.behaviour(ids, number), self.namespace(ids)
        if first is None or namespace is None:
            return False
        self._seed(1)
        implementation, _ = self.built(namespace, number)
        second = self._call(implementation, number)
        return any(
            isinstance(value, Tensor)
            and isinstance(other, Tensor)
            and not torch.equal(value.nan_to_num(), other.nan_to_num())
            for name, value in first.outputs.items()
            for other in (second.outputs.get(name),)
        )

    def takes_otherwise(self, ids: Ids) -> bool:
        """Whether any of its functions has other arguments than the reference's."""
        source = self.patched(ids)
        return source is not None and _arguments(source) != _arguments(self.source)

    def is_built_otherwise(self, ids: Ids, number: int) -> bool:
        """Whether its parameters are not the reference's in a case, or it cannot be built there."""
        namespace = self.namespace(ids)
        return namespace is not None and self.built(namespace, number)[0] is None

    def refuses(self, ids: Ids) -> tuple[str, ...]:
        """What comes of the constructor arguments that must be refused, in the words of `refusal`."""
        namespace = self.namespace(ids) or {}
        entry = namespace.get(self.exam.challenge.entry[0])
        if entry is None:
            return ()
        return tuple(
            refusal(self._attempts.attempt("construct", partial(entry, **init))[1])
            for init in self.exam.asked("grade")[0].refusals
        )

    def built(self, namespace: dict[str, Any], number: int) -> tuple[Any, Failure | None]:
        """What `drive` calls in a case, with the case's weights, or what its constructor raised; (None, None) where its parameters are others."""
        request, tensors = self.exam.asked("grade")
        run = request.runs[number]
        implementation, failure = self._attempts.attempt(
            "construct",
            lambda: build(
                namespace, request.kind, request.entry, run.init, DTYPES[run.dtype], run.mode
            ),
        )
        if isinstance(implementation, nn.Module):
            own = dict(implementation.named_parameters())
            if {name: value.shape for name, value in own.items()} != {
                name: tensors[index].shape for name, index in run.parameters.items()
            }:
                return None, None
            with torch.no_grad():
                for name, index in run.parameters.items():
                    own[name].copy_(tensors[index])
        return implementation, failure

    def run(self, exam: Exam, source: str, purpose: Purpose, draw: int = 0) -> Ended:
        """Content of the pack in all cases of an exam; `draw`: which of many, where it draws at random."""
        self._look_up()
        self._seed(draw)
        request, tensors = exam.asked(purpose)
        kept = Kept()
        trial = Trial(request, tensors, Attempts(PATH), kept, Hooks())
        trial.run_all(load_module("content", PATH, source), exam.drive)
        trial.reply.signatures = {one.name: None for one in exam.signatures}  # nobody has looked
        return Ended("replied", trial.reply, kept.tensors)

    def graded(self, exam: Exam, source: str) -> tuple[Evidence, Report]:
        """Content of the pack, judged by what it does; nothing is forbidden to it, and its arguments are not looked at."""
        key = self._key(exam, source)
        if key is None or key not in self._graded:
            evidence = Evidence(exam, self.run(exam, source, "grade"))
            found = evidence, judge(evidence, PATH, 0.0)
            if key is None or len(key[0]) > _MOST_KEPT_CASES:
                return found
            _drop_oldest(self._graded, _MOST_KEPT)
            self._graded[key] = found
        return self._graded[key]

    def report(
        self, exam: Exam, source: str, grade: Callable[[Exam, str], tuple[Evidence, Report]]
    ) -> Report:
        """What a worker's grading of the pack's content comes to; `grade` does it where that is not known yet."""
        key = self._key(exam, source)
        if key is not None and key in self._reports:
            return self._reports[key]
        found = grade(exam, source)[1]
        if key is not None and found.verdict in _LASTING:
            self._reports[key] = found
        return found

    def _key(self, exam: Exam, source: str) -> _Key | None:
        """Which of this exam's cases, in which source; None for cases of another exam."""
        numbers = {id(case): number for number, case in enumerate(self.exam.cases)}
        found = tuple(numbers.get(id(case), -1) for case in exam.cases)
        return (
            None
            if -1 in found or exam.seed != self.exam.seed
            else (found, bool(exam.refusals), source)
        )

    def _seed(self, more: int = 0) -> None:
        """What is drawn at random depends on the exam alone, not on what was asked before."""
        torch.default_generator.manual_seed(self.exam.seed + more)

    def _call(self, implementation: Any, number: int) -> Behaviour:
        request, tensors = self.exam.asked("grade")
        run = request.runs[number]
        given = Given(laid_out(run, run.inputs, tensors), run.sizes)
        with torch.no_grad():
            outputs, failure = self._attempts.attempt(
                "forward", lambda: self.exam.drive(implementation, given)
            )
        if failure is not None:
            return _raised(failure)
        return Behaviour(
            None,
            {
                name: value.detach() if isinstance(value, Tensor) else ": ".join(plain_value(value))
                for name, value in outputs.items()
            },
        )


def _drop_oldest(kept: dict[Any, Any], most: int) -> None:
    """Make room for one more."""
    if len(kept) >= most:
        del kept[next(iter(kept))]


def refusal(failure: Failure | None) -> str:
    """Whether constructor arguments were accepted, refused as they should be, or refused with another exception."""
    if failure is None:
        return "accepted"
    return "refused" if failure.type in REFUSALS else failure.type


def _raised(failure: Failure) -> Behaviour:
    return Behaviour(f"{failure.type}: {failure.message}", {})


class _Figures(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's __init_subclass__ has no types
    """While active, notes the figures of what is computed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # nor has its __init__
        self.figures: set[tuple[float, ...]] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: to be skipped by dynamo would import it, which takes 0.7 s."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and note the figures of its results."""
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ not in LAYOUTS:
            self.figures.update(
                found for tensor in tensors_in(result) if (found := features(tensor)) is not None
            )
        return result


def _arguments(source: str) -> list[str]:
    return [
        ast.dump(node.args)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    ]
