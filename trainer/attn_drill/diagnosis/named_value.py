"""Find the lines of a named mistake in a file by the values of the reference."""

from __future__ import annotations

from collections.abc import Collection

from attn_drill.diagnosis.recorded_case import RecordedCase
from attn_drill.diagnosis.value_graph import ValueGraph, have_same_value


def depth_of(mistaken: ValueGraph, patched: Collection[int]) -> int | None:
    """Return the number of lines in the call stack of a changed line that calls a function.

    Returns:
        None if no changed line calls a function of the reference. Then the mistake is in a
        computation, and in the file it may be inside a function.
    """
    depths = [
        len(node.lines) - place
        for node in mistaken.nodes
        for place, line in enumerate(node.lines)
        # A generator expression has its line twice in the call stack.
        if line in patched and node.lines[0] != line
    ]
    return min(depths, default=None)


def lines_around_gap(recorded: RecordedCase, left_out: Collection[int]) -> tuple[int, int] | None:
    """Return the lines around a missing operation; None if they are unknown.

    The first makes the value to which the reference applies the operation, and the second uses it.
    Both are the same line if the value is an input.

    Args:
        recorded: the recorded case of the file.
        left_out: the lines of the reference whose operation the mistake leaves out.
    """
    nodes = recorded.graph.nodes
    for node in recorded.reference.nodes:
        for operand in node.parents:
            if node.line not in left_out or operand.line in left_out or not operand.is_comparable:
                continue
            if operand.is_input:
                values = {each for each in nodes if each.operation == operand.operation}
            else:
                values = {
                    each
                    for each in nodes
                    if each.lines and have_same_value(operand, each, recorded.sizes)
                }
            before = min(values).lines[:1] if values else ()
            for user in nodes:
                if user.lines and user.lines[:1] != before and values.intersection(user.parents):
                    return (before[0] if before else user.line), user.line
    return None
