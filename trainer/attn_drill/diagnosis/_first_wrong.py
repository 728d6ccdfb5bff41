"""Find the first wrong value of a submission, and the right values from which it was computed.

The search starts at a wrong output and follows the results of the submission backwards, as long as
no right answer makes the same results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import filterfalse

import torch

from attn_drill.diagnosis._recorded_case import Matching
from attn_drill.diagnosis._value_graph import (
    Node,
    comparable_parents,
    leading_to,
    reachable,
)

# Operations that replace each other in different implementations of the same formula.
_KINDS = {
    **dict.fromkeys("mm bmm addmm baddbmm".split(), "product"),
    **dict.fromkeys("_softmax amax max maximum exp logsumexp".split(), "softmax"),
}


@dataclass(frozen=True)
class FirstWrong:
    """The first wrong value of a submission."""

    node: Node
    # The lines of the file in the call stack, innermost first, without lines that make right values
    # for another caller.
    lines: tuple[int, ...]
    # The right values from which it was computed, without inputs and parameters.
    operands: tuple[Node, ...]
    # Whether right answers do another step before they use an operand like this.
    is_early: bool
    # A copy of another step's value in the place of an operand, and the name of that value.
    misplaced: tuple[Node, str] | None = None


def first_wrong(matching: Matching, outputs: Iterable[str]) -> FirstWrong | None:
    """Return the first wrong value on the way to these outputs; None if it cannot be found."""
    node = _first_node(matching, outputs)
    if node is None:
        return None
    operands: list[Node] = []
    for parent in comparable_parents(node):
        if parent.is_parameter:
            continue
        operand = parent.source if parent.lines == node.lines else parent
        is_computed = operand.lines and operand.inputs
        if is_computed and matching.is_right(operand) and operand not in operands:
            operands.append(operand)
    misplaced = _misplaced(matching, node, operands)
    if misplaced is not None:
        operands = [operand for operand in operands if operand.source is not misplaced[0]]
    is_early = any(_is_early(matching, node, operand) for operand in operands)
    return FirstWrong(node, _lines_of(matching, node), tuple(operands), is_early, misplaced)


def wrong_entries(matching: Matching, outputs: Iterable[str]) -> list[Node]:
    """Return all wrong nodes on the way to these outputs whose operands are all right."""
    return [
        node
        for node in sorted(_wrong_region(matching, outputs))
        if node.lines and all(map(matching.is_right, node.parents))
    ]


def _first_node(matching: Matching, outputs: Iterable[str]) -> Node | None:
    if (opposite := _opposite(matching, outputs)) is not None:
        return opposite
    region = _wrong_region(matching, outputs)
    if not region:  # no output is a tensor that can be followed backwards
        computed = [node for node in matching.graph.computed if node.lines]
        known_wrong = next(filter(matching.is_known_wrong, computed), None)
        if known_wrong is None and computed and all(map(matching.is_right, computed[:-1])):
            return computed[-1]
        return known_wrong
    wrong = [node for node in sorted(region) if node.lines]
    comparable = [node for node in wrong if node.is_comparable]
    if not comparable:  # for example a mask that hides everything
        if len({node.line for node in wrong}) == 1:
            return wrong[0]
        ends = matching.graph.outputs
        makers = {ends[name].source for name in outputs if name in ends}
        return min(makers.intersection(wrong), default=None)
    comparable = [node for node in comparable if not _is_part(matching, node)] or comparable
    known_wrong = next(filter(matching.is_known_wrong, comparable), None)
    if known_wrong is not None and not known_wrong.origins:
        return known_wrong
    # A value that is made from no input may be another notation of a right constant.
    counted = [node for node in comparable if node.origins] or comparable
    all_counted = set(counted)
    entries = [node for node in counted if all_counted.isdisjoint(comparable_parents(node))]
    first = min(entries or counted)
    if known_wrong is not None:
        first = min(known_wrong, first)
    return min(_wrong_masks(matching, first), default=first)


def _wrong_masks(matching: Matching, first: Node) -> set[Node]:
    """Return the wrong masks from no input with which a wrong value is computed directly."""
    starts = []
    for parent in comparable_parents(first):
        if parent.is_mask and not parent.origins and _fits(parent, first):
            starts.append(parent)
    reached = reachable(starts, lambda node: () if matching.is_right(node) else node.parents)
    return {node for node in reached if node.is_mask and node.lines and not matching.is_right(node)}


def _fits(node: Node, result: Node) -> bool:
    """Return whether a value is spread over a result, as a mask over scores."""
    if node.value is None or result.value is None:
        return False
    pairs = zip(reversed(node.value.shape), reversed(result.value.shape), strict=False)
    return all(size in (1, of_result) for size, of_result in pairs)


def _opposite(matching: Matching, outputs: Iterable[str]) -> Node | None:
    """Return the node that made an output which is True exactly where the right output is False.

    Such a mask is no wrong value, because a mask has two notations.
    """
    graph, reference = matching.graph, matching.right.graphs[0]
    for name in outputs:
        if name not in graph.outputs or name not in reference.outputs:
            continue
        node, value = graph.outputs[name], graph.outputs[name].value
        right = reference.outputs[name].value
        if value is None or right is None or not value.dtype == right.dtype == torch.bool:
            continue
        if torch.equal(value, ~right):
            while node.is_layout or node.operation == "repeat":
                if not node.parents or not node.parents[0].lines:
                    break
                node = node.parents[0]
            return node
    return None


def _is_part(matching: Matching, node: Node) -> bool:
    """Return whether a value is only a part of a right value, perhaps in another layout."""
    while node.operation == "return" and node.parents:
        (node,) = node.parents
    return node.operation in ("unbind", "select") and all(map(matching.is_right, node.parents))


def _wrong_region(matching: Matching, outputs: Iterable[str]) -> set[Node]:
    """Return all wrong nodes on the way to these outputs. An output counts even if it is right."""
    ends = matching.graph.outputs

    def wrong_parents(node: Node) -> Iterable[Node]:
        return () if matching.is_right(node) else filterfalse(matching.is_right, node.parents)

    return reachable([ends[name] for name in outputs if name in ends], wrong_parents)


def _lines_of(matching: Matching, node: Node) -> tuple[int, ...]:
    """Return the lines of a node from the first that does not make right values elsewhere.

    If another call of a function gives right values at the same line, the caller is to blame.
    """
    lines = node.lines
    while len(lines) > 1 and any(
        other.lines[:1] == lines[:1]
        and other.lines[1:] != lines[1:]
        and other.operation == node.operation
        and other.is_comparable
        and matching.is_right(other)
        for other in matching.graph.nodes
    ):
        lines = lines[1:]
    return lines


def _misplaced(matching: Matching, node: Node, operands: Sequence[Node]) -> tuple[Node, str] | None:
    """Return an operand that makes the value of an earlier step again, and that value's name.

    Right answers make this value once. They compute a result of this kind from all other operands
    and from a value that does not depend on this operand, for example from `v` instead of `q`.
    """
    kind, found = _kind(node), None
    for graph in matching.right.graphs if len(operands) > 1 else ():
        for user in (other for other in graph.nodes if _kind(other) == kind):
            left = [parent.source for parent in comparable_parents(user)]
            missing: list[Node] = []
            for operand in operands:
                value = operand.source
                same = [parent for parent in left if matching.have_same_value(value, parent)]
                if same:
                    left.remove(same[0])
                else:
                    missing.append(value)
            if not missing:
                return None
            if len(missing) > 1 or found is not None or not _is_copy(matching, missing[0]):
                continue
            twins = [other for other in graph.nodes if matching.have_same_value(missing[0], other)]
            name = next((twin.name for twin in twins if twin.name), "")
            is_made_once = len({twin.source for twin in twins}) == 1
            if name and is_made_once and set(twins).isdisjoint(leading_to(left)):
                found = missing[0], name
    return found


def _is_copy(matching: Matching, node: Node) -> bool:
    """Return whether an earlier line of the submission has computed the same value."""
    return any(
        other.lines and other.source is not node and matching.have_same_value(node, other)
        for other in matching.graph.nodes[: node.index]
    )


def _kind(node: Node) -> str:
    return _KINDS.get(node.operation, node.operation)


def _is_early(matching: Matching, node: Node, operand: Node) -> bool:
    """Return whether no right answer uses an operand in an operation of this kind directly.

    At least one right answer must do so after another step. Changes of layout are no step.
    """
    kind = _KINDS.get(node.operation)
    if kind is None:  # other operations have too many uses
        return False
    is_used_later = False
    for graph in matching.right.graphs:
        twins = {other for other in graph.nodes if matching.have_same_value(operand, other)}
        users = [
            user
            for user in graph.nodes
            if twins and _KINDS.get(user.operation) == kind and user not in twins
        ]
        for user in users:
            direct = reachable(user.parents, lambda other: other.parents if other.is_layout else ())
            if not twins.isdisjoint(direct):
                return False
            is_used_later = is_used_later or not twins.isdisjoint(leading_to([user]))
    return is_used_later
