"""Expected results: the bounds of outputs and gradients."""

import torch

from attn_drill.grading._reference import Expected, Value
from attn_drill.grading._tolerance import allowed


def value(*entries: float) -> Value:
    """Return an expected value without rounding loss."""
    return Value(torch.tensor(entries, dtype=torch.float64), 0.0, "float32")


def test_zero_output_is_measured_by_the_other_outputs() -> None:
    """An output of zeros may have rounding if another output of the case is large."""
    zero, large = value(0.0, 0.0), value(3.0, -4.0)
    alone = Expected(outputs={"zero": zero}, second={})
    together = Expected(outputs={"zero": zero, "large": large}, second={})
    assert bool((alone.bounds["zero"] == 0).all())
    assert bool((together.bounds["zero"] > 0).all())
    assert torch.equal(together.bounds["large"], allowed(large.value, "float32", 0.0))


def test_gradients_are_measured_by_the_largest_gradient() -> None:
    """The absolute part of the bound is the same for all gradients of a case."""
    gradients = {"x": value(1e-9), "weight": value(-5.0)}
    expected = Expected(outputs={"out": value(1.0)}, second={}, gradients=gradients)
    assert expected.gradient_scale == 5.0
    assert torch.equal(
        expected.gradient_bounds["x"], allowed(gradients["x"].value, "float32", 0.0, 5.0)
    )
