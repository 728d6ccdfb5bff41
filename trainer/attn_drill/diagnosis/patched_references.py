"""Patch known mistakes into the reference, and run it on the cases.

The patched references are content of the pack, so they may run in the grader's own process. The
results are kept for the next submission.
"""

from __future__ import annotations

import ast
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import wraps
from types import CodeType
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn

from attn_drill.diagnosis._source_lines import Growth, growth
from attn_drill.diagnosis._value_graph import (
    ValueGraph,
    content_graph,
    graphs_of,
    right_graphs,
)
from attn_drill.grading.case_set import CaseSet, Purpose
from attn_drill.grading.checks_load import accepted_types
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.content import load_module
from attn_drill.grading.judge import judge
from attn_drill.model.case import Refusal
from attn_drill.model.challenge import Mistake
from attn_drill.model.errors import PackError
from attn_drill.model.report import Report
from attn_drill.packs.mistakes import lines_of, read_mistakes, replaced
from attn_drill.worker.arguments import adapted
from attn_drill.worker.case_runner import CaseRunner, Hooks, KeptTensors, laid_out
from attn_drill.worker.execution import Given, GuardedCall, build
from attn_drill.worker.layer_matching import shapes_of
from attn_drill.worker.protocol import DTYPES, CallFailure
from attn_drill.worker.returns import as_tuple, describe, plain_value
from attn_drill.worker.worker_client import WorkerResult

PATH = "solution.py"
Ids = tuple[str, ...]  # of mistakes
FINITE_FILL = "finite fill"  # an id that stands for a finite fill instead of -inf
Graded = tuple[Comparison, Report]
_MINUS_INFINITY = re.compile(r"""float\(["']-inf["']\)|-(math|torch)\.inf\b""")
_Method = TypeVar("_Method", bound=Callable[..., Any])
# Verdicts that do not depend on machine load.
_LASTING = ("passed", "failed", "not-allowed")


@dataclass(frozen=True)
class Behaviour:
    """The result of one call in one case."""

    failure: str | None  # the exception as `type: message`, or None
    # Tensors by name; other outputs as text.
    outputs: Mapping[str, Tensor | str]
    draws: bool = False  # whether the call drew random numbers


@contextmanager
def silence() -> Iterator[None]:
    """Hide the output of right answers and of mistakes, which run in this process.

    A right answer may print. A mistake may make layers without entries, and torch warns about
    these layers.
    """
    with (
        warnings.catch_warnings(),
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def kept(most: int) -> Callable[[_Method], _Method]:
    """Keep the last results of a method in its object, which frees them when it dies."""

    def decorate(method: _Method) -> _Method:
        @wraps(method)
        def kept_or_new(self: object, *arguments: Any) -> Any:
            results = self.__dict__.setdefault(f"results of {method.__name__}", {})
            if arguments not in results:
                if len(results) >= most:
                    del results[next(iter(results))]
                results[arguments] = method(self, *arguments)
            return results[arguments]

        return cast(_Method, kept_or_new)

    return decorate


class PatchedReferences:
    """The reference with any known mistakes, on the cases of one set.

    Args:
        check_interrupt: called before every run; may raise an exception to end the search.
    """

    def __init__(self, case_set: CaseSet, check_interrupt: Callable[[], None]) -> None:
        self.case_set = case_set
        self.source = case_set.content.reference_source
        self.mistakes: dict[str, Mistake] = {
            mistake.id: mistake for mistake in read_mistakes(case_set.challenge)
        }
        self.case_count = 0  # of the cases that were run for their behaviour
        self._check_interrupt = check_interrupt
        self._reports: dict[Ids, Report] = {}

    @kept(most=10_000)
    def patched(self, ids: Ids) -> str | None:
        """Return the reference with these mistakes; None if they cannot be patched together."""
        if not ids:
            return self.source
        before = self.patched(ids[:-1])
        if before is None:
            return None
        if ids[-1] == FINITE_FILL:
            filled = _MINUS_INFINITY.sub("-1e9", before)
            return None if filled == before else filled
        try:
            return replaced(before, self.mistakes[ids[-1]], PATH)
        except PackError:
            if len(ids) == 1:
                raise
            return None

    def lines(self, mistake: str) -> range:
        return lines_of(self.source, self.mistakes[mistake])

    def only_candidate(self, candidates: Sequence[Ids]) -> Ids:
        """Return the only candidate, or the first if all others are its twins; else ()."""
        if not candidates:
            return ()
        first, *others = candidates
        are_twins = all(first[0] in self.mistakes[ids[0]].twins for ids in others)
        return first if are_twins else ()

    @kept(most=10_000)
    def _code(self, ids: Ids) -> CodeType | None:
        source = self.patched(ids)
        try:
            return None if source is None else compile(source, PATH, "exec", dont_inherit=True)
        except SyntaxError:  # the two patches do not fit together
            return None

    def namespace(self, ids: Ids) -> dict[str, Any] | None:
        """Import the patched reference again; None if it cannot be imported.

        Each use needs a new import, because a mistake may keep state between calls.
        """
        code = self._code(ids)
        names: dict[str, Any] = {"__name__": "reference", "__file__": PATH}
        try:
            if code is not None:
                exec(code, names)
        except Exception:
            return None
        return None if code is None else names

    def has_other_arguments(self, ids: Ids) -> bool:
        """Return whether a function has other arguments than in the reference."""
        arguments, right_arguments = (
            [
                ast.dump(node.args)
                for node in ast.walk(ast.parse(source or ""))
                if isinstance(node, ast.FunctionDef)
            ]
            for source in (self.patched(ids), self.source)
        )
        return arguments != right_arguments

    # Runs of one case

    @kept(most=100_000)
    def behaviour(self, ids: Ids, index: int) -> Behaviour | None:
        """Return the behaviour of the patched reference; None if the case's weights do not fit."""
        self._check_interrupt()
        self.case_count += 1
        names = self.namespace(ids)
        return None if names is None else behave(names, self.case_set, index)

    def has_other_parameters(self, ids: Ids, index: int) -> bool:
        """Return whether the patched reference cannot be built with the reference's parameters."""
        names = self.namespace(ids)
        return names is not None and _built(names, self.case_set, index)[0] is None

    @kept(most=10_000)
    def refusals(self, ids: Ids) -> tuple[str, ...]:
        """Return the result of each call that must be refused, as `refusal` names it."""
        try:
            result = self.run(replace(self.case_set, prepared=()), self.patched(ids) or "", "grade")
        except PackError:
            return ()
        return refusals(Comparison(self.case_set, result))

    def refuses_alike(self, ids: Ids, comparison: Comparison) -> bool:
        """Return whether mistakes refuse and accept the same calls as a compared submission."""
        results = refusals(comparison)
        return not results or self.refusals(ids) == results

    @kept(most=60)  # each graph holds all values of a call
    def graph(self, ids: Ids, index: int, purpose: Purpose = "lines") -> ValueGraph | None:
        """Return the graph of the patched reference in one case; None if it raises an exception."""
        source = self.patched(ids)
        alone = self.case_set.select([index])
        return None if source is None else content_graph(alone, source, PATH, purpose)

    @kept(most=1000)
    def right_graphs(self, index: int) -> list[ValueGraph]:
        """Return the graphs of one case: of the reference, then of the other right answers."""
        return right_graphs(self.case_set.select([index]))

    @kept(most=300)
    def loop_growth(self, ids: Ids, index: int) -> Growth:
        """Return the lines that run more often in the larger case of a growth probe."""
        pair = self.case_set.select([index])
        return growth(graphs_of(self.run(pair, self.patched(ids) or "", "lines")))

    # Runs of several cases

    def run(self, case_set: CaseSet, source: str, purpose: Purpose) -> WorkerResult:
        """Run the text of a right answer or of a patched reference on all cases of a set."""
        self._check_interrupt()
        request, tensors = case_set.decoded_request(purpose)
        torch.default_generator.manual_seed(request.random_seed)
        kept_tensors = KeptTensors()
        runner = CaseRunner(request, tensors, GuardedCall(PATH), kept_tensors, Hooks())
        runner.run_all(load_module("content", PATH, source), case_set.content.drive)
        # The signatures were not read. None means that a signature is unknown.
        signatures = case_set.content.signatures
        runner.reply.signatures = {signature.name: None for signature in signatures}
        return WorkerResult("replied", runner.reply, kept_tensors.tensors)

    @kept(most=300)
    def graded(self, ids: Ids, indices: tuple[int, ...]) -> Graded:
        """Judge the patched reference in some cases, without the check for forbidden calls."""
        case_set = self.case_set.select(indices)
        comparison = Comparison(case_set, self.run(case_set, self.patched(ids) or "", "grade"))
        return comparison, judge(comparison, PATH, 0.0)

    def report(self, ids: Ids, grade: Callable[[CaseSet, str], Graded]) -> Report:
        """Return the report of the patched reference in all cases, from `grade` in a worker."""
        if ids in self._reports:
            return self._reports[ids]
        _, report = grade(self.case_set, self.patched(ids) or "")
        if report.verdict in _LASTING:
            self._reports[ids] = report
        return report


def behave(names: dict[str, Any], case_set: CaseSet, index: int) -> Behaviour | None:
    """Return the behaviour of right or patched code; None if the case's weights do not fit.

    Args:
        names: the names that the code defines. One call may change them.
    """
    implementation, failure = _built(names, case_set, index)
    if implementation is None:
        return None if failure is None else _raised(failure)
    request, tensors = case_set.decoded_request("grade")
    run = request.runs[index]
    inputs = Given(laid_out(run, run.inputs, tensors), run.sizes)
    drive = adapted(case_set.content.drive, request.entry, request.signatures)
    # The worker has the same seed, so the same draws give the same values.
    torch.default_generator.manual_seed(request.random_seed)
    with torch.no_grad():
        outputs, failure = GuardedCall(PATH).call("forward", lambda: drive(implementation, inputs))
    if failure is not None:
        return _raised(failure)
    described: dict[str, Tensor | str] = {}
    for name, value in outputs.items():
        plain, text = plain_value(value)
        if isinstance(value, Tensor):
            described[name] = value.detach()
        else:
            described[name] = f"{plain}: {text}" if plain else as_tuple(describe(value))
    generator = torch.default_generator
    # `drive` may have set another seed.
    fresh = torch.Generator().manual_seed(generator.initial_seed())
    draws = not torch.equal(fresh.get_state(), generator.get_state())
    return Behaviour(None, described, draws)


def _built(names: dict[str, Any], case_set: CaseSet, index: int) -> tuple[Any, CallFailure | None]:
    """Return the object that `drive` calls in a case, with the case's weights, or its failure.

    (None, None) means that the object has other parameters than the reference.
    """
    request, tensors = case_set.decoded_request("grade")
    run = request.runs[index]
    torch.default_generator.manual_seed(request.random_seed)

    def construct() -> Any:
        arguments = request.kind, request.entry, run.init, DTYPES[run.dtype], run.mode
        return build(names, *arguments, request.signatures, request.ties)

    implementation, failure = GuardedCall(PATH).call("construct", construct)
    if isinstance(implementation, nn.Module):
        parameters = dict(implementation.named_parameters())
        expected = {name: tensors[tensor_id] for name, tensor_id in run.parameters.items()}
        if shapes_of(parameters) != shapes_of(expected):
            return None, None
        with torch.no_grad():
            for name, value in expected.items() if not run.initial else ():
                parameters[name].copy_(value)
    return implementation, failure


def refusals(comparison: Comparison) -> tuple[str, ...]:
    """Return the result of each call that must be refused, as `refusal` names it."""
    pairs = zip(comparison.reply.refusals, comparison.case_set.refusals, strict=False)
    return tuple(refusal(failure, declared) for failure, declared in pairs)


def refusal(failure: CallFailure | None, declared: Refusal) -> str:
    """Return "accepted" or "refused", or the type of an exception that is not a refusal."""
    if failure is None:
        return "accepted"
    return "refused" if failure.type in accepted_types(declared) else failure.type


def _raised(failure: CallFailure) -> Behaviour:
    return Behaviour(f"{failure.type}: {failure.message}", {})
