"""Find the line of a submission that is to blame, and the result of that line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import torch

from attn_drill.diagnosis._first_wrong import FirstWrong, first_wrong
from attn_drill.diagnosis._milestones import MilestoneProgress
from attn_drill.diagnosis._named_line import (
    MOST_LINES,
    depth_of,
    has_other_number,
    is_omission,
    patched_lines,
    start_of_number,
)
from attn_drill.diagnosis._output_relation import relation
from attn_drill.diagnosis._recorded_case import Matching, RecordedCase, Reruns
from attn_drill.diagnosis._source_lines import (
    Growth,
    blamed_line,
    first_division,
    function_lines,
    function_name,
    gradient_cut_line,
    growth,
    innermost_loop,
    line_of_layer,
    line_of_rounded_angle,
    uses_before,
)
from attn_drill.diagnosis._value_graph import Node, ValueGraph, graphs_of, reachable
from attn_drill.diagnosis.patched_references import PatchedReferences
from attn_drill.grading.case_set import Purpose
from attn_drill.grading.grader import Judgement
from attn_drill.grading.pictures import name_shape
from attn_drill.model.challenge import Mistake
from attn_drill.model.report import Diagnosis, Frame, Operand

_DRAWS_IN_EVAL_MODE = (
    "two calls on the same inputs give different values: your code draws at random in eval mode"
)
_RECORDED_CHECKS = ("gradients", "train/eval", "properties", "memory")


# The facts about the line to blame, and the first wrong value.
Place = tuple[Diagnosis, FirstWrong | None]


class Locator:
    def __init__(self, references: PatchedReferences, judgement: Judgement, reruns: Reruns) -> None:
        self._references, self._reruns = references, reruns
        self._judgement, self._case_set = judgement, judgement.case_set
        self._source = judgement.submission.source

    def place_of_wrong_value(
        self,
        recorded: RecordedCase,
        mistaken: ValueGraph | None,
        progress: MilestoneProgress | None,
        mistakes: Sequence[Mistake] = (),
    ) -> Place | None:
        """Return the line that made the first wrong value; None if it cannot be found."""
        reference, sizes = self._references.source, recorded.sizes
        matching = recorded.matching(mistaken)
        first = first_wrong(matching, recorded.wrong_outputs)
        if first is None:
            return None
        wrong = {self._references.lines(mistake.id).start for mistake in mistakes}
        functions = {function_name(reference, line) for line in wrong}
        functions_here = {function_name(self._source, line) for line in first.node.lines}
        required = set(self._case_set.challenge.entry)
        if functions and functions <= required and functions.isdisjoint(functions_here):
            # A training step that changes the weights wrongly, for example, makes wrong values in
            # the model.
            return Diagnosis(case=recorded.index + 1), None
        is_missing = first.is_early
        if mistakes:
            is_missing = any(is_omission(reference, mistake) for mistake in mistakes)
        start = _start(first, matching, self._source)
        if mistaken is not None and len(mistakes) == 1 and start is None:
            # The mistake may be in the call, rather than in the called function.
            depth = depth_of(mistaken, patched_lines(reference, mistakes[0]))
            first = replace(first, lines=first.lines[-(depth or 0) :])
            start = _start(first, matching, self._source)
        end = first.lines[0]
        if start is None and is_missing:
            # The missing step may be anywhere after the start of the function.
            start = function_lines(self._source, end).start
        start = start or end
        if is_missing and start == end:
            start = max(function_lines(self._source, end).start, end - 1)
        other_value = None
        if first.misplaced is not None:
            operand, name = first.misplaced
            if not mistakes:
                other_value = f"line {operand.line} makes {name} again"
            if operand.lines[1:] == first.lines[1:]:
                start = operand.line
        place = Diagnosis(
            first_line=self.frame(end),
            start=None if start == end else start,
            missing=is_missing,
            case=recorded.index + 1,
            layout=other_value,
            operands=tuple(_operand(node, matching) for node in first.operands if not node.is_mask),
        )
        value = _result_of_line(recorded.graph, first).value
        if value is None or not value.dim():
            return place, first
        node, source = first.node, first.node.source
        is_changed = node.is_layout and node.operation != "return"
        is_rearranged = is_changed and node.entries == source.entries and matching.is_right(source)
        missed = progress.missed.node.value if progress and progress.missed else None
        related = None if missed is None else relation(value, missed, "", sizes)
        if related is not None and related.startswith("these are"):
            # The output itself may have other numbers.
            related = f"at the marked line, {related}"
        place = replace(
            place,
            made_shape=name_shape(tuple(value.shape), sizes),
            rearranged=_shape(source, sizes) if is_rearranged else "",
            layout=other_value or related,
        )
        return place, first

    def frame(self, line: int) -> Frame:
        """Return a line of the file with its function and its text."""
        lines = self._source.splitlines()
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        return Frame(line, function_name(self._source, line), text)

    def place_of_other_failure(self) -> Diagnosis:
        """Return the line to blame for a failure that is not a wrong value."""
        first, line = self._judgement.report.first_failure(), None
        if first is None:
            return Diagnosis()
        if first.frames:
            line = first.frames[-1].line
        elif first.check == "bad sizes":
            line = first_division(self._source, self._case_set.challenge.entry[0])
        elif first.check == "parameters":
            line = line_of_layer(self._source, first.message)
        elif first.number is None:
            return Diagnosis()
        elif first.check == "vectorised":
            grown = self.loop_growth.line
            line = None if grown is None else innermost_loop(self._source, grown)
        elif first.check in _RECORDED_CHECKS:
            line = self._recorded_line(first.check, first.number - 1)
        elif self._case_set.cases[first.number - 1].dtype == "bfloat16":
            alone = self._case_set.select([first.number - 1])
            for graph in graphs_of(self._reruns.run(alone, "lines")):
                line = line_of_rounded_angle(graph)
        if line is None:
            return Diagnosis()
        return Diagnosis(first_line=self.frame(line), case=first.number)

    def place_of_draw(self, index: int) -> Diagnosis:
        """Return the line that draws at random in a case in eval mode, with a sentence about it."""
        line = self._recorded_line("train/eval", index)
        if line is None:
            return Diagnosis()
        return Diagnosis(first_line=self.frame(line), case=index + 1, layout=_DRAWS_IN_EVAL_MODE)

    def _recorded_line(self, check: str, index: int) -> int | None:
        """Return the line that does what the check forbids in a case."""
        purpose: Purpose = "gradients" if check == "gradients" else "lines"
        graphs = graphs_of(self._reruns.run(self._case_set.select([index]), purpose))
        if not graphs:
            return None
        reference = self._references.graph((), index) if check == "train/eval" else None
        line = blamed_line(graphs[0], check, self._case_set.cases[index].limit, reference)
        if line is not None and check == "gradients":
            return gradient_cut_line(self._source, line)
        return line

    @cached_property
    def loop_growth(self) -> Growth:
        """The lines that run more often in the larger case of the failed growth probe."""
        first = self._judgement.report.first_failure()
        pair = self._case_set.select([first.number - 1 if first and first.number else -1])
        return growth(graphs_of(self._reruns.run(pair, "lines")))


def _start(first: FirstWrong, matching: Matching, source: str) -> int | None:
    """Return the first line of the span that ends at the first wrong value; None if unknown.

    This is the last line of the same call that makes a right operand. An operand that no right
    answer makes, or a mask, may be wrong itself, so its line belongs to the span.
    """
    lines = first.lines

    def line_here(node: Node) -> int:
        """Return the line of this call that makes a node, or 0."""
        here = node.lines[-len(lines) :]
        is_here = len(here) == len(lines) and here[1:] == lines[1:] and here[0] <= lines[0]
        return here[0] if is_here else 0

    def further(node: Node) -> Iterable[Node]:
        passes = matching.is_doubtful(node) or (
            line_here(node) == lines[0] and (node.is_layout or node.is_mask)
        )
        return node.parents if passes else ()

    right: set[int] = set()
    doubtful: set[int] = set()
    for node in reachable(first.node.parents, further):
        line = line_here(node)
        if not line or node.is_input or node.is_number or _is_fill(node):
            continue
        if matching.is_doubtful(node) or node.is_mask:
            doubtful.add(line)
        elif node.inputs and node.is_comparable and not (node.is_layout and line == lines[0]):
            right.add(line)
    if has_other_number(first.node, matching.right.graphs):
        doubtful.add(start_of_number(matching.graph, lines, source))
    if first.node.source.operation == "lift_fresh":  # a tensor of Python data
        doubtful.update(uses_before(source, lines[0]))
    last = max(right, default=0)
    near = [line for line in (*doubtful, last) if line >= max(1, lines[0] - MOST_LINES)]
    return min(near, default=last) or None


def _is_fill(node: Node) -> bool:
    """Return whether a tensor from no input has equal entries, for example ones."""
    return node.value is not None and not node.origins and len(torch.unique(node.value)) == 1


def _result_of_line(graph: ValueGraph, first: FirstWrong) -> Node:
    """Return the last result that the line made in the same visit."""
    result, lines = first.node, first.lines
    for node in graph.nodes[first.node.index + 1 :]:
        if node.lines[-len(lines) :] != lines:
            break
        if node.lines == lines and not node.is_number and node.operation != "return":
            result = node
    return result


def _operand(node: Node, matching: Matching) -> Operand:
    """Return a right value with its layout, and the layout of right answers if they differ."""
    shape = _shape(node, matching.sizes)
    shapes = [
        _shape(other, matching.sizes)
        for graph in matching.right.graphs
        for other in graph.nodes
        if matching.have_same_value(node, other)
    ]
    wanted = shapes[0] if shapes and shape not in shapes else ""
    return Operand(node.line, node.name, shape, wanted)


def _shape(node: Node, sizes: Mapping[str, int]) -> str:
    return "" if node.value is None else name_shape(tuple(node.value.shape), sizes)
