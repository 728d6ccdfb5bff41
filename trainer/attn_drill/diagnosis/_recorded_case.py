"""Run a case again, and keep its recorded run with the graphs of right answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from attn_drill.diagnosis._right_values import Matching, ReferenceIndex
from attn_drill.diagnosis._value_graph import ValueGraph, graph_of
from attn_drill.diagnosis.patched_references import PATH, Graded
from attn_drill.grading.case_set import CaseSet, Purpose
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.grader import Judgement, Workers
from attn_drill.grading.judge import judge
from attn_drill.model.challenge import Submission
from attn_drill.worker.worker_client import WorkerResult, WorkerRun


@dataclass(frozen=True)
class RecordedCase:
    """The recorded run of one case."""

    index: int  # of the case, from 0
    case_set: CaseSet  # this case alone
    graph: ValueGraph  # of the submission
    # Of the reference, then of the other right answers.
    right_graphs: Sequence[ValueGraph]
    # The outputs that were wrong when all cases ran one after another.
    wrong_outputs: tuple[str, ...]
    # Whether all outputs are right if the case runs alone.
    is_right_alone: bool

    @cached_property
    def right(self) -> ReferenceIndex:
        return ReferenceIndex(self.right_graphs, self.sizes)

    @property
    def reference(self) -> ValueGraph:
        return self.right_graphs[0]

    @property
    def sizes(self) -> dict[str, int]:
        return dict(self.case_set.cases[0].sizes)

    def matching(self, mistaken: ValueGraph | None = None) -> Matching:
        """Return the graph of the submission, matched with the graphs of right answers.

        Args:
            mistaken: the graph of the reference with the known mistake.
        """
        return Matching(self.graph, self.right, mistaken)


def recorded_case(
    index: int,
    alone: CaseSet,
    right_graphs: Sequence[ValueGraph],
    worker_result: WorkerResult,
    comparison: Comparison,
) -> RecordedCase | None:
    """Read the recorded run of a case; None if the worker could not record it.

    Args:
        index: of the case, from 0.
        alone: the case alone, which the worker recorded.
        right_graphs: of the reference, then of the other right answers.
        comparison: of all cases.
    """
    if worker_result.how != "replied" or len(worker_result.reply.runs) != 1:
        return None
    graph = graph_of(worker_result.reply.runs[0], worker_result.tensors)
    if not graph.nodes or not (graph.outputs or alone.cases[0].plain):
        return None
    (result,) = Comparison(alone, worker_result).results
    mismatches = result.attribute_mismatches()
    is_right_alone = result.right and next(mismatches, None) is None
    among_others = comparison.result_of(index)
    wrong = () if among_others is None else tuple(among_others.wrong_outputs())
    return RecordedCase(index, alone, graph, right_graphs, wrong, is_right_alone)


class Reruns:
    """Workers for one diagnosis.

    The submission runs with the assignment of layers with which it was judged. After a timeout, the
    submission is not run again.
    """

    def __init__(self, workers: Workers, judgement: Judgement) -> None:
        self._workers, self._judgement = workers, judgement
        self._timed_out: WorkerResult | None = None
        self._begun: list[WorkerRun] = []

    def begin(self, case_set: CaseSet, purpose: Purpose) -> Callable[[], WorkerResult]:
        """Start the submission in a worker; return a function that waits for the worker."""
        if (result := self._timed_out) is not None:
            return lambda: result
        judgement = self._judgement
        running = self._workers.begin(case_set, judgement.submission, judgement.assignment, purpose)
        self._begun.append(running)
        return partial(self._finish, running)

    def run(self, case_set: CaseSet, purpose: Purpose) -> WorkerResult:
        return self.begin(case_set, purpose)()

    def _finish(self, running: WorkerRun) -> WorkerResult:
        self._begun.remove(running)
        result = self._workers.finish(running)
        if result.how == "timeout":
            self._timed_out = result
        return result

    def close(self) -> None:
        for running in self._begun:
            running.stop()
        self._begun = []

    def grade(self, case_set: CaseSet, source: str) -> Graded:
        """Run content of the pack in a worker and judge it."""
        result = self._workers.run(case_set, Submission(PATH, source))
        comparison = Comparison(case_set, result)
        return comparison, judge(comparison, PATH, 0.0)
