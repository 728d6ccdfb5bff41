"""Trace a run line by line.

Every row shows the result of a line, and the named result of the reference that equals it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from attn_drill.diagnosis._milestones import milestones
from attn_drill.diagnosis._recorded_case import ReferenceIndex
from attn_drill.diagnosis._value_graph import (
    Node,
    ValueGraph,
    content_graph,
    graph_of,
    have_same_value,
)
from attn_drill.diagnosis.diagnose import Diagnoser
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.comparison import in_words
from attn_drill.grading.grader import Grader, Judgement, index_of_case
from attn_drill.grading.pictures import name_shape
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.model.errors import DrillError
from attn_drill.model.report import Report, Trace, TraceRow
from attn_drill.packs.pack_reader import solution
from attn_drill.worker.worker_client import WorkerResult

MOST_ROWS = 200


def trace(
    grader: Grader,
    challenge: Challenge,
    submission: Submission,
    seed: int,
    case_number: int | None = None,
) -> Trace:
    """Trace a submission in one case, or in the case that a report would explain.

    Raises:
        DrillError: if there is no such case, or nothing can be recorded.
    """
    case_set = grader.case_set(challenge, seed)
    index_of_case(case_set, case_number)
    judgement, report = explained(grader, case_set, submission, case_number)
    failure = report.first_failure()
    chosen = case_number or (failure.number if failure is not None else None) or 1
    comparison = judgement.comparison
    if comparison.reply.load_failure is not None or not comparison.results:
        raise DrillError(
            f"{submission.name} fails before any of its lines can be traced; "
            f"`attn-drill check {challenge.id}` shows why."
        )
    alone = judgement.case_set.select([chosen - 1], alone=True)
    worker_result = grader.workers.run(alone, submission, judgement.assignment, "lines")
    diagnosis, line = report.diagnosis, None
    if diagnosis and diagnosis.first_line and diagnosis.case == chosen:
        line = diagnosis.first_line.line
    return trace_of_run(alone, chosen, worker_result, submission.source, line)


def explained(
    grader: Grader, case_set: CaseSet, submission: Submission, case_number: int | None
) -> tuple[Judgement, Report]:
    """Return the judgement, and the report of this case, or of the case that it chooses."""
    diagnoser = Diagnoser(grader.workers)
    judgement = grader.judge(case_set, submission)
    report = diagnoser.report(judgement)
    failure = report.first_failure()
    if case_number is None or failure is None or failure.number == case_number:
        return judgement, report
    alone = diagnoser.report(grader.judge(case_set, submission, case_number - 1))
    single, general = alone.diagnosis, report.diagnosis
    if single is not None and single.first_line is None and general is not None:
        # A case alone may show less than all cases together.
        alone = replace(alone, diagnosis=replace(general, case=case_number))
    return judgement, alone


def trace_of_run(
    case_set: CaseSet,
    case_number: int,
    worker_result: WorkerResult,
    source: str,
    wrong_line: int | None = None,
) -> Trace:
    """Return the trace of the only case of a set, which a worker recorded.

    Raises:
        DrillError: if the worker could not record anything.
    """
    case = case_set.cases[0]
    if worker_result.how != "replied" or not worker_result.reply.runs:
        raise DrillError(
            f"Case {case_number} ({case.name}) cannot be recorded: "
            f"{worker_result.reason or worker_result.how}. `attn-drill check` shows more."
        )
    run_reply = worker_result.reply.runs[0]
    graph = graph_of(run_reply, worker_result.tensors)
    reference = content_graph(case_set, solution(case_set.challenge), "solution.py")
    sizes = dict(case.sizes)
    right_graphs = [] if reference is None else [reference]
    right = ReferenceIndex(right_graphs, sizes)
    names = {mark.name: mark.node for graph in right_graphs for mark in milestones(graph)}
    lines = source.splitlines()
    rows: list[TraceRow] = []
    marked, marked_is_right = None, False
    for node in _visits(graph):
        if node.value is None:
            continue
        text = lines[node.line - 1].strip() if node.line <= len(lines) else ""
        is_named = bool(node.name) or not node.is_layout or node.operation == "return"
        equal = [name for name, other in names.items() if have_same_value(node, other, sizes)]
        milestone = ", ".join(equal if is_named else [])
        # An earlier visit of the line may have given a right result.
        if wrong_line in node.lines and (marked is None or marked_is_right):
            marked, marked_is_right = len(rows), right.has(node)
        rows.append(_row(node, node.value, text, sizes, milestone))
    if marked is not None:
        rows[marked] = replace(rows[marked], is_wrong=True)
    failure = "" if run_reply.failure is None else in_words(run_reply.failure)
    return Trace(case, case_number, case_set.seed, tuple(rows[:MOST_ROWS]), failure)


def _visits(graph: ValueGraph) -> list[Node]:
    """Return the last result of every visit of a line, because this is the line's result."""
    visits: list[Node] = []
    for node in graph.computed:
        if not node.lines or node.is_number or node.value is None:
            continue
        if visits and visits[-1].lines == node.lines:
            visits[-1] = node
        elif node.operation != "return":  # the line that made the value already shows it
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
        entries=values.numel(),
        true=int(values.sum()) if value.dtype == torch.bool else None,
    )
