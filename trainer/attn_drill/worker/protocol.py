"""The messages between grader and worker, their encoding, and the worker's ends of the pipes.

A message is encoded as JSON and raw tensor bytes, never as a pickle.

A frame has a header length of 4 bytes, a JSON header, and the tensors one after another, each
padded to a multiple of 8 bytes. A message in the pipe has a kind of 1 byte, a length of 8 bytes and
a payload. The kinds are:

- REPLY: a frame with the request, or with the reply to it.
- FILE: the learner's file. It follows the request in a separate message, so that a worker can
  prepare itself before the file exists.
- NOTE: the index of the run that is about to start; -1 for the import of the file.
- PART: a frame with a reply that holds only the next finished runs. The worker may send it before
  the complete reply, so that the grader can compare these runs while the worker goes on. Tensor ids
  are counted through all parts and the reply.

The grader does not trust the bytes of a worker: it limits sizes before it reads a message, and it
checks the header against its types before it uses a value.
"""

from __future__ import annotations

import ctypes
import math
import os
import select
import struct
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import torch
from torch import Tensor

from attn_drill.model.challenge import Signature
from attn_drill.worker.layer_matching import MOST_ASSIGNMENTS

T = TypeVar("T")

NOTE, PART, REPLY, FILE = b"N", b"P", b"R", b"F"
MOST_REPLY_BYTES = 64 << 20
MOST_HEADER_BYTES = 4 << 20
MOST_HEADER_PARTS = 100_000  # millions of empty lists would take minutes
MOST_TENSORS = 20_000
MOST_TENSOR_BYTES = 32 << 20
MOST_TEXT = 4_000
MOST_DIMS = 16
_ALIGNED = 8  # bytes
_MOST_EMPTY = 1 << 40  # entries, with sizes of 1 in place of 0

# The observation of a call:
# - "cost": count its cost.
# - "lines": record the result of each line, with the names of the results.
# - "tensors": record the tensors only.
# - "gradients": record the tensors while gradients are recorded too.
# - "facts": gather facts for the lesson.
Observe = Literal["", "cost", "lines", "tensors", "gradients", "facts"]

# The limits of a reply. The decoder refuses longer or larger values, whoever made the reply.
Text = Annotated[str, msgspec.Meta(max_length=MOST_TEXT + 8)]
Name = Annotated[str, msgspec.Meta(max_length=256)]
Assigned = Mapping[str, Sequence[str]]  # layer -> the roles that it holds
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
Index = Annotated[int, msgspec.Meta(ge=-1, le=1 << 31)]  # -1: none
Shape = Annotated[
    list[Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]], msgspec.Meta(max_length=MOST_DIMS)
]

DTYPES: dict[str, torch.dtype] = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float32,
        torch.float64,
        torch.bfloat16,
        torch.float16,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
    )
}

Places = Annotated[list[Index], msgspec.Meta(max_length=50)]

HEAD_BYTES = 9  # one byte for the kind, eight bytes for the length
_CHUNK = 1 << 20


def name_of(dtype: torch.dtype) -> str:
    """Return the name of a dtype, for example "float32"."""
    return str(dtype).removeprefix("torch.")


class ProtocolError(Exception):
    """The bytes are not a message of this protocol."""


class Spec(msgspec.Struct, frozen=True, array_like=True):
    """The dtype and the shape of one tensor of a frame."""

    dtype: Name
    shape: Shape


class FrameData(msgspec.Struct, frozen=True, array_like=True):
    """A place in the learner's file: the line, the function around it, and the text of the line."""

    line: Annotated[int, msgspec.Meta(ge=0, le=10**9)]
    function: Name
    text: Name


Frames = Annotated[list[FrameData], msgspec.Meta(max_length=8)]


class CallFailure(msgspec.Struct, frozen=True):
    """An exception that the learner's code raised."""

    phase: Name  # for example "forward" or "backward"
    type: Name
    message: Text
    frames: Frames = []
    out_of_memory: bool = False


class Returned(msgspec.Struct, frozen=True):
    """One output of a call."""

    description: Text  # for example "a tensor" or "None"
    shape: Shape = []
    dtype: Name = ""
    device: Name = ""  # for example "cpu"
    # The index of the tensor in the frame; -1 if no tensor was sent.
    tensor_id: Index = -1
    plain: Name = ""  # "int", "str" or ""
    text: Name = ""  # the value of an int or a str


class FoundParameter(msgspec.Struct, frozen=True):
    """One argument of the learner's callable."""

    name: Name
    # The kind, as in the `inspect` module.
    kind: Literal[
        "POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD"
    ]
    required: bool  # True if the argument has no default
    # The repr of the default; None if there is no default or it is not a literal.
    default: Name | None = None


class NotAllowed(msgspec.Struct, frozen=True):
    """A function of torch that was called and must not be called."""

    name: Name  # in words that learners know
    is_by_challenge: bool = False  # only this challenge forbids it
    frames: Frames = []


class Step(msgspec.Struct, array_like=True):
    """The result of one operation of a recorded run."""

    # The file's own lines at that moment, innermost first; [] if no line of the file was running.
    lines: Annotated[list[Annotated[int, msgspec.Meta(ge=0, le=10**9)]], msgspec.Meta(max_length=8)]
    # Torch's name of the operation; `input x` for a given tensor or number, `return` for a returned
    # tensor, `number` for a Python number.
    operation: Name
    tensor_id: Index  # the index of the value in the frame, or -1
    # The indices of the steps that the result was made from.
    parents: Annotated[list[Index], msgspec.Meta(max_length=64)]
    name: Name = ""  # the first variable that it was bound to
    # The index of the step of the given tensor whose memory was written; -1 if there is none.
    written: Index = -1
    entries: Count = 1  # of the result
    # True if gradients were off when the result was made, or if the result was detached and then
    # used.
    is_cut: bool = False
    # The Python numbers with which the operation computes.
    numbers: Annotated[list[float], msgspec.Meta(max_length=8)] = []


class RunCost(msgspec.Struct, frozen=True):
    """The cost of one call. The worker counts it, so it is evidence and not proof."""

    operations: Count = 0  # tensor operations, views too
    lines: Count = 0  # lines of the learner's file that ran
    left: Count = 0  # entries that left torch as plain data (`tolist`, `numpy` …)
    entered: Count = 0  # entries that were made from data outside torch
    flops: Count = 0  # 2 for each multiply-add, of all products
    matrix_flops: Count = 0  # those of products of matrices and vectors
    largest: Count = 0  # entries of the largest tensor that was made
    peak_bytes: Count = 0  # of new tensors that were alive at once


class CopyFact(msgspec.Struct, frozen=True):
    """A copy that repeats entries."""

    line: Index
    before: Count  # the bytes that are repeated
    after: Count


class HeldFact(msgspec.Struct, frozen=True):
    """Memory that a line made, and that was in use at the peak."""

    line: Index
    size: Count


class Facts(msgspec.Struct):
    """The facts about one call."""

    operations: Count = 0  # without views
    multiply_adds: Annotated[int, msgspec.Meta(ge=0, le=1 << 62)] = 0
    peak_bytes: Count = 0  # of new tensors that were alive at once
    copies: Annotated[list[CopyFact], msgspec.Meta(max_length=50)] = []
    # The tensors that were alive at the peak, the largest first.
    held: Annotated[list[HeldFact], msgspec.Meta(max_length=50)] = []
    # The lines at which Python read a value, or at which a shape depends on values.
    reads: Places = []
    # The lines that made or used a tensor on another device than the input.
    other_device: Places = []
    # The lines that made a tensor without a dtype, which made values of half precision float32.
    default_dtype: Places = []
    half_softmax: Places = []  # the lines with a softmax in bfloat16 or float16
    # The names of parameters and buffers that the call does not read.
    unused: Annotated[list[Name], msgspec.Meta(max_length=50)] = []


class Call(msgspec.Struct, frozen=True):
    """One call of an implementation in a case."""

    # "second" stands for new values of the same shapes.
    values: Literal["first", "second"] = "first"
    gradients: bool = False
    # True if the inputs are written into the tensors of the call before.
    is_in_same_memory: bool = False
    is_in_eval_mode: bool = False  # of a module in training mode
    weights: float = 1.0  # the factor of all weights during the call
    observe: Observe = ""


class Run(msgspec.Struct, frozen=True):
    """One case, as the worker receives it: build the implementation once, then make the calls.

    The worker does not receive the name of the case. In `inputs` and `second`, each tensor is
    replaced by {"tensor": tensor_id}.
    """

    sizes: dict[str, int]
    init: dict[str, Any]
    inputs: dict[str, Any]
    second: dict[str, Any]
    parameters: dict[str, int]  # tensor ids, named as in the contract
    cotangents: dict[str, int]  # tensor ids of the factors of the outputs
    dtype: str
    mode: str  # "train" or "eval"
    # The memory layout of inputs, by name; `execution.lay_out` describes the layouts.
    layout: dict[str, str]
    differentiable: list[str]  # the inputs whose gradients are compared
    calls: list[Call]
    initial: bool = False  # the module keeps its first weights


class RefusedCall(msgspec.Struct, frozen=True):
    """A call that a submission must refuse."""

    call: str
    # The arguments by name, with {"tensor": tensor_id} in place of tensors.
    arguments: dict[str, Any]
    # The constructor arguments, if `drive` makes the call on a module; else None.
    init: dict[str, Any] | None = None


class Request(msgspec.Struct, frozen=True):
    """The complete input of a worker except the learner's file.

    A request contains no expected values, no tolerances and no reference, except for a file of
    tests, which runs on `implementations`.
    """

    # `drive` from the pack's cases.py with the definitions that it needs, and nothing else.
    drive_source: str
    kind: str  # for example "module"
    entry: list[str]  # what the file must define
    random_seed: int
    runs: list[Run]
    refusals: list[RefusedCall]
    # The roles of the learner's layers; {} for the first assignment that fits all cases.
    assignment: dict[Name, list[Name]] = {}
    signatures: list[Signature] = []  # the contract's callables
    # The names of further operations of torch that the submission must not call.
    forbids: list[str] = []
    # Pairs of parameters that are one tensor in this submission, as its challenge allows.
    ties: list[tuple[str, str]] = []
    realistic: Run | None = None  # on tensors without values, for facts
    # If there are implementations, the submission is a file of tests. It imports each of these
    # texts as a module of this name.
    implementations: list[str] = []
    tested_module: str = ""


class SubmittedFile(msgspec.Struct, frozen=True):
    """The learner's file: its name without a folder, and its text."""

    name: str
    source: str


class CallReply(msgspec.Struct):
    """The results of one call."""

    outputs: dict[Name, Returned] = {}
    # Also that of the backward pass. If the call fails only while gradients are recorded, `outputs`
    # are those without.
    failure: CallFailure | None = None
    gradients: dict[Name, Index] = {}  # tensor ids, named as in the contract
    changed: list[Name] = []  # the inputs that were changed in place
    overwritten: list[Name] = []  # outputs of the call before that it changed


class TestResult(msgspec.Struct, frozen=True):
    """The result of one test of the learner, or of the import of the tests (without a name)."""

    __test__ = False  # for pytest: this is no class of tests

    name: Name
    failure: Text = ""  # the exception, or "" if the test passed
    line: Index = 0  # of the file with the tests; 0 if the exception has no line there
    is_skipped: bool = False  # also if it is expected to fail


class RunReply(msgspec.Struct):
    """The results of one case, or of the tests on one implementation."""

    # The failure of the constructor or of the first call. A first call that fails only while
    # gradients are recorded counts as a failure of the gradients.
    failure: CallFailure | None = None
    parameters: dict[Name, Shape] = {}
    shared: dict[Name, Name] = {}  # each further name of a parameter -> its first name
    # The buffers whose imaginary part was cut off by the cast to the dtype.
    lost_imaginary: Annotated[list[Name], msgspec.Meta(max_length=50)] = []
    unassigned: bool = False  # no assignment of layers fits
    # The results of the calls, without those after a failed first call.
    calls: Annotated[list[CallReply], msgspec.Meta(max_length=8)] = []
    steps: Annotated[list[Step], msgspec.Meta(max_length=10_000)] = []
    # The index of the step that made each output of a recorded call.
    made_by: dict[Name, Index] = {}
    cost: RunCost | None = None
    facts: Facts | None = None
    tests: Annotated[list[TestResult], msgspec.Meta(max_length=500)] = []

    def call(self, place: int) -> CallReply:
        """Return the results of a call, from 0; without outputs if the call was not made."""
        return self.calls[place] if place < len(self.calls) else CallReply()

    @property
    def first(self) -> CallReply:
        """The results of the first call."""
        return self.call(0)

    @property
    def outputs(self) -> dict[Name, Returned]:
        """The outputs of the first call."""
        return self.first.outputs


class Reply(msgspec.Struct):
    """The complete output of a worker. It is evidence, not proof."""

    load_failure: CallFailure | None = None
    # The definitions of the file.
    defined: Annotated[list[Name], msgspec.Meta(max_length=40)] = []
    # The required names that are not callable -> a description of their values, or "missing".
    not_callable: dict[Name, Text] = {}
    # The arguments of the learner's callables; None if Python cannot find them.
    signatures: dict[Name, Annotated[list[FoundParameter], msgspec.Meta(max_length=50)] | None] = {}
    # All assignments of the learner's layers that fit all cases.
    assignments: Annotated[
        list[dict[Name, list[Name]]], msgspec.Meta(max_length=MOST_ASSIGNMENTS)
    ] = []
    assignment: dict[Name, list[Name]] = {}  # the one that the runs were made with
    # The results of the cases, without those that were sent in parts.
    runs: Annotated[list[RunReply], msgspec.Meta(max_length=1000)] = []
    # For each of the request's refusals; None if the file accepted the arguments.
    refusals: Annotated[list[CallFailure | None], msgspec.Meta(max_length=1000)] = []
    # The library attention that was called.
    not_allowed: Annotated[list[NotAllowed], msgspec.Meta(max_length=20)] = []
    realistic: Facts | None = None
    is_realistic_complete: bool = False


class Header(msgspec.Struct):
    """The JSON part of a frame."""

    body: msgspec.Raw
    tensors: list[Spec]


class TensorTable:
    """The tensors of a frame that is being written, in order.

    Attributes:
        first: the id of the first tensor.
        specs: the dtypes and shapes of the tensors.
        chunks: the bytes of the tensors, with padding.
    """

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.specs: list[Spec] = []
        self.chunks: list[bytes] = []

    def add(self, tensor: Tensor) -> int:
        """Copy a tensor's values into the frame and return the tensor's id."""
        plain = torch.Tensor.detach(tensor)
        if type(plain) is not Tensor:
            plain = plain.as_subclass(Tensor)
        if (
            plain.is_conj()
            or plain.is_neg()
            or not plain.is_contiguous()
            or plain.device.type != "cpu"
        ):
            # The memory of a view with the conjugate or negative bit holds other values.
            plain = plain.resolve_conj().resolve_neg().cpu().contiguous()
        self.specs.append(Spec(name_of(plain.dtype), list(plain.shape)))
        if size := plain.numel() * plain.element_size():
            self.chunks += ctypes.string_at(plain.data_ptr(), size), bytes(_padding(size))
        return self.first + len(self.specs) - 1

    def tree(self, value: object) -> Any:
        """Add every tensor of nested lists, tuples and dicts, and return the tree with their ids.

        Each tensor is replaced by {"tensor": tensor_id}. A tensor without values (device "meta") is
        replaced by {"shape": …, "dtype": …}. Tuples become lists.
        """
        if isinstance(value, Tensor) and value.is_meta:
            return {"shape": list(value.shape), "dtype": name_of(value.dtype)}
        if isinstance(value, Tensor):
            return {"tensor": self.add(value)}
        if isinstance(value, Mapping):
            return {str(key): self.tree(part) for key, part in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return [self.tree(part) for part in value]
        return value


def encode(body: msgspec.Struct, table: TensorTable) -> bytes:
    """Return a frame with a body and the tensors of a table."""
    header = msgspec.json.encode(Header(msgspec.Raw(msgspec.json.encode(body)), table.specs))
    return b"".join((struct.pack("<I", len(header)), header, *table.chunks))


def decode(frame: bytes, shape: type[T]) -> tuple[T, list[Tensor]]:
    """Return the body and the tensors of a frame.

    Args:
        frame: the bytes of the frame.

    Raises:
        ProtocolError: if the bytes are not a frame, hold a value of a wrong type, or announce more
            tensor bytes than they hold. No bytes lead to another exception.
    """
    try:
        return _decoded(frame, shape)
    except ProtocolError:
        raise
    except Exception as error:  # the bytes may cause any
        raise ProtocolError(
            f"a frame that cannot be read ({type(error).__name__}: {cap(str(error), 200)})"
        ) from None


def _decoded(frame: bytes, shape: type[T]) -> tuple[T, list[Tensor]]:
    if len(frame) < 4:
        raise ProtocolError(f"a frame of {len(frame)} bytes")
    (length,) = struct.unpack_from("<I", frame)
    if length > MOST_HEADER_BYTES or 4 + length > len(frame):
        raise ProtocolError(f"a header of {length} bytes in a frame of {len(frame)}")
    text = frame[4 : 4 + length]
    if (parts := text.count(b"{") + text.count(b"[")) > MOST_HEADER_PARTS:
        raise ProtocolError(f"a header of {parts} parts")
    header = msgspec.json.decode(text, type=Header)
    body = msgspec.json.decode(header.body, type=shape)
    if len(header.tensors) > MOST_TENSORS:
        raise ProtocolError(f"{len(header.tensors)} tensors")
    buffer = bytearray(memoryview(frame)[4 + length :])
    offset = 0
    tensors: list[Tensor] = []
    for spec in header.tensors:
        if spec.dtype not in DTYPES:
            raise ProtocolError(f"a tensor of dtype {spec.dtype[:40]}")
        dtype = DTYPES[spec.dtype]
        count = math.prod(spec.shape)
        if count == 0:
            # An empty tensor needs no bytes, but torch computes its strides in 64 bits.
            if math.prod(max(size, 1) for size in spec.shape) > _MOST_EMPTY:
                raise ProtocolError(f"an empty tensor {spec.shape}")
            tensors.append(torch.empty(spec.shape, dtype=dtype))
            continue
        size_in_bytes = count * dtype.itemsize
        if size_in_bytes > len(buffer) - offset:
            raise ProtocolError(
                f"a tensor of {size_in_bytes} bytes where {len(buffer) - offset} are left"
            )
        # A frame may contain a byte that is neither 0 nor 1, which torch does not accept as a bool.
        flat = torch.frombuffer(
            buffer, dtype=torch.uint8 if dtype is torch.bool else dtype, count=count, offset=offset
        )
        tensors.append((flat != 0 if dtype is torch.bool else flat).reshape(spec.shape))
        offset += size_in_bytes + _padding(size_in_bytes)
    return body, tensors


def _padding(size: int) -> int:
    """Return how many bytes of padding follow `size` bytes, to align the next tensor."""
    return -size % _ALIGNED


def fill(tree: Any, tensors: Sequence[Tensor]) -> Any:
    """Return a tree of `TensorTable.tree` with its tensors again. Lists become tuples."""
    if isinstance(tree, dict):
        if tree.keys() == {"tensor"}:
            return tensors[tree["tensor"]]
        if tree.keys() == {"shape", "dtype"}:
            return torch.empty(tree["shape"], dtype=DTYPES[tree["dtype"]], device="meta")
        return fill_all(tree, tensors)
    if isinstance(tree, list):
        return tuple(fill(part, tensors) for part in tree)
    return tree


def fill_all(trees: Mapping[str, Any], tensors: Sequence[Tensor]) -> dict[str, Any]:
    """Return named trees of `TensorTable.tree` with their tensors again."""
    return {name: fill(tree, tensors) for name, tree in trees.items()}


def message(kind: bytes, payload: bytes) -> bytes:
    """Return a message for the pipe: kind, length, payload."""
    return kind + struct.pack("<Q", len(payload)) + payload


def payload_bytes(head: bytes | bytearray) -> int:
    """Return the length of the payload that follows the head of a message."""
    length: int = struct.unpack_from("<Q", head, 1)[0]
    return length


class Channel:
    """A worker's ends of its two pipes: requests in, replies out.

    They are pipes and not sockets, because a pipe can carry only bytes, in order. A socket could
    also carry descriptors.
    """

    def __init__(self, requests: int, replies: int) -> None:
        self._requests, self._replies = requests, replies

    def receive(self) -> bytes:
        """Return the payload of the next message.

        Raises:
            ConnectionError: if the grader has closed the pipe.
        """
        return self._read(payload_bytes(self._read(HEAD_BYTES)))

    def send(self, kind: bytes, payload: bytes) -> None:
        """Send a whole message, even if the submission has made the descriptor non-blocking."""
        write_all(self._replies, message(kind, payload))

    def _read(self, count: int) -> bytes:
        received = bytearray()
        while len(received) < count:
            part = os.read(self._requests, min(count - len(received), _CHUNK))
            if not part:
                raise ConnectionError("the grader closed the pipe")
            received += part
        return bytes(received)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes. Wait while the pipe is full."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            select.select([], [descriptor], [])


def mark(part: str) -> bytes:
    """Return the mark in front of what a part of the run prints; see `Hooks.mark_output`."""
    return b"\0" + part.encode() + b"\0"


def cap(text: str, most: int = MOST_TEXT) -> str:
    r"""Return a text that is short enough to send, without surrogates.

    >>> cap("abcdef", 3), cap("a\ud800b")
    ('abc …', 'a?b')
    """
    clean = text[:most].encode("utf-8", "replace").decode("utf-8")
    return clean if len(text) <= most else clean + " …"
