"""Look up values among the results of right answers, in any layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from attn_drill.diagnosis.layout import hold_same_values
from attn_drill.diagnosis.value_graph import Node, ValueGraph

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
        self._near_nodes: dict[Node, list[Node]] = {}
        self._has: dict[Node, bool] = {}

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
        """Find the values whose figures are close to those of these nodes."""
        near: list[list[Node]] = [[] for _ in nodes]
        if self.nodes:
            figures = torch.tensor([node.features for node in nodes], dtype=torch.float64)[:, None]
            room = 1e-3 * torch.maximum(self._table[:, 1:2], figures[:, :, 1:2])
            is_near = ((self._table[:, :4] - figures[:, :, :4]).abs() <= room).all(dim=2)
            is_near &= (self._table[:, 4] - figures[:, :, 4]).abs() < 1e-9
            for row, column in is_near.nonzero().tolist():
                near[row].append(self.nodes[column])
        self._near_nodes.update(zip(nodes, near, strict=True))

    def has(self, node: Node) -> bool:
        """Return whether the index has the value of a node in an honest layout."""
        if node.is_number:
            return node.value is not None and (node.is_float, node.scalar) in self._scalars
        if node.features is None or node.core is None:
            return False
        if node not in self._near_nodes:
            self._look_up([node])
        if node not in self._has:
            self._has[node] = any(
                other.core is not None and hold_same_values(node.core, other.core, self.sizes)
                for other in self._near_nodes[node]
            )
        return self._has[node]
