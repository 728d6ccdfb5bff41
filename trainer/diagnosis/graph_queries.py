"""Questions about the graph of a run: from what a node was made, past layouts and factors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from trainer.diagnosis.layout import same
from trainer.diagnosis.value_graph import Node, walk

# Operations that different ways to write the same thing use in each other's place.
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
    """Return the inputs that have gone into these nodes, without parameters."""
    return set().union(*(node.inputs for node in nodes))


def operands_of(node: Node, inputs: Collection[str]) -> set[Node]:
    """Return what goes into a node unchanged, in another layout or joined with other operands.

    Args:
        inputs: joined operands must be made of these inputs.
    """

    def unchanged(operand: Node) -> tuple[Node, ...]:
        is_joined = operand.operation in ("cat", "stack")
        if operand.is_layout or (is_joined and inputs_of(operand.parents) <= set(inputs)):
            return operand.parents
        return ()

    return walk(node.parents, unchanged)


def computed_of(node: Node) -> Node:
    """Return the node that computed a value before it was laid out anew or multiplied."""
    while True:
        tensors = [parent for parent in node.parents if parent.entries > 1]
        is_kept = node.is_layout or node.factor is not None
        if len(tensors) != 1 or not is_kept:
            return node
        node = tensors[0]


def made_from(node: Node) -> list[Node]:
    """Return the values that a node was computed from, past changes of layout and its factor.

    Parameters and constants are left out.
    """
    found: list[Node] = []
    for parent in computed_of(node).parents:
        source = parent.source
        if source.features is not None and not source.is_parameter and source not in found:
            found.append(source)
    return found


def comparable_parents(node: Node) -> list[Node]:
    """Return the nodes that it was made from; past those that tell nothing, their own parents."""
    reached = walk(node.parents, lambda other: () if other.is_comparable else other.parents)
    return sorted(other for other in reached if other.is_comparable)


def layouts_of(node: Node) -> list[Node]:
    """Return a node and the nodes that only lay it out anew, in order."""
    return sorted(walk([node], lambda layout: filter(_lays_out, layout.users)))


def _lays_out(node: Node) -> bool:
    return node.is_layout and len(node.parents) == 1


def joined_parts(node: Node) -> set[Node]:
    """Return the values that a node joins, past changes of layout; itself if it joins nothing."""

    def parts(whole: Node) -> tuple[Node, ...]:
        is_joined = whole.is_layout or whole.operation == "cat"
        return whole.parents if is_joined else ()

    return {part for part in walk([node], parts) if not parts(part)}


def alike(node: Node, other: Node, sizes: Mapping[str, int]) -> bool:
    """Return whether two nodes made the same value, in some honest layout."""
    if node.core is None or other.core is None or node.features is None or other.features is None:
        return False
    room = 1e-3 * max(node.features[1], other.features[1])
    for mine, theirs in zip(node.features[:4], other.features[:4], strict=True):
        if abs(mine - theirs) > room:
            return False
    return same(node.core, other.core, sizes)
