"""Find the line at which the computation first left the right path.

The search starts at a wrong output and follows the results of the submission backwards, as long as
no right answer makes the same results. The first of these wrong results is to blame, or the operand
or call that led to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, filterfalse

import torch
from torch import Tensor

from trainer.diagnosis.blamed_lines import BlamedLines
from trainer.diagnosis.graph_queries import comparable_parents, joined_parts, layouts_of
from trainer.diagnosis.matching import Matching
from trainer.diagnosis.operands import Operands
from trainer.diagnosis.right_styles import PARTS, RightStyles
from trainer.diagnosis.value_graph import Node, ValueGraph, leading_to, reachable

# Operations on each entry separately, and operations that join parts.
_ENTRYWISE = frozenset("add sub mul div neg cat stack view_as_real view_as_complex complex".split())


@dataclass(frozen=True)
class Divergence:
    """The place where the computation left the right path.

    Attributes:
        node: the first wrong result that was found.
        line: the line to blame for the node.
        start, end: a right node, and a later node that uses it too early: a step between both was
            left out. None in other cases.
        names: the variables of `start`. The missing step may have been meant to rebind one of them.
        collected: the variable of a right value that is returned in a wrong place, or "". The line
            that collects the outputs is to blame, rather than the line that makes the value.
    """

    node: Node
    line: int
    start: Node | None = None
    end: Node | None = None
    names: frozenset[str] = frozenset()
    collected: str = ""


class Blamer:
    """Find where the graph of a submission leaves the right path.

    Args:
        matching: which results are right.
        passed, function_lines: as for `BlamedLines`.
    """

    def __init__(
        self,
        matching: Matching,
        passed: Callable[[int], Sequence[ValueGraph]] = lambda line: (),
        function_lines: Callable[[int], range] = lambda line: range(line, line + 1),
    ) -> None:
        self.matching, self.graph = matching, matching.graph
        self._styles = RightStyles(matching)
        self._operands = Operands(matching)
        self._lines = BlamedLines(matching, passed, function_lines)
        self._collected: dict[Node, str] = {}  # right nodes in a wrong place, and their variables

    def is_right(self, node: Node) -> bool:
        """Return whether a node is an input, or a right answer makes the same value."""
        return self.matching.is_right(node)

    def divergence(self, outputs: Iterable[str]) -> Divergence | None:
        """Return the first wrong place on the way to these outputs; None if it cannot be found."""
        ends = [self._end_of(name) for name in outputs if name in self.graph.outputs]
        if (write := self._write_into_input()) is not None:
            return self._at(write)
        if not ends:
            return self._first_known_wrong()
        region = self._wrong_region(ends)
        comparable = [node for node in sorted(region) if node.lines and node.is_comparable]
        if not comparable:  # blame the line if a single line made the whole region
            lines = {node.line for node in region if node.lines}
            return Divergence(ends[0], lines.pop()) if len(lines) == 1 else None
        first = self._entry(comparable)
        place = self._operands.misplaced(first)
        if place is first:
            place = self._operands.wrong_bias(first)
        if place is first:
            place = self._operands.forgotten(first, region)
        if not place < first or not self.is_right(place):
            return self._at(place)
        names = frozenset(node.name for node in layouts_of(place))
        # Without its factor a value is still right. So the next step makes the first wrong value.
        blamed = first if self._operands.forgot_a_factor else place
        return replace(self._at(blamed), start=place, end=first, names=names)

    def wrong_entries(self, outputs: Iterable[str]) -> list[Node]:
        """Return all wrong nodes on the way to these outputs whose operands are all right."""
        ends = [self.graph.outputs[name] for name in outputs if name in self.graph.outputs]
        region = self._wrong_region(ends)
        return [
            node
            for node in sorted(region)
            if node.lines and all(self.is_right(parent) for parent in node.parents)
        ]

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
        if self._is_opposite(end, output):
            return _maker_of(end)
        if not self.is_right(end):
            return self._misplaced_part(end, output) or end
        if self._is_unfinished(end, output):
            return end
        others = [node for name, node in self.graph.outputs.items() if name != output]
        elsewhere = set(chain.from_iterable(self._right_parts(node) for node in others))
        own = [node for node in self._right_parts(end) if node not in elsewhere and node.lines]
        found = min(own, default=end)
        if found.written is None and self._is_used_rightly(end):
            self._collected[found] = _variable_of(end)
        return found

    def _is_used_rightly(self, node: Node) -> bool:
        """Return whether a right result was computed from a node or from a layout of it."""
        users = {user for layout in layouts_of(node.source) for user in layout.users}
        return any(self.is_right(user) for user in users if not user.is_layout)

    def _is_opposite(self, end: Node, output: str) -> bool:
        """Return whether an output is True exactly where the right output is False."""
        right_end = self.matching.reference.outputs.get(output)
        if right_end is None or right_end.value is None or end.value is None:
            return False
        value, right = end.value, right_end.value
        are_boolean = value.dtype == right.dtype == torch.bool and value.shape == right.shape
        return are_boolean and torch.equal(value, ~right)

    def _misplaced_part(self, end: Node, output: str) -> Node | None:
        """Return the first right part of a wrong output that the right output does not have.

        None if a part is wrong, or if all parts belong to the output.
        """
        right_end = self.matching.reference.outputs.get(output)
        parts = joined_parts(end)
        if right_end is None or not all(map(self.is_right, parts)):
            return None
        right_parts = joined_parts(right_end)
        misplaced_parts = [
            part
            for part in parts
            if part.lines
            and not any(self.matching.have_same_value(part, other) for other in right_parts)
        ]
        return min(misplaced_parts, default=None)

    def _is_unfinished(self, node: Node, output: str) -> bool:
        """Return whether the reference has the value of a node before the end of this output."""
        end = self.matching.reference.outputs.get(output)
        if end is None:
            return False
        before = (other for other in leading_to([end]) if other < end.source)
        return any(self.matching.have_same_value(node, other) for other in before)

    def _right_parts(self, node: Node) -> set[Node]:
        """Return the right values that a node holds in another layout or joined."""

        def parts(whole: Node) -> tuple[Node, ...]:
            is_joined = whole.is_layout or whole.operation == "cat"
            return whole.parents if is_joined and all(map(self.is_right, whole.parents)) else ()

        return {part for part in reachable([node], parts) if not parts(part)}

    def _wrong_region(self, ends: Iterable[Node]) -> set[Node]:
        """Return all wrong nodes on the way to the ends. An end counts even if it is right."""

        def wrong_parents(node: Node) -> Iterable[Node]:
            return () if self.is_right(node) else filterfalse(self.is_right, node.parents)

        return reachable(ends, wrong_parents)

    def _first_known_wrong(self) -> Divergence | None:
        """Return the first value that the known mistake makes and no right answer makes.

        Use this if no output is a tensor, because then no output can be followed backwards.
        """
        if not self.matching.knows_mistake:
            return None
        known = (node for node in self.graph.computed if node.lines)
        first = next((node for node in known if self.matching.is_known_wrong(node)), None)
        if first is None:
            return None
        # The operands of this node may be wrong already, but the patched reference may not compute
        # them. So go back to a node whose operands are all right.
        for node in sorted(self._wrong_region([first])):
            if node.lines and node.parents and all(map(self.is_right, node.parents)):
                return self._at(node)
        return None

    def _entry(self, comparable: list[Node]) -> Node:
        """Return the first wrong node whose operands are all right.

        A node that is made from no input and is neither right nor known to be wrong may be another
        notation of a right constant. Such a node is only returned if there is no other node.
        """
        is_known_wrong = self.matching.is_known_wrong
        known = next((node for node in comparable if is_known_wrong(node)), None)
        if known is not None and not known.given:
            return known
        counted = [node for node in comparable if node.given] or comparable
        counted = [node for node in counted if node not in self._vouched_for] or counted
        is_style = self._styles.may_be_right
        counted = [n for n in counted if is_known_wrong(n) or not is_style(n)] or counted
        all_counted = set(counted)
        entries = [n for n in counted if all_counted.isdisjoint(comparable_parents(n))]
        first = self._first_level(min(entries or counted))
        return first if known is None or known in self._vouched_for else min(known, first)

    @cached_property
    def _vouched_for(self) -> set[Node]:
        """Nodes that no right answer makes, but from which a right value was made.

        Such a node may consist of right and wrong parts.
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
        """Go back to the first node whose entries all equal one scalar that no right answer has.

        The search by features cannot find such a node, for example a clamped tensor.
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

    def _at(self, node: Node) -> Divergence:
        line = self._lines.line_of(node)
        return Divergence(node, line, collected=self._collected.get(node, ""))


def _maker_of(node: Node) -> Node:
    """Return the node that computed a mask, before changes of its layout and copies of it."""
    while (node.is_layout or node.operation == "repeat") and len(node.parents) == 1:
        (parent,) = node.parents
        if not parent.lines:
            break
        node = parent
    return node


def _variable_of(node: Node) -> str:
    """Return the variable of a node, or of the nearest node with the same entries before it."""
    while not node.name and node.is_layout and len(node.parents) == 1:
        (node,) = node.parents
    return node.name


def _level(value: Tensor | None) -> float | None:
    """Return the common value of all entries; None if they differ, are few, or are all 0 or 1."""
    if value is None or value.numel() < 2 or value.dtype == torch.bool:
        return None
    first = value.flatten()[0]
    is_usual = float(first) in (0.0, 1.0)
    return float(first) if not is_usual and bool((value == first).all()) else None
