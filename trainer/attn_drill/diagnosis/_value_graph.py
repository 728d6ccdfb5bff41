"""Represent a recorded run as a graph of results, and compare results in any layout."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations, islice, permutations, product

import torch
from torch import Tensor

from attn_drill.grading.case_set import CaseSet, Purpose
from attn_drill.grading.content import load_module
from attn_drill.model.errors import PackError
from attn_drill.packs.pack_reader import also_right, read_text, solution
from attn_drill.worker.case_runner import CaseRunner, Hooks, KeptTensors
from attn_drill.worker.execution import GuardedCall
from attn_drill.worker.protocol import RunReply
from attn_drill.worker.protocol import Step as RecordedStep
from attn_drill.worker.worker_client import WorkerResult

# Operations that only change the layout of their input.
LAYOUTS = frozenset(
    "view _unsafe_view reshape permute transpose t expand unsqueeze squeeze clone detach alias "
    "contiguous unflatten flatten return _to_copy movedim".split()
)

HIDDEN = 1e6  # a mask filled in every score beyond this value
_TOLERANCE = 2e-4
_FEW = 3  # a tensor with fewer distinct values cannot be recognised
# The first entries often show enough distinct values, and that it is no mask.
_MOST_LOOKED_AT = 8
_MOST_TRIES = 200
_MOST_LOOKS = 20_000  # pairs of splits of two shapes that are considered
_MOST_AXES = 6
# The order in which letters are merged into one axis: batch, heads, group, positions, features.
_RANKS = {"B": 0, "H": 1, "Hkv": 1, "G": 2, "D": 4, "Dv": 4, "Dn": 4, "Dr": 4, "M": 4}


def features(tensor: Tensor) -> tuple[float, ...] | None:
    """Return figures that a change of layout does not alter.

    Returns None if the tensor has too few distinct values to be recognised.
    """
    if not tensor.numel():
        return None
    flat = tensor.detach().to(torch.float64).flatten()
    first = flat[:_MOST_LOOKED_AT].tolist()
    is_telling = len(set(first)) >= _FEW and any(
        abs(entry) < HIDDEN and entry not in (0.0, 1.0) for entry in first
    )
    if not is_telling and (pattern := pattern_of(tensor)) is not None:
        share = float(pattern.to(torch.float64).mean())
        share = min(share, 1 - share)
        return (share, share, 1.0, 0.0, -1.0) if share else None
    size = flat.abs()
    hidden = 0.0
    if not float(size.max()) < HIDDEN:
        is_visible = size < HIDDEN
        hidden = 1 - float(is_visible.to(torch.float64).mean())
        flat, size = flat[is_visible], size[is_visible]
    if not flat.numel() or (not is_telling and len(torch.unique(flat)) < _FEW):
        return None
    return (
        float(size.mean()),
        math.sqrt(float(torch.dot(flat, flat)) / flat.numel()),
        float(size.max()),
        float(flat.mean()),
        hidden,
    )


def pattern_of(tensor: Tensor) -> Tensor | None:
    """Return a mask in any notation as booleans; None for other tensors.

    The notations are True and False, 1 and 0, and 0 and -inf.
    """
    if tensor.dtype == torch.bool:
        return tensor
    hidden = ~(tensor.abs() < HIDDEN)
    if bool((hidden | (tensor == 0)).all()):
        return hidden
    return tensor != 0 if bool(((tensor == 0) | (tensor == 1)).all()) else None


class Core:
    """Values and pattern of a tensor, without axes along which nothing changes.

    A change of layout does not alter them. They are computed once and compared often.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.entries = tensor.numel()

    @cached_property
    def values(self) -> Tensor:
        """The entries."""
        return _without_copies(self._tensor)

    @cached_property
    def pattern(self) -> Tensor | None:
        """The hidden entries of a mask in any notation; None for other tensors."""
        pattern = pattern_of(self._tensor)
        return None if pattern is None else _without_copies(pattern)


def _without_copies(tensor: Tensor) -> Tensor:
    """Return a tensor without axes of size 1 and without axes along which all slices are equal."""
    for axis in reversed(range(tensor.dim())):
        first = tensor.narrow(axis, 0, 1)
        if tensor.shape[axis] == 1 or (
            tensor.numel()
            and torch.equal(first.expand_as(tensor).nan_to_num(), tensor.nan_to_num())
        ):
            tensor = first.squeeze(axis)
    return tensor


def hold_same_values(
    core: Core, other: Core, sizes: Mapping[str, int], *, may_swap: bool = True
) -> bool:
    """Return whether two tensors are the same in an honest layout. Empty tensors never are.

    Args:
        may_swap: whether axes of equal size may be swapped.
    """
    if not core.entries or not other.entries:
        return False
    if core.pattern is not None and other.pattern is not None:
        # The axes of a complement may not be swapped: the complement of a strictly causal mask with
        # keys and queries swapped is the causal mask, which is another mask.
        return _same_values(core.pattern, other.pattern, sizes, may_swap) or _same_values(
            ~core.pattern, other.pattern, sizes, False
        )
    return _same_values(core.values, other.values, sizes, may_swap)


def _same_values(tensor: Tensor, other: Tensor, sizes: Mapping[str, int], may_swap: bool) -> bool:
    if tensor.numel() != other.numel():
        return False
    if tensor.shape == other.shape and equal(tensor, other):
        return True
    layouts = layouts_of_shape(other, tuple(tensor.shape), sizes, may_swap=may_swap)
    return any(equal(tensor, layout) for layout in layouts)


def equal(tensor: Tensor, other: Tensor) -> bool:
    """Return whether two tensors of one shape are equal up to rounding.

    Integers are not rounded, so they must be exactly equal. Entries that a mask has filled in count
    as equal, however large they are.
    """
    if not tensor.is_floating_point() and not other.is_floating_point():
        return torch.equal(tensor.to(torch.int64), other.to(torch.int64))
    tensor, other = tensor.to(torch.float64), other.to(torch.float64)
    # The greatest difference alone decides most comparisons.
    if (most := float(other.abs().max())) < HIDDEN:
        worst = float((tensor - other).abs().max())
        if worst > 2 * _TOLERANCE * most:
            return False
        if worst <= _TOLERANCE * float(other.pow(2).mean().sqrt()):
            return True
    hidden = ~(tensor.abs() < HIDDEN)
    if not torch.equal(hidden, ~(other.abs() < HIDDEN)):
        return False
    tensor, other = tensor.masked_fill(hidden, 0.0), other.masked_fill(hidden, 0.0)
    room = _TOLERANCE * (other.abs() + other.pow(2).mean().sqrt())
    return bool(((tensor - other).abs() <= room).all())


def layouts_of_shape(
    tensor: Tensor, shape: tuple[int, ...], sizes: Mapping[str, int], *, may_swap: bool = True
) -> Iterator[Tensor]:
    """Yield a tensor in every honest layout of this shape; axes of equal size may be swapped."""
    letters = tuple(sizes.items())
    pieces = [_splits(size, letters) for size in tensor.shape]
    wanted_pieces = [_splits(size, letters) for size in shape]
    if max(math.prod(map(len, some)) for some in (pieces, wanted_pieces)) > _MOST_LOOKS:
        return
    splits = sorted(product(*pieces), key=lambda parts: sum(map(len, parts)))
    tries = 0
    for split, wanted in islice(product(splits, product(*wanted_pieces)), _MOST_LOOKS):
        atoms = [size for part in split for size in part]
        if sorted(atoms) != sorted(size for part in wanted for size in part):
            continue
        if len(atoms) > max(len(split), len(wanted)):  # axes of both tensors are split
            continue
        for order in _orders(atoms, wanted, may_swap):
            tries += 1
            if tries > _MOST_TRIES:
                return
            yield tensor.reshape(atoms).permute(order).reshape(shape)


@lru_cache(maxsize=4096)
def _splits(size: int, sizes: tuple[tuple[str, int], ...]) -> list[tuple[int, ...]]:
    """Return the ways to split an axis: unsplit, or two or three letters in their usual order."""
    splits: list[tuple[int, ...]] = [(size,)]
    letters = dict(sizes)
    if letters.get("H") and letters.get("Hkv"):
        letters.setdefault("G", letters["H"] // letters["Hkv"])
    ranked = sorted(
        (_RANKS.get(name, 3), value) for name, value in letters.items() if 1 < value < size
    )
    for count in (2, 3):
        for chosen in permutations(ranked, count):
            ranks = [rank for rank, _ in chosen]
            # Positions are merged with the batch alone.
            if 3 in ranks and not (count == 2 and ranks[0] == 0):
                continue
            # An axis that has a letter of this size is not merged with the batch.
            if 0 in ranks and size in letters.values():
                continue
            if ranks == sorted(ranks) and math.prod(value for _, value in chosen) == size:
                splits.append(tuple(value for _, value in chosen))
    return list(dict.fromkeys(splits))


def _orders(
    atoms: Sequence[int], wanted: Sequence[Sequence[int]], may_swap: bool
) -> Iterator[tuple[int, ...]]:
    """Yield the permutations of the atoms that have the wanted sizes, merged axes in order."""
    if len(atoms) > _MOST_AXES:
        return
    sizes = [size for part in wanted for size in part]
    for order in permutations(range(len(atoms))):
        if [atoms[axis] for axis in order] != sizes:
            continue
        axes = iter(order)
        groups = [list(islice(axes, len(part))) for part in wanted]
        if any(group != sorted(group) for group in groups):
            continue
        pairs = combinations(order, 2)
        if may_swap or all(axis < later or atoms[axis] != atoms[later] for axis, later in pairs):
            yield order


_PARAMETER = "input parameter "


@dataclass(eq=False)
class Node:
    """One result of a run. Nodes are ordered by the time at which they were made."""

    index: int
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
    entries: int = 1
    # Whether gradients were off, or the result was detached and then used.
    is_cut: bool = False
    # The Python numbers with which the operation computes.
    numbers: tuple[float, ...] = ()
    # The nodes that were computed from this node.
    users: list[Node] = field(default_factory=list, repr=False)
    # The node whose entries this node has in another layout; itself if it computes.
    source: Node = field(init=False, repr=False)
    # The inputs and parameters from which the node was computed, as `input x`.
    origins: frozenset[str] = field(init=False, repr=False)
    # Same entries and same dtype.
    _same_entries: Node = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # These are no lazy properties: the chain of nodes may exceed the recursion limit.
        self.source = self._same_entries = self
        self.origins = frozenset({self.operation} if self.is_input else ())
        for parent in self.parents:
            parent.users.append(self)
            self.origins |= parent.origins
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
        return {name for name in self.origins if not name.startswith(_PARAMETER)}

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
    def is_mask(self) -> bool:
        return self.core is not None and self.core.pattern is not None

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
        node = Node(
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
        nodes.append(node)
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
    """Run the reference, then the other right answers of the pack, on the only case of a set."""
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
        # A scripted answer takes as long as all others together.
        if "torch.jit" not in source:
            graph = content_graph(case_set, source, str(other_path), purpose)
            if graph is not None and _have_same_outputs(graph, reference):
                graphs.append(graph)
    return graphs


def _have_same_outputs(graph: ValueGraph, reference: ValueGraph) -> bool:
    """Return whether outputs are equal; they are not if layers were assigned wrongly."""
    for name in graph.outputs.keys() & reference.outputs.keys():
        value, right = graph.outputs[name].value, reference.outputs[name].value
        if value is None or right is None:
            continue
        if value.shape != right.shape or not equal(value, right):
            return False
    return True
