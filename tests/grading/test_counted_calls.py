"""The counted calls of probes: with or without gradients, in eval mode or in training mode."""

from itertools import product

import pytest
import torch

from tests.support.diagnosis import CHALLENGES, SEED
from trainer.grading.counted_calls import CountedCalls, counted_calls, shape_of_call
from trainer.grading.grader import Grader
from trainer.model.case import Case


def kinds_of_calls(counted: CountedCalls, case: Case) -> set[tuple[bool, bool]]:
    """Return whether each counted call is in training mode, and whether it has gradients."""
    first = {(case.mode == "train", False)} if counted.first else set()
    return first | set(counted.further)


@pytest.mark.parametrize("name", ["gqa", "gqa_kv_cache", "mla", "sdpa"])
def test_vectorised_probes_cover_all_kinds_of_calls(grader: Grader, name: str) -> None:
    """The two cases of a probe have the same kinds. A function has no modes."""
    case_set = grader.case_set(CHALLENGES[name], SEED)
    is_module = CHALLENGES[name].kind == "module"
    kinds = {}
    counted_by_case = counted_calls(case_set.prepared, has_modes=is_module)
    for prepared, counted in zip(case_set.prepared, counted_by_case, strict=True):
        if prepared.case.probe == "vectorised":
            kinds[prepared] = kinds_of_calls(counted, prepared.case)
            if prepared.smaller is not None:
                assert kinds[prepared] == kinds[prepared.smaller]
    modes = (False, True) if is_module else (False,)
    assert set().union(*kinds.values()) == set(product(modes, (False, True)))


def test_case_without_gradients_has_no_counted_call_with_gradients(grader: Grader) -> None:
    """A right backward pass may write into buffers, which torch refuses if it records gradients."""
    case_set = grader.case_set(CHALLENGES["attention_backward"], SEED)
    counted = counted_calls(case_set.prepared, has_modes=False)
    assert any(prepared.case.probe for prepared in case_set.prepared)
    assert not any(with_gradients for calls in counted for _, with_gradients in calls.further)


def test_only_the_first_memory_probe_is_counted_with_gradients(grader: Grader) -> None:
    """A call of a memory probe is expensive."""
    case_set = grader.case_set(CHALLENGES["flash"], SEED)
    counted = counted_calls(case_set.prepared, has_modes=False)
    of_memory = [
        calls
        for prepared, calls in zip(case_set.prepared, counted, strict=True)
        if prepared.case.probe == "memory"
    ]
    assert len(of_memory) > 1
    assert [bool(calls.further) for calls in of_memory] == [True] + [False] * (len(of_memory) - 1)


def test_shape_of_call_ignores_sizes_and_values() -> None:
    """The mode, the names of the inputs, their dims and switches make a difference."""

    def case(mode: str = "eval", dropout: float = 0.0, **inputs: object) -> Case:
        init = {"d_model": 8, "dropout": dropout}
        return Case("any", inputs, {}, {}, init=init, mode=mode)  # type: ignore[arg-type]

    usual = shape_of_call(case(x=torch.ones(2, 3), mask=None))
    assert shape_of_call(case(x=torch.zeros(4, 5), mask=None)) == usual
    for other in (
        case(x=torch.ones(2, 3), mask=torch.ones(3, 3)),
        case(x=torch.ones(2, 3, 4), mask=None),
        case("train", x=torch.ones(2, 3), mask=None),
        case(dropout=0.5, x=torch.ones(2, 3), mask=None),
    ):
        assert shape_of_call(other) != usual
