"""Decide which results of a submission are right.

A result is right if some right answer makes the same value.
"""

from __future__ import annotations

from collections.abc import Mapping

from attn_drill.diagnosis.reference_index import ReferenceIndex
from attn_drill.diagnosis.value_graph import Node, ValueGraph, have_same_value

_LARGE = 1000  # different formulas often give a smaller integer by chance


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
        self._wrong = ReferenceIndex([] if mistaken is None else [mistaken], right.sizes)
        self._of_reference = ReferenceIndex(right.graphs[:1], right.sizes)
        for index in (right, self._wrong):
            index.look_ahead(graph)

    @property
    def sizes(self) -> Mapping[str, int]:
        return self.right.sizes

    def is_right(self, node: Node) -> bool:
        """Return whether a node is an input, or a right answer makes the same value.

        If the known mistake makes the value and the reference does not, the value is more likely a
        result of the mistake than a step of another right answer.
        """
        if node.is_input or not self.right.has(node):
            return node.is_input
        is_of_mistake = not node.is_number and self._wrong.has(node)
        return not is_of_mistake or self._of_reference.has(node)

    def is_known_wrong(self, node: Node) -> bool:
        """Return whether the known mistake makes the same value, and no right answer does."""
        if node.is_number and not node.is_float and abs(node.scalar) < _LARGE:
            return False
        return not self.is_right(node) and self._wrong.has(node)

    def have_same_value(self, node: Node, other: Node) -> bool:
        return have_same_value(node, other, self.sizes)
