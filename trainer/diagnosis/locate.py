"""Find the line of a submission that is to blame, and what that line made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from trainer.diagnosis.blame import Divergence
from trainer.diagnosis.loops import Growth, growth, innermost_loop
from trainer.diagnosis.milestones import MilestoneProgress
from trainer.diagnosis.non_value_blame import blamed_line
from trainer.diagnosis.output_relation import relation
from trainer.diagnosis.patched_references import PatchedReferences
from trainer.diagnosis.recorded_case import RecordedCase
from trainer.diagnosis.reruns import Reruns
from trainer.diagnosis.source_analysis import (
    branch_not_taken,
    first_division,
    is_called_from_several_places,
    is_given_a_constant,
    where_gradients_are_cut,
)
from trainer.diagnosis.value_graph import ValueGraph, graph_of
from trainer.grading.grader import Judgement
from trainer.grading.shapes import name_shape
from trainer.model.report import Frame
from trainer.worker.protocol import Purpose
from trainer.worker.worker_client import WorkerResult

_MOST_PASSED = 8
_RECORDED_CHECKS = ("gradients", "train/eval", "properties", "memory")


@dataclass(frozen=True)
class Location:
    """The line to blame.

    frame     the line, None if it is not known
    case      the number of the case in which it was seen, from 1
    made      the shape of its result, with letters
    relation  how its result is related to the right result, in words
    """

    frame: Frame | None = None
    case: int | None = None
    made: str | None = None
    relation: str | None = None


class Locator:
    """The search for the line of one submission."""

    def __init__(self, references: PatchedReferences, judgement: Judgement, reruns: Reruns) -> None:
        self._references, self._reruns = references, reruns
        self._judgement, self._case_set = judgement, judgement.case_set
        self._source = judgement.submission.source
        self._grown: dict[str | None, Growth] = {}

    def of_values(
        self,
        recorded: RecordedCase,
        mistaken: ValueGraph | None,
        progress: MilestoneProgress | None,
    ) -> Location | None:
        """Return the line at which values left the right path; None if that cannot be told.

        Args:
            mistaken: the graph of the reference with the known mistake.
            progress: how far the submission came.
        """
        blamer = recorded.blamer(self._source, mistaken, self._passed_with)
        divergence = blamer.divergence(recorded.wrong)
        if divergence is None:
            return None
        number = recorded.index + 1
        if line := self._branch_not_taken(recorded, divergence):
            return Location(self._frame(line), number)
        frame = self._frame(self._line_that_chose(divergence))
        value = divergence.node.value
        if value is None:
            return Location(frame, number)
        made = name_shape(tuple(value.shape), recorded.sizes)
        missed = progress.missed if progress else None
        right = missed.node.value if missed else None
        related = None if right is None else relation(value, right, "", recorded.sizes)
        return Location(frame, number, made, related)

    def _line_that_chose(self, divergence: Divergence) -> int:
        """Return the line of a divergence, or the line of the call that gave it a wrong constant."""
        calls = divergence.node.lines
        line, outer = divergence.line, calls[:0]
        if line in calls:
            outer = calls[calls.index(line) + 1 :]
        for call in outer:
            if not is_given_a_constant(self._source, line, call):
                break
            line = call
        return line

    def _branch_not_taken(self, recorded: RecordedCase, divergence: Divergence) -> int | None:
        """Return the line of the `if` that kept a missing step from being done."""
        if divergence.unfinished is None:
            return None
        visited = {line for node in recorded.graph.nodes for line in node.lines}
        for start, end in product(divergence.node.lines, divergence.unfinished.lines):
            if start <= end:
                line = branch_not_taken(self._source, start, end, visited, divergence.names)
                if line is not None:
                    return line
        return None

    def _passed_with(self, line: int) -> Sequence[ValueGraph]:
        """Return graphs of passed cases, if the function of a line has several callers."""
        return self._passed if is_called_from_several_places(self._source, line) else ()

    @cached_property
    def _passed(self) -> Sequence[ValueGraph]:
        """The graphs of one case of each kind of which the submission passes all cases."""
        comparison, report = self._judgement.comparison, self._judgement.report
        failed = {outcome.number for outcome in report.outcomes if outcome.status == "failed"}
        chosen: dict[object, int] = {}
        wrong: set[object] = set()
        for result in comparison.results:
            kind = _kind_of(result.prepared.inputs)
            if result.number in failed or not comparison.right(result):
                wrong.add(kind)
            elif result.case.probe is None and result.case.dtype != "bfloat16":
                chosen.setdefault(kind, result.index)
        indices = [index for kind, index in chosen.items() if kind not in wrong]
        if not indices:
            return ()
        some = self._case_set.only(indices[:_MOST_PASSED])
        purpose: Purpose = "lines" if self._case_set.cases[0].plain else "tensors"
        return _graphs(self._reruns.run(some, purpose))

    def _frame(self, line: int) -> Frame:
        lines = self._source.splitlines()
        return Frame(line, "", lines[line - 1].strip() if 0 < line <= len(lines) else "")

    def without_values(self) -> Location:
        """Return the line to blame if no value is wrong."""
        first = self._judgement.report.first_failure()
        line = self._line_without_values()
        if line is None or first is None:
            return Location()
        return Location(self._frame(line), first.number)

    def _line_without_values(self) -> int | None:
        first = self._judgement.report.first_failure()
        if first is None:
            return None
        if first.frames:
            return first.frames[-1].line
        if first.check == "bad sizes":
            return first_division(self._source, self._case_set.challenge.entry[0])
        if first.number is None:
            return None
        if first.check == "vectorised":
            line = self.loop(None).line
            return None if line is None else innermost_loop(self._source, line)
        if first.check in _RECORDED_CHECKS:
            return self._recorded_line(first.check, first.number - 1)
        return None

    def _recorded_line(self, check: str, index: int) -> int | None:
        """Return the line that does what a check refuses in a case."""
        purpose: Purpose = "gradients" if check == "gradients" else "lines"
        ended = self._reruns.run(self._case_set.only([index]), purpose)
        if ended.how != "replied" or not ended.reply.runs:
            return None
        graph = graph_of(ended.reply.runs[0], ended.tensors)
        line = blamed_line(graph, check, self._case_set.cases[index].limit)
        if line is not None and check == "gradients":
            return where_gradients_are_cut(self._source, line)
        return line

    def loop(self, source: str | None) -> Growth:
        """Return what runs more often in the larger case of the growth probe that failed.

        Args:
            source: content of the pack; None for the submission.
        """
        if source not in self._grown:
            first = self._judgement.report.first_failure()
            number = first.number if first is not None else None
            pair = self._case_set.only([(number or 0) - 1])
            if source is None:
                graphs = _graphs(self._reruns.run(pair, "lines"))
            else:
                graphs = _graphs(self._references.run(pair, source, "lines"))
            is_pair = len(graphs) == 2
            self._grown[source] = growth(*graphs) if is_pair else Growth(None, frozenset())
        return self._grown[source]


def _graphs(ended: WorkerResult) -> list[ValueGraph]:
    """Return the graph of every run; none if the worker did not reply."""
    if ended.how != "replied":
        return []
    return [graph_of(told, ended.tensors) for told in ended.reply.runs]


def _kind_of(inputs: Mapping[str, Any]) -> object:
    """Return which inputs there are, and which words.

    Cases that differ in these may take different ways through the code.
    """
    words = frozenset(value for value in inputs.values() if isinstance(value, str))
    return frozenset(inputs), words
