"""Keep the recorded run of one case, together with the graphs of right answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from attn_drill.diagnosis.matching import Matching
from attn_drill.diagnosis.reference_index import ReferenceIndex
from attn_drill.diagnosis.value_graph import ValueGraph, graph_of
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.comparison import Comparison
from attn_drill.worker.worker_client import WorkerResult


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
