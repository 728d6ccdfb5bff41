"""Answer questions about the nodes of a graph: their kinds, ancestors and values."""

from __future__ import annotations

from collections.abc import Mapping

from trainer.diagnosis.layout import hold_same_values
from trainer.diagnosis.value_graph import Node, reachable

# Operations that replace each other in different implementations of the same formula.
KINDS = {
    "product": frozenset("mm bmm addmm baddbmm".split()),
    "softmax": frozenset("_softmax amax max maximum exp logsumexp".split()),
}


def kind_of(operation: str) -> str:
    """Return the kind of an operation, or its own name."""
    for kind, operations in KINDS.items():
        if operation in operations:
            return kind
    return operation


def comparable_parents(node: Node) -> list[Node]:
    """Return the nearest comparable ancestors of a node."""
    reached = reachable(node.parents, lambda other: () if other.is_comparable else other.parents)
    return sorted(other for other in reached if other.is_comparable)


def have_same_value(node: Node, other: Node, sizes: Mapping[str, int]) -> bool:
    """Return whether two nodes have the same value in an honest layout."""
    if node.core is None or other.core is None or node.features is None or other.features is None:
        return False
    room = 1e-3 * max(node.features[1], other.features[1])
    for figure, other_figure in zip(node.features[:4], other.features[:4], strict=True):
        if abs(figure - other_figure) > room:
            return False
    return hold_same_values(node.core, other.core, sizes)
