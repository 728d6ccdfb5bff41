"""Find which named results of the reference a submission reached or missed.

The named results are called milestones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from attn_drill.diagnosis._recorded_case import ReferenceIndex
from attn_drill.diagnosis._value_graph import Node, ValueGraph, leading_to
from attn_drill.model.challenge import Mistake

_LAYOUT_CHANGES = "view _unsafe_view reshape permute transpose t expand clone repeat index select"


class _Topic(NamedTuple):
    """The signs of a topic."""

    lines: str  # words in the lines of the reference that are about it
    # Words that show that a known mistake is about it. Too many words are better than too few: a
    # topic that is not ruled out makes no false statement.
    words: str
    operations: str  # the operations that may be a mistake about it


_TOPICS = {
    "scale": _Topic(
        r"sqrt|\*\* ?-0\.5",
        r"scale|sqrt|\*\* ?-0\.5",
        "mul div mul_ div_ pow sqrt rsqrt number",
    ),
    "softmax axis": _Topic(
        r"softmax",
        r"softmax|\bdim=|\baxis\b|\bsum\b|\bexp\b",
        "_softmax softmax exp sum amax max logsumexp div sub",
    ),
    "mask": _Topic(
        r"mask",
        r"mask|visible|hidden|causal|tril|triu|inf\b|padding|future|attend|\bsees?\b",
        "masked_fill masked_fill_ where add add_ sub sub_ mul tril triu bitwise_and index_put_",
    ),
    "head grouping": _Topic(
        r"repeat_interleave",
        r"repeat|group|tile|kv_head|key/value head",
        f"{_LAYOUT_CHANGES} repeat_interleave index_select gather cat stack",
    ),
    "rotation": _Topic(
        r"rotate|\bcos\b|\bsin\b",
        r"rotat|\bcos\b|\bsin\b|position",
        "cos sin neg cat stack mul add sub view_as_complex complex",
    ),
    "layout of heads": _Topic(
        r"transpose\(1, 2\)",
        r"transpose|permute|view|reshape|\bheads\b",
        _LAYOUT_CHANGES,
    ),
}


class Milestone(NamedTuple):
    node: Node
    name: str


class MilestoneProgress(NamedTuple):
    """The milestones that a submission reached."""

    last: Milestone | None  # before the first missed milestone
    missed: Milestone | None
    cleared: tuple[str, ...]  # topics and layers that are ruled out


def concerns(mistake: Mistake, topic: str) -> bool:
    """Return whether a known mistake is about a topic, or about a layer of this name."""
    text = " ".join((mistake.id, mistake.says, mistake.was, mistake.now))
    words = _TOPICS[topic].words if topic in _TOPICS else rf"\b{re.escape(topic)}\b"
    return re.search(words, text, re.IGNORECASE) is not None


def topics_of(node: Node) -> set[str]:
    """Return the topics and layers that a wrong result may be about, judged by its operation."""
    topics = {name for name, topic in _TOPICS.items() if node.operation in topic.operations.split()}
    for parent in node.parents:
        topics.update(filter(None, map(_layer, (parent, *parent.parents))))
    return topics


def _layer(node: Node) -> str | None:
    """Return the layer of a weight or a bias; None for other nodes."""
    match = re.fullmatch(r"input parameter (.+)\.(weight|bias)", node.operation)
    return match and match[1]


def milestones(reference: ValueGraph) -> list[Milestone]:
    """Return the named results and the outputs of the reference, in order."""
    names = {node: name for name, node in reference.outputs.items()}
    for node in reference.leading_to_outputs:
        if node.name and node.lines:
            names[node] = node.name
    return [Milestone(node, names[node]) for node in sorted(names)]


def noted_shape(source: str, line: int) -> str:
    """Return the shape in the comment of a line of the reference, or "".

    >>> noted_shape("q = project(x)  # [B, L, M]", 1)
    '[B, L, M]'
    """
    lines = source.splitlines()
    comment = lines[line - 1].partition("#")[2] if 0 < line <= len(lines) else ""
    match = re.search(r"\[[^\[\]]*\]", comment)
    return match[0] if match else ""


def progress(
    graph: ValueGraph, reference: ValueGraph, source: str, sizes: dict[str, int]
) -> MilestoneProgress:
    """Compare the graph of a submission with the graph and the text of the reference.

    A milestone counts as missed if the submission has neither its value nor any later milestone
    that the reference makes from it. Other answers may not need every milestone.
    """
    index = ReferenceIndex([graph], sizes)
    marks = [mark for mark in milestones(reference) if mark.node.features is not None]
    reached = {mark.node for mark in marks if index.has(mark.node)}
    right_nodes = set(leading_to(reached))
    missed = next((mark for mark in marks if mark.node not in right_nodes), None)
    ancestors = reached.intersection(leading_to([missed.node] if missed else []))
    last = next((mark for mark in reversed(marks) if mark.node in ancestors), None)
    return MilestoneProgress(last, missed, tuple(_cleared(reference, source, right_nodes)))


def _cleared(reference: ValueGraph, source: str, right_nodes: set[Node]) -> Iterator[str]:
    """Yield topics and layers that led to reached milestones only."""
    leading = set(reference.leading_to_outputs)
    lines = {node.line for node in leading if node.lines}
    doubtful_lines = {node.line for node in leading - right_nodes}
    text = dict(enumerate(source.splitlines(), 1))
    for name, topic in _TOPICS.items():
        about = {line for line in lines if re.search(topic.lines, text.get(line, ""))}
        if about and about.isdisjoint(doubtful_lines):
            yield name
    # A layer is ruled out if all nodes that are computed from its weight are right.
    users_of: dict[str, set[Node]] = {}
    for node in sorted(leading):
        layer = _layer(node)
        if layer is None or not node.operation.endswith("weight"):
            continue
        users = leading.intersection(node.users)
        if all(user.operation == "t" for user in users):
            users |= {other for user in users for other in leading.intersection(user.users)}
        users_of.setdefault(layer, set()).update(users)
    for layer, users in users_of.items():
        if users <= right_nodes:
            yield layer
