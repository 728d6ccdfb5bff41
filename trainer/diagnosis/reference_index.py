"""Look values up among the results of right answers, whatever their layout."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

import torch
from torch import Tensor

from trainer.diagnosis.layout import HIDDEN, same
from trainer.diagnosis.value_graph import Node, ValueGraph

_AT_ONCE = 256  # nodes
_FIGURES = 5  # of `layout.features`


class ReferenceIndex:
    """The different values that lead to the outputs of these graphs."""

    def __init__(self, graphs: Sequence[ValueGraph], sizes: Mapping[str, int]) -> None:
        self.graphs, self.sizes = graphs, sizes
        self.nodes: list[Node] = []
        seen: set[tuple[object, ...]] = set()
        for graph in graphs:
            for node in graph.leading_to_outputs:
                if node.features is None or node.value is None:
                    continue
                key = (tuple(node.value.shape), *(round(figure, 6) for figure in node.features))
                if key not in seen:
                    seen.add(key)
                    self.nodes.append(node)
        self._scalars = {node.scalar for graph in graphs for node in graph.nodes if node.is_number}
        figures = [node.features for node in self.nodes]
        self._table = torch.tensor(figures, dtype=torch.float64).reshape(-1, _FIGURES)
        self._found: dict[tuple[Node, bool], bool] = {}
        self._near_nodes: dict[Node, list[Node]] = {}

    def look_ahead(self, graph: ValueGraph) -> None:
        """Find what is near each node of a graph at once, which is many times quicker."""
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

    def has(self, node: Node, *, exchanging: bool = True) -> bool:
        """Return whether the node's value is here, in some honest layout.

        Args:
            exchanging: whether axes of one size may have changed places.
        """
        if node.is_number:
            return node.value is not None and node.scalar in self._scalars
        if node.features is None or node.core is None:
            return False
        key = node, exchanging
        if key not in self._found:
            self._found[key] = self._has(node, exchanging)
        return self._found[key]

    def _has(self, node: Node, exchanging: bool) -> bool:
        if node not in self._near_nodes:
            self._look_up([node])
        for other in self._near_nodes[node]:
            if node.core is None or other.core is None:
                continue
            if same(node.core, other.core, self.sizes, exchanging=exchanging):
                return True
        return False

    def has_entries(self, node: Node) -> bool:
        """Return whether all entries of the node's value are entries of values here."""
        if node.features is None or node.value is None or not len(self._entries):
            return False
        values = _entries(node.value)
        above = torch.searchsorted(self._entries, values).clamp(max=len(self._entries) - 1)
        below = (above - 1).clamp(min=0)
        nearest = torch.minimum(
            (self._entries[above] - values).abs(), (self._entries[below] - values).abs()
        )
        room = 3e-6 * values.abs() + 1e-6 * values.pow(2).mean().sqrt()
        return bool((nearest <= room).all())

    def has_factor(self, factor: float) -> bool:
        """Return whether a value here is multiplied or divided by this number."""
        for known in self._factors:
            if abs(factor - known) <= 1e-4 * abs(known) or abs(factor * known - 1) <= 1e-4:
                return True
        return False

    @cached_property
    def _factors(self) -> set[float]:
        nodes = (node for graph in self.graphs for node in graph.leading_to_outputs)
        return {round(node.factor, 8) for node in nodes if node.factor is not None}

    @cached_property
    def _entries(self) -> Tensor:
        """Every entry of every value here, in order."""
        entries = [_entries(node.value) for node in self.nodes if node.value is not None]
        return torch.cat([torch.empty(0, dtype=torch.float64), *entries]).sort().values

    def count_near(self, features: Collection[tuple[float, ...]]) -> int:
        """Return for how many figures some value here may be the same."""
        return int(self._close(features).any(dim=1).sum()) if self.nodes and features else 0

    def _close(self, features: Iterable[tuple[float, ...]]) -> Tensor:
        """Return whether figures are those of a node here: bool [figures, nodes]."""
        mine = torch.tensor([*features], dtype=torch.float64)[:, None]
        room = 1e-3 * torch.maximum(self._table[:, 1:2], mine[:, :, 1:2])
        is_near = ((self._table[:, :4] - mine[:, :, :4]).abs() <= room).all(dim=2)
        return is_near & ((self._table[:, 4] - mine[:, :, 4]).abs() < 1e-9)


def _entries(value: Tensor) -> Tensor:
    """Return the entries of a value; all entries that a mask has filled in are one number."""
    flat = value.to(torch.float64).flatten()
    return flat.nan_to_num(HIDDEN, HIDDEN, -HIDDEN).clamp(-HIDDEN, HIDDEN)
