"""The runs of a request: how often an implementation is called, and with which gradients."""

import pytest
import torch

from tests.support.paths import TINY_PACK
from trainer.grading.case_set import load_case_set
from trainer.packs import pack_reader
from trainer.worker.case_runner import CaseRunner, Hooks, KeptTensors
from trainer.worker.guarded_call import GuardedCall


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


@pytest.mark.parametrize(
    ("unlike", "every_time"),
    [
        pytest.param("", False, id="gradients make no difference"),
        pytest.param("differs", True, id="other values with gradients"),
        pytest.param("fails", True, id="fails with gradients"),
    ],
)
def test_values_and_gradients_share_one_call_if_that_is_safe(
    unlike: str, *, every_time: bool
) -> None:
    """A run that is called like an earlier run takes two calls.

    It takes four calls if gradients made a difference in any run.
    """
    case_set = load_case_set(pack_reader.find_challenge(TINY_PACK, "prefix-sum"), 3)
    request, tensors = case_set.decoded_request("grade")
    counted = _CountedSum(unlike)
    calls: list[list[bool]] = []

    class RecordedHooks(Hooks):
        def finish_runs(self, count: int) -> None:
            counted.calls = []
            calls.append(counted.calls)

    runner = CaseRunner(request, tensors, GuardedCall(""), KeptTensors(), RecordedHooks())
    runner.run_all({"prefix_sum": counted}, case_set.content.drive)
    with_gradients = [run_index for run_index, run in enumerate(request.runs) if run.cotangents]
    repeated_runs = [
        run_index
        for run_index in with_gradients
        if not request.runs[run_index].repeat_without_gradients
    ]
    assert repeated_runs
    assert len(repeated_runs) < len(with_gradients)
    for run_index in with_gradients:
        run_reply, is_called_twice = (
            runner.runs[run_index],
            run_index in repeated_runs and not every_time,
        )
        assert calls[run_index] == (
            [True, False] if is_called_twice else [False, False, True, False]
        )
        assert (run_reply.failure, run_reply.again_failure, bool(run_reply.outputs_again)) == (
            None,
            None,
            True,
        )
        assert bool(run_reply.outputs_repeated) == (not is_called_twice)
        assert (run_reply.gradient_failure is not None) == (unlike == "fails")


def test_every_run_starts_with_the_same_random_numbers() -> None:
    """A case that runs alone draws the same dropout as among all cases."""
    case_set = load_case_set(pack_reader.find_challenge(TINY_PACK, "prefix-sum"), 3)
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
