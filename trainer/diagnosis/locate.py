"""Find the line of a submission that is to blame, and the result of that line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from trainer.diagnosis.blame import Divergence
from trainer.diagnosis.loops import Growth, growth_of, innermost_loop
from trainer.diagnosis.milestones import MilestoneProgress
from trainer.diagnosis.non_value_blame import blamed_line, line_of_rounded_angle
from trainer.diagnosis.output_relation import relation
from trainer.diagnosis.patched_references import PatchedReferences
from trainer.diagnosis.recorded_case import RecordedCase
from trainer.diagnosis.reruns import Reruns
from trainer.diagnosis.source_analysis import (
    branch_not_taken,
    collecting_line,
    first_division,
    function_lines,
    function_name,
    gradient_cut_line,
    is_called_from_several_places,
    is_given_a_constant,
    names_read_at,
)
from trainer.diagnosis.value_graph import ValueGraph, graph_of, graphs_of
from trainer.grading.calls import Purpose
from trainer.grading.grader import Judgement
from trainer.grading.shapes import name_shape
from trainer.model.challenge import Mistake
from trainer.model.report import Frame

_MOST_PASSED = 8
_DRAWS_IN_EVAL_MODE = (
    "two calls on the same inputs give different values: your code draws at random in eval mode"
)
_RECORDED_CHECKS = ("gradients", "train/eval", "properties", "memory")


@dataclass(frozen=True)
class Location:
    """The line to blame.

    Attributes:
        frame: the line; None if it is unknown.
        case: the number of the case that was recorded, from 1.
        made: the shape of the line's result, with letters.
        relation: how the line's result relates to the right result, in words.
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
        self._is_about_a_condition = False  # whether a named mistake is about one

    def location_of_wrong_value(
        self,
        recorded: RecordedCase,
        mistaken: ValueGraph | None,
        progress: MilestoneProgress | None,
        mistakes: Sequence[Mistake] = (),
    ) -> Location | None:
        """Return the line that made the first wrong value; None if it cannot be found.

        Args:
            recorded: the recorded case.
            mistaken: the graph of the reference with the known mistake, if a mistake is known.
            progress: the milestones that the submission reached.
            mistakes: the known mistakes that are named.
        """
        self._is_about_a_condition = any(map(_is_about_a_condition, mistakes))
        blamer = recorded.blamer(self._source, mistaken, self._passed_with)
        divergence = blamer.divergence(recorded.wrong_outputs)
        if divergence is None:
            return None
        case_number = recorded.index + 1
        if line := self._branch_not_taken(recorded, divergence):
            return Location(self.frame(line), case_number)
        collecting = collecting_line(self._source, divergence.line, divergence.collected)
        line = self._outside_right_parts(
            recorded, divergence, collecting or self._line_that_chose(divergence)
        )
        if line is None:
            return Location(case=case_number)
        frame = self.frame(line)
        value = divergence.node.value
        if value is None or not value.dim():
            return Location(frame, case_number)
        made = name_shape(tuple(value.shape), recorded.sizes)
        missed = progress.missed if progress else None
        right = missed.node.value if missed else None
        related = None if right is None else relation(value, right, "", recorded.sizes)
        if related is not None and related.startswith("these are"):
            related = f"at the marked line, {related}"  # the output itself may have other numbers
        return Location(frame, case_number, made, related)

    def _line_that_chose(self, divergence: Divergence) -> int:
        """Return the line of a divergence, or the line of the call that passed a constant to it."""
        calls = divergence.node.lines
        line, outer = divergence.line, calls[:0]
        if line in calls:
            outer = calls[calls.index(line) + 1 :]
        for call in outer:
            if not is_given_a_constant(self._source, line, call):
                break
            line = call
        return line

    def _outside_right_parts(
        self, recorded: RecordedCase, divergence: Divergence, line: int
    ) -> int | None:
        """Return a line, or the innermost call of it that does not belong to a right part.

        Example: the lines of the model are right if all cases of the model are right. A training
        step that changes the weights wrongly makes wrong values in them nevertheless.

        Returns:
            None if all calls belong to right parts.
        """
        right = self._lines_of_right_parts(recorded.index)
        if line not in right:
            return line
        calls = divergence.node.lines
        outer = calls[calls.index(line) + 1 :] if line in calls else ()
        return next((call for call in outer if call not in right), None)

    def _lines_of_right_parts(self, index: int) -> set[int]:
        """Return the lines that run in a case of each other part whose cases are all right."""
        cases, comparison = self._case_set.cases, self._judgement.comparison
        wrong = {result.case.part for result in comparison.results if not comparison.right(result)}
        wrong |= {
            cases[outcome.number - 1].part
            for outcome in self._judgement.report.outcomes
            if outcome.status == "failed" and outcome.number is not None
        }
        chosen: dict[str, int] = {}
        for result in comparison.results:
            case = result.case
            is_plain = case.probe is None and case.dropout is None and result.reply.failure is None
            if case.part not in (*wrong, cases[index].part) and is_plain:
                chosen.setdefault(case.part, result.index)
        if not chosen:
            return set()
        return _visited(graphs_of(self._reruns.run(self._case_set.only(chosen.values()), "lines")))

    def _branch_not_taken(self, recorded: RecordedCase, divergence: Divergence) -> int | None:
        """Return the line of the `if` that skipped a missing step; None if there is none.

        The branch must run in right cases. If no mistake about a condition is named, it must also
        run in no wrong case: other branches are harmless, for example `if mask is not None` in a
        case without a mask.
        """
        visited = _visited([recorded.graph])
        if divergence.start is not None and divergence.end is not None:
            places = product(divergence.start.lines, divergence.end.lines)
            names = divergence.names
        elif self._is_about_a_condition:
            first = function_lines(self._source, divergence.line).start
            places = product((first,), (divergence.line,))
            names = frozenset(names_read_at(self._source, divergence.line))
        else:
            return None
        for start, end in places:
            branch = branch_not_taken(self._source, start, end, visited, names)
            if branch is not None and self._is_taken_if_right(branch.body):
                return branch.line
        return None

    def _is_taken_if_right(self, lines: range) -> bool:
        """Return whether lines run in right cases, and if needed in no wrong case."""
        right, wrong = self._visited_lines
        is_only_right = self._is_about_a_condition or wrong.isdisjoint(lines)
        return not right.isdisjoint(lines) and is_only_right

    @cached_property
    def _visited_lines(self) -> tuple[set[int], set[int]]:
        """The lines that run in some right cases, and in some wrong cases."""
        comparison = self._judgement.comparison
        by_rightness: dict[bool, list[int]] = {True: [], False: []}
        for result in comparison.results:
            if result.case.probe is None and result.reply.failure is None:
                by_rightness[comparison.right(result)].append(result.index)
        right, wrong = (
            indices[:: max(1, len(indices) // _MOST_PASSED)]
            for indices in (by_rightness[True], by_rightness[False])
        )
        if not right or not wrong:
            return set(), set()
        graphs = graphs_of(self._reruns.run(self._case_set.only([*right, *wrong]), "lines"))
        return _visited(graphs[: len(right)]), _visited(graphs[len(right) :])

    def _passed_with(self, line: int) -> Sequence[ValueGraph]:
        """Return graphs of passed cases if the function of a line has several callers."""
        return self._passed if is_called_from_several_places(self._source, line) else ()

    @cached_property
    def _passed(self) -> Sequence[ValueGraph]:
        """The graphs of one case of every kind in which the submission passes all cases."""
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
        return graphs_of(self._reruns.run(some, purpose))

    def frame(self, line: int) -> Frame:
        """Return a line of the file with its function and its text."""
        lines = self._source.splitlines()
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        return Frame(line, function_name(self._source, line), text)

    def location_of_other_failure(self) -> Location:
        """Return the line to blame for a failure that is not a wrong value."""
        first = self._judgement.report.first_failure()
        line = self._line_without_values()
        if line is None or first is None:
            return Location()
        return Location(self.frame(line), first.number)

    def location_of_draw(self, index: int) -> Location:
        """Return the line that draws at random in a case in eval mode, with a sentence about it.

        Args:
            index: of the case, from 0. Two equal calls of this case gave different values.
        """
        line = self._recorded_line("train/eval", index)
        if line is None:
            return Location()
        return Location(self.frame(line), index + 1, relation=_DRAWS_IN_EVAL_MODE)

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
            line = self.loop_growth(None).line
            return None if line is None else innermost_loop(self._source, line)
        if first.check in _RECORDED_CHECKS:
            return self._recorded_line(first.check, first.number - 1)
        if self._case_set.cases[first.number - 1].dtype == "bfloat16":
            alone = self._case_set.only([first.number - 1])
            graphs = graphs_of(self._reruns.run(alone, "lines"))
            return line_of_rounded_angle(graphs[0]) if graphs else None
        return None

    def _recorded_line(self, check: str, index: int) -> int | None:
        """Return the line that does what the check forbids in a case."""
        purpose: Purpose = "gradients" if check == "gradients" else "lines"
        result = self._reruns.run(self._case_set.only([index]), purpose)
        if result.how != "replied" or not result.reply.runs:
            return None
        graph = graph_of(result.reply.runs[0], result.tensors)
        reference = self._references.graph(index, "lines") if check == "train/eval" else None
        line = blamed_line(graph, check, self._case_set.cases[index].limit, reference)
        if line is not None and check == "gradients":
            return gradient_cut_line(self._source, line)
        return line

    def loop_growth(self, source: str | None) -> Growth:
        """Return the lines that run more often in the larger case of the failed growth probe.

        Args:
            source: the text of a patched reference; None for the submission.
        """
        if source not in self._grown:
            first = self._judgement.report.first_failure()
            case_number = first.number if first is not None else None
            pair = self._case_set.only([(case_number or 0) - 1])
            if source is None:
                self._grown[source] = growth_of(self._reruns.run(pair, "lines"))
            else:
                self._grown[source] = self._references.growth(pair, source)
        return self._grown[source]


def _is_about_a_condition(mistake: Mistake) -> bool:
    """Return whether a mistake changes the condition of an `if`, or adds a condition."""
    is_if = mistake.was.lstrip().startswith("if ")
    return is_if or mistake.now.count(" if ") > mistake.was.count(" if ")


def _visited(graphs: Iterable[ValueGraph]) -> set[int]:
    """Return the lines that ran."""
    return {line for graph in graphs for node in graph.nodes for line in node.lines}


def _kind_of(inputs: Mapping[str, Any]) -> object:
    """Return the names of the inputs and the values of string inputs.

    Cases that differ in these may run different branches of the code.
    """
    strings = frozenset(value for value in inputs.values() if isinstance(value, str))
    return frozenset(inputs), strings
