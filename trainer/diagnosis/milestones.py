"""The reference's named results as milestones: which of them a submission has reached or missed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trainer.diagnosis.reference_index import ReferenceIndex
from trainer.diagnosis.value_graph import Node, ValueGraph, leading_to
from trainer.model.challenge import Mistake

# The topic of a line of a reference, by the words of torch and of the field in it.
_TOPICS = {
    "scale": r"sqrt|\*\* ?-0\.5",
    "softmax axis": r"softmax",
    "mask": r"mask",
    "head grouping": r"repeat_interleave",
    "rotation": r"rotate|\bcos\b|\bsin\b",
    "layout of heads": r"transpose\(1, 2\)",
}

# The words by which a mistake, its sentence included, is known to be about a topic. Too many are
# better than too few: a topic that is not ruled out is no false statement.
_WORDS = {
    "scale": r"scale|sqrt|\*\* ?-0\.5",
    "softmax axis": r"softmax|\bdim=|\baxis\b|\bsum\b|\bexp\b",
    "mask": r"mask|visible|hidden|causal|tril|triu|inf\b|padding|future|attend|\bsees?\b",
    "head grouping": r"repeat|group|tile|kv_head|key/value head",
    "rotation": r"rotat|\bcos\b|\bsin\b|position",
    "layout of heads": r"transpose|permute|view|reshape|\bheads\b",
}

_PRODUCTS = frozenset("mm bmm addmm baddbmm".split())


@dataclass(frozen=True)
class Milestone:
    """A named result of the reference."""

    node: Node
    name: str


@dataclass(frozen=True)
class MilestoneProgress:
    """How far a submission came.

    last             the last milestone before it went wrong
    missed           the first milestone that it missed
    cleared          topics and layers that are ruled out
    right_lines      lines of the reference that end with a computation, of which all came out right;
                     after a change of layout a right value would tell nothing
    lines_elsewhere  lines that lead to no milestone that is missed though all before it are there
    """

    last: Milestone | None
    missed: Milestone | None
    cleared: tuple[str, ...]
    right_lines: frozenset[int]
    lines_elsewhere: frozenset[int]


def concerns(mistake: Mistake, topic: str) -> bool:
    """Return whether a known mistake is about this topic: a word of `cleared`, or a layer's name."""
    text = " ".join((mistake.id, mistake.says, mistake.was, mistake.now))
    words = _WORDS.get(topic, rf"\b{re.escape(topic)}\b")
    return re.search(words, text, re.IGNORECASE) is not None


def milestones(reference: ValueGraph) -> list[Milestone]:
    """Return the reference's named results, and its outputs, in order."""
    found = [
        Milestone(node, node.name)
        for node in reference.leading_to_outputs
        if node.name and node.lines
    ]
    named = {milestone.node for milestone in found}
    names = {node: name for name, node in reference.outputs.items()}
    found += [Milestone(node, name) for node, name in names.items() if node not in named]
    return sorted(found, key=lambda milestone: milestone.node)


def progress(
    graph: ValueGraph, reference: ValueGraph, source: str, sizes: dict[str, int]
) -> MilestoneProgress:
    """Compare a submission's graph with the reference's.

    A milestone that is not among its results counts as missed only if nothing that the reference
    makes from it is there either: other answers may not need it.

    Args:
        source: the text of the reference.
        sizes: the value of every letter.
    """
    mine = ReferenceIndex([graph], sizes)
    marks = [mark for mark in milestones(reference) if mark.node.features is not None]
    there = {mark.node for mark in marks if mine.has(mark.node)}
    needed = {mark.node: set(leading_to([mark.node])) for mark in marks}
    needed_for_right = set().union(*(needed[node] for node in there))
    missing = [mark for mark in marks if mark.node not in needed_for_right]
    missed = missing[0] if missing else None
    before = []
    if missed is not None:
        way = needed[missed.node] - {missed.node}
        before = [mark for mark in marks if mark.node in there & way]
    first_missing = [
        mark.node
        for mark in missing
        if not any(other.node in needed[mark.node] for other in missing if other != mark)
    ]
    upstream, good = set(leading_to(first_missing)), set(leading_to(there))
    by_line: dict[int, list[Node]] = {}
    for node in reference.leading_to_outputs:
        if node.lines:
            by_line.setdefault(node.line, []).append(node)
    right_lines = [
        line for line, nodes in by_line.items() if good.issuperset(nodes) and _computes(max(nodes))
    ]
    elsewhere = [line for line, nodes in by_line.items() if upstream.isdisjoint(nodes)]
    return MilestoneProgress(
        last=before[-1] if before else None,
        missed=missed,
        cleared=tuple(_cleared(reference, source, good)),
        right_lines=frozenset(right_lines),
        lines_elsewhere=frozenset(elsewhere),
    )


def _computes(node: Node) -> bool:
    """Return whether a node is more than a change of layout.

    A view that torch makes after a product of matrices is part of the product.
    """
    if not node.is_layout:
        return True
    is_view = node.operation in ("view", "_unsafe_view")
    return is_view and all(parent.operation in _PRODUCTS for parent in node.parents)


def _cleared(reference: ValueGraph, source: str, good: set[Node]) -> Iterator[str]:
    """Yield topics and layers that led to a milestone that was reached, and to nothing else."""
    leading = set(reference.leading_to_outputs)
    good_lines, other_lines = _lines(good), _lines(leading - good)
    text = dict(enumerate(source.splitlines(), 1))
    for topic, words in _TOPICS.items():
        about = {line for line in good_lines | other_lines if re.search(words, text.get(line, ""))}
        if about and about <= good_lines - other_lines:
            yield topic
    for layer, nodes in _layers(leading).items():
        if nodes <= good:
            yield layer


def _lines(nodes: Iterable[Node]) -> set[int]:
    return {node.line for node in nodes if node.lines}


def _layers(leading: set[Node]) -> dict[str, set[Node]]:
    """Return every layer of the contract, with the nodes that are made from its weight."""
    found: dict[str, set[Node]] = {}
    for node in sorted(leading):
        match = re.fullmatch(r"input parameter (.+)\.weight", node.operation)
        if match is None:
            continue
        users = leading.intersection(node.users)
        if all(user.operation == "t" for user in users):
            users |= {other for user in users for other in leading.intersection(user.users)}
        found.setdefault(match[1], set()).update(users)
    return found
