"""The messages between grader and worker, and their encoding: JSON and raw tensor bytes, no pickle.

A frame has a header length of 4 bytes, a JSON header, and the tensors one after another, each
padded to a multiple of 8 bytes. A message in the pipe has a kind of 1 byte, a length of 8 bytes and
a payload. The kinds are:

- REPLY: a frame with the request, or with the reply to it.
- FILE: the learner's file. It follows the request in a separate message, so that a worker can
  prepare itself before the file exists.
- NOTE: the index of the run that is about to start; -1 for the import of the file.
- PART: a frame with finished runs. The worker may send it before the reply, so that the grader can
  compare these runs while the worker goes on.
- COUNT: the counts of one call.
- READY: the worker waits until the grader has reset the kernel's count of its memory.

The grader does not trust the bytes of a worker: it limits sizes before it reads a message, and it
checks the header against its types before it uses a value.
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
MOST_HEADER_PARTS = 100_000  # objects and lists: to decode millions of empty lists takes minutes
MOST_TENSORS = 20_000
MOST_TENSOR_BYTES = 32 << 20
MOST_TEXT = 4_000
MOST_DIMS = 16
_ALIGNED = 8  # bytes
_MOST_EMPTY = 1 << 40  # entries that an empty tensor would have if its sizes of 0 were 1

# The purpose of a request:
# - "grade": make all calls that a verdict needs.
# - "lines": make one call for each case, and record the results of each line with their names.
# - "tensors": record the tensors only.
# - "gradients": record the tensors while gradients are recorded too.
# - "outputs": make one call for each case, and send its outputs.
# - "facts": as "outputs", with facts about every call and about the realistic call.
Purpose = Literal["grade", "lines", "tensors", "gradients", "outputs", "facts"]

# The limits of a reply. The decoder refuses longer or larger values, whoever made the reply.
Text = Annotated[str, msgspec.Meta(max_length=MOST_TEXT + 8)]
Name = Annotated[str, msgspec.Meta(max_length=256)]
Assigned = Mapping[str, Sequence[str]]  # the learner's layer -> the roles that the layer holds
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
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def name_of(dtype: torch.dtype) -> str:
    """Return the name of a dtype, for example "float32"."""
    return _NAMES.get(dtype) or str(dtype).removeprefix("torch.")


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
    """An exception that the learner's code raised.

    Attributes:
        phase: the phase of the run, for example "forward" or "backward".
        type: the name of the exception's type.
        message: the exception's message.
        frames: the places in the learner's file, outermost first.
        out_of_memory: True if the limit of memory was reached.
    """

    phase: Name
    type: Name
    message: Text
    frames: Frames = []
    out_of_memory: bool = False


class Returned(msgspec.Struct, frozen=True):
    """One output of a call.

    Attributes:
        description: the output in words, for example "a tensor" or "None".
        shape: the shape of a tensor.
        dtype: the name of a tensor's dtype.
        device: the type of a tensor's device.
        tensor_id: the index of the tensor in the frame; -1 if the output is not a tensor, or if the
            tensor was not sent.
        plain: "int" or "str" if the output has one of these types, else "".
        text: the value of an int or a str.
    """

    description: Text
    shape: Shape = []
    dtype: Name = ""
    device: Name = ""
    tensor_id: Index = -1
    plain: Name = ""
    text: Name = ""


class FoundParameter(msgspec.Struct, frozen=True):
    """One argument of the learner's callable.

    Attributes:
        name: the name of the argument.
        kind: the kind, as in the `inspect` module.
        required: True if the argument has no default.
        default: the repr of the default; None if there is no default or it is not a literal.
    """

    name: Name
    kind: Literal[
        "POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD"
    ]
    required: bool
    default: Name | None = None


class NotAllowed(msgspec.Struct, frozen=True):
    """A library attention that was called, and the places of the call in the learner's file."""

    name: Name
    frames: Frames = []


class Step(msgspec.Struct, frozen=True, array_like=True):
    """The result of one operation of a recorded run.

    `recorder.RecordedStep` describes the fields. `tensor_id` is the index of the value in the
    frame, or -1.
    """

    lines: Annotated[list[Annotated[int, msgspec.Meta(ge=0, le=10**9)]], msgspec.Meta(max_length=8)]
    operation: Name
    tensor_id: Index
    parents: Annotated[list[Index], msgspec.Meta(max_length=64)]
    name: Name = ""
    written: Index = -1
    entries: Count = 1
    is_cut: bool = False


class Counts(msgspec.Struct, frozen=True):
    """The counts of one call of a probe. The worker counts them: they are evidence, not proof.

    Attributes:
        operations: tensor operations, in all threads.
        lines: lines of Python that ran outside the libraries.
        left_torch: entries of tensors that left torch as plain data (`tolist`, `numpy` …).
        entered_torch: entries of tensors that were made from data outside torch.
        flops: 2 for each multiply-add, of all products.
        matrix_flops: 2 for each multiply-add of products of matrices and vectors.
        largest: entries of the largest tensor that was made.
        alive: the most bytes of tensors that were alive at once, without those from before the
            call; 0 if the bytes were not counted.
        training: True if the module was in training mode.
        gradients: True if gradients were recorded.
        tampered: a sentence about counters that contradict each other; "" if they agree.
    """

    operations: Count = 0
    lines: Count = 0
    left_torch: Count = 0
    entered_torch: Count = 0
    flops: Count = 0
    matrix_flops: Count = 0
    largest: Count = 0
    alive: Count = 0
    training: bool = False
    gradients: bool = False
    tampered: Name = ""


class Counted(msgspec.Struct, frozen=True):
    """A message with the counts of a call of one run.

    The worker sends the message as soon as the call is over, before other code of the learner runs.
    """

    run: Annotated[int, msgspec.Meta(ge=0, le=1000)]
    counts: Counts


class CopyFact(msgspec.Struct, frozen=True):
    """A copy that repeats entries.

    Attributes:
        line: the line of the file.
        before: the bytes of the entries that are repeated.
        after: the bytes of the copy.
    """

    line: Index
    before: Count
    after: Count


class HeldFact(msgspec.Struct, frozen=True):
    """Memory that a line made, and that was in use at the peak."""

    line: Index
    size: Count


Places = Annotated[list[Index], msgspec.Meta(max_length=50)]


class Facts(msgspec.Struct):
    """The facts about one call.

    Attributes:
        operations: the number of tensor operations, without views.
        multiply_adds: the number of multiply-adds.
        peak_bytes: the most bytes of new tensors that were alive at once.
        copies: the copies that repeat entries.
        held: the tensors that were alive at the peak, the largest first.
        reads: the lines at which Python read a value, or at which a shape depends on values.
        other_device: the lines that made or used a tensor on another device than the input.
        default_dtype: the lines that made a tensor without a dtype, which made values of half
            precision float32.
        half_softmax: the lines with a softmax in bfloat16 or float16.
        unused: the names of parameters and buffers that the call does not read.
    """

    operations: Count = 0
    multiply_adds: Annotated[int, msgspec.Meta(ge=0, le=1 << 62)] = 0
    peak_bytes: Count = 0
    copies: Annotated[list[CopyFact], msgspec.Meta(max_length=50)] = []
    held: Annotated[list[HeldFact], msgspec.Meta(max_length=50)] = []
    reads: Places = []
    other_device: Places = []
    default_dtype: Places = []
    half_softmax: Places = []
    unused: Annotated[list[Name], msgspec.Meta(max_length=50)] = []


class Run(msgspec.Struct, frozen=True):
    """One case, as the worker receives it. The worker does not receive the name of the case.

    In `inputs` and `again`, each tensor is replaced by {"tensor": tensor_id}.

    Attributes:
        sizes: the sizes of the case by name.
        init: the arguments of the constructor.
        inputs: the inputs of the first call.
        again: the inputs of the second call: new values of the same shapes.
        parameters: the tensor ids of the weights, named as in the contract.
        cotangents: the tensor ids of the factors of the outputs in the backward pass.
        dtype: the name of the module's dtype.
        mode: "train" or "eval".
        layout: the memory layout of inputs, by name; `execution.lay_out` describes the layouts.
        differentiable: the names of the inputs whose gradients are compared.
        probe: the kind of the probe that counts the call; None if the call is not counted.
        purpose: None for the purpose of the request.
        counted: for a probe: True if the first call is counted. The first call uses the declared
            mode and records no gradients.
        ways: for a probe: further counted calls, as pairs (training, gradients).
        random: True if two calls on the same values may differ, because of dropout.
        initial: True if the module keeps the values with which it was constructed.
        repeat_without_gradients: True if the third call must also be made without gradients,
            whatever the call with gradients returned.
    """

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
    purpose: Purpose | None = None
    counted: bool = True
    ways: list[tuple[bool, bool]] = []
    random: bool = False
    initial: bool = False
    repeat_without_gradients: bool = True


class RefusedCall(msgspec.Struct, frozen=True):
    """A call that a submission must refuse.

    Attributes:
        call: the name of the class or function.
        arguments: the arguments by name, with {"tensor": tensor_id} in place of tensors.
        init: the constructor arguments, if `drive` makes the call on a module; else None.
    """

    call: str
    arguments: dict[str, Any]
    init: dict[str, Any] | None = None


class Request(msgspec.Struct, frozen=True):
    """The complete input of a worker except the learner's file.

    A request contains no expected values, no tolerances and no reference.

    Attributes:
        drive_source: the source of `drive` from the pack's cases.py with the definitions that it
            needs, and nothing else of the pack.
        kind: the kind of the challenge, for example "module".
        entry: the names of the callables that the file must define.
        random_seed: the seed of torch's random numbers.
        runs: the cases.
        refusals: calls that the submission must refuse.
        assignment: the roles of the learner's layers; {} for the first assignment that fits all
            cases.
        purpose: the purpose of the runs that have no separate purpose.
        measured: True if the worker waits before each call until the kernel's count of its memory
            is reset.
        signatures: the contract's callables.
        forbids: the names of further operations of torch that the submission must not call.
        realistic: a call on tensors without values, for the purpose "facts".
    """

    drive_source: str
    kind: str
    entry: list[str]
    random_seed: int
    runs: list[Run]
    refusals: list[RefusedCall]
    assignment: dict[Name, list[Name]] = {}
    purpose: Purpose = "grade"
    measured: bool = False
    signatures: list[Signature] = []
    forbids: list[str] = []
    realistic: Run | None = None


class SubmittedFile(msgspec.Struct, frozen=True):
    """The learner's file: its name without a folder, and its text."""

    name: str
    source: str


class RunReply(msgspec.Struct):
    """The results of one case.

    The worker makes up to four calls:

    - the first call, on the case's values, without gradients;
    - the second call, on new values in the same memory;
    - the third call, on the first values in new memory, with gradients if the case has gradients;
    - a further call on the first values, without gradients. It is made if the case has no
      gradients, if the third call returned other values than the first, if the case is random, or
      if the run requests it.

    If the run does not request the further call, and gradients have changed no result in the runs
    before, the worker makes two calls only: the first records gradients, and the second is on new
    values.

    Attributes:
        failure: the failure of the constructor, of the first call or of a counted call.
        parameters: name and shape of the module's parameters.
        shared: each further name of a parameter -> its first name.
        lazy: the layers without a shape yet -> their classes.
        lost_imaginary: the buffers whose imaginary part was cut off by the cast to the dtype.
        unassigned: True if no assignment of the learner's layers fits.
        outputs: the outputs of the first call.
        outputs_with_gradients: the outputs of the third call.
        outputs_again: the outputs of the second call.
        outputs_repeated: the outputs of the further call without gradients.
        gradients: the tensor ids of the gradients, named as in the contract.
        gradient_failure: the failure of the third call or of its backward pass.
        again_failure: the failure of the second or of the further call.
        inputs_after: the tensor ids of the inputs after the first call.
        overwritten: the outputs of the first call that the second call changed.
        changed_again: the inputs that the second call changed.
        steps: the steps of a recorded run.
        made_by: the index of the step that made each output of a recorded run.
        counts: the counts of the calls of a probe.
        facts: the facts about the call of a run with the purpose "facts".
    """

    failure: CallFailure | None = None
    parameters: dict[Name, Shape] = {}
    shared: dict[Name, Name] = {}
    lazy: dict[Name, Name] = {}
    lost_imaginary: Annotated[list[Name], msgspec.Meta(max_length=50)] = []
    unassigned: bool = False
    outputs: dict[Name, Returned] = {}
    outputs_with_gradients: dict[Name, Returned] = {}
    outputs_again: dict[Name, Returned] = {}
    outputs_repeated: dict[Name, Returned] = {}
    gradients: dict[Name, Index] = {}
    gradient_failure: CallFailure | None = None
    again_failure: CallFailure | None = None
    inputs_after: dict[Name, Index] = {}
    overwritten: list[Name] = []
    changed_again: list[Name] = []
    steps: Annotated[list[Step], msgspec.Meta(max_length=10_000)] = []
    made_by: dict[Name, Index] = {}
    counts: Annotated[list[Counts], msgspec.Meta(max_length=8)] = []
    facts: Facts | None = None


class Reply(msgspec.Struct):
    """The complete output of a worker. It is evidence, not proof.

    Attributes:
        load_failure: the failure of the import of the file.
        defined: the names of the callables that the file defines.
        not_callable: the required names that are not callable -> a description of their values, or
            "missing".
        signatures: the arguments of the learner's callables; None if Python cannot find them.
        assignments: all assignments of the learner's layers that fit all cases.
        assignment: the assignment that the runs were made with.
        runs: the results of the cases, without those that were sent in parts.
        refusals: the failure of the call for each of the request's refusals; None if the
            constructor accepted the arguments.
        not_allowed: the library attention that was called.
        realistic: the facts about the realistic call; None without such a call.
        is_realistic_complete: True if the realistic call succeeded.
    """

    load_failure: CallFailure | None = None
    defined: Annotated[list[Name], msgspec.Meta(max_length=40)] = []
    not_callable: dict[Name, Text] = {}
    signatures: dict[Name, Annotated[list[FoundParameter], msgspec.Meta(max_length=50)] | None] = {}
    assignments: Annotated[
        list[dict[Name, list[Name]]], msgspec.Meta(max_length=MOST_ASSIGNMENTS)
    ] = []
    assignment: dict[Name, list[Name]] = {}
    runs: Annotated[list[RunReply], msgspec.Meta(max_length=1000)] = []
    refusals: Annotated[list[CallFailure | None], msgspec.Meta(max_length=1000)] = []
    not_allowed: Annotated[list[NotAllowed], msgspec.Meta(max_length=20)] = []
    realistic: Facts | None = None
    is_realistic_complete: bool = False


class TriedAssignments(msgspec.Struct, frozen=True):
    """The outputs of one run under each of several assignments of layers.

    The worker sends the outputs before it makes the runs. By the outputs, the grader may know which
    assignment is meant.

    Attributes:
        case_index: the index of the run.
        assignments: the assignments.
        outputs: the outputs of the run under each assignment.
    """

    case_index: Index
    assignments: Annotated[list[dict[Name, list[Name]]], msgspec.Meta(max_length=MOST_ASSIGNMENTS)]
    outputs: Annotated[list[dict[Name, Returned]], msgspec.Meta(max_length=MOST_ASSIGNMENTS)]


class ReplyPart(msgspec.Struct, frozen=True):
    """The next finished runs, in order. The reply contains the runs after the last part.

    Tensor ids are counted through all parts and the reply.

    Attributes:
        runs: the results of the runs.
        tried: the outputs under several assignments of layers, if several fit.
    """

    runs: Annotated[list[RunReply], msgspec.Meta(max_length=1000)]
    tried: TriedAssignments | None = None


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
        shape: the type of the body.

    Raises:
        ProtocolError: if the bytes are not a frame, hold a value of a wrong type, or announce more
            tensor bytes than they hold. No bytes lead to another exception.
    """
    try:
        return _decoded(frame, shape)
    except ProtocolError:
        raise
    except Exception as error:  # the bytes may be made to cause any exception
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
        return {key: fill(part, tensors) for key, part in tree.items()}
    if isinstance(tree, list):
        return tuple(fill(part, tensors) for part in tree)
    return tree


def message(kind: bytes, payload: bytes) -> bytes:
    """Return a message for the pipe: kind, length, payload."""
    return kind + struct.pack("<Q", len(payload)) + payload


def mark(part: str) -> bytes:
    """Return a mark for the printed output of a submission.

    The grader finds by the marks which part of the run printed a text.

    Args:
        part: `import`, the index of a run for its first call, or "" for other calls.
    """
    return b"\0" + part.encode() + b"\0"


def cap(text: str, most: int = MOST_TEXT) -> str:
    """Return a text that is short enough to send, without surrogates."""
    clean = text[:most].encode("utf-8", "replace").decode("utf-8")
    return clean if len(text) <= most else clean + " …"
