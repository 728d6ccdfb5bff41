"""What travels between grader and worker: one frame each way, JSON header and raw tensor bytes. Never pickle.

Frame: 4 bytes header length, JSON header, tensors one after another, each padded to a multiple of 8 bytes. In the pipe a
frame is a message of kind REPLY with 8 bytes of length before it; a note (the number of the run about to start) is a message
of kind NOTE. Runs that are done may be told before the rest, in frames of kind PART: the grader compares them while the worker
goes on. The learner's file follows the request's frame in a message of its own, kind FILE, so that a worker can be ready
before there is one.
What comes from the worker is not trusted: sizes are capped before anything is read, and the header is checked against
its types before anything is used.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import torch
from torch import Tensor

from trainer.model.challenge import Signature
from trainer.worker.layer_matching import MOST_ASSIGNMENTS

T = TypeVar("T")

NOTE, PART, REPLY, FILE, COUNT, READY = b"N", b"P", b"R", b"F", b"C", b"Y"
MOST_REPLY_BYTES = 64 << 20
MOST_HEADER_BYTES = 4 << 20
MOST_HEADER_PARTS = 100_000  # objects and lists: decoding millions of empty ones takes minutes
MOST_TENSORS = 20_000
MOST_TENSOR_BYTES = 32 << 20
MOST_TEXT = 4_000
MOST_DIMS = 16
_ALIGNED = 8  # bytes
_MOST_EMPTY = 1 << 40  # entries that an empty tensor would have if its sizes of 0 were 1

# What is asked for: all calls that a verdict needs; what each line makes in one call a case, or its tensors alone, or these while gradients are
# recorded; the outputs of one call a case.
Purpose = Literal["grade", "lines", "tensors", "gradients", "outputs"]

# What a reply may hold, however it was made: the decoder refuses anything longer or larger.
Text = Annotated[str, msgspec.Meta(max_length=MOST_TEXT + 8)]
Name = Annotated[str, msgspec.Meta(max_length=256)]
Assigned = Mapping[str, Sequence[str]]  # which of the learner's layers holds which roles
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
Number = Annotated[int, msgspec.Meta(ge=-1, le=1 << 31)]
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
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def name_of(dtype: torch.dtype) -> str:
    """`float32`."""
    return _NAMES.get(dtype) or str(dtype).removeprefix("torch.")


class ProtocolError(Exception):
    """The bytes are not a frame of ours."""


class Spec(msgspec.Struct, frozen=True, array_like=True):
    """One tensor of a frame."""

    dtype: Name
    shape: Shape


class FrameData(msgspec.Struct, frozen=True, array_like=True):
    """A place in the learner's file."""

    line: Annotated[int, msgspec.Meta(ge=0, le=10**9)]
    function: Name
    text: Name


Frames = Annotated[list[FrameData], msgspec.Meta(max_length=8)]


class CallFailure(msgspec.Struct, frozen=True):
    """An exception: in which phase, its type and message, and where in the learner's file."""

    phase: Name
    type: Name
    message: Text
    frames: Frames = []
    out_of_memory: bool = False


class Returned(msgspec.Struct, frozen=True):
    """One output: `tensor` is its number in the frame, or -1 where it is no tensor (`what` says what it is) or was not sent.

    Of an int or a str, `plain` is the type and `text` the value.
    """

    what: Text
    shape: Shape = []
    dtype: Name = ""
    device: Name = ""
    tensor: Number = -1
    plain: Name = ""
    text: Name = ""


class FoundParameter(msgspec.Struct, frozen=True):
    """One argument of the learner's callable; `default` is a literal's repr, or None where there is none to compare."""

    name: Name
    kind: Literal[
        "POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD"
    ]
    required: bool
    default: Name | None = None


class NotAllowed(msgspec.Struct, frozen=True):
    """A library attention that was called, and where in the learner's file."""

    name: Name
    frames: Frames = []


class Step(msgspec.Struct, frozen=True, array_like=True):
    """What one operation of a recorded run made; `recording.Recorded` says what the fields are."""

    lines: Annotated[list[Annotated[int, msgspec.Meta(ge=0, le=10**9)]], msgspec.Meta(max_length=8)]
    operation: Name
    tensor: Number
    parents: Annotated[list[Number], msgspec.Meta(max_length=64)]
    name: Name = ""
    into: Number = -1
    entries: Count = 1
    cut: bool = False


class Counts(msgspec.Struct, frozen=True):
    """What one call of a probe did, as its worker counted it: evidence, not proof.

    operations  tensor operations, of all threads
    lines       lines of Python that ran, of code that is no library's
    left        entries of tensors that left torch as plain data (`tolist`, `numpy` …)
    entered     entries of tensors that were made of data from outside
    flops       2 per multiply-add, of all products
    matrix_flops  of those of matrices and vectors alone
    largest     entries of the largest tensor made
    alive       bytes of tensors that were alive at once beyond those before the call; 0 where that was not counted
    training, gradients   how the call was made
    tampered    how the counters contradict each other; "" where they agree
    """

    operations: Count = 0
    lines: Count = 0
    left: Count = 0
    entered: Count = 0
    flops: Count = 0
    matrix_flops: Count = 0
    largest: Count = 0
    alive: Count = 0
    training: bool = False
    gradients: bool = False
    tampered: Name = ""


class Counted(msgspec.Struct, frozen=True):
    """Counts on their way: they are sent as soon as the call is over, before any other code of the learner's runs."""

    run: Annotated[int, msgspec.Meta(ge=0, le=1000)]
    counts: Counts


class Run(msgspec.Struct, frozen=True):
    """One case for the worker. Tensors stand in the trees as {"tensor": number}. Names of cases are the grader's alone."""

    sizes: dict[str, int]
    init: dict[str, Any]
    inputs: dict[str, Any]
    again: dict[str, Any]
    parameters: dict[str, int]
    cotangents: dict[str, int]
    dtype: str
    mode: str
    layout: dict[str, str]
    differentiable: list[str]
    probe: str | None
    purpose: Purpose | None = None  # None: the request's
    counted: bool = True  # of a probe: whether its first call is counted, which is made as declared and without gradients
    ways: list[
        tuple[bool, bool]
    ] = []  # of a probe: the further ways in which it is counted, (training, gradients)
    random: bool = False  # whether two calls on the same values may differ: dropout
    once_more: bool = (
        True  # whether the third call is made without gradients too, however the one with them ends
    )


class Request(msgspec.Struct, frozen=True):
    """All that a worker is told but for the learner's file: no expected values, no tolerances, no reference.

    `drive_source` holds `drive` of the pack's cases.py and what it needs to run, and nothing else of the pack.
    """

    drive_source: str
    kind: str
    entry: list[str]
    random_seed: int
    runs: list[Run]
    refusals: list[dict[str, Any]]
    assignment: dict[Name, list[Name]] = {}  # {}: the first that fits all cases
    purpose: Purpose = "grade"
    measured: bool = False  # whether the worker waits before each call, until the kernel's count of its memory begins anew
    signatures: list[Signature] = []  # the contract's callables


class SubmittedFile(msgspec.Struct, frozen=True):
    """The learner's file: its name without a folder, and its text."""

    name: str
    source: str


class RunReply(msgspec.Struct):
    """What one case gave: a call without gradients, a second one on new values, a third on the first values in new memory.

    The third records gradients where there are any (`outputs_with_gradients`). One that records none (`outputs_once_more`) is there where it does not,
    where it gave something else than the first, and where the run asks for it. A run that does not ask, in a file to which gradients make no difference,
    has two calls: the first records them.
    Of a recorded run: `steps`, and which of them made each output.
    """

    failure: CallFailure | None = None
    parameters: dict[Name, Shape] = {}
    shared: dict[Name, Name] = {}
    lazy: dict[Name, Name] = {}  # layers without a shape yet, and their classes
    lost: Annotated[
        list[Name], msgspec.Meta(max_length=50)
    ] = []  # buffers whose imaginary part the cast cut off
    unassigned: bool = False
    outputs: dict[Name, Returned] = {}
    outputs_with_gradients: dict[Name, Returned] = {}
    outputs_again: dict[Name, Returned] = {}
    outputs_once_more: dict[Name, Returned] = {}
    gradients: dict[Name, Number] = {}
    gradient_failure: CallFailure | None = None
    again_failure: CallFailure | None = None
    inputs_after: dict[Name, Number] = {}
    overwritten: list[Name] = []
    steps: Annotated[list[Step], msgspec.Meta(max_length=10_000)] = []
    made_by: dict[Name, Number] = {}
    counts: Annotated[list[Counts], msgspec.Meta(max_length=8)] = []


class Reply(msgspec.Struct):
    """All that a worker tells: evidence, not proof."""

    load_failure: CallFailure | None = None
    defined: Annotated[list[Name], msgspec.Meta(max_length=40)] = []
    not_callable: dict[Name, Text] = {}
    signatures: dict[Name, Annotated[list[FoundParameter], msgspec.Meta(max_length=50)] | None] = {}
    assignments: Annotated[
        list[dict[Name, list[Name]]], msgspec.Meta(max_length=MOST_ASSIGNMENTS)
    ] = []  # all that fit all cases
    assignment: dict[Name, list[Name]] = {}
    runs: Annotated[list[RunReply], msgspec.Meta(max_length=1000)] = []
    refusals: Annotated[list[CallFailure | None], msgspec.Meta(max_length=1000)] = []
    not_allowed: Annotated[list[NotAllowed], msgspec.Meta(max_length=20)] = []


class Tried(msgspec.Struct, frozen=True):
    """What one run gives under each of several assignments of layers, told before any run: the grader may know which is meant."""

    number: Number
    assignments: Annotated[list[dict[Name, list[Name]]], msgspec.Meta(max_length=MOST_ASSIGNMENTS)]
    outputs: Annotated[list[dict[Name, Returned]], msgspec.Meta(max_length=MOST_ASSIGNMENTS)]


class ReplyPart(msgspec.Struct, frozen=True):
    """Runs that are done, in order; the reply tells those after them. Tensors are numbered through all parts and the reply."""

    runs: Annotated[list[RunReply], msgspec.Meta(max_length=1000)]
    tried: Tried | None = None


class Header(msgspec.Struct):
    """The JSON part of a frame."""

    body: msgspec.Raw
    tensors: list[Spec]


class TensorTable:
    """The tensors of a frame being written, in order."""

    def __init__(self, first: int = 0) -> None:
        self.first = first  # the number of its first tensor
        self.specs: list[Spec] = []
        self.chunks: list[bytes] = []

    def add(self, tensor: Tensor) -> int:
        """Copy a tensor's values into the frame; returns its number."""
        plain = torch.Tensor.detach(tensor)
        if type(plain) is not Tensor:
            plain = plain.as_subclass(Tensor)
        if (
            plain.is_conj()
            or plain.is_neg()
            or not plain.is_contiguous()
            or plain.device.type != "cpu"
        ):
            # A view with the conjugate or negative bit set holds its values' bytes without it.
            plain = plain.resolve_conj().resolve_neg().cpu().contiguous()
        self.specs.append(Spec(name_of(plain.dtype), list(plain.shape)))
        if size := plain.numel() * plain.element_size():
            self.chunks += ctypes.string_at(plain.data_ptr(), size), bytes(_padding(size))
        return self.first + len(self.specs) - 1

    def tree(self, value: object) -> Any:
        """Replace every tensor of nested lists, tuples and dicts by its number in the frame."""
        if isinstance(value, Tensor):
            return {"tensor": self.add(value)}
        if isinstance(value, Mapping):
            return {str(key): self.tree(one) for key, one in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return [self.tree(one) for one in value]
        return value


def encode(body: msgspec.Struct, table: TensorTable) -> bytes:
    """One frame."""
    header = msgspec.json.encode(Header(msgspec.Raw(msgspec.json.encode(body)), table.specs))
    return b"".join((struct.pack("<I", len(header)), header, *table.chunks))


def decode(frame: bytes, shape: type[T]) -> tuple[T, list[Tensor]]:
    """Read one frame.

    Raises:
        ProtocolError: whatever is wrong with it: it is not a frame, holds a value of a wrong type, or promises more than
            it holds. No bytes lead to another exception.
    """
    try:
        return _decoded(frame, shape)
    except ProtocolError:
        raise
    except Exception as error:  # the bytes come from whoever wants to get through here
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
            # It costs no bytes, but its strides are computed all the same, and torch keeps them in 64 bits.
            if math.prod(max(size, 1) for size in spec.shape) > _MOST_EMPTY:
                raise ProtocolError(f"an empty tensor {spec.shape}")
            tensors.append(torch.empty(spec.shape, dtype=dtype))
            continue
        size_in_bytes = count * dtype.itemsize
        if size_in_bytes > len(buffer) - offset:
            raise ProtocolError(
                f"a tensor of {size_in_bytes} bytes where {len(buffer) - offset} are left"
            )
        # A byte that is neither 0 nor 1 is no bool to torch, but may stand in a frame.
        flat = torch.frombuffer(
            buffer, dtype=torch.uint8 if dtype is torch.bool else dtype, count=count, offset=offset
        )
        tensors.append((flat != 0 if dtype is torch.bool else flat).reshape(spec.shape))
        offset += size_in_bytes + _padding(size_in_bytes)
    return body, tensors


def _padding(size: int) -> int:
    """How many bytes follow so many, so that the next tensor lies where its dtype wants it."""
    return -size % _ALIGNED


def fill(tree: Any, tensors: Sequence[Tensor]) -> Any:
    """The reverse of `TensorTable.tree`: lists become tuples."""
    if isinstance(tree, dict):
        if tree.keys() == {"tensor"}:
            return tensors[tree["tensor"]]
        return {key: fill(one, tensors) for key, one in tree.items()}
    if isinstance(tree, list):
        return tuple(fill(one, tensors) for one in tree)
    return tree


def message(kind: bytes, payload: bytes) -> bytes:
    """A message for the pipe: kind, length, payload."""
    return kind + struct.pack("<Q", len(payload)) + payload


def mark(part: str) -> bytes:
    """Written into what a submission prints, so that the grader can tell to which run and call the text belongs."""
    return b"\0" + part.encode() + b"\0"


def cap(text: str, most: int = MOST_TEXT) -> str:
    """A text short enough to send, without surrogates."""
    clean = text[:most].encode("utf-8", "replace").decode("utf-8")
    return clean if len(text) <= most else clean + " …"
