"""Decide which results of a submission are right.

A result is right if some right answer makes the same value.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from trainer.diagnosis.graph_queries import computed_of, have_same_value
from trainer.diagnosis.reference_index import ReferenceIndex
from trainer.diagnosis.value_graph import Node, ValueGraph


class Matching:
    """The graph of a submission, matched with the graphs of right answers.

    Args:
        graph: the graph of the submission.
        right: the values of right answers.
        reference: the graph of the reference.
        mistaken: the graph of the reference with the known mistake, if a mistake is known.
    """

    def __init__(
        self,
        graph: ValueGraph,
        right: ReferenceIndex,
        reference: ValueGraph,
        mistaken: ValueGraph | None = None,
    ) -> None:
        self.graph, self.right, self.reference, self.mistaken = graph, right, reference, mistaken
        self._wrong = None if mistaken is None else ReferenceIndex([mistaken], right.sizes)
        right.look_ahead(graph)
        if self._wrong is not None:
            self._wrong.look_ahead(graph)

    @property
    def sizes(self) -> Mapping[str, int]:
        """The value of every letter."""
        return self.right.sizes

    @property
    def knows_mistake(self) -> bool:
        """True if a mistake is known."""
        return self._wrong is not None

    def is_right(self, node: Node) -> bool:
        """Return whether a node is an input, or a right answer makes the same value."""
        if node.is_number and node.is_float and self._misses_integer:
            return False
        if node.is_input:
            return True
        return self.right.has(node) and not self._is_rather_wrong(node)

    def is_known_wrong(self, node: Node) -> bool:
        """Return whether the known mistake makes the same value, and no right answer does."""
        if node.is_number and not node.is_large_scalar:  # small scalars are equal by chance
            return False
        return self._wrong is not None and not self.is_right(node) and self._wrong.has(node)

    def _is_rather_wrong(self, node: Node) -> bool:
        """Return whether a value of a right answer is more likely a result of the known mistake.

        Then the reference does not make the value, or makes it only with two axes swapped.
        """
        if self._wrong is None or node.is_number or not self._wrong.has(node):
            return False
        if not self._of_reference.has(node):
            return True
        shape = [] if node.value is None else [size for size in node.value.shape if size > 1]
        has_equal_axes = len(set(shape)) < len(shape)
        return (
            has_equal_axes
            and self._wrong.has(node, may_swap=False)
            and not self.right.has(node, may_swap=False)
        )

    @cached_property
    def _of_reference(self) -> ReferenceIndex:
        """The values of the reference itself."""
        index = ReferenceIndex([self.reference], self.sizes)
        index.look_ahead(self.graph)
        return index

    @cached_property
    def _misses_integer(self) -> bool:
        """True if an output is a float, but the reference returns an integer."""
        for name, output in self.graph.outputs.items():
            expected = self.reference.outputs.get(name)
            if expected is None or not output.is_number or not expected.is_number:
                continue
            if output.is_float and not expected.is_float:
                return True
        return False

    def have_same_value(self, node: Node, other: Node) -> bool:
        """Return whether two nodes have the same value."""
        return have_same_value(node, other, self.sizes)

    def matches_up_to_factor(self, node: Node, other: Node) -> bool:
        """Return whether two nodes have the same value, before or after their factors."""
        nodes, others = {node, computed_of(node)}, {other, computed_of(other)}
        return any(self.have_same_value(left, right) for left in nodes for right in others)

    def counterpart(self, node: Node) -> Node | None:
        """Return the node of the reference that a wrong node replaces.

        Returns None if no known mistake shows it.
        """
        if self.mistaken is None:
            return None
        twin = next(
            (other for other in self.mistaken.nodes if self.have_same_value(node, other)), None
        )
        if twin is None:
            return None
        wrong, right = (_same_place(graph, twin) for graph in (self.mistaken, self.reference))
        return right[wrong.index(twin)] if len(right) == len(wrong) else None


def _same_place(graph: ValueGraph, node: Node) -> list[Node]:
    """Return the nodes of a graph that have the operation and the lines of a node."""
    return [
        other
        for other in graph.nodes
        if other.operation == node.operation and other.lines == node.lines
    ]
