"""Patch known mistakes into the reference, and run it on the cases.

The patched references are content of the pack, so they may run in the grader's own process. The
results are kept for the next submission.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any

import torch
from torch import Tensor, nn

from attn_drill.diagnosis.value_graph import ValueGraph, content_graph, right_graphs
from attn_drill.grading.calls import Purpose
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.challenge_content import load_module
from attn_drill.grading.checks_load import accepted_types
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.judge import judge
from attn_drill.model.case import Refusal
from attn_drill.model.challenge import Mistake
from attn_drill.model.errors import PackError
from attn_drill.model.report import Report
from attn_drill.packs.mistakes import lines_of, read_mistakes, replaced
from attn_drill.worker.arguments import adapted, call_entry
from attn_drill.worker.case_runner import CaseRunner, Hooks, KeptTensors, laid_out
from attn_drill.worker.execution import Given, build
from attn_drill.worker.guarded_call import GuardedCall
from attn_drill.worker.protocol import DTYPES, CallFailure, RefusedCall, Request, fill
from attn_drill.worker.returns import as_tuple, describe, plain_value
from attn_drill.worker.worker_client import WorkerResult

PATH = "solution.py"
Ids = tuple[str, ...]  # of mistakes
FINITE_FILL = "finite fill"  # an id that stands for a finite fill instead of -inf
Graded = tuple[Comparison, Report]
_Key = tuple[tuple[int, ...], bool, str]
# Only gradings of at most 16 cases are kept, because most questions are about a few cases.
_MOST_KEPT, _MOST_KEPT_CASES = 300, 16
_MINUS_INFINITY = re.compile(r"""float\(["']-inf["']\)|-(math|torch)\.inf\b""")
_MOST_GRAPHS = 30  # each graph holds all values of a call
_LASTING = ("passed", "failed", "not-allowed")  # verdicts that do not depend on machine load


@dataclass(frozen=True)
class Behaviour:
    """The result of one call in one case.

    Attributes:
        failure: the exception as `type: message`, or None.
        outputs: tensors by name; other outputs as text.
        draws: whether the call drew random numbers.
    """

    failure: str | None
    outputs: Mapping[str, Tensor | str]
    draws: bool = False


class PatchedReferences:
    """The reference with any known mistakes, on the cases of one set.

    Args:
        case_set: the cases.
        check_interrupt: called before every run; may raise an exception to end the search.
    """

    def __init__(self, case_set: CaseSet, check_interrupt: Callable[[], None]) -> None:
        challenge = case_set.challenge
        self.source = case_set.content.reference_source
        self.mistakes: dict[str, Mistake] = {known.id: known for known in read_mistakes(challenge)}
        self._sources: dict[Ids, str | None] = {}
        self._codes: dict[Ids, CodeType | None] = {}
        self._guarded = GuardedCall(PATH)
        self._check_interrupt = check_interrupt
        self._set_cases(case_set)

    def _set_cases(self, case_set: CaseSet) -> None:
        self.case_set = case_set
        self._behaviours: dict[tuple[Ids, int], Behaviour | None] = {}
        self._refusals: dict[Ids, tuple[str, ...]] = {}
        self._graphs: dict[tuple[int, Purpose], ValueGraph | None] = {}
        self._mistaken: dict[tuple[Ids, int], ValueGraph | None] = {}
        self._right: dict[int, list[ValueGraph]] = {}
        self._graded: dict[_Key, Graded] = {}
        self._reports: dict[_Key, Report] = {}

    def on_cases(self, case_set: CaseSet) -> PatchedReferences:
        """Return the same patched references for other cases of the challenge."""
        other = copy.copy(self)
        other._set_cases(case_set)
        return other

    # Sources

    def patched(self, ids: Ids) -> str | None:
        """Return the reference with these mistakes; None if they cannot be patched together."""
        if ids not in self._sources:
            self._sources[ids] = self._patch(ids)
        return self._sources[ids]

    def _patch(self, ids: Ids) -> str | None:
        if not ids:
            return self.source
        before = self.patched(ids[:-1])
        if ids[-1] == FINITE_FILL:
            filled = None if before is None else _MINUS_INFINITY.sub("-1e9", before)
            return None if filled == before else filled
        mistake = self.mistakes[ids[-1]]
        try:
            return None if before is None else replaced(before, mistake, PATH)
        except PackError:
            if len(ids) == 1:
                raise
            return None

    def lines(self, mistake: str) -> range:
        """Return the reference's lines that a mistake changes."""
        return lines_of(self.source, self.mistakes[mistake])

    def only_candidate(self, candidates: Sequence[Ids]) -> Ids:
        """Return the only candidate, or the first if all others are its twins; else ()."""
        if not candidates:
            return ()
        first, *others = candidates
        are_twins = all(first[0] in self.mistakes[ids[0]].twins for ids in others)
        return first if are_twins else ()

    def namespace(self, ids: Ids) -> dict[str, Any] | None:
        """Import the patched reference again; None if it cannot be imported.

        Each use needs a new import, because a mistake may keep state between calls.
        """
        source = self.patched(ids)
        if ids not in self._codes:
            try:
                self._codes[ids] = (
                    None if source is None else compile(source, PATH, "exec", dont_inherit=True)
                )
            except SyntaxError:  # the two patches do not fit together
                self._codes[ids] = None
        code = self._codes[ids]
        if code is None:
            return None
        names: dict[str, Any] = {"__name__": "reference", "__file__": PATH}
        try:
            exec(code, names)
        except Exception:  # there is no behaviour to compare
            return None
        return names

    def has_other_arguments(self, ids: Ids) -> bool:
        """Return whether a function has other arguments than in the reference."""
        source = self.patched(ids)
        return source is not None and _arguments(source) != _arguments(self.source)

    # Runs of one case

    @property
    def case_count(self) -> int:
        """The number of cases that have been run."""
        return len(self._behaviours)

    def behaviour(self, ids: Ids, index: int) -> Behaviour | None:
        """Return the behaviour of the patched reference in a case.

        Returns None if the weights of the case cannot be loaded into it.
        """
        key = (ids, index)
        if key not in self._behaviours:
            self._check_interrupt()
            self._behaviours[key] = self._behave(ids, index)
        return self._behaviours[key]

    def _behave(self, ids: Ids, index: int) -> Behaviour | None:
        namespace = self.namespace(ids)
        if namespace is None:
            return None
        implementation, failure = self._built(namespace, index)
        if implementation is None:
            return None if failure is None else _raised(failure)
        return self._call(implementation, index)

    def has_other_parameters(self, ids: Ids, index: int) -> bool:
        """Return whether the patched reference cannot be built with the reference's parameters."""
        namespace = self.namespace(ids)
        return namespace is not None and self._built(namespace, index)[0] is None

    def refusals(self, ids: Ids) -> tuple[str, ...]:
        """Return the result of each call that must be refused, as `refusal` names it."""
        if ids not in self._refusals:
            self._refusals[ids] = self._results_of_refusals(ids)
        return self._refusals[ids]

    def refuses_alike(self, ids: Ids, comparison: Comparison) -> bool:
        """Return whether mistakes refuse and accept the same calls as a compared submission."""
        pairs = zip(comparison.reply.refusals, comparison.case_set.refusals, strict=False)
        refusals = tuple(refusal(failure, declared) for failure, declared in pairs)
        return not refusals or self.refusals(ids) == refusals

    def _results_of_refusals(self, ids: Ids) -> tuple[str, ...]:
        namespace = self.namespace(ids) or {}
        request, tensors = self.case_set.decoded_request("grade")
        found = []
        for refused, declared in zip(request.refusals, self.case_set.refusals, strict=True):
            if refused.call not in namespace:
                return ()
            arguments = {name: fill(value, tensors) for name, value in refused.arguments.items()}
            call = partial(self._refused, namespace, refused, arguments)
            found.append(refusal(self._guarded.call("construct", call)[1], declared))
        return tuple(found)

    def _refused(
        self, namespace: dict[str, Any], refused: RefusedCall, arguments: dict[str, Any]
    ) -> None:
        """Make a call that must be refused."""
        kind, entry = self.case_set.challenge.kind, self.case_set.challenge.entry
        if refused.init is None:
            call_entry(namespace, kind, refused.call, arguments)
            return
        module = build(namespace, kind, entry, refused.init, torch.float32, "eval")
        self.case_set.content.drive(module, Given(arguments, {}))

    def _built(self, namespace: dict[str, Any], index: int) -> tuple[Any, CallFailure | None]:
        """Return the object that `drive` calls in a case, with the case's weights, or its failure.

        (None, None) means that the object has other parameters than the reference.
        """
        request, tensors = self.case_set.decoded_request("grade")
        run = request.runs[index]
        _seed(request)
        implementation, failure = self._guarded.call(
            "construct",
            lambda: build(
                namespace,
                request.kind,
                request.entry,
                run.init,
                DTYPES[run.dtype],
                run.mode,
                request.signatures,
                request.ties,
            ),
        )
        if isinstance(implementation, nn.Module):
            own = dict(implementation.named_parameters())
            expected = {name: tensors[tensor_id] for name, tensor_id in run.parameters.items()}
            if _shapes(own) != _shapes(expected):
                return None, None
            with torch.no_grad():
                for name, value in expected.items() if not run.initial else ():
                    own[name].copy_(value)
        return implementation, failure

    def _call(self, implementation: Any, index: int) -> Behaviour:
        request, tensors = self.case_set.decoded_request("grade")
        run = request.runs[index]
        given = Given(laid_out(run, run.inputs, tensors), run.sizes)
        drive = adapted(self.case_set.content.drive, request.entry, request.signatures)
        _seed(request)
        state = torch.default_generator.get_state()
        with torch.no_grad():
            outputs, failure = self._guarded.call("forward", lambda: drive(implementation, given))
        if failure is not None:
            return _raised(failure)
        found: dict[str, Tensor | str] = {}
        for name, value in outputs.items():
            plain, text = plain_value(value)
            if isinstance(value, Tensor):
                found[name] = value.detach()
            else:
                found[name] = f"{plain}: {text}" if plain else as_tuple(describe(value))
        draws = not torch.equal(state, torch.default_generator.get_state())
        return Behaviour(None, found, draws)

    # Recorded runs of one case

    def graph(self, index: int, purpose: Purpose) -> ValueGraph | None:
        """Return the graph of the reference in one case; None if the reference raises."""
        key = index, purpose
        if key not in self._graphs:
            alone = self.case_set.only([index])
            self._graphs[key] = content_graph(alone, self.source, PATH, purpose)
        return self._graphs[key]

    def mistaken_graph(self, ids: Ids, index: int) -> ValueGraph | None:
        """Return the graph of the patched reference in one case; None if it raises an exception."""
        key = ids, index
        if key not in self._mistaken:
            source, alone = self.patched(ids), self.case_set.only([index])
            _drop_oldest(self._mistaken, _MOST_GRAPHS)
            self._mistaken[key] = None if source is None else content_graph(alone, source, PATH)
        return self._mistaken[key]

    def right_graphs(self, index: int) -> list[ValueGraph]:
        """Return the graphs of one case: of the reference, then of the other right answers."""
        if index not in self._right:
            self._right[index] = right_graphs(self.case_set.only([index]))
        return self._right[index]

    # Runs of several cases

    def run(self, case_set: CaseSet, source: str, purpose: Purpose) -> WorkerResult:
        """Run content of the pack on all cases of a set.

        Args:
            case_set: the cases.
            source: the text of a patched reference or of a right answer.
            purpose: what the run records.
        """
        self._check_interrupt()
        request, tensors = case_set.decoded_request(purpose)
        _seed(request)
        kept_tensors = KeptTensors()
        runner = CaseRunner(request, tensors, GuardedCall(PATH), kept_tensors, Hooks())
        runner.run_all(load_module("content", PATH, source), case_set.content.drive)
        # The signatures were not read. None means that a signature is unknown.
        signatures = case_set.content.signatures
        runner.reply.signatures = {signature.name: None for signature in signatures}
        return WorkerResult("replied", runner.reply, kept_tensors.tensors)

    def graded(self, case_set: CaseSet, source: str) -> Graded:
        """Judge content of the pack by its results, without the check for forbidden calls."""
        key = self._key(case_set, source)
        if key is not None and key in self._graded:
            return self._graded[key]
        comparison = Comparison(case_set, self.run(case_set, source, "grade"))
        graded = comparison, judge(comparison, PATH, 0.0)
        if key is not None and len(key[0]) <= _MOST_KEPT_CASES:
            _drop_oldest(self._graded, _MOST_KEPT)
            self._graded[key] = graded
        return graded

    def report(
        self, case_set: CaseSet, source: str, grade: Callable[[CaseSet, str], Graded]
    ) -> Report:
        """Return the report of content of the pack that runs in a worker.

        Args:
            case_set: the cases.
            source: the text of a patched reference.
            grade: runs and judges the content if its report is not known yet.
        """
        key = self._key(case_set, source)
        if key is not None and key in self._reports:
            return self._reports[key]
        _, report = grade(case_set, source)
        if key is not None and report.verdict in _LASTING:
            self._reports[key] = report
        return report

    def _key(self, case_set: CaseSet, source: str) -> _Key | None:
        """Return a key for these cases and this source; None for cases of another set."""
        places = {prepared: index for index, prepared in enumerate(self.case_set.prepared)}
        found = tuple(places.get(prepared, -1) for prepared in case_set.prepared)
        return None if -1 in found else (found, bool(case_set.refusals), source)


def _seed(request: Request) -> None:
    """Seed random draws as the worker does, so that the same draws give the same values."""
    torch.default_generator.manual_seed(request.random_seed)


def _drop_oldest(entries: dict[Any, Any], most: int) -> None:
    """Make room for another entry."""
    if len(entries) >= most:
        del entries[next(iter(entries))]


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def refusal(failure: CallFailure | None, declared: Refusal) -> str:
    """Return "accepted" or "refused", or the type of an exception that is not a refusal.

    Args:
        failure: the result of the call.
        declared: the call that must be refused.
    """
    if failure is None:
        return "accepted"
    return "refused" if failure.type in accepted_types(declared) else failure.type


def _raised(failure: CallFailure) -> Behaviour:
    return Behaviour(f"{failure.type}: {failure.message}", {})


def _arguments(source: str) -> list[str]:
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return [ast.dump(function.args) for function in functions]
