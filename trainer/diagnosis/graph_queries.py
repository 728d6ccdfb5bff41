"""Answer questions about the graph of a run: from which values was a node computed?

Changes of layout and factors on the way are skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

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


def inputs_of(nodes: Iterable[Node]) -> set[str]:
    """Return the inputs from which these nodes were computed, without parameters."""
    return set().union(*(node.inputs for node in nodes))


def operands_of(node: Node, inputs: Collection[str]) -> set[Node]:
    """Return the operands of a node, and the values that these hold in another layout or joined.

    Args:
        inputs: an operand that joins values counts only if it was computed from these inputs alone.
    """

    def unchanged(operand: Node) -> tuple[Node, ...]:
        is_joined = operand.operation in ("cat", "stack")
        if operand.is_layout or (is_joined and inputs_of(operand.parents) <= set(inputs)):
            return operand.parents
        return ()

    return reachable(node.parents, unchanged)


def computed_of(node: Node) -> Node:
    """Return the node that computed a value, before changes of layout and factors."""
    while True:
        tensors = [parent for parent in node.parents if parent.entries > 1]
        is_kept = node.is_layout or node.factor is not None
        if len(tensors) != 1 or not is_kept:
            return node
        node = tensors[0]


def made_from(node: Node) -> list[Node]:
    """Return the values from which a node was computed, before changes of layout and factors.

    Parameters and constants are left out.
    """
    found: list[Node] = []
    for parent in computed_of(node).parents:
        source = parent.source
        if source.features is not None and not source.is_parameter and source not in found:
            found.append(source)
    return found


def comparable_parents(node: Node) -> list[Node]:
    """Return the nearest comparable ancestors of a node."""
    reached = reachable(node.parents, lambda other: () if other.is_comparable else other.parents)
    return sorted(other for other in reached if other.is_comparable)


def layouts_of(node: Node) -> list[Node]:
    """Return a node and the nodes that only change its layout, in order."""
    return sorted(reachable([node], lambda layout: filter(_changes_layout, layout.users)))


def _changes_layout(node: Node) -> bool:
    return node.is_layout and len(node.parents) == 1


def joined_parts(node: Node) -> set[Node]:
    """Return the values that a node joins, before changes of layout; the node itself if none."""

    def parts(whole: Node) -> tuple[Node, ...]:
        is_joined = whole.is_layout or whole.operation == "cat"
        return whole.parents if is_joined else ()

    return {part for part in reachable([node], parts) if not parts(part)}


def have_same_value(node: Node, other: Node, sizes: Mapping[str, int]) -> bool:
    """Return whether two nodes have the same value in an honest layout."""
    if node.core is None or other.core is None or node.features is None or other.features is None:
        return False
    room = 1e-3 * max(node.features[1], other.features[1])
    for figure, other_figure in zip(node.features[:4], other.features[:4], strict=True):
        if abs(figure - other_figure) > room:
            return False
    return hold_same_values(node.core, other.core, sizes)
