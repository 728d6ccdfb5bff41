"""Decide which results of a submission are right: some right answer makes the same value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from trainer.diagnosis.graph_queries import alike, computed_of
from trainer.diagnosis.reference_index import ReferenceIndex
from trainer.diagnosis.value_graph import Node, ValueGraph


class Matching:
    """The graph of a submission, matched with the graphs of right answers.

    Args:
        graph: of the submission.
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
        """Whether a mistake is known."""
        return self._wrong is not None

    def is_right(self, node: Node) -> bool:
        """Return whether the node is given, or a right answer makes the same value."""
        if node.is_number and node.is_float and self._misses_integer:
            return False
        if node.is_input:
            return True
        return self.right.has(node) and not self._is_rather_wrong(node)

    def is_known_wrong(self, node: Node) -> bool:
        """Return whether the known mistake makes the same value, and no right answer does."""
        if node.is_number and not node.is_large_scalar:  # small numbers are equal by chance
            return False
        return self._wrong is not None and not self.is_right(node) and self._wrong.has(node)

    def _is_rather_wrong(self, node: Node) -> bool:
        """Return whether a value that a right answer makes as well is the known mistake's.

        The reference does not make it then, or only with two axes exchanged.
        """
        if self._wrong is None or node.is_number or not self._wrong.has(node):
            return False
        if not self._of_reference.has(node):
            return True
        shape = [] if node.value is None else [size for size in node.value.shape if size > 1]
        has_equal_axes = len(set(shape)) < len(shape)
        return (
            has_equal_axes
            and self._wrong.has(node, exchanging=False)
            and not self.right.has(node, exchanging=False)
        )

    @cached_property
    def _of_reference(self) -> ReferenceIndex:
        """The values of the reference itself."""
        index = ReferenceIndex([self.reference], self.sizes)
        index.look_ahead(self.graph)
        return index

    @cached_property
    def _misses_integer(self) -> bool:
        """Whether an output is a float, and the reference gives an integer."""
        for name, mine in self.graph.outputs.items():
            wanted = self.reference.outputs.get(name)
            if wanted is None or not mine.is_number or not wanted.is_number:
                continue
            if mine.is_float and not wanted.is_float:
                return True
        return False

    def alike(self, node: Node, other: Node) -> bool:
        """Return whether two nodes made the same value."""
        return alike(node, other, self.sizes)

    def is_meant(self, node: Node, other: Node) -> bool:
        """Return whether a node is one of the reference's, perhaps before or after a factor."""
        mine, theirs = {node, computed_of(node)}, {other, computed_of(other)}
        return any(self.alike(one, its) for one in mine for its in theirs)

    def counterpart(self, node: Node) -> Node | None:
        """Return the node of the reference that a wrong node should be, by the known mistake."""
        if self.mistaken is None:
            return None
        twin = next((other for other in self.mistaken.nodes if self.alike(node, other)), None)
        if twin is None:
            return None
        theirs, right = (_same_place(graph, twin) for graph in (self.mistaken, self.reference))
        return right[theirs.index(twin)] if len(right) == len(theirs) else None


def _same_place(graph: ValueGraph, node: Node) -> list[Node]:
    """Return the nodes of a graph with the operation and the lines of a node."""
    return [
        other
        for other in graph.nodes
        if other.operation == node.operation and other.lines == node.lines
    ]
