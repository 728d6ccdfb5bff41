"""One case of a submission, recorded, next to the graphs of right answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from trainer.diagnosis.blame import Blamer
from trainer.diagnosis.matching import Matching
from trainer.diagnosis.reference_index import ReferenceIndex
from trainer.diagnosis.source_analysis import function_lines
from trainer.diagnosis.value_graph import ValueGraph, graph_of
from trainer.grading.case_set import CaseSet
from trainer.grading.comparison import Comparison
from trainer.worker.worker_client import WorkerResult


@dataclass(frozen=True)
class RecordedCase:
    """The recorded run of one case.

    index            of the case
    case_set         this case alone
    graph            of the submission
    right_graphs     of the reference, then of the other right answers
    wrong            the outputs that were wrong among the other cases
    is_right_alone   whether all outputs are right if the case runs alone
    """

    index: int
    case_set: CaseSet
    graph: ValueGraph
    right_graphs: Sequence[ValueGraph]
    wrong: tuple[str, ...]
    is_right_alone: bool

    @cached_property
    def right(self) -> ReferenceIndex:
        """All values of right answers."""
        return ReferenceIndex(self.right_graphs, self.sizes)

    @property
    def reference(self) -> ValueGraph:
        """The graph of the reference."""
        return self.right_graphs[0]

    @property
    def sizes(self) -> dict[str, int]:
        """The value of every letter."""
        return dict(self.case_set.cases[0].sizes)

    def blamer(
        self,
        source: str,
        mistaken: ValueGraph | None = None,
        passed: Callable[[int], Sequence[ValueGraph]] = lambda line: (),
    ) -> Blamer:
        """Return the search for the line to blame.

        Args:
            source: the text of the submission.
            mistaken: the graph of the reference with the known mistake.
            passed: returns graphs of cases that the submission passes.
        """
        matching = Matching(self.graph, self.right, self.reference, mistaken)
        return Blamer(matching, passed, lambda line: function_lines(source, line))


def recorded_case(
    index: int,
    alone: CaseSet,
    right_graphs: Sequence[ValueGraph],
    ended: WorkerResult,
    source: str,
    comparison: Comparison,
) -> RecordedCase | None:
    """Read the recorded run of a case; None if the worker could not record it.

    Args:
        alone: the case alone.
        right_graphs: of the reference, then of the other right answers.
        ended: the end of the worker that recorded it.
        source: the text of the submission.
        comparison: of all cases.
    """
    if ended.how != "replied" or len(ended.reply.runs) != 1:
        return None
    graph = graph_of(ended.reply.runs[0], ended.tensors, source)
    if not graph.nodes or not (graph.outputs or alone.cases[0].plain):
        return None
    again = Comparison(alone, ended)
    (result,) = again.results
    mismatches = again.attribute_mismatches(result, result.told.outputs)
    is_right_alone = again.right(result) and next(mismatches, None) is None
    among_others = comparison.result_of(index)
    wrong = () if among_others is None else tuple(comparison.wrong_outputs(among_others))
    return RecordedCase(index, alone, graph, right_graphs, wrong, is_right_alone)
