"""Trace a run line by line: the result of each line, and the reference's named result it equals."""

from __future__ import annotations

import math

from torch import Tensor

from trainer.diagnosis.milestones import milestones
from trainer.diagnosis.reference_index import ReferenceIndex
from trainer.diagnosis.value_graph import Node, ValueGraph, content_graph, graph_of
from trainer.grading.case_set import CaseSet
from trainer.grading.comparison import in_words
from trainer.grading.grader import Grader, index_of_case
from trainer.grading.shapes import name_shape
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.model.report import Trace, TraceRow
from trainer.model.submission import Submission
from trainer.packs.pack_reader import solution
from trainer.worker.worker_client import WorkerResult

MOST_ROWS = 200


def trace(
    grader: Grader, challenge: Challenge, submission: Submission, seed: int, only: int | None = None
) -> Trace:
    """Trace a submission in one case.

    Args:
        only: the number of the case, from 1; by default the case that a report would explain.

    Raises:
        DrillError: if there is no such case, or nothing can be recorded.
    """
    case_set = grader.case_set(challenge, seed)
    index_of_case(case_set, only)
    judgement = grader.judge(case_set, submission)
    failure = judgement.report.first_failure()
    explained = failure.number if failure is not None else None
    number = only or explained or 1
    comparison = judgement.comparison
    if comparison.reply.load_failure is not None or not comparison.results:
        raise DrillError(
            f"{submission.name} does not come so far that a line makes anything; "
            f"`attn-drill check {challenge.id}` says why."
        )
    alone = case_set.only([number - 1], alone=True)
    ended = grader.workers.run(alone, submission, judgement.assignment, "lines")
    return traced(alone, number, ended, submission.source)


def traced(case_set: CaseSet, number: int, ended: WorkerResult, source: str) -> Trace:
    """Return the rows of the set's one case.

    Args:
        number: of the case in its challenge, from 1.

    Raises:
        DrillError: if the worker could not record anything.
    """
    case = case_set.cases[0]
    if ended.how != "replied" or not ended.reply.runs:
        raise DrillError(
            f"Case {number} ({case.name}) cannot be recorded: {ended.reason or ended.how}. "
            "`attn-drill check` says more."
        )
    told = ended.reply.runs[0]
    graph = graph_of(told, ended.tensors)
    reference = content_graph(case_set, solution(case_set.challenge), "solution.py")
    failure = "" if told.failure is None else in_words(told.failure)
    names = _Names(reference, dict(case.sizes))
    lines = source.splitlines()
    rows = []
    for node in _visits(graph):
        text = lines[node.line - 1].strip() if node.line <= len(lines) else ""
        if node.value is not None:
            rows.append(_row(node, node.value, text, dict(case.sizes), names.of(node)))
    return Trace(case, number, case_set.seed, tuple(rows[:MOST_ROWS]), failure)


def _visits(graph: ValueGraph) -> list[Node]:
    """Return the last result of every visit of a line, which is what the line is there for."""
    visits: list[Node] = []
    for node in graph.computed:
        if not node.lines or node.is_number or node.value is None:
            continue
        if visits and visits[-1].lines == node.lines:
            visits[-1] = node
        elif node.operation != "return":  # it has been shown where it was made
            visits.append(node)
    return visits


def _row(node: Node, value: Tensor, text: str, sizes: dict[str, int], milestone: str) -> TraceRow:
    values = value.double().flatten()
    finite = values[values.isfinite()]
    return TraceRow(
        line=node.line,
        text=text,
        depth=len(node.lines) - 1,
        shape=name_shape(tuple(value.shape), sizes),
        dtype=str(value.dtype).removeprefix("torch."),
        low=float(finite.min()) if finite.numel() else math.nan,
        high=float(finite.max()) if finite.numel() else math.nan,
        not_finite=values.numel() - finite.numel(),
        milestone=milestone,
    )


class _Names:
    """The names of the reference's results, looked up by value."""

    def __init__(self, reference: ValueGraph | None, sizes: dict[str, int]) -> None:
        marks = [] if reference is None else milestones(reference)
        nodes = {mark.name: mark.node for mark in marks}
        self._by_name = {
            name: ReferenceIndex([ValueGraph((node,), {})], sizes)
            for name, node in nodes.items()
            if node.features is not None
        }

    def of(self, node: Node) -> str:
        """Return the names of the results that a node equals, whatever the layout."""
        if node.is_layout and not node.name and node.operation != "return":
            return ""
        return ", ".join(name for name, index in self._by_name.items() if index.has(node))
