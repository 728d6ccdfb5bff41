"""Blame a line for failures other than wrong values.

These are in-place writes, cut gradients, random draws and tensors that are too large.
"""

from __future__ import annotations

from trainer.diagnosis.value_graph import Node, ValueGraph

_RANDOM = frozenset("bernoulli bernoulli_ native_dropout dropout rand rand_like uniform_".split())
_MAXIMA = frozenset("amax max maximum".split())
_EXPANSIONS = frozenset("expand expand_as".split())


def blamed_line(graph: ValueGraph, check: str, limit: int | None = None) -> int | None:
    """Return the first line that does what a check refuses; None if there is none.

    Args:
        check: "properties", "gradients", "train/eval" or "memory".
        limit: of a tensor's entries, for "memory".
    """
    carrying = _carrying_values(graph) if check == "gradients" else set()
    for node in graph.computed:
        if not node.lines:
            continue
        match check:
            case "properties":
                is_refused = node.written is not None and not node.written.is_parameter
            case "gradients":
                is_refused = node.is_cut and node in carrying and not _is_of_a_maximum(node)
            case "train/eval":
                is_refused = node.operation in _RANDOM
            case "memory":
                is_large = limit is not None and node.entries >= limit
                is_refused = is_large and node.operation not in _EXPANSIONS
            case _:
                return None
        if is_refused:
            return node.line
    return None


def _is_of_a_maximum(node: Node) -> bool:
    """Return whether a largest entry is cut off.

    The maximum that is subtracted from all scores of a row needs no gradient.
    """
    return any(parent.operation in _MAXIMA for parent in node.parents)


def _carrying_values(graph: ValueGraph) -> set[Node]:
    """Return the nodes into which given floats have gone.

    A tensor that is only made as large as another tensor carries none of them.
    """
    found: set[Node] = set()
    for node in graph.nodes:
        is_new = node.operation.endswith("_like") or node.operation.startswith("new_")
        if is_new or (node.value is not None and not node.is_float):
            continue
        if node.is_input or not found.isdisjoint(node.parents):
            found.add(node)
    return found
