"""Blame a line for failures other than wrong values.

These failures are in-place writes, cut gradients, random draws and tensors that are too large.
"""

from __future__ import annotations

from trainer.diagnosis.value_graph import Node, ValueGraph

_RANDOM = frozenset("bernoulli bernoulli_ native_dropout dropout rand rand_like uniform_".split())
_MAXIMA = frozenset("amax max maximum".split())
_EXPANSIONS = frozenset("expand expand_as".split())


def blamed_line(graph: ValueGraph, check: str, limit: int | None = None) -> int | None:
    """Return the first line that does what a check forbids; None if there is none.

    Args:
        graph: of the submission.
        check: "properties", "gradients", "train/eval" or "memory".
        limit: the number of entries that makes a tensor too large, for "memory".
    """
    carrying = _carrying_values(graph) if check == "gradients" else set()
    for node in graph.computed:
        if not node.lines:
            continue
        match check:
            case "properties":
                is_forbidden = node.written is not None and not node.written.is_parameter
            case "gradients":
                is_forbidden = node.is_cut and node in carrying and not _is_of_a_maximum(node)
            case "train/eval":
                is_forbidden = node.operation in _RANDOM
            case "memory":
                is_large = limit is not None and node.entries >= limit
                is_forbidden = is_large and node.operation not in _EXPANSIONS
            case _:
                return None
        if is_forbidden:
            return node.line
    return None


def _is_of_a_maximum(node: Node) -> bool:
    """Return whether a node detaches a maximum.

    The maximum that is subtracted from all scores of a row needs no gradient.
    """
    return any(parent.operation in _MAXIMA for parent in node.parents)


def _carrying_values(graph: ValueGraph) -> set[Node]:
    """Return the nodes that are computed from the values of float inputs or parameters.

    A node that only copies the shape of a tensor (`zeros_like`) is not computed from its values.
    """
    found: set[Node] = set()
    for node in graph.nodes:
        is_new = node.operation.endswith("_like") or node.operation.startswith("new_")
        if is_new or (node.value is not None and not node.is_float):
            continue
        if node.is_input or not found.isdisjoint(node.parents):
            found.add(node)
    return found
