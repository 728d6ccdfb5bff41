"""Tests of the calls that `drive` makes."""

import torch

from tests.support.diagnosis import CHALLENGES, SEED
from trainer.diagnosis.recorded_calls import parts_of, recorded_calls
from trainer.grading.grader import Grader


def test_calls_of_a_cache_have_the_tensors_of_earlier_results(grader: Grader) -> None:
    """A later call gets the very tensors that an earlier call returned as its cache."""
    case_set = grader.case_set(CHALLENGES["kv_cache"], SEED)
    index = next(
        index
        for index, case in enumerate(case_set.cases)
        if len(case.inputs.get("chunks") or ()) > 1
    )
    found = recorded_calls(case_set, index)
    first, second = found.calls[:2]
    cache = [part for _, part in parts_of(second.named["past_kv"])]
    assert all(any(part is made for _, made in parts_of(first.result)) for part in cache)
    for name, output in case_set.prepared[index].expected.outputs.items():
        actual = found.outputs[name].to(torch.float64)
        assert bool(((actual - output.value).abs() <= 10 * output.lost + 1e-4).all())


def test_called_function_is_noted(grader: Grader) -> None:
    """A challenge of several functions calls the function that its case names."""
    case_set = grader.case_set(CHALLENGES["masks"], SEED)
    for index in (0, len(case_set.cases) - 1):
        (call,) = recorded_calls(case_set, index).calls
        assert call.name == case_set.cases[index].inputs["function"]


def test_parts_of_a_result_have_paths() -> None:
    """Only tuples and lists have parts."""
    assert list(parts_of((1, [2, "ab"]))) == [("[0]", 1), ("[1][0]", 2), ("[1][1]", "ab")]
    assert list(parts_of(None)) == [("", None)]
