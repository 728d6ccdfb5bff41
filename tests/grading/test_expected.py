"""Expected results: bounds of outputs and gradients, and all values in one row."""

import torch

from trainer.grading.expected import Expected, Value
from trainer.grading.tolerance import allowed


def value(*entries: float) -> Value:
    """Return an expected value without rounding loss."""
    return Value(torch.tensor(entries, dtype=torch.float64), 0.0, "float32")


def test_zero_output_is_measured_by_the_other_outputs() -> None:
    """An output of zeros may have rounding if another output of the case is large."""
    zero, large = value(0.0, 0.0), value(3.0, -4.0)
    alone = Expected(outputs={"zero": zero}, again={})
    together = Expected(outputs={"zero": zero, "large": large}, again={})
    assert bool((alone.bounds["zero"] == 0).all())
    assert bool((together.bounds["zero"] > 0).all())
    assert torch.equal(together.bounds["large"], allowed(large.value, "float32", 0.0))


def test_gradients_are_measured_by_the_largest_gradient() -> None:
    """The absolute part of the bound is the same for all gradients of a case."""
    gradients = {"x": value(1e-9), "weight": value(-5.0)}
    expected = Expected(outputs={"out": value(1.0)}, again={}, gradients=gradients)
    assert expected.gradient_scale == 5.0
    assert torch.equal(
        expected.gradient_bounds["x"], allowed(gradients["x"].value, "float32", 0.0, 5.0)
    )


def test_all_values_in_one_row() -> None:
    """The row has the outputs of each call and then the gradients, with the bounds in order."""
    expected = Expected(
        outputs={"out": value(1.0, 2.0)},
        again={"out": value(3.0, 4.0)},
        gradients={"x": value(5.0), "y": value(6.0)},
    )
    row = expected.in_one_row((False, True), ("y",))
    assert row is not None
    values, bounds = row
    assert values.tolist() == [1.0, 2.0, 3.0, 4.0, 6.0]
    parts = (expected.bounds["out"], expected.bounds_again["out"], expected.gradient_bounds["y"])
    assert torch.equal(bounds, torch.cat(parts))


def test_no_row_for_booleans_and_plain_outputs() -> None:
    """These outputs are compared separately, because they have no tolerance."""
    mask = Value(torch.tensor([True, False]), 0.0, "bool")
    assert Expected(outputs={"mask": mask}, again={}).in_one_row((False,), ()) is None
    plain = Expected(outputs={"out": value(1.0)}, again={}, plain={"count": "3"})
    assert plain.in_one_row((False,), ()) is None
    assert Expected(outputs={}, again={}).in_one_row((False,), ()) is None
