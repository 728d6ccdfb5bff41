"""The grading server: its replies, requests that supersede others, and an end without leftovers."""

import math

from trainer.model.case import Case
from trainer.model.report import Outcome, Report, Slice
from trainer.model.submission import Submission
from trainer.report.wording import plain_inputs, small_tensors
from trainer.server.messages import (
    CheckItems,
    Grade,
    GradeReference,
    Prepare,
    TraceLines,
    Verdict,
    packed,
    unpacked_reply,
    unpacked_request,
)


def test_reports_travel_whole() -> None:
    """NaN, infinities and small matrices come over; large tensors do not, and what is shown of a report is the same."""
    import torch

    inputs = {"mask": torch.tensor([[1.0, 0.0]]), "x": torch.zeros(2, 3, 4), "n": 3, "pair": (1, 2)}
    case = Case("a", inputs, {"out": "L"}, {"L": 2}, constants=frozenset({"x"}))
    report = Report(
        "c", "f.py", 1 << 62, "failed", (Outcome("values", "failed", "m", "a", 1),), (case,)
    )
    numbers = Slice((0,), (math.nan, math.inf), (1.0, -math.inf), (True, False))
    from trainer.model.report import Mismatch

    outcome = Outcome("values", "failed", mismatch=Mismatch("out", "value", first=numbers))
    answer = unpacked_reply(packed(Verdict(1, Report("c", "f", 1, "failed", (outcome,)))))
    assert isinstance(answer, Verdict)
    found = answer.report.outcomes[0].mismatch
    assert found is not None
    assert found.first is not None
    assert math.isnan(found.first.actual[0])
    assert found.first.actual[1] == math.inf
    other = unpacked_reply(packed(Verdict(1, report)))
    assert isinstance(other, Verdict)
    (came,) = other.report.cases
    assert came.inputs["x"] is None
    assert small_tensors(came) == small_tensors(case)
    assert plain_inputs(came) == plain_inputs(case) == "n=3, pair=(1, 2)"
    assert other.report.seed == 1 << 62


def test_requests_travel_whole() -> None:
    """A request is read as it was sent, whatever its text holds."""
    odd = Submission("ü.py", "x = '\\udc80\n\0'")
    for request in (
        Grade("gqa", odd, 7, id=1, is_early_wanted=True, isolation="full", content="0"),
        GradeReference("a", 3),
        TraceLines("a", Submission("b", ""), 0, id=2),
        CheckItems("a", (("mistake", "no-scale"),), (1, 2)),
        Prepare("a"),
    ):
        assert unpacked_request(packed(request)) == request
