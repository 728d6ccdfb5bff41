"""Inputs have the requested memory layout, and gradients are computed as in training."""

import math

import pytest
import torch
from torch import nn

from attn_drill.worker.execution import (
    gradients,
    lay_out,
    without_first_weights,
)

LAYOUTS = ("transposed", "strided")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 5, 6), (2, 3, 5, 4), (1, 2, 3, 4, 6)])
def test_layouts_keep_values_and_a_last_stride_of_1(layout: str, shape: tuple[int, ...]) -> None:
    """The memory is not contiguous, and pairs of the last axis can be viewed as complex numbers."""
    tensor = torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape)
    laid = lay_out(tensor, layout)
    assert torch.equal(laid, tensor)
    assert laid.stride(-1) == 1
    if shape[-1] % 2 == 0:
        torch.view_as_complex(laid.reshape(*shape[:-1], -1, 2))
        torch.view_as_complex(laid.view(*shape[:-1], -1, 2))
    if len(shape) > 1:
        assert not laid.is_contiguous()
        with pytest.raises(RuntimeError, match="view"):
            laid.view(-1)
    if len(shape) == 3:
        with pytest.raises(RuntimeError, match="view"):
            laid.view(-1, shape[-1])
    assert laid.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr()


def test_expanded_layout_shares_the_memory_of_the_first_axis() -> None:
    """All indices of the first axis use the same memory."""
    laid = lay_out(torch.ones(3, 4, 5), "expanded")
    assert laid.stride() == (0, 5, 1)


def test_gradients_do_not_change_grad() -> None:
    """Gradients that the submission has stored in `.grad` are neither added nor lost."""
    layer = nn.Linear(2, 3)
    layer.weight.grad = torch.full((3, 2), 7.0)
    layer.bias.requires_grad_(False)
    x = torch.ones(1, 2, requires_grad=True)
    found = gradients(
        {"out": layer(x)},
        {"out": torch.ones(1, 3)},
        {"x": x, "weight": layer.weight, "bias": layer.bias},
    )
    assert found["weight"] is not None
    assert torch.equal(found["weight"], torch.ones(3, 2))
    assert found["bias"] is None
    assert torch.equal(layer.weight.grad, torch.full((3, 2), 7.0))
    assert x.grad is None


def test_weights_of_which_only_the_shapes_matter_are_not_drawn() -> None:
    """The weights of a large layer take a second. The layer draws as usual after that."""
    before = nn.Linear.reset_parameters
    state = torch.get_rng_state()
    with without_first_weights():
        nn.Linear(4, 4)
    assert torch.equal(torch.get_rng_state(), state)
    assert nn.Linear.reset_parameters is before
    nn.Linear(4, 4)
    assert not torch.equal(torch.get_rng_state(), state)
