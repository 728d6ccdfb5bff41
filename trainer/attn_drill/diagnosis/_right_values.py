"""Look up values among the results of right answers, in any layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

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

    def look_ahead(self, graph: ValueGraph) -> None:
        """Find similar values for all nodes of a graph together, which is many times faster."""
        waiting = [
            node
            for node in graph.nodes
            if node.features is not None and node not in self._near_nodes
        ]
        for start in range(0, len(waiting), _AT_ONCE):
            self._look_up(waiting[start : start + _AT_ONCE])

    def _look_up(self, nodes: Sequence[Node]) -> None:
        near: list[list[Node]] = [[] for _ in nodes]
        if self.nodes:
            figures = [node.features for node in nodes if node.features is not None]
            for row, column in self._close(figures).nonzero().tolist():
                near[row].append(self.nodes[column])
        self._near_nodes.update(zip(nodes, near, strict=True))

    def has(self, node: Node, *, may_swap: bool = True) -> bool:
        """Return whether the index has the value of a node in an honest layout.

        Args:
            node: the node to look up.
            may_swap: whether axes of equal size may be swapped.
        """
        if node.is_number:
            return node.value is not None and (node.is_float, node.scalar) in self._scalars
        if node.features is None or node.core is None:
            return False
        key = node, may_swap
        if key not in self._found:
            self._found[key] = self._has(node, may_swap)
        return self._found[key]

    def _has(self, node: Node, may_swap: bool) -> bool:
        if node not in self._near_nodes:
            self._look_up([node])
        for other in self._near_nodes[node]:
            if node.core is None or other.core is None:
                continue
            if hold_same_values(node.core, other.core, self.sizes, may_swap=may_swap):
                return True
        return False

    def _close(self, features: Iterable[tuple[float, ...]]) -> Tensor:
        """Return bool [features, nodes], true if features are close to those of a node."""
        table = torch.tensor([*features], dtype=torch.float64)[:, None]
        room = 1e-3 * torch.maximum(self._table[:, 1:2], table[:, :, 1:2])
        is_near = ((self._table[:, :4] - table[:, :, :4]).abs() <= room).all(dim=2)
        return is_near & ((self._table[:, 4] - table[:, :, 4]).abs() < 1e-9)


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
