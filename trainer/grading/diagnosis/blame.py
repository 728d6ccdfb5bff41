"""Find the line at which the computation first left the right path.

From a wrong output the results of the submission are followed backwards as far as no right answer
makes them. The first of them is to blame, or the operand or call that led to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, filterfalse

import torch
from torch import Tensor

from trainer.grading.diagnosis.graph_queries import (
    KINDS,
    comparable_parents,
    inputs_of,
    joined_parts,
    kind_of,
    layouts_of,
    made_from,
    operands_of,
)
from trainer.grading.diagnosis.matching import Matching
from trainer.grading.diagnosis.right_styles import PARTS, RightStyles
from trainer.grading.diagnosis.value_graph import Node, ValueGraph, leading_to, walk

# Operations that work on every entry alone, or put parts together.
_ENTRYWISE = frozenset("add sub mul div neg cat stack view_as_real view_as_complex complex".split())


@dataclass(frozen=True)
class Divergence:
    """The place where the computation left the right path.

    node        the first result that is wrong, as far as can be told
    line        the line to blame for it
    unfinished  the node is right, but no operand for this node: a step was left out, perhaps a step
                that would have bound one of these names anew
    """

    node: Node
    line: int
    unfinished: Node | None = None
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Use:
    """A place in a right graph that does something with an operand of the submission.

    twins   the operand in the right graph
    direct  whether the operand is used itself, and not a value that was made from it first
    """

    node: Node
    twins: set[Node]
    direct: bool


class Blamer:
    """Find where the graph of a submission leaves the right path.

    Args:
        matching: which results are right.
        passed: returns graphs of cases that the submission passes, for a line that several places
            call.
        function_lines: returns the lines of the function that a line is in.
    """

    def __init__(
        self,
        matching: Matching,
        passed: Callable[[int], Sequence[ValueGraph]] = lambda line: (),
        function_lines: Callable[[int], range] = lambda line: range(line, line + 1),
    ) -> None:
        self.matching, self.graph = matching, matching.graph
        self._passed, self._function_lines = passed, function_lines
        self._styles = RightStyles(matching)

    def is_right(self, node: Node) -> bool:
        """Return whether the node is given, or a right answer makes the same value."""
        return self.matching.is_right(node)

    def divergence(self, outputs: Iterable[str]) -> Divergence | None:
        """Return the first wrong place on the way to these outputs; None if nothing can be told."""
        ends = [self._end_of(name) for name in outputs if name in self.graph.outputs]
        if (write := self._write_into_input()) is not None:
            return self._at(write)
        if not ends:
            return self._first_known_wrong()
        region = self._wrong_region(ends)
        telling = [node for node in sorted(region) if node.lines and node.is_comparable]
        if not telling:  # there is nothing to compare with, but perhaps one line has made it all
            lines = {node.line for node in region if node.lines}
            return Divergence(ends[0], lines.pop()) if len(lines) == 1 else None
        first = self._entry(telling)
        place = self._misplaced_operand(first)
        if place is first:
            place = self._forgotten(first, region)
        if not place < first:
            return self._at(place)
        names = frozenset(node.name for node in layouts_of(place))
        return replace(self._at(place), unfinished=first, names=names)

    # The region of wrong results, and the node that enters it

    def _write_into_input(self) -> Node | None:
        """Return the first node that changes an input in place."""
        for node in self.graph.nodes:
            target = node.written
            if target is not None and target.is_input and not target.is_parameter and node.lines:
                return node
        return None

    def _end_of(self, output: str) -> Node:
        """Return the node that produced a wrong output.

        If the output is a correct value used in the wrong place, return the node that computed that
        value, if it was computed for this output alone.
        """
        end = self.graph.outputs[output]
        if not self.is_right(end):
            return self._misplaced_part(end, output) or end
        if self._is_unfinished(end, output):
            return end
        others = [node for name, node in self.graph.outputs.items() if name != output]
        elsewhere = set(chain.from_iterable(self._right_parts(node) for node in others))
        own = [node for node in self._right_parts(end) if node not in elsewhere and node.lines]
        return min(own, default=end)

    def _misplaced_part(self, end: Node, output: str) -> Node | None:
        """Return the first right part of a wrong output that the right output does not have.

        None if a part is wrong, or if all parts belong to the output.
        """
        right_end = self.matching.reference.outputs.get(output)
        parts = joined_parts(end)
        if right_end is None or not all(map(self.is_right, parts)):
            return None
        meant = joined_parts(right_end)
        odd = [
            part
            for part in parts
            if part.lines and not any(self.matching.alike(part, other) for other in meant)
        ]
        return min(odd, default=None)

    def _is_unfinished(self, node: Node, output: str) -> bool:
        """Return whether the reference makes it on the way to this output and goes on from there."""
        end = self.matching.reference.outputs.get(output)
        if end is None:
            return False
        before = (other for other in leading_to([end]) if other < end.source)
        return any(self.matching.alike(node, other) for other in before)

    def _right_parts(self, node: Node) -> set[Node]:
        """Return the right values of which a node is another layout, or several side by side."""

        def parts(whole: Node) -> tuple[Node, ...]:
            is_joined = whole.is_layout or whole.operation == "cat"
            return whole.parents if is_joined and all(map(self.is_right, whole.parents)) else ()

        return {part for part in walk([node], parts) if not parts(part)}

    def _wrong_region(self, ends: Iterable[Node]) -> set[Node]:
        """Return all wrong nodes on the way to the ends. An end counts even if it is right."""

        def wrong_parents(node: Node) -> Iterable[Node]:
            return () if self.is_right(node) else filterfalse(self.is_right, node.parents)

        return walk(ends, wrong_parents)

    def _first_known_wrong(self) -> Divergence | None:
        """Return the first value that the known mistake makes, and no right answer.

        Use this if no output is a tensor, so that nothing can be followed back.
        """
        if not self.matching.knows_mistake:
            return None
        known = (node for node in self.graph.computed if node.lines)
        first = next((node for node in known if self.matching.is_known_wrong(node)), None)
        if first is None:
            return None
        # Its operands may be wrong already, in a way that the reference never writes down. So go
        # back to a node whose operands are all right.
        for node in sorted(self._wrong_region([first])):
            if node.lines and node.parents and all(map(self.is_right, node.parents)):
                return self._at(node)
        return None

    def _entry(self, telling: list[Node]) -> Node:
        """Return the first wrong node whose operands are all right.

        A node that is made from no input, and is neither right nor known to be wrong, may be another
        way to write a right constant. It does not count if there is any other.
        """
        is_known_wrong = self.matching.is_known_wrong
        known = next((node for node in telling if is_known_wrong(node)), None)
        if known is not None and not known.given:
            return known
        counted = [node for node in telling if node.given] or telling
        counted = [node for node in counted if node not in self._vouched_for] or counted
        is_style = self._styles.may_be_right
        counted = [n for n in counted if is_known_wrong(n) or not is_style(n)] or counted
        all_counted = set(counted)
        entries = [n for n in counted if all_counted.isdisjoint(comparable_parents(n))]
        first = self._first_level(min(entries or counted))
        return first if known is None or known in self._vouched_for else min(known, first)

    @cached_property
    def _vouched_for(self) -> set[Node]:
        """Nodes that no right answer makes, but from which something right was made.

        Such a node may be a whole of right and wrong parts.
        """
        found: set[Node] = set()
        for node in reversed(self.graph.nodes):
            is_part = node.is_layout or node.operation in PARTS
            if node in found:
                is_passed_on = is_part or node.operation in _ENTRYWISE
            else:
                is_passed_on = is_part and node.features is not None and self.is_right(node)
            if is_passed_on:
                found.update(parent for parent in node.parents if not self.is_right(parent))
        return found

    def _first_level(self, node: Node) -> Node:
        """Go back to a node whose entries are all one number that no right answer has.

        Such a node, for example a clamped tensor, has no figures by which it could be found.
        """
        while True:
            before = [
                parent
                for parent in node.parents
                if _level(parent.value) not in self._usual_levels and parent.given
            ]
            if not before:
                return node
            node = min(before)

    @cached_property
    def _usual_levels(self) -> set[float | None]:
        return {None, *(_level(node.value) for node in self.matching.reference.nodes)}

    # An operand that is right, but does not belong there

    def _misplaced_operand(self, node: Node) -> Node:
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
        if len(odd) != 1 or not self.is_right(odd[0]) or not odd[0].lines:
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

    def _forgotten(self, node: Node, region: Collection[Node]) -> Node:
        """Return the operand to which right answers do something before they use it like this.

        If the forgotten step is done too late, return the node that does it. Else return the node.
        """
        done = self._first_computed(node)
        kind = kind_of(done.source.operation)
        if kind not in KINDS:
            return node
        for operand in made_from(done):
            if not self.is_right(operand) or not operand.lines or not operand.inputs:
                continue
            found = (self._use(graph, operand, done, kind) for graph in self.matching.right.graphs)
            uses = [use for use in found if use is not None]
            later = [use for use in uses if not use.direct]
            if len(later) > len(uses) - len(later):  # there may be a style that does both
                return self._done_late(done, region, later[0]) or operand
        return node

    def _first_computed(self, node: Node) -> Node:
        """Return what is first computed from a right value that a node only lays out anew."""
        if not node.is_layout or not self.is_right(node.source):
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

    # The line of a node

    def _at(self, node: Node) -> Divergence:
        """Blame the line of a node, or the line that calls it if the called line is right elsewhere."""
        if not self.is_right(node) and (line := self._line_of_constant(node)) is not None:
            return Divergence(node, line)
        lines = node.lines
        while len(lines) > 1 and self._is_right_elsewhere(lines, node.operation):
            lines = lines[1:]
        return Divergence(node, lines[0])

    def _is_right_elsewhere(self, lines: tuple[int, ...], operation: str) -> bool:
        """Return whether the innermost line gives a right result if another line calls it."""

        def is_same_line(other: Node) -> bool:
            is_called_elsewhere = other.lines[1:] != lines[1:]
            return (
                other.lines[:1] == lines[:1]
                and is_called_elsewhere
                and other.operation == operation
            )

        for node in self.graph.nodes:
            if is_same_line(node) and node.is_comparable and self.is_right(node):
                return True
        if self._returns_right_elsewhere(lines):
            return True
        here = {node.lines for node in self.graph.nodes}
        for graph in self._passed(lines[0]):
            for node in graph.leading_to_outputs:
                if is_same_line(node) and node.lines not in here:
                    return True
        return False

    def _returns_right_elsewhere(self, lines: tuple[int, ...]) -> bool:
        """Return whether another call of the innermost line's function returns right values only."""
        function = self._function_lines(lines[0])
        if len(function) < 2:
            return False
        returned: dict[tuple[int, ...], list[Node]] = {}
        for node in self.graph.nodes:
            is_return = node.operation == "return" and node.line in function
            if is_return and len(node.lines) == len(lines) and node.lines[1:] != lines[1:]:
                returned.setdefault(node.lines[1:], []).append(node)
        for nodes in returned.values():
            if all(node.is_comparable and self.is_right(node) for node in nodes):
                return True
        return False

    def _line_of_constant(self, node: Node) -> int | None:
        """Return the line at which the constructor stored a wrong constant factor."""
        inputs = [other for other in self.graph.nodes if other.is_input]
        first = inputs[0].index if inputs else 0
        # A factor of a node before the inputs was computed while the module was built.
        factor = node.factor if node.index > first else None
        if factor is None or self.matching.right.has_factor(factor):
            return None
        wanted = (factor, 1 / factor if factor else 0.0)
        for other in reversed(self.graph.nodes[:first]):
            if not other.is_number or not other.is_float:
                continue
            if any(abs(other.scalar - want) <= 1e-5 * abs(want) for want in wanted):
                return other.lines[1] if len(other.lines) > 1 else other.line
        return None


def _level(value: Tensor | None) -> float | None:
    """Return the number that all entries are, if they are several, and it is not 0 or 1."""
    if value is None or value.numel() < 2 or value.dtype == torch.bool:
        return None
    first = value.flatten()[0]
    is_usual = float(first) in (0.0, 1.0)
    return float(first) if not is_usual and bool((value == first).all()) else None


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
