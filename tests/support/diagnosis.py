"""Helpers for tests of the diagnosis."""

from __future__ import annotations

from torch import Tensor

from attn_drill.diagnosis._value_graph import Node, ValueGraph
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Challenge
from attn_drill.model.report import Diagnosis, Report
from attn_drill.packs import pack_reader
from tests.support.grading import report_of

SEED = 5
SIZES = {"B": 2, "H": 4, "L": 7, "D": 3, "M": 12}
CHALLENGES = {
    challenge.folder.name: challenge
    for challenge in pack_reader.read_pack(pack_reader.built_in_pack())
}


def diagnosed(
    grader: Grader, challenge: Challenge, source: str, name: str = "answer.py", seed: int = SEED
) -> tuple[Report, Diagnosis]:
    """Grade a wrong submission, and return the report and its diagnosis."""
    report = report_of(grader, challenge, source, name, seed, diagnosed=True)
    assert report.verdict != "passed"
    assert report.diagnosis is not None
    return report, report.diagnosis


class GraphBuilder:
    """Collect the nodes of a graph."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def add(
        self,
        operation: str,
        value: Tensor | None,
        *parents: Node,
        lines: tuple[int, ...] = (),
        is_cut: bool = False,
        written: Node | None = None,
    ) -> Node:
        """Add a node. Its innermost line comes first; an in-place operation has `written` one."""
        node = Node(
            index=len(self.nodes),
            lines=lines,
            operation=operation,
            value=value,
            parents=parents,
            written=written,
            entries=1 if value is None else value.numel(),
            is_cut=is_cut,
        )
        self.nodes.append(node)
        return node

    def graph(self, **outputs: Node) -> ValueGraph:
        """Return the graph with these outputs."""
        return ValueGraph(tuple(self.nodes), outputs)
