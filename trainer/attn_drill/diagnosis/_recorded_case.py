"""Record a case again, and look up its values among those of right answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor

from attn_drill.diagnosis._value_graph import (
    Node,
    ValueGraph,
    equal,
    graph_of,
    have_same_value,
    hold_same_values,
)
from attn_drill.diagnosis.patched_references import PATH, Graded
from attn_drill.grading.case_set import CaseSet, Purpose
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.grader import Judgement, Workers
from attn_drill.grading.judge import judge
from attn_drill.model.challenge import Submission
from attn_drill.worker.worker_client import WorkerResult, WorkerRun

_AT_ONCE = 256
_FIGURES = 5  # the length of the tuples of `features`


class ReferenceIndex:
    """The distinct values that lead to the outputs of these graphs."""

    def __init__(self, graphs: Sequence[ValueGraph], sizes: Mapping[str, int]) -> None:
        self.graphs, self.sizes = graphs, sizes
        self.nodes: list[Node] = []
        # Different masks, for example, may have equal figures.
        values_by_figures: dict[tuple[object, ...], list[Tensor]] = {}
        for graph in graphs:
            for node in graph.leading_to_outputs:
                if node.features is None or node.value is None:
                    continue
                key = (tuple(node.value.shape), *(round(figure, 6) for figure in node.features))
                values = values_by_figures.setdefault(key, [])
                if not any(equal(node.value, value) for value in values):
                    values.append(node.value)
                    self.nodes.append(node)
        self._scalars = {
            (node.is_float, node.scalar)
            for graph in graphs
            for node in graph.nodes
            if node.is_number
        }
        figures = [node.features for node in self.nodes]
        self._table = torch.tensor(figures, dtype=torch.float64).reshape(-1, _FIGURES)
        self._results: dict[tuple[Node, bool], bool] = {}
        self._near_nodes: dict[Node, list[Node]] = {}

    def look_ahead(self, nodes: Iterable[Node]) -> None:
        """Find similar values for many nodes together, which is many times faster."""
        waiting = [node for node in nodes if node.features and node not in self._near_nodes]
        for start in range(0, len(waiting), _AT_ONCE):
            some = waiting[start : start + _AT_ONCE]
            figures = torch.tensor([node.features for node in some], dtype=torch.float64)[:, None]
            room = 1e-3 * torch.maximum(self._table[:, 1:2], figures[:, :, 1:2])
            is_near = ((self._table[:, :4] - figures[:, :, :4]).abs() <= room).all(dim=2)
            is_near &= (self._table[:, 4] - figures[:, :, 4]).abs() < 1e-9
            self._near_nodes.update((node, []) for node in some)
            for row, column in is_near.nonzero().tolist():
                self._near_nodes[some[row]].append(self.nodes[column])

    def has(self, node: Node, *, may_swap: bool = True) -> bool:
        """Return whether the index has the value of a node; axes of equal size may be swapped."""
        if node.is_number:
            return node.value is not None and (node.is_float, node.scalar) in self._scalars
        core, key = node.core, (node, may_swap)
        if node.features is None or core is None:
            return False
        if key not in self._results:
            self.look_ahead([node])
            self._results[key] = any(
                other.core and hold_same_values(core, other.core, self.sizes, may_swap=may_swap)
                for other in self._near_nodes[node]
            )
        return self._results[key]


_LARGE = 1000  # different formulas often give a smaller integer by chance


class Matching:
    """The graph of a submission, matched with the values of right answers and of a mistake."""

    def __init__(
        self, graph: ValueGraph, right: ReferenceIndex, mistaken: ValueGraph | None = None
    ) -> None:
        self.graph, self.right = graph, right
        self._wrong = ReferenceIndex([] if mistaken is None else [mistaken], right.sizes)
        self._of_reference = ReferenceIndex(right.graphs[:1], right.sizes)
        for index in (right, self._wrong):
            index.look_ahead(graph.nodes)

    @property
    def sizes(self) -> Mapping[str, int]:
        return self.right.sizes

    def is_right(self, node: Node) -> bool:
        """Return whether a node is an input, or a right answer makes the same value.

        Of a value that only the mistake and other answers than the reference make, the mistake is
        the more likely source, except for a number or a table that is made from no input: other
        answers compute those in other steps.
        """
        if node.is_input or not self.right.has(node):
            return node.is_input
        return not (node.origins or node.is_mask) or not self._is_of_mistake(node)

    def is_doubtful(self, node: Node) -> bool:
        """Return whether a node is neither an input nor certainly right."""
        return not node.is_input and (not self.right.has(node) or self._is_of_mistake(node))

    def _is_of_mistake(self, node: Node) -> bool:
        """Return whether the known mistake makes the same value, and the reference does not."""
        return not node.is_number and self._wrong.has(node) and not self._of_reference.has(node)

    def is_known_wrong(self, node: Node) -> bool:
        """Return whether the known mistake makes the same value, and no right answer does."""
        if node.is_number and not node.is_float and abs(node.scalar) < _LARGE:
            return False
        return not self.is_right(node) and self._wrong.has(node)

    def have_same_value(self, node: Node, other: Node) -> bool:
        return have_same_value(node, other, self.sizes)


@dataclass(frozen=True)
class RecordedCase:
    """The recorded run of one case."""

    index: int
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
        """Match the submission with right answers, and with the reference with its mistake."""
        return Matching(self.graph, self.right, mistaken)


def recorded_case(
    index: int,
    alone: CaseSet,
    right_graphs: Sequence[ValueGraph],
    worker_result: WorkerResult,
    comparison: Comparison,
) -> RecordedCase | None:
    """Read the run of a case that a worker recorded alone; None if it could not record it."""
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
