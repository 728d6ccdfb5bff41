"""Represent a recorded run as a graph of results.

Every node has the line that made it and the nodes from which it was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from attn_drill.diagnosis._layout import LAYOUTS, Core, equal, features, hold_same_values
from attn_drill.grading.case_set import CaseSet, Purpose
from attn_drill.grading.content import load_module
from attn_drill.model.errors import PackError
from attn_drill.packs.pack_reader import also_right, read_text, solution
from attn_drill.worker.case_runner import CaseRunner, Hooks, KeptTensors
from attn_drill.worker.execution import GuardedCall
from attn_drill.worker.protocol import RunReply
from attn_drill.worker.protocol import Step as RecordedStep
from attn_drill.worker.worker_client import WorkerResult

_PARAMETER = "input parameter "


@dataclass(eq=False)
class Node:
    """One result of a run. Nodes are ordered by the time at which they were made."""

    index: int  # the position in the run
    # The lines of the file in the call stack, innermost first.
    lines: tuple[int, ...]
    # Torch's name; or `input x`, `return`, or `number` for a Python scalar.
    operation: str
    # The tensor; None if the worker did not send it.
    value: Tensor | None
    # The nodes from which this node was computed.
    parents: tuple[Node, ...]
    # The first variable to which the result was bound, or "".
    name: str = ""
    # The node whose memory an in-place operation changed; else None.
    written: Node | None = None
    entries: int = 1  # the number of entries of the result
    # Whether gradients were off, or the result was detached and then used.
    is_cut: bool = False
    # The Python numbers with which the operation computes.
    numbers: tuple[float, ...] = ()
    # The nodes that were computed from this node.
    users: list[Node] = field(default_factory=list, repr=False)
    # The node whose entries this node has in another layout; itself if it computes.
    source: Node = field(init=False, repr=False)
    # The inputs and parameters from which the node was computed, as `input x`.
    given: frozenset[str] = field(init=False, repr=False)
    # Same entries and same dtype.
    _same_entries: Node = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # These are no lazy properties: the chain of nodes may exceed the recursion limit.
        self.source = self._same_entries = self
        self.given = frozenset({self.operation} if self.is_input else ())
        for parent in self.parents:
            parent.users.append(self)
            self.given |= parent.given
        if self.is_layout and len(self.parents) == 1:
            (parent,) = self.parents
            self.source = parent.source
            before, after = parent.value, self.value
            if before is not None and after is not None and before.dtype == after.dtype:
                self._same_entries = parent._same_entries

    def __lt__(self, other: Node) -> bool:
        return self.index < other.index

    @property
    def line(self) -> int:
        return self.lines[0] if self.lines else 0

    @property
    def is_input(self) -> bool:
        return self.operation.startswith("input ")

    @property
    def is_parameter(self) -> bool:
        return self.operation.startswith(_PARAMETER)

    @property
    def is_number(self) -> bool:
        return self.operation == "number"

    @property
    def is_layout(self) -> bool:
        return self.operation in LAYOUTS

    @property
    def inputs(self) -> set[str]:
        """The inputs from which the node was computed, without parameters."""
        return {name for name in self.given if not name.startswith(_PARAMETER)}

    @cached_property
    def features(self) -> tuple[float, ...] | None:
        """Figures that a change of layout does not alter; None if there are too few values."""
        if self.value is None:
            return None
        same = self._same_entries
        return features(self.value) if same is self else same.features

    @property
    def scalar(self) -> float:
        """The Python scalar, rounded to 9 digits if it is a float; 0 if there is none."""
        if not self.is_number or self.value is None:
            return 0
        return float(f"{float(self.value):.9g}") if self.is_float else int(self.value)

    @property
    def is_float(self) -> bool:
        return self.value is not None and self.value.is_floating_point()

    @property
    def is_comparable(self) -> bool:
        return self.features is not None or (self.is_number and self.value is not None)

    @cached_property
    def core(self) -> Core | None:
        return None if self.value is None else Core(self.value)


@dataclass(frozen=True, eq=False)
class ValueGraph:
    """All results of one run in the order in which they were made, and the outputs by name."""

    nodes: tuple[Node, ...]
    outputs: Mapping[str, Node]

    @cached_property
    def leading_to_outputs(self) -> tuple[Node, ...]:
        """The nodes from which an output was computed; all nodes if no output is a tensor."""
        return leading_to(self.outputs.values()) if self.outputs else self.nodes

    @cached_property
    def computed(self) -> tuple[Node, ...]:
        """The nodes that were made after all inputs and parameters."""
        last = max((node.index for node in self.nodes if node.is_input), default=-1)
        return tuple(node for node in self.nodes if node.index > last)


def reachable(starts: Iterable[Node], neighbours: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """Return these nodes, their neighbours, the neighbours of these, and so on."""
    reached: set[Node] = set()
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            waiting += neighbours(node)
    return reached


def leading_to(ends: Iterable[Node]) -> tuple[Node, ...]:
    """Return these nodes and all nodes from which they were computed, in order."""
    return tuple(sorted(reachable(ends, lambda node: node.parents)))


def comparable_parents(node: Node) -> list[Node]:
    """Return the nearest comparable ancestors of a node."""
    reached = reachable(node.parents, lambda other: () if other.is_comparable else other.parents)
    return sorted(other for other in reached if other.is_comparable)


def have_same_value(node: Node, other: Node, sizes: Mapping[str, int]) -> bool:
    """Return whether two nodes have the same value in an honest layout."""
    if node.core is None or other.core is None or node.features is None or other.features is None:
        return False
    room = 1e-3 * max(node.features[1], other.features[1])
    pairs = zip(node.features[:4], other.features[:4], strict=True)
    if any(abs(figure - other_figure) > room for figure, other_figure in pairs):
        return False
    return hold_same_values(node.core, other.core, sizes)


def graphs_of(result: WorkerResult) -> list[ValueGraph]:
    if result.how != "replied":
        return []
    return [graph_of(run_reply, result.tensors) for run_reply in result.reply.runs]


def graph_of(run_reply: RunReply, tensors: Sequence[Tensor]) -> ValueGraph:
    """Build the graph of a recorded run.

    The reply of a worker is not trusted: parents that are not earlier nodes are ignored.
    """
    nodes: list[Node] = []
    for index, step in enumerate(run_reply.steps):
        nodes.append(
            Node(
                index=index,
                lines=tuple(step.lines),
                operation=step.operation,
                value=_value_of(step, tensors),
                parents=tuple(nodes[place] for place in step.parents if 0 <= place < index),
                name=step.name,
                written=nodes[step.written] if 0 <= step.written < index else None,
                entries=step.entries,
                is_cut=step.is_cut,
                numbers=tuple(step.numbers),
            )
        )
    outputs = {
        name: nodes[place] for name, place in run_reply.made_by.items() if 0 <= place < len(nodes)
    }
    return ValueGraph(tuple(nodes), outputs)


def _value_of(step: RecordedStep, tensors: Sequence[Tensor]) -> Tensor | None:
    """Return the value of a step. Complex tensors become pairs of real entries.

    A tensor that no operation has written yet has no value: its memory holds any numbers.
    """
    if not 0 <= step.tensor_id < len(tensors) or "empty" in step.operation:
        return None
    value = tensors[step.tensor_id]
    if step.operation == "number" and (value.is_complex() or value.dim()):
        return None
    return torch.view_as_real(value) if value.is_complex() else value


def content_graph(
    case_set: CaseSet, source: str, path: str, purpose: Purpose = "lines"
) -> ValueGraph | None:
    """Run a file of the pack on the only case of a set; return None if the file raises."""
    request, tensors = case_set.decoded_request(purpose)
    kept_tensors = KeptTensors()
    runner = CaseRunner(request, tensors, GuardedCall(path), kept_tensors, Hooks())
    try:
        runner.run_all(load_module("recorded", path, source), case_set.content.drive)
    except PackError:
        return None
    run_reply = runner.runs[0]
    if run_reply.failure is not None or not run_reply.steps:
        return None
    return graph_of(run_reply, kept_tensors.tensors)


def right_graphs(case_set: CaseSet) -> list[ValueGraph]:
    """Run the reference, then the other right answers of the pack, on the only case of a set.

    Leave out answers with other outputs, because their layers were assigned wrongly. Leave out
    scripted answers, because a scripted answer takes as long as all others together.
    """
    challenge = case_set.challenge
    path = str(challenge.solutions / "solution.py")
    reference = content_graph(case_set, solution(challenge), path)
    if reference is None:
        return []
    graphs = [reference]
    # Only the reference needs names. Python scalars count only if no output is a tensor.
    purpose: Purpose = "tensors" if reference.outputs else "lines"
    for other_path in also_right(challenge):
        source = read_text(other_path)
        if "torch.jit" in source:
            continue
        graph = content_graph(case_set, source, str(other_path), purpose)
        if graph is not None and not any(
            _differ(graph.outputs[name].value, reference.outputs[name].value)
            for name in graph.outputs.keys() & reference.outputs.keys()
        ):
            graphs.append(graph)
    return graphs


def _differ(value: Tensor | None, other: Tensor | None) -> bool:
    if value is None or other is None:
        return False
    return value.shape != other.shape or not equal(value, other)
