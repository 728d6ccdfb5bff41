"""Tests of the messages between a client and a grading server."""

import math

import pytest
import torch

from attn_drill.model.case import Case
from attn_drill.model.challenge import Submission
from attn_drill.model.report import Mismatch, Outcome, Report, Slice
from attn_drill.report.wording import plain_inputs, small_tensors
from attn_drill.server.messages import (
    HEAD_BYTES,
    MOST_BYTES,
    CheckItems,
    Grade,
    Hello,
    Prepare,
    TraceLines,
    Verdict,
    body_length,
    packed,
    unpacked_reply,
    unpacked_request,
)


def test_report_is_complete_after_encoding() -> None:
    """NaN, infinities and small matrices are sent. Large tensors are not sent and not shown."""
    inputs = {"mask": torch.tensor([[1.0, 0.0]]), "x": torch.zeros(2, 3, 4), "n": 3, "pair": (1, 2)}
    case = Case("a", inputs, {"out": "L"}, {"L": 2}, constants=frozenset({"x"}))
    report = Report(
        "c", "f.py", 1 << 62, "failed", (Outcome("values", "failed", "m", "a", 1),), (case,)
    )
    entries = Slice((0,), (math.nan, math.inf), (1.0, -math.inf), (True, False))
    outcome = Outcome("values", "failed", mismatch=Mismatch("out", "value", first=entries))
    reply = unpacked_reply(packed(Verdict(1, Report("c", "f", 1, "failed", (outcome,)))))
    found = reply.report.outcomes[0].mismatch
    assert math.isnan(found.first.actual[0])
    assert found.first.actual[1] == math.inf
    other = unpacked_reply(packed(Verdict(1, report)))
    (received,) = other.report.cases
    assert received.inputs["x"] is None
    assert small_tensors(received) == small_tensors(case)
    assert plain_inputs(received) == plain_inputs(case) == "n=3, pair=(1, 2)"
    assert other.report.seed == 1 << 62


def test_request_is_complete_after_encoding() -> None:
    """A request is the same after decoding, also with unusual characters."""
    unusual = Submission("ü.py", "x = '\\udc80\n\0'")
    for request in (
        Grade("gqa", unusual, 7, id=1, is_early_wanted=True, needs_isolation=True, content="0"),
        Hello(("a",), {"HOME": "/"}, ("b",)),
        TraceLines("a", Submission("b", ""), 0, id=2),
        CheckItems("a", (("mistake", "no-scale"),), (1, 2)),
        Prepare("a"),
    ):
        assert unpacked_request(packed(request)) == request


def test_message_with_too_large_length_is_refused() -> None:
    """A length above the limit raises before the body is read."""
    head = (MOST_BYTES + 1).to_bytes(HEAD_BYTES, "little")
    with pytest.raises(ValueError, match=f"{MOST_BYTES + 1} bytes"):
        body_length(head)
