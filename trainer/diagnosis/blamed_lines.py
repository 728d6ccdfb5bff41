"""Choose the line to blame for a wrong node, if several lines took part in computing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trainer.diagnosis.matching import Matching
from trainer.diagnosis.value_graph import Node, ValueGraph


class BlamedLines:
    """The lines to blame for the nodes of a submission.

    Args:
        passed: returns graphs of cases that the submission passes, for a line in a function with
            several callers.
        function_lines: returns the lines of the function that contains a line.
    """

    def __init__(
        self,
        matching: Matching,
        passed: Callable[[int], Sequence[ValueGraph]],
        function_lines: Callable[[int], range],
    ) -> None:
        self.matching, self.graph = matching, matching.graph
        self._passed, self._function_lines = passed, function_lines

    def line_of(self, node: Node) -> int:
        """Return the line to blame for a node.

        If the node's own line gives right results for other callers, blame the calling line.
        """
        if not self.matching.is_right(node):
            constant = self._line_of_constant(node)
            if constant is not None:
                return constant
        lines = node.lines
        while len(lines) > 1 and self._is_right_elsewhere(lines, node.operation):
            lines = lines[1:]
        return lines[0]

    def _is_right_elsewhere(self, lines: tuple[int, ...], operation: str) -> bool:
        """Return whether the innermost line gives a right result for another caller."""

        def is_same_line(other: Node) -> bool:
            is_called_elsewhere = other.lines[1:] != lines[1:]
            return (
                other.lines[:1] == lines[:1]
                and is_called_elsewhere
                and other.operation == operation
            )

        for node in self.graph.nodes:
            if is_same_line(node) and node.is_comparable and self.matching.is_right(node):
                return True
        if self._returns_right_elsewhere(lines):
            return True
        all_lines = {node.lines for node in self.graph.nodes}
        for graph in self._passed(lines[0]):
            for node in graph.leading_to_outputs:
                if is_same_line(node) and node.lines not in all_lines:
                    return True
        return False

    def _returns_right_elsewhere(self, lines: tuple[int, ...]) -> bool:
        """Return whether another call of this function returns only right values."""
        function = self._function_lines(lines[0])
        if len(function) < 2:
            return False
        returned: dict[tuple[int, ...], list[Node]] = {}
        for node in self.graph.nodes:
            is_return = node.operation == "return" and node.line in function
            if is_return and len(node.lines) == len(lines) and node.lines[1:] != lines[1:]:
                returned.setdefault(node.lines[1:], []).append(node)
        for nodes in returned.values():
            if all(node.is_comparable and self.matching.is_right(node) for node in nodes):
                return True
        return False

    def _line_of_constant(self, node: Node) -> int | None:
        """Return the line at which the constructor stored a wrong constant factor."""
        inputs = [other for other in self.graph.nodes if other.is_input]
        first = inputs[0].index if inputs else 0
        # Nodes before the inputs belong to the constructor, which uses no stored factor.
        factor = node.factor if node.index > first else None
        if factor is None or self.matching.right.has_factor(factor):
            return None
        wanted = (factor, 1 / factor if factor else 0.0)
        for other in reversed(self.graph.nodes[:first]):
            if not other.is_number or not other.is_float:
                continue
            if any(abs(other.scalar - scalar) <= 1e-5 * abs(scalar) for scalar in wanted):
                return other.lines[1] if len(other.lines) > 1 else other.line
        return None
