"""Decide which results of a submission are right.

A result is right if some right answer makes the same value.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from attn_drill.diagnosis.reference_index import ReferenceIndex
from attn_drill.diagnosis.value_graph import Node, ValueGraph, have_same_value


class Matching:
    """The graph of a submission, matched with the graphs of right answers.

    Args:
        graph: the graph of the submission.
        right: the values of right answers, the reference first.
        mistaken: the graph of the reference with the known mistake, if a mistake is known.
    """

    def __init__(
        self, graph: ValueGraph, right: ReferenceIndex, mistaken: ValueGraph | None = None
    ) -> None:
        self.graph, self.right = graph, right
        self._wrong = None if mistaken is None else ReferenceIndex([mistaken], right.sizes)
        right.look_ahead(graph)
        if self._wrong is not None:
            self._wrong.look_ahead(graph)

    @property
    def sizes(self) -> Mapping[str, int]:
        """The value of every letter."""
        return self.right.sizes

    def is_right(self, node: Node) -> bool:
        """Return whether a node is an input, or a right answer makes the same value."""
        return node.is_input or (self.right.has(node) and not self._is_rather_wrong(node))

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
        index = ReferenceIndex(self.right.graphs[:1], self.sizes)
        index.look_ahead(self.graph)
        return index

    def have_same_value(self, node: Node, other: Node) -> bool:
        """Return whether two nodes have the same value."""
        return have_same_value(node, other, self.sizes)
