"""Copy the grader's weights into a learner's module, and read its gradients back.

The layers of the module may have other names than in the contract, and may be fused or split.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from attn_drill.worker.layer_matching import Assignment, Atom, Contract, Shape, plain_names


def shapes_of(tensors: Mapping[str, Tensor]) -> dict[str, Shape]:
    """Return the shapes of tensors by name."""
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def parameter_names(module: nn.Module) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Return the parameters of a module by name, and the names that share a parameter.

    Parameters of lazy layers are left out, because they have no shape before the first call.

    Returns:
        The shape of every parameter by its first name, in the order of declaration, and a dict of
        each further name of a parameter -> the first name of that parameter. For example,
        `k_proj.weight` -> `q_proj.weight` if one layer serves as both.
    """
    first: dict[int, str] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    again: dict[str, str] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        if is_lazy(parameter):
            continue
        if id(parameter) in first:
            again[name] = first[id(parameter)]
        else:
            first[id(parameter)] = name
            shapes[name] = tuple(parameter.shape)
    return shapes, again


def load(
    module: nn.Module, contract: Contract, assignment: Assignment, values: Mapping[str, Tensor]
) -> None:
    """Copy weights into the module's own parameters.

    Rows are stacked in the order of each layer's roles: a fused layer holds all rows of q, then
    those of k, then those of v.

    Args:
        values: the weights, named as in the contract.
    """
    parameters = dict(module.named_parameters())
    plain = plain_names(contract, shapes_of(parameters)) or {}
    with torch.no_grad():
        for name, contract_name in plain.items():
            parameters[name].copy_(values[contract_name])
        for path, roles in assignment.items():
            for suffix in ("weight", "bias"):
                parameter = parameters.get(f"{path}.{suffix}")
                names = [f"{contract.atoms[role].layer}.{suffix}" for role in roles]
                if parameter is not None and all(name in values for name in names):
                    parts = [
                        _rows(values[name], contract.atoms[role])
                        for name, role in zip(names, roles, strict=True)
                    ]
                    parameter.copy_(parts[0] if len(parts) == 1 else torch.cat(parts))


def _rows(value: Tensor, atom: Atom) -> Tensor:
    return value if atom.rows == len(value) else value[atom.start : atom.start + atom.rows]


def by_contract(
    contract: Contract,
    assignment: Assignment,
    gradients: Mapping[str, Tensor | None],
    values: Mapping[str, Tensor],
    parameters: Mapping[str, Tensor],
) -> dict[str, Tensor | None]:
    """Split and join the gradients of a module into those of the contract's parameters.

    Args:
        gradients: the gradients of the module's own parameters, by their own names.
        values: the weights, named as in the contract.
        parameters: the module's own parameters.

    Returns:
        The gradient of each of `values`. A gradient is None if no gradient reached any part of the
        parameter. If only some parts have a gradient, the other parts are zeros.
    """
    pieces: dict[tuple[str, str], Tensor | None] = {}
    for path, roles in assignment.items():
        for suffix in ("weight", "bias"):
            gradient = gradients.get(f"{path}.{suffix}")
            start = 0
            for role in roles:
                rows = contract.atoms[role].rows
                piece = gradient
                if gradient is not None and rows < len(gradient):
                    piece = gradient[start : start + rows]
                pieces[role, suffix] = piece
                start += rows
    joined: dict[str, Tensor | None] = {}
    plain = plain_names(contract, shapes_of(parameters)) or {}
    own_names = {name: own for own, name in plain.items()}
    for name, value in values.items():
        if name in contract.plain:
            joined[name] = gradients.get(own_names.get(name, name))
            continue
        layer, _, suffix = name.rpartition(".")
        parts = [
            (atom, pieces.get((role, suffix)))
            for role, atom in contract.atoms.items()
            if atom.layer == layer
        ]
        present = next((part for _, part in parts if part is not None), None)
        if present is None or present.shape == value.shape:
            joined[name] = present
            continue
        whole = present.new_zeros(value.shape)
        for atom, part in parts:
            if part is not None:
                whole[atom.start : atom.start + atom.rows] = part
        joined[name] = whole
    return joined
