"""How inputs lie in memory, and how gradients are taken."""

import math

import pytest
import torch
from torch import nn

from trainer.worker.execution import gradients, lay_out

LAYOUTS = ("transposed", "strided")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 5, 6), (2, 3, 5, 4), (1, 2, 3, 4, 6)])
def test_the_last_axis_has_stride_1(layout: str, shape: tuple[int, ...]) -> None:
    """Values are the same, pairs can be viewed as complex numbers, and memory is not one piece."""
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


def test_expanded_memory_is_shared() -> None:
    """All indices of the first axis lie in the same memory."""
    laid = lay_out(torch.ones(3, 4, 5), "expanded")
    assert laid.stride() == (0, 5, 1)


def test_gradients_leave_grad_as_it_was() -> None:
    """What the submission has put into `.grad` is neither counted nor lost."""
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
