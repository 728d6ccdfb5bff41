"""Blame a line for failures other than wrong values.

These failures are in-place writes, cut gradients, random draws and tensors that are too large.
"""

from __future__ import annotations

import torch

from attn_drill.diagnosis.value_graph import Node, ValueGraph, leading_to

_RANDOM = frozenset("bernoulli bernoulli_ native_dropout dropout rand rand_like uniform_".split())
_MAXIMA = frozenset("amax max maximum".split())
_EXPANSIONS = frozenset("expand expand_as".split())


def blamed_line(
    graph: ValueGraph,
    check: str,
    limit: int | None = None,
    reference: ValueGraph | None = None,
) -> int | None:
    """Return the first line that does what a check forbids; None if there is none.

    Args:
        check: "properties", "gradients", "train/eval" or "memory".
        limit: the number of entries that makes a tensor too large, for "memory".
        reference: the graph of the reference, for "train/eval". A random draw that the reference
            makes too is right, so another draw is to blame.
    """
    if check == "train/eval":
        return _line_of_draw(graph, reference)
    carrying = _carrying_values(graph) if check == "gradients" else set()
    for node in graph.computed:
        if not node.lines:
            continue
        match check:
            case "properties":
                is_forbidden = node.written is not None and not node.written.is_parameter
            case "gradients":
                # The maximum that is subtracted from all scores of a row needs no gradient.
                is_maximum = any(parent.operation in _MAXIMA for parent in node.parents)
                is_forbidden = node.is_cut and node in carrying and not is_maximum
            case "memory":
                is_large = limit is not None and node.entries >= limit
                is_forbidden = is_large and node.operation not in _EXPANSIONS
            case _:
                return None
        if is_forbidden:
            return node.line
    return None


def line_of_rounded_angle(graph: ValueGraph) -> int | None:
    """Return the line of the first value that is rounded before a sine or cosine is taken of it.

    A position or an angle of 1001 has no exact bfloat16. If the cast of the module to its dtype
    rounds a buffer, the line that made the buffer is returned. None if nothing is rounded.

    Args:
        graph: of the submission, recorded in a case in bfloat16.
    """
    angles = set(leading_to(node for node in graph.nodes if node.operation in ("cos", "sin")))
    for node in graph.nodes:
        if node not in angles or node.value is None or len(node.parents) != 1:
            continue
        (parent,) = node.parents
        before = parent.value
        is_low = node.value.dtype in (torch.bfloat16, torch.float16)
        if not is_low or before is None or before.dtype == node.value.dtype:
            continue
        if bool((node.value.to(torch.float64) != before.to(torch.float64)).any()):
            lines = node.lines or parent.lines
            return lines[0] if lines else None
    return None


def _line_of_draw(graph: ValueGraph, reference: ValueGraph | None) -> int | None:
    """Return the line of the first random draw that the reference does not make.

    If the reference makes all of them, return the line of the first.
    """
    drawn = [node for node in graph.computed if node.lines and node.operation in _RANDOM]
    computed = () if reference is None else reference.computed
    right = [node.entries for node in computed if node.operation in _RANDOM]
    others = []
    for node in drawn:
        if node.entries in right:
            right.remove(node.entries)
        else:
            others.append(node)
    return min(others or drawn).line if drawn else None


def _carrying_values(graph: ValueGraph) -> set[Node]:
    """Return the nodes that are computed from the values of float inputs or parameters.

    A node that only copies the shape of a tensor (`zeros_like`) is not computed from its values.
    """
    carrying: set[Node] = set()
    for node in graph.nodes:
        is_new = node.operation.endswith("_like") or node.operation.startswith("new_")
        if is_new or (node.value is not None and not node.is_float):
            continue
        if node.is_input or not carrying.isdisjoint(node.parents):
            carrying.add(node)
    return carrying
