"""The results of one recorded run as a graph: every node knows its line and what it was made from."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from trainer.diagnosis.layout import LAYOUTS, Core, equal, features
from trainer.grading.case_set import CaseSet
from trainer.grading.challenge_content import load_module
from trainer.model.errors import PackError
from trainer.packs.pack_reader import also_right, read_text, solution
from trainer.worker.case_runner import CaseRunner, Hooks, KeptTensors
from trainer.worker.guarded_call import GuardedCall
from trainer.worker.protocol import Purpose, RunReply
from trainer.worker.protocol import Step as RecordedStep

_LARGE = 1000
_PARAMETER = "input parameter "


@dataclass(eq=False)
class Node:
    """One result of a run. Nodes are ordered by the time at which they were made.

    index      the place in the run
    lines      the file's own lines at that moment, the innermost first
    operation  torch's name; `input x`, `return`, or `number` for a Python number
    value      None if it was not sent
    parents    the nodes that it was made from
    name       the variable that it was bound to first, or ""
    written    the node whose memory this operation wrote into, if it wrote in place
    entries    how many entries the result has
    is_cut     whether gradients were off, or the result was detached and is used so
    users      the nodes that were made from this node
    source     the node whose entries this node has in another layout; itself if it computes
    given      the inputs and parameters that have gone into it, as `input x`
    """

    index: int
    lines: tuple[int, ...]
    operation: str
    value: Tensor | None
    parents: tuple[Node, ...]
    name: str = ""
    written: Node | None = None
    entries: int = 1
    is_cut: bool = False
    users: list[Node] = field(default_factory=list, repr=False)
    source: Node = field(init=False, repr=False)
    given: frozenset[str] = field(init=False, repr=False)
    _same_entries: Node = field(init=False, repr=False)  # it has the same entries, in one dtype

    def __post_init__(self) -> None:
        # No property computes these: the chain of nodes may be longer than recursion allows.
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
        """The innermost line of the file, 0 if there is none."""
        return self.lines[0] if self.lines else 0

    @property
    def is_input(self) -> bool:
        """Whether it is an input of the case or a parameter."""
        return self.operation.startswith("input ")

    @property
    def is_parameter(self) -> bool:
        """Whether it is a parameter of the module."""
        return self.operation.startswith(_PARAMETER)

    @property
    def is_number(self) -> bool:
        """Whether it is a Python number."""
        return self.operation == "number"

    @property
    def is_layout(self) -> bool:
        """Whether the operation only lays its input out anew."""
        return self.operation in LAYOUTS

    @property
    def inputs(self) -> set[str]:
        """The inputs that have gone into it, without parameters."""
        return {name for name in self.given if not name.startswith(_PARAMETER)}

    @cached_property
    def features(self) -> tuple[float, ...] | None:
        """Figures that a change of layout leaves as they are; None if the value tells too little."""
        if self.value is None:
            return None
        same = self._same_entries
        return features(self.value) if same is self else same.features

    @property
    def scalar(self) -> float:
        """A Python number, an integer exactly; 0 if it is no number, or was not sent."""
        if not self.is_number or self.value is None:
            return 0
        return float(f"{float(self.value):.9g}") if self.is_float else int(self.value)

    @property
    def is_float(self) -> bool:
        """Whether its entries are floating-point numbers."""
        return self.value is not None and self.value.is_floating_point()

    @property
    def is_comparable(self) -> bool:
        """Whether it can be compared with results of other runs."""
        return self.features is not None or (self.is_number and self.value is not None)

    @property
    def is_large_scalar(self) -> bool:
        """Whether it is a number that two different formulas hardly give by chance."""
        return abs(self.scalar) >= _LARGE

    @cached_property
    def core(self) -> Core | None:
        """The part of its value that a change of layout does not alter."""
        return None if self.value is None else Core(self.value)

    @cached_property
    def factor(self) -> float | None:
        """The number by which it multiplies or divides its one tensor; None if it does more."""
        tensors = [parent for parent in self.parents if parent.entries > 1]
        if self.operation not in ("mul", "div") or len(tensors) != 1:
            return None
        return _factor_between(tensors[0].value, self.value)


def _factor_between(before: Tensor | None, after: Tensor | None) -> float | None:
    if before is None or after is None:
        return None
    if before.shape != after.shape or not before.is_floating_point():
        return None
    one, other = before.double(), after.double()
    size = float(one.pow(2).sum())
    if not size or not math.isfinite(size):
        return None
    factor = float((other * one).sum()) / size
    is_multiple = torch.isclose(other, factor * one, rtol=1e-2, atol=1e-6 * size**0.5).all()
    return factor if factor and bool(is_multiple) else None


@dataclass(frozen=True, eq=False)
class ValueGraph:
    """All results of one run in the order in which they were made, and the outputs by name."""

    nodes: tuple[Node, ...]
    outputs: Mapping[str, Node]

    @cached_property
    def leading_to_outputs(self) -> tuple[Node, ...]:
        """The nodes from which an output was made; all nodes if no output is a tensor."""
        return leading_to(self.outputs.values()) if self.outputs else self.nodes

    @cached_property
    def computed(self) -> tuple[Node, ...]:
        """The nodes that were made after everything was given."""
        last = max((node.index for node in self.nodes if node.is_input), default=-1)
        return tuple(node for node in self.nodes if node.index > last)


def walk(starts: Iterable[Node], onwards: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """Return all nodes that can be reached.

    Args:
        onwards: returns the nodes to which a node leads.
    """
    found: set[Node] = set()
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += onwards(node)
    return found


def leading_to(ends: Iterable[Node]) -> tuple[Node, ...]:
    """Return these nodes and all nodes that they were made from, in order."""
    return tuple(sorted(walk(ends, lambda node: node.parents)))


def graph_of(told: RunReply, tensors: Sequence[Tensor], source: str | None = None) -> ValueGraph:
    """Build the graph of a recorded run. Nodes point only backwards, whatever the worker says.

    Args:
        source: the text of the file, which tells what Python numbers were computed from.
    """
    nodes: list[Node] = []
    numbers = None if source is None else _NumberParents(source)
    for index, step in enumerate(told.steps):
        parents = tuple(nodes[place] for place in step.parents if 0 <= place < index)
        if numbers is not None and step.operation == "number" and not parents:
            parents = numbers.of(step)
        node = Node(
            index=index,
            lines=tuple(step.lines),
            operation=step.operation,
            value=_value_of(step, tensors),
            parents=parents,
            name=step.name,
            written=nodes[step.into] if 0 <= step.into < index else None,
            entries=step.entries,
            is_cut=step.cut,
        )
        nodes.append(node)
        if numbers is not None:
            numbers.add(node)
    outputs = {
        name: nodes[place] for name, place in told.made_by.items() if 0 <= place < len(nodes)
    }
    return ValueGraph(tuple(nodes), outputs)


def _value_of(step: RecordedStep, tensors: Sequence[Tensor]) -> Tensor | None:
    """Return a value as a recorder tells it: complex numbers as pairs, numbers as one entry."""
    if not 0 <= step.tensor < len(tensors):
        return None
    value = tensors[step.tensor]
    if step.operation == "number" and (value.is_complex() or value.dim()):
        return None
    return torch.view_as_real(value) if value.is_complex() else value


class _NumberParents:
    """Find what Python numbers were computed from, by the names in their statements."""

    def __init__(self, source: str) -> None:
        self._names = _names_by_line(source)
        self._latest: dict[tuple[tuple[int, ...], str], Node] = {}  # by call and name
        self._returned: dict[tuple[int, ...], Node] = {}  # by the lines of the call

    def of(self, step: RecordedStep) -> tuple[Node, ...]:
        """Return the numbers that a number was computed from."""
        lines = tuple(step.lines)
        if not lines:
            return ()
        keys = [(lines[1:], name) for name in self._names.get(lines[0], ())]
        parents = {self._latest[key] for key in keys if key in self._latest}
        if lines in self._returned and step.name:
            parents.add(self._returned[lines])
        return tuple(sorted(parents))

    def add(self, node: Node) -> None:
        """Remember a number for the numbers after it."""
        if not node.is_number or not node.lines:
            return
        call = node.lines[1:]
        if node.name:
            self._latest[call, node.name] = node
        else:
            self._returned[call] = node


def _names_by_line(source: str) -> dict[int, set[str]]:
    """Return the names that are read in the statement of each line."""
    found: dict[int, set[str]] = {}
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    for statement in ast.walk(tree):
        if not isinstance(
            statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Expr
        ):
            continue
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            read.add(statement.target.id)
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
            found.setdefault(line, set()).update(read)
    return found


def content_graph(
    case_set: CaseSet, source: str, path: str, purpose: Purpose = "lines"
) -> ValueGraph | None:
    """Run the pack's own file on the set's one case; None if it raises."""
    request, tensors = case_set.decoded_request(purpose)
    kept = KeptTensors()
    runner = CaseRunner(request, tensors, GuardedCall(path), kept, Hooks())
    try:
        runner.run_all(load_module("recorded", path, source), case_set.content.drive)
    except PackError:
        return None
    told = runner.runs[0]
    return graph_of(told, kept.tensors) if told.failure is None and told.steps else None


def right_graphs(case_set: CaseSet) -> list[ValueGraph]:
    """Run the reference on the set's one case, then the pack's other right answers.

    An answer whose layers were not told apart is left out: its outputs differ. A scripted answer is
    left out because it takes as long as all others.
    """
    challenge = case_set.challenge
    path = str(challenge.solutions / "solution.py")
    reference = content_graph(case_set, solution(challenge), path)
    if reference is None:
        return []
    found = [reference]
    # Names come from the reference; numbers count only if no output is a tensor.
    purpose: Purpose = "tensors" if reference.outputs else "lines"
    for other_path in also_right(challenge):
        source = read_text(other_path)
        if "torch.jit" not in source:
            graph = content_graph(case_set, source, str(other_path), purpose)
            if graph is not None and _same_outputs(graph, reference):
                found.append(graph)
    return found


def _same_outputs(graph: ValueGraph, reference: ValueGraph) -> bool:
    for name in graph.outputs.keys() & reference.outputs.keys():
        mine, wanted = graph.outputs[name].value, reference.outputs[name].value
        if mine is None or wanted is None:
            continue
        if mine.shape != wanted.shape or not equal(mine, wanted):
            return False
    return True
