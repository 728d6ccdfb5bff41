"""Weights go in and gradients come out under the contract's names, however the module fuses or splits them."""

import torch
from torch import nn

from trainer.worker.layer_matching import assignments, contract_of
from trainer.worker.weights import by_contract, load, parameter_names


class Fused(nn.Module):
    """q, k and v in one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(4, 8)
        self.out_proj = nn.Linear(4, 4)


VALUES = {
    "q_proj.weight": torch.randn(4, 4),
    "q_proj.bias": torch.randn(4),
    "k_proj.weight": torch.randn(2, 4),
    "k_proj.bias": torch.randn(2),
    "v_proj.weight": torch.randn(2, 4),
    "v_proj.bias": torch.randn(2),
    "o_proj.weight": torch.randn(4, 4),
    "o_proj.bias": torch.randn(4),
}


SHAPES = {name: tuple(value.shape) for name, value in VALUES.items()}


def test_load_stacks_rows_in_the_order_q_k_v() -> None:
    """A fused layer holds all of q, then k, then v."""
    module = Fused()
    contract = contract_of(SHAPES)
    (assignment,) = assignments(contract, parameter_names(module)[0])
    load(module, contract, assignment, VALUES)
    assert torch.equal(
        module.qkv.weight,
        torch.cat([VALUES["q_proj.weight"], VALUES["k_proj.weight"], VALUES["v_proj.weight"]]),
    )
    assert torch.equal(
        module.qkv.bias,
        torch.cat([VALUES["q_proj.bias"], VALUES["k_proj.bias"], VALUES["v_proj.bias"]]),
    )
    assert torch.equal(module.out_proj.weight, VALUES["o_proj.weight"])


def test_gradients_are_split_again() -> None:
    """What was joined on the way in is taken apart on the way out."""
    module = Fused()
    contract = contract_of(SHAPES)
    (assignment,) = assignments(contract, parameter_names(module)[0])
    own = {name: torch.randn_like(parameter) for name, parameter in module.named_parameters()}
    found = by_contract(contract, assignment, own, SHAPES)
    assert torch.equal(found["k_proj.weight"], own["qkv.weight"][4:6])
    assert torch.equal(found["v_proj.bias"], own["qkv.bias"][6:8])
    assert found.keys() == SHAPES.keys()


def test_a_gradient_that_never_came_is_none() -> None:
    """None is told apart from zeros."""
    module = Fused()
    contract = contract_of(SHAPES)
    (assignment,) = assignments(contract, parameter_names(module)[0])
    found = by_contract(
        contract,
        assignment,
        {"qkv.weight": torch.ones(8, 4), "qkv.bias": None, "out_proj.weight": None},
        SHAPES,
    )
    assert found["o_proj.weight"] is None
    assert found["q_proj.bias"] is None
    assert found["q_proj.weight"] is not None


def test_fused_contract_gets_split_gradients_joined() -> None:
    """A fused contract layer is put together from the learner's three; a part without gradient counts as zeros."""
    shapes = {"qkv_proj.weight": (6, 3)}
    contract = contract_of(shapes)
    assignment = {"a": ("q",), "b": ("k",), "c": ("v",)}
    parts = {"a.weight": torch.ones(2, 3), "b.weight": None, "c.weight": torch.full((2, 3), 3.0)}
    joined = by_contract(contract, assignment, parts, shapes)["qkv_proj.weight"]
    assert joined is not None
    assert joined[:, 0].tolist() == [1, 1, 0, 0, 3, 3]
