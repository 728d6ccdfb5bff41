"""The worker's life as the grader sees it: replies, deaths, hangs, floods, garbage."""

import pytest
import torch

from tests.support.paths import TINY_PACK
from trainer.grading.case_set import load_case_set
from trainer.packs import pack_reader
from trainer.worker.case_runner import CaseRunner, Hooks, KeptTensors
from trainer.worker.guarded_call import GuardedCall


class _Counted:
    """A prefix sum, of no parameters, that knows of each call whether it recorded gradients; `unlike`: with them it gives something else, or fails."""

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
def test_one_call_serves_for_values_and_gradients_where_that_is_safe(
    unlike: str, *, every_time: bool
) -> None:
    """Of the runs that are called as one before them, each costs two calls; four where gradients have made a difference in any."""
    case_set = load_case_set(pack_reader.find_challenge(TINY_PACK, "prefix-sum"), 3)
    request, tensors = case_set.decoded_request("grade")
    counted = _Counted(unlike)
    calls: list[list[bool]] = []

    class Noted(Hooks):
        def done(self, count: int) -> None:
            counted.calls = []
            calls.append(counted.calls)

    runner = CaseRunner(request, tensors, GuardedCall(""), KeptTensors(), Noted())
    runner.run_all({"prefix_sum": counted}, case_set.content.drive)
    with_gradients = [number for number, run in enumerate(request.runs) if run.cotangents]
    again = [number for number in with_gradients if not request.runs[number].once_more]
    assert again
    assert len(again) < len(with_gradients)
    for number in with_gradients:
        told, twice = runner.runs[number], number in again and not every_time
        assert calls[number] == ([True, False] if twice else [False, False, True, False])
        assert (told.failure, told.again_failure, bool(told.outputs_again)) == (None, None, True)
        assert bool(told.outputs_once_more) == (not twice)
        assert (told.gradient_failure is not None) == (unlike == "fails")
