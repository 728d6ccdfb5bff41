"""Recognise results that no right answer makes, but that may belong to another right answer."""

from __future__ import annotations

from collections import Counter

from trainer.diagnosis.graph_queries import comparable_parents
from trainer.diagnosis.matching import Matching
from trainer.diagnosis.value_graph import Node, leading_to

# Operations that return a part of their input.
PARTS = frozenset(
    "split split_with_sizes unsafe_split chunk unbind select slice narrow index "
    "index_select".split()
)
# Operations on each entry separately.
_FUNCTIONS = frozenset("sin cos exp tanh relu neg reciprocal pow".split())
# Operations that a loop over heads or blocks applies to one piece at a time.
_PIECEWISE = frozenset(
    "mm bmm addmm baddbmm mul div t transpose permute unsqueeze squeeze expand clone return".split()
)


class RightStyles:
    """The results of a submission that may be steps of another right implementation."""

    def __init__(self, matching: Matching) -> None:
        self._matching, self._right = matching, matching.right
        self._visits = Counter((node.lines, node.operation) for node in matching.graph.nodes)

    def may_be_right(self, node: Node) -> bool:
        """Return whether a node that no right answer has may still lead to a right value."""
        return (
            self._is_piece(node)
            or self._is_taken_apart(node)
            or self._is_scaled(node)
            or self._is_of_a_product(node)
            or self._is_done_early(node)
        )

    def _is_piece(self, node: Node) -> bool:
        """Return whether a node is a right piece that a loop over heads or blocks makes.

        Then its line runs several times, and all its entries are entries of right values. A node
        that reshapes or joins values does not count, because their order may be wrong.
        """
        if self._visits[node.lines, node.operation] < 2 or self._matching.is_right(node):
            return False
        if not self._right.has_entries(node):
            return False
        if node.operation in PARTS:
            return not node.parents or node.entries < node.parents[0].entries
        if node.operation in ("mul", "div") and node.factor is None:
            return False
        return node.operation in _PIECEWISE

    def _is_taken_apart(self, node: Node) -> bool:
        """Return whether a node is a part of a right value whose other parts are used, too."""
        if node.operation not in PARTS or not node.parents:
            return False
        whole = node.parents[0]
        if not self._matching.is_right(whole):
            return False
        parts = [user for user in whole.users if user.operation in PARTS]
        return sum(part.entries for part in parts if part.parents[0] is whole) == whole.entries

    def _is_scaled(self, node: Node) -> bool:
        """Return whether a node is a right value times a factor that right answers use, too.

        Right answers may multiply another value by the factor. The factor must not be applied twice
        on the way to the node.
        """
        node = node.source
        if self._scale(node) is None:
            return False
        if not all(self._matching.is_right(parent) for parent in comparable_parents(node)):
            return False
        return all(before is node or self._scale(before) is None for before in leading_to([node]))

    def _scale(self, node: Node) -> float | None:
        """Return the factor of a node if right answers use it, too. Ignore factors of 1 and -1."""
        factor = node.factor
        if factor is None or abs(abs(factor) - 1) <= 1e-3:
            return None
        return factor if self._right.has_factor(factor) else None

    def _is_of_a_product(self, node: Node) -> bool:
        """Return whether torch changed the layout of a right value for a product on this line."""
        if not node.is_layout or node.value is None or node.value.dim() != 3:
            return False
        if not self._matching.is_right(node.source) or not node.users:
            return False
        return all(user.operation == "bmm" and user.lines == node.lines for user in node.users)

    def _is_done_early(self, node: Node) -> bool:
        """Return whether a function was applied to entries before they are repeated."""
        if node.operation not in _FUNCTIONS:
            return False
        parents = comparable_parents(node)
        if len(parents) != 1 or not self._matching.is_right(parents[0]):
            return False
        return self._right.has_entries(node)
