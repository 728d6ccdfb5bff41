"""Recognise results that no right answer makes, but that may well be on the way to one."""

from __future__ import annotations

from collections import Counter

from trainer.diagnosis.graph_queries import comparable_parents
from trainer.diagnosis.matching import Matching
from trainer.diagnosis.value_graph import Node, leading_to

# Operations that take a part of their input.
PARTS = frozenset(
    "split split_with_sizes unsafe_split chunk unbind select slice narrow index index_select".split()
)
# Operations on every entry alone.
_FUNCTIONS = frozenset("sin cos exp tanh relu neg reciprocal pow".split())
# Operations that a loop over heads or blocks does piece by piece.
_PIECEWISE = frozenset(
    "mm bmm addmm baddbmm mul div t transpose permute unsqueeze squeeze expand clone return".split()
)


class RightStyles:
    """The results of a submission that may be another way to write something right."""

    def __init__(self, matching: Matching) -> None:
        self._matching, self._right = matching, matching.right
        self._visits = Counter((node.lines, node.operation) for node in matching.graph.nodes)

    def may_be_right(self, node: Node) -> bool:
        """Return whether a node that no right answer has may well lead to one."""
        return (
            self._is_piece(node)
            or self._is_taken_apart(node)
            or self._is_scaled(node)
            or self._is_of_a_product(node)
            or self._is_done_early(node)
        )

    def _is_piece(self, node: Node) -> bool:
        """Return whether it is made again and again, and all its entries are entries of right values.

        So it is in a loop over heads or blocks. Values that are only laid out anew, or joined, may
        be joined in the wrong order.
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
        """Return whether it is a part of a right value of which the other parts are taken too."""
        if node.operation not in PARTS or not node.parents:
            return False
        whole = node.parents[0]
        if not self._matching.is_right(whole):
            return False
        parts = [user for user in whole.users if user.operation in PARTS]
        return sum(part.entries for part in parts if part.parents[0] is whole) == whole.entries

    def _is_scaled(self, node: Node) -> bool:
        """Return whether it is a right value times a factor that right answers use too.

        They may multiply another value by it. It must be the first time on the way to the node.
        """
        node = node.source
        if self._scale(node) is None:
            return False
        if not all(self._matching.is_right(parent) for parent in comparable_parents(node)):
            return False
        return all(before is node or self._scale(before) is None for before in leading_to([node]))

    def _scale(self, node: Node) -> float | None:
        """Return the factor of a node if right answers have it too; factors of 1 and -1 are none."""
        factor = node.factor
        if factor is None or abs(abs(factor) - 1) <= 1e-3:
            return None
        return factor if self._right.has_factor(factor) else None

    def _is_of_a_product(self, node: Node) -> bool:
        """Return whether torch laid a right value out for a product of matrices on the same line."""
        if not node.is_layout or node.value is None or node.value.dim() != 3:
            return False
        if not self._matching.is_right(node.source) or not node.users:
            return False
        return all(user.operation == "bmm" and user.lines == node.lines for user in node.users)

    def _is_done_early(self, node: Node) -> bool:
        """Return whether a function of every entry was taken before the entries are repeated."""
        if node.operation not in _FUNCTIONS:
            return False
        parents = comparable_parents(node)
        if len(parents) != 1 or not self._matching.is_right(parents[0]):
            return False
        return self._right.has_entries(node)
