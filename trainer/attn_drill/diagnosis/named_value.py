"""Find the line of a named mistake in a file by what the mistake does in the reference.

A file with a named mistake behaves like the reference with this mistake. So the line to show is the
line that does what the changed lines of the reference do: it makes the wrong number or the wrong
value, decides which lines run, or gives right values wrong names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import dropwhile, takewhile, zip_longest

import torch

from attn_drill.diagnosis.first_wrong import FirstWrong
from attn_drill.diagnosis.line_of_condition import line_of_condition
from attn_drill.diagnosis.line_of_number import line_of_number
from attn_drill.diagnosis.recorded_case import RecordedCase
from attn_drill.diagnosis.source_analysis import gives_a_constant, line_of_tuple
from attn_drill.diagnosis.value_graph import Node, ValueGraph, have_same_value, leading_to


@dataclass(frozen=True)
class NamedMistake:
    """A named mistake in a recorded case of a file.

    Attributes:
        recorded: the recorded case of the file.
        mistaken: the graph of the reference with the mistake, in the same case.
        wrong_source: the text of the reference with the mistake.
        patched: the lines of this text that the mistake changed or added.
        source: the text of the file.
    """

    recorded: RecordedCase
    mistaken: ValueGraph
    wrong_source: str
    patched: Collection[int]
    source: str

    def line(self, first: FirstWrong, *, is_missing: bool) -> int | None:
        """Return the line of the mistake; None if the first wrong value shows it as well.

        Args:
            first: the first wrong value of the file.
            is_missing: whether the mistake only leaves out operations.
        """
        graph, patched = self.recorded.graph, self.patched
        line = line_of_number(self.recorded, self.mistaken, patched, self.source)
        if line is None:
            line = line_of_condition(self.wrong_source, patched, self.source, graph, first.node)
        if line is None:
            line = self._line_of_parts(first)
        if line is None and self.recorded.right.has(first.node):  # in another layout
            line = self._line_of_equal_value(is_new=True)
        if line is None and not is_missing:
            line = self._line_of_result(first)
        return line

    def line_without_wrong_value(self) -> int | None:
        """Return the line that makes a value of the changed lines; None if none does.

        The value is wrong, or the reference has no such operation, for example a write in place.
        """
        usual = {node.operation for node in self.recorded.reference.nodes}
        for node in self._made:
            is_usual = node.operation in usual
            if not node.is_comparable or (is_usual and not self._is_other_value(node)):
                continue
            for own in self.recorded.graph.nodes:
                if self._is_twin(node, own) and (is_usual or own.operation not in usual):
                    return own.line
        return self._line_of_equal_value(is_new=False)

    def gap(self, left_out: Collection[int]) -> tuple[int | None, int] | None:
        """Return the lines around a missing operation; None if they are unknown.

        The first makes the value to which the reference applies the operation (None for an input),
        and the second uses it.

        Args:
            left_out: the lines of the reference whose operation the mistake leaves out.
        """
        nodes = self.recorded.graph.nodes
        for node in self.recorded.reference.nodes:
            for given in node.parents:
                if node.line not in left_out or given.line in left_out or not given.is_comparable:
                    continue
                values = {own for own in nodes if self._is_twin(given, own)}
                if given.is_input:
                    values = {own for own in nodes if own.operation == given.operation}
                before = min(values).lines[:1] if values else ()
                for user in nodes:
                    if user.lines and user.lines[:1] != before and values & {*user.parents}:
                        return (before[0] if before else None), user.line
        return None

    @property
    def _made(self) -> list[Node]:
        """The results of the changed lines."""
        return [node for node in self.mistaken.nodes if node.line in self.patched]

    def _is_other_value(self, node: Node) -> bool:
        """Return whether a value can be compared and the right answers do not compute it."""
        return node.is_comparable and not self.recorded.right.has(node, may_swap=False)

    def _is_wrong(self, own: Node) -> bool:
        """Return whether a line of the file makes another value than right answers, NaN or +inf."""
        if not own.lines or own.value is None:
            return False
        return self._is_other_value(own) or not bool((own.value < torch.inf).all())

    def _is_twin(self, node: Node, own: Node) -> bool:
        """Return whether a line of the file makes the value of a node."""
        if not own.lines or own.is_number != node.is_number:
            return False
        if node.is_number:
            return node.scalar == own.scalar
        return have_same_value(node, own, self.recorded.sizes)

    def _line_of_equal_value(self, *, is_new: bool) -> int | None:
        """Return the line that makes a value of the changed lines, in the same layout.

        This finds values with few different entries, and right values in a wrong layout.

        Args:
            is_new: whether no right answer may have the value. Otherwise right answers may make it
                by another operation, for example zeros for another sum, and the mistake is not
                after the first wrong value.
        """
        nodes = self.recorded.graph.nodes
        early = list(takewhile(lambda own: not self._is_wrong(own), nodes))
        right = [node for graph in self.recorded.right_graphs for node in graph.nodes]
        for node in self._made:
            makers = {other.operation for other in right if _is_equal(node, other)}
            if node.entries < 2 or node.operation in makers or (is_new and makers):
                continue
            for own in early if makers else nodes:
                if own.lines and own.operation not in makers and _is_equal(node, own):
                    line, *calls = own.lines
                    is_chosen = calls and gives_a_constant(self.source, calls[0], line)
                    return calls[0] if is_chosen else line
        return None

    def _line_of_parts(self, first: FirstWrong) -> int | None:
        """Return the line that splits or returns right values as the changed lines do.

        The changed lines make no wrong value, but give right values wrong names or places.
        """
        visit = dropwhile(
            lambda node: node.line not in self.patched, self.mistaken.leading_to_outputs
        )
        made = list(takewhile(lambda node: node.line in self.patched, visit))
        if any(map(self._is_other_value, made)):
            return None
        parts = [node for node in made if node.is_comparable and _is_part(node, made)]
        by_visit: dict[tuple[tuple[int, ...], bool], list[Node]] = {}
        for own in self.recorded.graph.nodes[: first.node.index]:
            by_visit.setdefault((own.lines, own.operation == "return"), []).append(own)
        for (lines, is_return), nodes in by_visit.items():
            wanted = [node for node in parts if (node.operation == "return") == is_return]
            if len(wanted) > 1 and all(
                any(self._is_twin(node, own) for own in nodes) for node in wanted
            ):
                return line_of_tuple(self.source, lines[0]) if is_return else lines[0]
        return None

    def _line_of_result(self, first: FirstWrong) -> int | None:
        """Return the line of the file whose result is the wrong result of a changed line.

        A line that calls a function has the result of the function. If a line and a line inside its
        call have this result, the line inside is returned, unless the changed line is such a call.
        A line after the first wrong value does not count, unless the mistake makes this value too
        before its changed lines, and the line is in the same call.
        """
        depth = depth_of(self.mistaken, self.patched)
        is_before = self._is_before_the_changes(first.node)
        results = [
            (lines, node)
            for lines, node in _results(self.recorded.graph)
            if node.index <= first.node.index
            or (is_before and lines[1:] == first.node.lines[1:])
            or self._is_chosen_by_a_call(lines, first, depth)
        ]
        for lines, node in _results(self.mistaken):
            if lines[0] not in self.patched or not self._is_other_value(node):
                continue
            before = self.mistaken.nodes[: node.index]
            if any(
                other.line not in self.patched and self._is_twin(other, node) for other in before
            ):
                continue  # the line changes nothing, so a step is missing
            found = [own for own, value in results if self._is_twin(node, value)]
            if found:
                return min(
                    found, key=lambda own: -len(own) if depth is None else abs(len(own) - depth)
                )[0]
        return None

    def _is_before_the_changes(self, wrong: Node) -> bool:
        """Return whether the mistake makes a value from this wrong value before its changed lines.

        Example: a softmax without a mask, if the mistake hides the weights after the softmax.
        """
        start = min((node.index for node in self._made), default=0)
        earlier = [node for node in self.mistaken.nodes[:start] if self._is_other_value(node)]
        twins = [
            own
            for own in self.recorded.graph.nodes
            if any(self._is_twin(node, own) for node in earlier)
        ]
        return wrong in leading_to(twins)

    def _is_chosen_by_a_call(
        self, lines: tuple[int, ...], first: FirstWrong, depth: int | None
    ) -> bool:
        """Return whether a wrong value is made inside a call that may be the mistake itself.

        It is the mistake if the changed line is a call too, or if it gives a constant, for example
        the axis of a softmax.
        """
        inner = first.node.lines
        if inner[-len(lines) :] != lines:
            return False
        return inner == lines or bool(depth) or gives_a_constant(self.source, lines[0], inner[0])


def depth_of(mistaken: ValueGraph, patched: Collection[int]) -> int | None:
    """Return the number of lines in the call stack of a changed line that calls a function.

    Returns:
        None if no changed line calls a function of the reference. Then the mistake is in a
        computation, and in the file it may be inside a function.
    """
    depths = [
        len(node.lines) - place
        for node in mistaken.nodes
        for place, line in enumerate(node.lines)
        # A generator expression has its line twice in the call stack.
        if line in patched and node.lines[0] != line
    ]
    return min(depths, default=None)


def _results(graph: ValueGraph) -> Iterator[tuple[tuple[int, ...], Node]]:
    """Yield each visit of a line, as the line and its callers, with the last result in it."""
    nodes = [node for node in graph.leading_to_outputs if node.lines and node.is_comparable]
    for node, after in zip_longest(nodes, nodes[1:]):
        for depth in range(len(node.lines)):
            lines = node.lines[depth:]
            if after is None or after.lines[-len(lines) :] != lines:
                yield lines, node


def _is_equal(node: Node, other: Node) -> bool:
    """Return whether two values are equal without a change of layout."""
    if node.value is None or other.value is None or node.value.shape != other.value.shape:
        return False
    if node.is_float and other.is_float:
        return torch.allclose(node.value.double(), other.value.double(), rtol=1e-4, atol=1e-6)
    return torch.equal(node.value, other.value)


def _is_part(node: Node, made: Collection[Node]) -> bool:
    """Return whether a result is returned, or is one of several results of an operation."""
    return node.operation == "return" or any(
        other is not node and (other.operation, other.parents) == (node.operation, node.parents)
        for other in made
    )
