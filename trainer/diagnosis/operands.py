"""Find the operand to blame for a wrong node: a misplaced value, or a value that misses a step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

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
from trainer.diagnosis.value_graph import Node, ValueGraph, leading_to


@dataclass(frozen=True)
class _Use:
    """A place in a right graph that does something with an operand of the submission.

    twins   the operand in the right graph
    direct  whether the operand is used itself, and not a value that was made from it first
    """

    node: Node
    twins: set[Node]
    direct: bool


class Operands:
    """Look at the operands of the first wrong node of a submission."""

    def __init__(self, matching: Matching) -> None:
        self.matching, self.graph = matching, matching.graph

    def misplaced(self, node: Node) -> Node:
        """Return the operand of a wrong node that does not belong there; else the node itself."""
        counterparts = (self.matching.counterpart(layout) for layout in layouts_of(node))
        meant = next((found for found in counterparts if found is not None), None)
        if meant is None:
            return node
        mine, theirs = made_from(node), made_from(meant)
        is_product = kind_of(node.operation) == "product"
        if len(mine) != len(theirs) or (len(mine) == 1 and not is_product):
            return node
        is_meant = self.matching.is_meant
        odd = [operand for operand in mine if not any(is_meant(operand, its) for its in theirs)]
        if not odd and _come_from_one_split(mine):
            return min(mine)  # the right operands, in exchanged parts
        if len(odd) != 1 or not self.matching.is_right(odd[0]) or not odd[0].lines:
            return node
        users = [
            other
            for other in self.graph.nodes
            if not other.is_layout and odd[0] in made_from(other)
        ]
        if len(users) <= 1:
            return odd[0]
        return _returned_on_the_way(node, odd[0]) or node

    # A step that was left out

    def forgotten(self, node: Node, region: Collection[Node]) -> Node:
        """Return the operand to which right answers do something before they use it like this.

        If the forgotten step is done too late, return the node that does it. Else return the node.
        """
        done = self._first_computed(node)
        kind = kind_of(done.source.operation)
        if kind not in KINDS:
            return node
        for operand in made_from(done):
            if not self.matching.is_right(operand) or not operand.lines or not operand.inputs:
                continue
            found = (self._use(graph, operand, done, kind) for graph in self.matching.right.graphs)
            uses = [use for use in found if use is not None]
            later = [use for use in uses if not use.direct]
            if len(later) > len(uses) - len(later):  # there may be a style that does both
                return self._done_late(done, region, later[0]) or operand
        return node

    def _first_computed(self, node: Node) -> Node:
        """Return what is first computed from a right value that a node only lays out anew."""
        if not node.is_layout or not self.matching.is_right(node.source):
            return node
        layouts = set(layouts_of(node))
        users = {user for layout in layouts for user in layout.users} - layouts
        return min(users, default=node)

    def _use(self, graph: ValueGraph, operand: Node, node: Node, kind: str) -> _Use | None:
        """Return where a right graph does something of this kind with an operand."""
        twins = {other for other in graph.nodes if self.matching.alike(operand, other)}
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
                return _Use(place, twins, direct=False)
        return None

    def _done_late(self, node: Node, region: Collection[Node], use: _Use) -> Node | None:
        """Return the node that uses the other inputs of the forgotten step after all."""
        missing = use.node.inputs - inputs_of(use.twins) - node.inputs
        for other in sorted(region):
            if other.lines and missing & other.inputs:
                return other
        return None


def _come_from_one_split(nodes: Sequence[Node]) -> bool:
    """Return whether one line has split one value into all of these."""
    places = {(node.operation, node.parents, node.lines) for node in nodes}
    return (
        len(nodes) > 1 and len(places) == 1 and nodes[0].operation in PARTS and bool(nodes[0].lines)
    )


def _returned_on_the_way(node: Node, source: Node) -> Node | None:
    """Return where a value was returned from a call before a node of another call used it."""
    for parent in node.parents:
        while parent is not source and parent.is_layout and len(parent.parents) == 1:
            if parent.operation == "return" and len(parent.lines) == 1:
                return parent
            parent = parent.parents[0]
    return None
