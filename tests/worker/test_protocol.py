"""A frame is decoded to the values that were encoded, and other bytes are refused."""

import json
import struct

import pytest
import torch

from attn_drill.worker.protocol import (
    DTYPES,
    CallReply,
    ProtocolError,
    Reply,
    RunReply,
    TensorTable,
    decode,
    encode,
    fill,
)


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


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x01", id="one byte"),
        pytest.param(struct.pack("<I", 1 << 31), id="a header longer than the frame"),
        pytest.param(frame([]), id="a list"),
        pytest.param(struct.pack("<I", 3) + b"\xff\xfe\xfd", id="not UTF-8"),
        pytest.param(struct.pack("<I", 200_000) + b"[" * 200_000, id="nested too deeply"),
        pytest.param(frame({**GOOD, "body": {**GOOD["body"], "runs": 5}}), id="a wrong type"),
        pytest.param(
            frame({**GOOD, "body": {**GOOD["body"], "defined": [1]}}), id="a wrong type inside"
        ),
        pytest.param(
            frame({**GOOD, "tensors": [["float32", [3]]]}), id="a tensor without its bytes"
        ),
        pytest.param(frame({**GOOD, "tensors": [["float32", [-1]]]}), id="a negative size"),
        pytest.param(
            frame({**GOOD, "tensors": [["float32", [1 << 62, 1 << 62]]]}), id="a huge tensor"
        ),
        pytest.param(
            frame({**GOOD, "tensors": [["object", [1]]]}, bytes(8)), id="an unknown dtype"
        ),
        pytest.param(
            frame({**GOOD, "tensors": [["float32", [0]]] * 20_001}), id="too many tensors"
        ),
        pytest.param(frame({**GOOD, "tensors": [["float32", [0] * 17]]}), id="too many dims"),
    ],
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
