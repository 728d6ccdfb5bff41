"""Look up values among the results of right answers, in any layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch

from attn_drill.diagnosis._layout import hold_same_values
from attn_drill.diagnosis._value_graph import Node, ValueGraph, have_same_value

_AT_ONCE = 256  # nodes that are looked up together
_FIGURES = 5  # the length of the tuples of `layout.features`


class ReferenceIndex:
    """The distinct values that lead to the outputs of these graphs."""

    def __init__(self, graphs: Sequence[ValueGraph], sizes: Mapping[str, int]) -> None:
        self.graphs, self.sizes = graphs, sizes
        self.nodes: list[Node] = []
        known_keys: set[tuple[object, ...]] = set()
        for graph in graphs:
            for node in graph.leading_to_outputs:
                if node.features is None or node.value is None:
                    continue
                key = (tuple(node.value.shape), *(round(figure, 6) for figure in node.features))
                if key not in known_keys:
                    known_keys.add(key)
                    self.nodes.append(node)
        self._scalars = {
            (node.is_float, node.scalar)
            for graph in graphs
            for node in graph.nodes
            if node.is_number
        }
        figures = [node.features for node in self.nodes]
        self._table = torch.tensor(figures, dtype=torch.float64).reshape(-1, _FIGURES)
        self._found: dict[tuple[Node, bool], bool] = {}
        self._near_nodes: dict[Node, list[Node]] = {}

    def look_ahead(self, nodes: Iterable[Node]) -> None:
        """Find similar values for many nodes together, which is many times faster."""
        waiting = [node for node in nodes if node.features and node not in self._near_nodes]
        for start in range(0, len(waiting), _AT_ONCE):
            some = waiting[start : start + _AT_ONCE]
            figures = torch.tensor([node.features for node in some], dtype=torch.float64)[:, None]
            room = 1e-3 * torch.maximum(self._table[:, 1:2], figures[:, :, 1:2])
            is_near = ((self._table[:, :4] - figures[:, :, :4]).abs() <= room).all(dim=2)
            is_near &= (self._table[:, 4] - figures[:, :, 4]).abs() < 1e-9
            self._near_nodes.update((node, []) for node in some)
            for row, column in is_near.nonzero().tolist():
                self._near_nodes[some[row]].append(self.nodes[column])

    def has(self, node: Node, *, may_swap: bool = True) -> bool:
        """Return whether the index has the value of a node in an honest layout.

        Args:
            may_swap: whether axes of equal size may be swapped.
        """
        if node.is_number:
            return node.value is not None and (node.is_float, node.scalar) in self._scalars
        core, key = node.core, (node, may_swap)
        if node.features is None or core is None:
            return False
        if key not in self._found:
            self.look_ahead([node])
            self._found[key] = any(
                other.core and hold_same_values(core, other.core, self.sizes, may_swap=may_swap)
                for other in self._near_nodes[node]
            )
        return self._found[key]


_LARGE = 1000  # different formulas often give a smaller integer by chance


class Matching:
    """The graph of a submission, matched with the values of right answers and of a mistake."""

    def __init__(
        self, graph: ValueGraph, right: ReferenceIndex, mistaken: ValueGraph | None = None
    ) -> None:
        self.graph, self.right = graph, right
        self._wrong = ReferenceIndex([] if mistaken is None else [mistaken], right.sizes)
        self._of_reference = ReferenceIndex(right.graphs[:1], right.sizes)
        for index in (right, self._wrong):
            index.look_ahead(graph.nodes)

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
