"""The runs of a request: how often an implementation is called, and with which gradients."""

import math

import pytest
import torch

from attn_drill.grading.case_set import load_case_set
from attn_drill.packs import pack_reader
from attn_drill.worker.case_runner import CaseRunner, Hooks, KeptTensors, _is_same
from attn_drill.worker.execution import GuardedCall
from tests.support.paths import TINY_PACK

PREFIX_SUM = pack_reader.find_challenge(TINY_PACK, "prefix-sum")


class _CountedSum:
    """A prefix sum that records for each call if gradients were enabled.

    Args:
        unlike: "differs" to return other values with gradients, "fails" to raise an error with
            gradients, or "".
    """

    def __init__(self, unlike: str = "") -> None:
        self.calls: list[bool] = []
        self._unlike = unlike

    def __call__(self, x: torch.Tensor, reverse: bool = False) -> torch.Tensor:
        self.calls.append(torch.is_grad_enabled())
        if torch.is_grad_enabled() and self._unlike == "fails":
            raise RuntimeError("a leaf variable")
        summed = x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
        return summed + 1 if torch.is_grad_enabled() and self._unlike == "differs" else summed


@pytest.mark.parametrize("unlike", ["", "differs", "fails"])
def test_the_calls_of_the_request_are_made(unlike: str) -> None:
    """Each call is made once. One that fails with gradients is made again without them.

    So the reply tells a call that always fails from one that fails with gradients only.
    """
    case_set = load_case_set(PREFIX_SUM, 3)
    request, tensors = case_set.decoded_request("grade")
    counted = _CountedSum(unlike)
    made: list[list[bool]] = []

    class RecordedHooks(Hooks):
        def finish_runs(self, count: int) -> None:
            counted.calls = []
            made.append(counted.calls)

    runner = CaseRunner(request, tensors, GuardedCall(""), KeptTensors(), RecordedHooks())
    runner.run_all({"prefix_sum": counted}, case_set.content.drive)
    with_gradients = [index for index, run in enumerate(request.runs) if run.cotangents]
    assert with_gradients
    for index in with_gradients:
        first, *others = [call.gradients for call in request.runs[index].calls]
        assert first
        again = [False] if unlike == "fails" else []
        assert made[index] == [True, *again, *others]
        run_reply = runner.runs[index]
        assert run_reply.failure is None
        assert all(call.outputs for call in run_reply.calls)
        assert len(run_reply.calls) == 1 + len(others)
        assert (run_reply.first.failure is not None) == (unlike == "fails")
        assert bool(run_reply.first.gradients) == (unlike != "fails")


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ([1.0, math.nan, 3.0], [1.0, math.nan, 3.0], True),
        ([1.0, math.nan, 3.0], [1.0, 0.0, 3.0], False),
        ([1.0, math.nan, 3.0], [1.0, 3.0, math.nan], False),
        ([1.0, math.nan, 3.0], [2.0, math.nan, 3.0], False),
        ([1, 2], [1, 2], True),
        ([1, 2], [1, 3], False),
        ([True, False], [True, True], False),
        ([math.inf], [torch.finfo(torch.float32).max], False),
        ([], [], True),
    ],
)
def test_inputs_are_unchanged_only_if_all_entries_are(
    before: list[float], after: list[float], *, is_same: bool
) -> None:
    """Slots that a challenge leaves unused may hold NaN; clearing them is a change."""
    assert _is_same(torch.tensor(before), torch.tensor(after)) == is_same


def test_every_run_starts_with_the_same_random_numbers() -> None:
    """A case that runs alone draws the same dropout as among all cases."""
    case_set = load_case_set(PREFIX_SUM, 3)
    request, tensors = case_set.decoded_request("grade")
    drawn: list[list[float]] = []

    class NewListForEachRun(Hooks):
        def finish_runs(self, count: int) -> None:
            drawn.append([])

    def drawing(x: torch.Tensor, reverse: bool = False) -> torch.Tensor:
        drawn[-1].append(float(torch.rand(())))
        return x

    runner = CaseRunner(request, tensors, GuardedCall(""), KeptTensors(), NewListForEachRun())
    runner.run_all({"prefix_sum": drawing}, case_set.content.drive)
    assert len(drawn) == len(request.runs)
    assert len({numbers[0] for numbers in drawn}) == 1
    assert len(set(drawn[0])) == len(drawn[0]) > 1
