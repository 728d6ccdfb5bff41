"""A frame is decoded to the values that were encoded, and other bytes are refused."""

import json
import os
import struct
import threading
from collections.abc import Iterator

import pytest
import torch

from attn_drill.worker.protocol import (
    DTYPES,
    HEAD_BYTES,
    NOTE,
    REPLY,
    CallReply,
    Channel,
    ProtocolError,
    Reply,
    RunReply,
    TensorTable,
    decode,
    encode,
    fill,
    message,
    payload_bytes,
    write_all,
)
from tests.support.rows import each_row


def frame(header: object, tail: bytes = b"") -> bytes:
    """Return a frame with any header."""
    text = json.dumps(header).encode()
    return struct.pack("<I", len(text)) + text + tail


@pytest.mark.parametrize("dtype", list(DTYPES.values()), ids=list(DTYPES))
def test_tensors_are_decoded_bit_by_bit(dtype: torch.dtype) -> None:
    """Transposed, scalar and empty tensors of every dtype arrive unchanged."""
    tensors = [
        torch.arange(6).reshape(2, 3).to(dtype).T,
        torch.ones((), dtype=dtype),
        torch.empty(0, 3, dtype=dtype),
    ]
    table = TensorTable()
    for tensor in tensors:
        table.add(tensor)
    _, found = decode(encode(Reply(), table), Reply)
    assert all(
        sent.dtype == received.dtype and torch.equal(sent, received)
        for sent, received in zip(tensors, found, strict=True)
    )


def test_nan_and_infinity_are_decoded() -> None:
    """NaN and infinity arrive unchanged."""
    table = TensorTable()
    table.add(torch.tensor([float("nan"), float("inf"), -0.0]))
    _, (found,) = decode(encode(Reply(), table), Reply)
    assert found[0].isnan()
    assert found[1].isinf()


def test_nested_tensors_are_filled_in_again() -> None:
    """Tensors in tuples and dicts return to their places, next to plain values."""
    table = TensorTable()
    tree = table.tree({"x": torch.ones(2), "blocks": (torch.zeros(1), None, 3), "name": "a"})
    _, tensors = decode(encode(Reply(), table), Reply)
    filled = {name: fill(value, tensors) for name, value in tree.items()}
    assert torch.equal(filled["x"], torch.ones(2))
    assert filled["blocks"][1:] == (None, 3)
    assert filled["name"] == "a"


def test_body_is_decoded() -> None:
    """The typed body arrives unchanged."""
    body = Reply(defined=["a"], runs=[RunReply(calls=[CallReply(overwritten=["out"])])])
    assert decode(encode(body, TensorTable()), Reply)[0] == body


GOOD = json.loads(encode(Reply(), TensorTable())[4:])


@each_row(
    "bad",
    {
        "nothing": b"",
        "one byte": b"\x01",
        "a header longer than the frame": struct.pack("<I", 1 << 31),
        "a list": frame([]),
        "not UTF-8": struct.pack("<I", 3) + b"\xff\xfe\xfd",
        "nested too deeply": struct.pack("<I", 200_000) + b"[" * 200_000,
        "a wrong type": frame({**GOOD, "body": {**GOOD["body"], "runs": 5}}),
        "a wrong type inside": frame({**GOOD, "body": {**GOOD["body"], "defined": [1]}}),
        "a tensor without its bytes": frame({**GOOD, "tensors": [["float32", [3]]]}),
        "a negative size": frame({**GOOD, "tensors": [["float32", [-1]]]}),
        "a huge tensor": frame({**GOOD, "tensors": [["float32", [1 << 62, 1 << 62]]]}),
        "an unknown dtype": frame({**GOOD, "tensors": [["object", [1]]]}, bytes(8)),
        "too many tensors": frame({**GOOD, "tensors": [["float32", [0]]] * 20_001}),
        "too many dims": frame({**GOOD, "tensors": [["float32", [0] * 17]]}),
    },
)
def test_other_bytes_are_refused(bad: bytes) -> None:
    """Bytes that are not a frame of this protocol raise ProtocolError and no other exception."""
    with pytest.raises(ProtocolError):
        decode(bad, Reply)


def test_bytes_of_a_bool_tensor_become_0_or_1() -> None:
    """A byte 7 that is sent as a bool becomes True, with the value 1."""
    _, (found,) = decode(frame({**GOOD, "tensors": [["bool", [2]]]}, b"\x07\x00"), Reply)
    assert found.tolist() == [True, False]
    assert int(found.sum()) == 1


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Yield a pipe's descriptors to read from and to write to; close both at the end."""
    reading, writing = os.pipe()
    yield reading, writing
    for descriptor in (reading, writing):
        try:
            os.close(descriptor)
        except OSError:
            continue  # the test has closed it


def test_messages_arrive_in_order(pipe: tuple[int, int]) -> None:
    """Each call of `receive` returns the payload of one message, also an empty one."""
    reading, writing = pipe
    sender, receiver = Channel(-1, writing), Channel(reading, -1)
    for payload in (b"first", b"", b"third"):
        sender.send(NOTE, payload)
    assert [receiver.receive() for _ in range(3)] == [b"first", b"", b"third"]


def test_the_head_of_a_message_contains_its_length() -> None:
    """The length counts the payload without the head."""
    whole = message(REPLY, b"x" * 300)
    assert payload_bytes(whole) == 300
    assert len(whole) == HEAD_BYTES + 300


@pytest.mark.parametrize("sent", [0, HEAD_BYTES - 1, HEAD_BYTES + 2])
def test_a_closed_pipe_is_an_error(pipe: tuple[int, int], sent: int) -> None:
    """The grader may close the pipe before, in or after the head of a message."""
    reading, writing = pipe
    os.write(writing, message(REPLY, b"payload")[:sent])
    os.close(writing)
    with pytest.raises(ConnectionError, match="closed the pipe"):
        Channel(reading, -1).receive()


def test_a_non_blocking_pipe_gets_the_whole_message(pipe: tuple[int, int]) -> None:
    """If a submission has made the descriptor non-blocking, `send` waits for space in the pipe."""
    reading, writing = pipe
    os.set_blocking(writing, False)
    payload = os.urandom(4 << 20)  # more than a pipe holds
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(Channel(reading, -1).receive()))
    reader.start()
    Channel(-1, writing).send(REPLY, payload)
    reader.join()
    assert received == [payload]


def test_writing_to_a_pipe_without_a_reader_is_an_error(pipe: tuple[int, int]) -> None:
    """`write_all` does not wait for a reader that is gone."""
    reading, writing = pipe
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        write_all(writing, b"x")
