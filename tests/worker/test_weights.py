"""Weights are loaded and gradients are read under the contract's names, also in fused modules."""

import torch
from torch import nn

from attn_drill.worker.layer_matching import (
    assignments,
    contract_of,
    gradients_by_contract,
    load_weights,
    parameter_names,
)


class Fused(nn.Module):
    """A module with a fused layer for q, k and v."""

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
    """A fused layer holds the rows of q, then those of k, then those of v."""
    module = Fused()
    contract = contract_of(SHAPES)
    (assignment,) = assignments(contract, parameter_names(module)[0])
    load_weights(module, contract, assignment, VALUES)
    assert torch.equal(
        module.qkv.weight,
        torch.cat([VALUES["q_proj.weight"], VALUES["k_proj.weight"], VALUES["v_proj.weight"]]),
    )
    assert torch.equal(
        module.qkv.bias,
        torch.cat([VALUES["q_proj.bias"], VALUES["k_proj.bias"], VALUES["v_proj.bias"]]),
    )
    assert torch.equal(module.out_proj.weight, VALUES["o_proj.weight"])


def test_gradient_of_a_fused_layer_is_split() -> None:
    """Each parameter of the contract receives its rows of the fused gradient."""
    module = Fused()
    contract = contract_of(SHAPES)
    (assignment,) = assignments(contract, parameter_names(module)[0])
    own = {name: torch.randn_like(parameter) for name, parameter in module.named_parameters()}
    found = gradients_by_contract(contract, assignment, own, VALUES, {})
    assert torch.equal(found["k_proj.weight"], own["qkv.weight"][4:6])
    assert torch.equal(found["v_proj.bias"], own["qkv.bias"][6:8])
    assert found.keys() == SHAPES.keys()


def test_missing_gradient_is_none() -> None:
    """A missing gradient is None, not zeros."""
    module = Fused()
    contract = contract_of(SHAPES)
    (assignment,) = assignments(contract, parameter_names(module)[0])
    found = gradients_by_contract(
        contract,
        assignment,
        {"qkv.weight": torch.ones(8, 4), "qkv.bias": None, "out_proj.weight": None},
        VALUES,
        {},
    )
    assert found["o_proj.weight"] is None
    assert found["q_proj.bias"] is None
    assert found["q_proj.weight"] is not None


def test_split_gradients_are_joined_for_a_fused_contract() -> None:
    """The gradients of three layers are joined. A part without a gradient becomes zeros."""
    values = {"qkv_proj.weight": torch.ones(6, 3)}
    contract = contract_of({"qkv_proj.weight": (6, 3)})
    assignment = {"a": ("q",), "b": ("k",), "c": ("v",)}
    parts = {"a.weight": torch.ones(2, 3), "b.weight": None, "c.weight": torch.full((2, 3), 3.0)}
    joined = gradients_by_contract(contract, assignment, parts, values, {})["qkv_proj.weight"]
    assert joined is not None
    assert joined[:, 0].tolist() == [1, 1, 0, 0, 3, 3]
