"""Find the role of each of the learner's layers: by its name if the name is known, else by shape.

A *role* is one projection of the contract: `q`, `k`, `v`, `o`, or the name of a layer that is none
of the four. A layer of the learner's may hold several roles, stacked by rows (`qkv_proj`).

If the contract's layers are in parts of the module, the role has the path of the part:
`blocks.0.attn.q`. Such layers are found by the last two parts of their names, and by the numbers in
front of these: `h.0.attn.c_attn` holds q, k and v of `blocks.0.attn`.

`load_weights` copies the grader's weights into the layers, and `gradients_by_contract` splits and
joins their gradients.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]
Roles = tuple[str, ...]
# The learner's layer -> the roles that the layer holds, in the order of its rows.
Assignment = dict[str, Roles]

# The grader tries at most this many assignments if the names allow several.
MOST_ASSIGNMENTS = 24

_NAMES: dict[Roles, str] = {
    ("q",): "q_proj W_q w_q wq to_q q_linear query W_query q",
    ("k",): "k_proj W_k w_k wk to_k k_linear key W_key k",
    ("v",): "v_proj W_v w_v wv to_v v_linear value W_value v",
    ("o",): "o_proj out_proj W_o w_o wo to_out o_linear output output_proj dense c_proj proj",
    ("q", "k", "v"): "qkv_proj W_qkv w_qkv wqkv Wqkv qkv to_qkv c_attn in_proj query_key_value",
    ("k", "v"): "kv_proj to_kv W_kv wkv",
    ("fc",): "fc c_fc",
    ("gate",): "gate_proj w1",
    ("up",): "up_proj w3",
    ("down",): "down_proj w2",
}
ROLES_BY_NAME: dict[str, Roles] = {
    name: roles for roles, names in _NAMES.items() for name in names.split()
}

# Roles that are found by names only, because layers of the same shape may not be exchanged.
_BY_NAME_ONLY = frozenset({"gate", "up", "down"})


@dataclass(frozen=True)
class Atom:
    """One role of the contract."""

    layer: str  # the contract's layer that holds the role
    start: int  # the index of the role's first row in that layer
    rows: int
    columns: int
    bias: bool


@dataclass(frozen=True)
class Layer:
    """A weight matrix [rows, columns], with or without a bias [rows]."""

    rows: int
    columns: int
    bias: bool


@dataclass(frozen=True)
class Contract:
    """The contract's parameters."""

    atoms: dict[str, Atom]
    # Name and shape of parameters outside layers, for example of a norm.
    plain: dict[str, Shape]

    @cached_property
    def roles_of_layers(self) -> Assignment:
        """The roles that each layer of the contract holds."""
        held: Assignment = {}
        for role, atom in self.atoms.items():
            held[atom.layer] = (*held.get(atom.layer, ()), role)
        return held

    @cached_property
    def parts(self) -> frozenset[str]:
        """The paths of the parts of the module that have layers; "" for the module itself."""
        return frozenset(atom.layer.rpartition(".")[0] for atom in self.atoms.values())

    @cached_property
    def is_by_name(self) -> bool:
        """True if layers are found by their names only, and never by their shapes."""
        return any(self.parts) or not _BY_NAME_ONLY.isdisjoint(self.atoms)


def layers(shapes: Shapes) -> tuple[dict[str, Layer], dict[str, Shape]]:
    """Return the layers by path, and the parameters that belong to no layer.

    >>> layers({"q.weight": (4, 2), "q.bias": (4,), "norm.weight": (2,)})
    ({'q': Layer(rows=4, columns=2, bias=True)}, {'norm.weight': (2,)})
    """
    plain = dict(shapes)
    by_path: dict[str, Layer] = {}
    for name, shape in shapes.items():
        path = name.removesuffix(".weight")
        if path == name or len(shape) != 2:
            continue
        has_bias = shapes.get(f"{path}.bias") == shape[:1]
        by_path[path] = Layer(*shape, has_bias)
        del plain[name]
        if has_bias:
            del plain[f"{path}.bias"]
    return by_path, plain


def contract_of(shapes: Shapes) -> Contract:
    """Split the contract's parameters into roles.

    A fused layer of the contract holds its roles in equal thirds or halves.
    """
    matrices, plain = layers(shapes)
    atoms: dict[str, Atom] = {}
    for path, layer in matrices.items():
        part, _, name = path.rpartition(".")
        roles = _inside(part, ROLES_BY_NAME.get(name, (name,)))
        rows = layer.rows // len(roles)
        for index, role in enumerate(roles):
            atoms[role] = Atom(path, index * rows, rows, layer.columns, layer.bias)
    return Contract(atoms, plain)


def assignments(
    contract: Contract, shapes: Shapes, limit: int = MOST_ASSIGNMENTS
) -> list[Assignment]:
    """Return all assignments, at most `limit`, of the contract's roles to the learner's layers.

    A name in the table of aliases decides. Layers without a known name, and layers whose names
    contradict each other, are tried by shape.

    Args:
        shapes: name and shape of every parameter of the learner's module.
    """
    by_path, plain = layers(shapes)
    if plain_names(contract, plain) is None:
        return []
    named = _named(contract, by_path)
    if contract.is_by_name and by_path.keys() != named.keys():
        return []
    # A layer with a name of the contract has another shape: never reassign it.
    if any(path in contract.roles_of_layers and path not in named for path in by_path):
        return []
    return list(islice(_complete(contract, by_path, named), limit))


def fits(contract: Contract, shapes: Shapes, assignment: Assignment) -> bool:
    """Return whether an assignment gives every role to a fitting layer and every layer a role.

    Parameters that belong to no layer must be the contract's.
    """
    by_path, plain = layers(shapes)
    held = [role for roles in assignment.values() for role in roles]
    return (
        plain_names(contract, plain) is not None
        and by_path.keys() == assignment.keys()
        and sorted(held) == sorted(contract.atoms)
        and all(_fits(contract, roles, by_path[path]) for path, roles in assignment.items())
    )


def plain_names(contract: Contract, shapes: Shapes) -> dict[str, str] | None:
    """Return the contract's name of each parameter that belongs to no layer, by the own name.

    The last two parts of the names and the numbers in front of them must be equal.

    Args:
        shapes: name and shape of parameters of the learner's module. Parameters of layers may be
            among them.

    Returns:
        None if a parameter of the contract is missing or has another shape, or if there is a
        parameter too much.
    """
    names: dict[str, str] = {}
    for own_name, shape in layers(shapes)[1].items():
        same = [
            name
            for name in contract.plain
            if name == own_name or _is_same_place(name.split("."), own_name.split("."), 2)
        ]
        if len(same) != 1 or contract.plain[same[0]] != tuple(shape):
            return None
        names[own_name] = same[0]
    return names if sorted(names.values()) == sorted(contract.plain) else None


def _is_same_place(wanted: Sequence[str], path: Sequence[str], ends: int) -> bool:
    """Return whether two paths have the same last parts, `ends` of them, and numbers before them.

    A contract's path without numbers fits all numbers.
    """
    numbers = [part for part in wanted[:-ends] if part.isdigit()]
    is_same_number = [part for part in path[:-ends] if part.isdigit()] == numbers
    return wanted[-ends:] == path[-ends:] and (not numbers or is_same_number)


def _inside(part: str, roles: Roles) -> Roles:
    """Return roles with the path of the part of the module in front."""
    return tuple(f"{part}.{role}" for role in roles) if part else roles


def _named(contract: Contract, by_path: Mapping[str, Layer]) -> Assignment:
    """Return the layers whose names give their roles, without contradictory names."""
    named: Assignment = {}
    for path, layer in by_path.items():
        roles = _roles_of(contract, path)
        if roles is not None and _fits(contract, roles, layer):
            named[path] = roles
    claims: dict[str, list[str]] = {}
    for path, roles in named.items():
        for role in roles:
            claims.setdefault(role, []).append(path)
    for paths in claims.values():
        # All of `proj.0 … proj.3` mean "output", so all of them are left out. `attn.wo` next to
        # `o_proj` means "output" too, but the contract's own name `o_proj` wins.
        if len(paths) > 1:
            for path in paths:
                if path not in contract.roles_of_layers:
                    named.pop(path, None)
    return named


def _roles_of(contract: Contract, path: str) -> Roles | None:
    """Return the contract's roles that the name of a layer stands for; None for another name."""
    if path in contract.roles_of_layers:
        return contract.roles_of_layers[path]
    components = path.split(".")
    for index in reversed(range(len(components))):
        name, front = components[index], components[:index]
        roles = ROLES_BY_NAME.get(name)
        if roles is None and (name in _BY_NAME_ONLY or not contract.is_by_name):
            continue  # "gate" is the word for a role, and no name of its layer
        if roles is not None and not contract.is_by_name:
            return roles if set(roles) <= contract.atoms.keys() else None
        words = roles or (name,)
        for part in contract.parts:
            roles = _inside(part, words)
            is_inside = not part or _is_same_place(part.split("."), front, 1)
            if is_inside and set(roles) <= contract.atoms.keys():
                return roles
    return None


def _fits(contract: Contract, roles: Roles, layer: Layer) -> bool:
    atoms = [contract.atoms[role] for role in roles if role in contract.atoms]
    return (
        len(atoms) == len(roles)
        and sum(atom.rows for atom in atoms) == layer.rows
        and all(atom.columns == layer.columns and atom.bias == layer.bias for atom in atoms)
    )


def _complete(
    contract: Contract, by_path: Mapping[str, Layer], chosen: Assignment
) -> Iterator[Assignment]:
    """Yield all assignments that extend `chosen` to all layers and roles, depth first."""
    taken = {role for roles in chosen.values() for role in roles}
    open_roles = [role for role in contract.atoms if role not in taken]
    path = next((path for path in by_path if path not in chosen), None)
    if path is None:
        if not open_roles:
            yield dict(chosen)
        return
    fused = [
        roles
        for roles in ROLES_BY_NAME.values()
        if len(roles) > 1 and all(role in open_roles for role in roles)
    ]
    for roles in [*((role,) for role in open_roles), *dict.fromkeys(fused)]:
        if _fits(contract, roles, by_path[path]):
            yield from _complete(contract, by_path, {**chosen, path: roles})


def explain_mismatch(contract: Contract, expected: Shapes, shapes: Shapes) -> str:
    """Return in words why no assignment exists: the parameters that differ from the contract's.

    A layer counts as the roles of its name. A layer without a known name counts as the first role
    that is left and has its shape, or as the only role that is left.

    Args:
        expected: name and shape of every parameter of the contract.
        shapes: name and shape of every parameter of the learner's module.
    """
    held, twice = _held_roles(contract, layers(shapes)[0])
    bare = _bare_parameters(contract, shapes, held)
    wanted = _as_held(contract, expected, held | {name: (role,) for name, role in bare.items()})
    own_shapes = {
        name: shape
        for name, shape in shapes.items()
        if name not in bare and name.rpartition(".")[0] not in twice
    }
    parts = [
        f"{name} is {list(own_shapes[name])} and must be {list(shape)}"
        for name, shape in wanted.items()
        if name in own_shapes and tuple(own_shapes[name]) != tuple(shape)
    ]
    for name, role in bare.items():
        atom = contract.atoms[role]
        bias = "" if atom.bias else ", bias=False"
        parts.append(
            f"{name} is a bare nn.Parameter {list(shapes[name])} where the contract asks for "
            f"{atom.layer}.weight {[atom.rows, atom.columns]}; "
            f"use nn.Linear({atom.columns}, {atom.rows}{bias})"
        )
    for path, other in twice.items():
        roles = " and ".join(_roles_of(contract, path) or ())
        parts.append(f"{path} and {other} both hold {roles}: keep one of them")
    names = {*own_shapes, *(f"{name}.weight" for name in bare), *(f"{name}.bias" for name in bare)}
    if missing := [f"{name} {list(wanted[name])}" for name in wanted if name not in names]:
        parts.append(f"the contract asks for {', '.join(missing)}, which your module lacks")
    if extra := [
        f"{name} {list(shape)}" for name, shape in own_shapes.items() if name not in wanted
    ]:
        parts.append(f"your module has {', '.join(extra)}, which the contract does not have")
    for path in held:
        taken_for = list(dict.fromkeys(contract.atoms[role].layer for role in held[path]))
        of_layer = [name for name in wanted if name.rpartition(".")[0] == path]
        if taken_for != [path] and any(own_shapes.get(name) != wanted[name] for name in of_layer):
            parts.append(f"{path} is taken for {' and '.join(taken_for)}")
    return "; ".join(parts) or (
        f"your parameters {', '.join(shapes)} cannot all be matched with {', '.join(expected)}"
    )


def _held_roles(
    contract: Contract, by_path: Mapping[str, Layer]
) -> tuple[Assignment, dict[str, str]]:
    """Return the roles that each layer is meant for, and the layers whose roles another holds."""
    held: Assignment = {}
    twice: dict[str, str] = {}
    holder: dict[str, str] = {}
    # The contract's names win.
    for path in sorted(by_path, key=lambda path: path not in contract.roles_of_layers):
        roles = _roles_of(contract, path) or ()
        others = {holder.get(role, "") for role in roles}
        if roles and others == {""}:
            held[path] = roles
            holder |= dict.fromkeys(roles, path)
        elif len(others) == 1:
            twice[path] = others.pop()
    if contract.is_by_name:
        return held, twice
    unnamed = [path for path in by_path if _roles_of(contract, path) is None]
    for path in unnamed:
        layer = by_path[path]
        for role, atom in contract.atoms.items():
            if role not in holder and (atom.rows, atom.columns) == (layer.rows, layer.columns):
                held[path], holder[role] = (role,), path
                break
    left = [path for path in unnamed if path not in held]
    roles_left = [role for role in contract.atoms if role not in holder]
    if len(left) == len(roles_left) == 1:
        held[left[0]] = (roles_left[0],)
    return held, twice


def _bare_parameters(contract: Contract, shapes: Shapes, held: Assignment) -> dict[str, str]:
    """Return the parameters outside layers that are meant for a role, by their names."""
    taken = {role for roles in held.values() for role in roles}
    bare: dict[str, str] = {}
    for name, shape in layers(shapes)[1].items():
        named = _roles_of(contract, name) or ()
        for role, atom in contract.atoms.items():
            is_meant = role in named if named else not contract.is_by_name
            if role not in taken and is_meant and math.prod(shape) == atom.rows * atom.columns:
                bare[name] = role
                taken.add(role)
                break
    return bare


def _as_held(contract: Contract, expected: Shapes, held: Assignment) -> dict[str, Shape]:
    """Return the contract's parameters under the names of the learner's layers that hold them."""
    wanted = {name: tuple(shape) for name, shape in expected.items()}
    taken = {role for roles in held.values() for role in roles}
    for layer, roles in contract.roles_of_layers.items():
        absent = [role for role in roles if role not in taken]
        if len(absent) == len(roles):
            continue
        for suffix in ("weight", "bias"):
            if wanted.pop(f"{layer}.{suffix}", None) is not None:
                for role in absent:
                    atom = contract.atoms[role]
                    shape = (atom.rows, atom.columns) if suffix == "weight" else (atom.rows,)
                    wanted[f"the rows of {role} in {layer}.{suffix}"] = shape
    for path, roles in held.items():
        atoms = [contract.atoms[role] for role in roles]
        rows = sum(atom.rows for atom in atoms)
        wanted[f"{path}.weight"] = (rows, atoms[0].columns)
        if atoms[0].bias:
            wanted[f"{path}.bias"] = (rows,)
    return wanted


def assignment_in_words(assignment: Assignment) -> str:
    """Return an assignment in words for the report.

    >>> assignment_in_words({"fc1": ("q",), "c_attn": ("k", "v")})
    'fc1 as q, c_attn as k+v'
    """
    return ", ".join(f"{path} as {'+'.join(roles)}" for path, roles in assignment.items())


def shapes_of(tensors: Mapping[str, Tensor]) -> dict[str, Shape]:
    """Return the shapes of tensors by name."""
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def parameter_names(module: nn.Module) -> tuple[dict[str, Shape], dict[str, str]]:
    """Return the parameters of a module by name, and the names that share a parameter.

    Parameters of lazy layers are left out, because they have no shape before the first call.

    Returns:
        The shape of every parameter by its first name, in the order of declaration, and a dict of
        each further name of a parameter -> the first name of that parameter. For example,
        `k_proj.weight` -> `q_proj.weight` if one layer serves as both.
    """
    first: dict[int, str] = {}
    shapes: dict[str, Shape] = {}
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


def load_weights(
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
                    parts: list[Tensor] = []
                    for name, role in zip(names, roles, strict=True):
                        atom, value = contract.atoms[role], values[name]
                        if atom.rows < len(value):  # a fused layer of the contract
                            value = value[atom.start : atom.start + atom.rows]
                        parts.append(value)
                    parameter.copy_(parts[0] if len(parts) == 1 else torch.cat(parts))


def gradients_by_contract(
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
    own_names = {name: own_name for own_name, name in plain.items()}
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
