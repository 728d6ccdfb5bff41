"""Find the operand to blame for a wrong node: a misplaced value, or a value that misses a step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch

from trainer.diagnosis.graph_queries import (
    KINDS,
    inputs_of,
    kind_of,
    layouts_of,
    made_from,
    operands_of,
)
from trainer.diagnosis.matching import Matching
from trainer.diagnosis.right_styles import PARTS
from trainer.diagnosis.value_graph import Node, ValueGraph, leading_to, reachable

_SUMS = frozenset("add add_ sub sub_".split())


@dataclass(frozen=True)
class _Use:
    """A node of a right graph that uses an operand of the submission.

    Attributes:
        node: the node that uses the operand.
        twins: the operand in the right graph.
        direct: whether the node uses the operand itself, and not a value computed from it.
        is_scaled: whether only factors lie between the operand and the node.
    """

    node: Node
    twins: set[Node]
    direct: bool
    is_scaled: bool = False


class Operands:
    """Examine the operands of the first wrong node of a submission."""

    def __init__(self, matching: Matching) -> None:
        self.matching, self.graph = matching, matching.graph
        self.forgot_a_factor = False  # whether `forgotten` found that only a factor is missing

    def misplaced(self, node: Node) -> Node:
        """Return the operand of a wrong node that does not belong there, or the node itself."""
        counterparts = (self.matching.counterpart(layout) for layout in layouts_of(node))
        intended = next((found for found in counterparts if found is not None), None)
        if intended is None:
            return node
        operands, right_operands = made_from(node), made_from(intended)
        is_product = kind_of(node.operation) == "product"
        if len(operands) != len(right_operands) or (len(operands) == 1 and not is_product):
            return node
        matches_up_to_factor = self.matching.matches_up_to_factor
        misplaced = [
            operand
            for operand in operands
            if not any(matches_up_to_factor(operand, right) for right in right_operands)
        ]
        in_order = all(map(matches_up_to_factor, operands, right_operands))
        if not misplaced and not in_order and _come_from_one_split(operands):
            return min(operands)  # the right operands, but the parts of a split are swapped
        if (
            len(misplaced) != 1
            or not self.matching.is_right(misplaced[0])
            or not misplaced[0].lines
        ):
            return node
        users = [
            other
            for other in self.graph.nodes
            if not other.is_layout and misplaced[0] in made_from(other)
        ]
        if len(users) <= 1:
            return misplaced[0]
        return _returned_on_the_way(node, misplaced[0]) or node

    def wrong_bias(self, node: Node) -> Node:
        """Return the node that computed a mask which a wrong sum adds to right scores.

        A mask with two levels has no features by which it could be recognised as wrong, and it has
        the pattern of its complement. But if the scores are right and the sum is not, the mask is
        wrong. If the sum adds no such mask, return the node itself.
        """
        if node.operation not in _SUMS:
            return node
        operands = [parent for parent in node.parents if parent.entries > 1]
        masks = [operand for operand in operands if _has_two_levels(operand)]
        others = [operand for operand in operands if operand not in masks]
        if len(masks) != 1 or not others or not all(map(self.matching.is_right, others)):
            return node
        source = masks[0].source
        return source if source.lines and not source.is_input else node

    # A step that was left out

    def forgotten(self, node: Node, region: Collection[Node]) -> Node:
        """Return the operand to which right answers apply a step before they use it like this.

        If the submission applies the step too late, return the node that does so. If no step is
        missing, return the node itself.

        Args:
            node: the first wrong node.
            region: all wrong nodes on the way to the outputs.
        """
        computed = self._first_computed(node)
        kind = kind_of(computed.source.operation)
        if kind not in KINDS:
            return node
        for operand in made_from(computed):
            if not self.matching.is_right(operand) or not operand.lines or not operand.inputs:
                continue
            found = (
                self._use(graph, operand, computed, kind) for graph in self.matching.right.graphs
            )
            uses = [use for use in found if use is not None]
            later = [use for use in uses if not use.direct]
            if len(later) > len(uses) - len(later):  # a right answer may also use it directly
                self.forgot_a_factor = all(use.is_scaled for use in later)
                return self._done_late(computed, region, later[0]) or operand
        return node

    def _first_computed(self, node: Node) -> Node:
        """Return the first node that computes something from a right value in a new layout."""
        if not node.is_layout or not self.matching.is_right(node.source):
            return node
        layouts = set(layouts_of(node))
        users = {user for layout in layouts for user in layout.users} - layouts
        return min(users, default=node)

    def _use(self, graph: ValueGraph, operand: Node, node: Node, kind: str) -> _Use | None:
        """Return the node of a right graph that uses an operand in an operation of this kind."""
        twins = {other for other in graph.nodes if self.matching.have_same_value(operand, other)}
        if not twins:
            return None
        places = [
            other
            for other in graph.nodes
            if other not in twins and kind_of(other.operation) == kind
        ]
        for place in places:
            if twins & operands_of(place, node.inputs):
                return _Use(place, twins, direct=True)
        for place in places:
            if twins & set(leading_to([place])):
                return _Use(place, twins, direct=False, is_scaled=_is_only_scaled(place, twins))
        return None

    def _done_late(self, node: Node, region: Collection[Node], use: _Use) -> Node | None:
        """Return the later node that uses the other inputs of the forgotten step."""
        missing = use.node.inputs - inputs_of(use.twins) - node.inputs
        for other in sorted(region):
            if other.lines and missing & other.inputs:
                return other
        return None


def _has_two_levels(node: Node) -> bool:
    """Return whether a float tensor has at most two distinct entries, as an added mask has."""
    value = node.value
    if value is None or not value.is_floating_point():
        return False
    return len(torch.unique(value.nan_to_num())) <= 2


def _is_only_scaled(node: Node, twins: set[Node]) -> bool:
    """Return whether a node uses one of these nodes after nothing but factors and layouts."""

    def before(other: Node) -> tuple[Node, ...]:
        is_kept = other not in twins and (other.is_layout or other.factor is not None)
        return tuple(parent for parent in other.parents if parent.entries > 1) if is_kept else ()

    return not twins.isdisjoint(reachable(node.parents, before))


def _come_from_one_split(nodes: Sequence[Node]) -> bool:
    """Return whether a single line split a single value into all these nodes."""
    places = {(node.operation, node.parents, node.lines) for node in nodes}
    return (
        len(nodes) > 1 and len(places) == 1 and nodes[0].operation in PARTS and bool(nodes[0].lines)
    )


def _returned_on_the_way(node: Node, source: Node) -> Node | None:
    """Return the node at which a call returned a value before another call used it."""
    for parent in node.parents:
        while parent is not source and parent.is_layout and len(parent.parents) == 1:
            if parent.operation == "return" and len(parent.lines) == 1:
                return parent
            parent = parent.parents[0]
    return None
