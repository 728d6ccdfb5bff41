"""Which of the learner's layers plays which role: by name where names say it, else by shape.

Pure names and shapes, no tensors. A *role* is one projection of the contract (`q`, `k`, `v`, `o`, or a layer's own
name where it is none of these). A layer of the learner's may hold several roles, stacked by rows (`qkv_proj`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Shapes = Mapping[str, tuple[int, ...]]
Assignment = dict[str, tuple[str, ...]]  # the learner's layer -> the roles it holds, in the order of its rows

# The grader tries at most this many assignments where names leave several.
MOST_ASSIGNMENTS = 24

_NAMES: dict[tuple[str, ...], str] = {
    ("q",): "q_proj W_q w_q wq to_q q_linear query W_query q",
    ("k",): "k_proj W_k w_k wk to_k k_linear key W_key k",
    ("v",): "v_proj W_v w_v wv to_v v_linear value W_value v",
    ("o",): "o_proj out_proj W_o w_o wo to_out o_linear output output_proj dense c_proj proj",
    ("q", "k", "v"): "qkv_proj W_qkv w_qkv wqkv qkv c_attn in_proj query_key_value",
    ("k", "v"): "kv_proj to_kv W_kv wkv",
}
ROLES_BY_NAME: dict[str, tuple[str, ...]] = {name: roles for roles, names in _NAMES.items() for name in names.split()}


@dataclass(frozen=True)
class Atom:
    """One role of the contract: rows `start .. start + rows` of a contract layer."""

    layer: str
    start: int
    rows: int
    columns: int
    bias: bool


@dataclass(frozen=True)
class Layer:
    """A weight matrix [rows, columns] and whether a bias goes with it."""

    rows: int
    columns: int
    bias: bool


@dataclass(frozen=True)
class Contract:
    """The contract's parameters by role; `plain` are those that are no layer's weight or bias (a norm's weight, say)."""

    atoms: dict[str, Atom]
    plain: dict[str, tuple[int, ...]]


def layers(shapes: Shapes) -> tuple[dict[str, Layer], dict[str, tuple[int, ...]]]:
    """Group parameters into layers by path; what fits no layer is returned beside them."""
    matrices = {name[: -len(".weight")]: shape for name, shape in shapes.items() if name.endswith(".weight") and len(shape) == 2}
    plain = dict(shapes)
    found: dict[str, Layer] = {}
    for path, (rows, columns) in matrices.items():
        bias = shapes.get(f"{path}.bias")
        found[path] = Layer(rows, columns, bias == (rows,))
        del plain[f"{path}.weight"]
        if bias == (rows,):
            del plain[f"{path}.bias"]
    return found, plain


def contract_of(shapes: Shapes) -> Contract:
    """Split the contract's parameters into roles. A fused contract layer holds its roles in equal thirds or halves."""
    matrices, plain = layers(shapes)
    atoms: dict[str, Atom] = {}
    for path, layer in matrices.items():
        roles = ROLES_BY_NAME.get(path, (path,))
        rows = layer.rows // len(roles)
        for index, role in enumerate(roles):
            atoms[role] = Atom(path, index * rows, rows, layer.columns, layer.bias)
    return Contract(atoms, plain)


def assignments(contract: Contract, shapes: Shapes, limit: int = MOST_ASSIGNMENTS) -> list[Assignment]:
    """Every way (at most `limit`) in which the learner's layers can hold the contract's roles; [] where there is none.

    A name of the alias table decides; layers without one, or whose names contradict each other, are tried by shape.
    """
    found, plain = layers(shapes)
    if plain != contract.plain:
        return []
    named = _named(contract, found)
    exact = {path for path in found if path in {atom.layer for atom in contract.atoms.values()}}
    if any(path not in named for path in exact):
        return []  # a layer of the contract's own name has another shape: never reassign it
    results: list[Assignment] = []
    for result in _complete(contract, found, named):
        results.append(result)
        if len(results) == limit:
            break
    return results


def fits(contract: Contract, shapes: Shapes, assignment: Assignment) -> bool:
    """Whether the learner's layers, and they alone, can hold the contract's roles in this way."""
    found, plain = layers(shapes)
    held = [role for roles in assignment.values() for role in roles]
    return (
        plain == contract.plain
        and found.keys() == assignment.keys()
        and sorted(held) == sorted(contract.atoms)
        and all(_fits(contract, roles, found[path]) for path, roles in assignment.items())
    )


def _named(contract: Contract, found: Mapping[str, Layer]) -> Assignment:
    """The layers whose names say what they hold, contradictions left out."""
    own = _roles_of_layers(contract)
    named: Assignment = {}
    for path, layer in found.items():
        roles = own.get(path) or _roles_of_path(path)
        if roles is not None and _fits(contract, roles, layer):
            named[path] = roles
    claims: dict[str, list[str]] = {}
    for path, roles in named.items():
        for role in roles:
            claims.setdefault(role, []).append(path)
    for paths in claims.values():
        # `proj.0 … proj.3` all say "output"; `attn.wo` beside `o_proj` would too, and there the exact name wins.
        if len(paths) > 1:
            for path in paths:
                if path not in own:
                    named.pop(path, None)
    return named


def _roles_of_layers(contract: Contract) -> Assignment:
    own: Assignment = {}
    for role, atom in contract.atoms.items():
        own[atom.layer] = (*own.get(atom.layer, ()), role)
    return own


def _roles_of_path(path: str) -> tuple[str, ...] | None:
    for component in reversed(path.split(".")):
        if component in ROLES_BY_NAME:
            return ROLES_BY_NAME[component]
    return None


def _fits(contract: Contract, roles: tuple[str, ...], layer: Layer) -> bool:
    atoms = [contract.atoms[role] for role in roles if role in contract.atoms]
    return (
        len(atoms) == len(roles)
        and sum(atom.rows for atom in atoms) == layer.rows
        and all(atom.columns == layer.columns and atom.bias == layer.bias for atom in atoms)
    )


def _complete(contract: Contract, found: Mapping[str, Layer], chosen: Assignment) -> Iterator[Assignment]:
    """Extend `chosen` to all layers and all roles, depth first, in the order of declaration."""
    taken = {role for roles in chosen.values() for role in roles}
    open_roles = [role for role in contract.atoms if role not in taken]
    path = next((path for path in found if path not in chosen), None)
    if path is None:
        if not open_roles:
            yield dict(chosen)
        return
    fused = [roles for roles in ROLES_BY_NAME.values() if len(roles) > 1 and all(role in open_roles for role in roles)]
    for roles in [*((role,) for role in open_roles), *dict.fromkeys(fused)]:
        if _fits(contract, roles, found[path]):
            yield from _complete(contract, found, {**chosen, path: roles})


def problem(contract: Contract, expected: Shapes, shapes: Shapes) -> str:
    """Say in words why no assignment exists: names and shapes of both sides."""
    found, _ = layers(shapes)
    named = {path: own for path in found if (own := _roles_of_path(path) or ((path,) if path in contract.atoms else None))}
    matched_roles = {role for path, roles in named.items() if _fits(contract, roles, found[path]) for role in roles}
    matched = {path for path, roles in named.items() if _fits(contract, roles, found[path])}
    taken_for = _taken_for(contract, found, {path: roles for path, roles in named.items() if path not in matched and not matched_roles & set(roles)})
    expected = _as_taken(contract, expected, taken_for)
    missing = [f"{name} {list(shape)}" for name, shape in expected.items() if name not in shapes and not _covered(contract, name, matched_roles)]
    wrong = [
        f"{name} is {list(shapes[name])} and must be {list(shape)}"
        for name, shape in expected.items()
        if name in shapes and tuple(shapes[name]) != tuple(shape)
    ]
    extra = [
        f"{name} {list(shape)}" for name, shape in shapes.items() if name not in expected and name.removesuffix(".weight").removesuffix(".bias") not in matched
    ]
    parts = []
    if wrong:
        parts.append("; ".join(wrong))
    if missing:
        parts.append(f"the contract asks for {', '.join(missing)}, which your module lacks")
    if extra:
        parts.append(f"your module has {', '.join(extra)}, which the contract does not")
    if not parts:
        parts.append(f"your parameters {', '.join(shapes)} cannot all be matched with {', '.join(expected)}")
    if taken_for:
        parts.append(", ".join(f"{path} is taken for {' and '.join(_layers_of(contract, roles))}" for path, roles in taken_for.items()))
    return "; ".join(parts)


def _taken_for(contract: Contract, found: Mapping[str, Layer], named: Assignment) -> Assignment:
    """The learner's layers that by their names must be meant for whole layers of the contract, though they do not fit."""
    own = _roles_of_layers(contract)
    taken: Assignment = {}
    for path, roles in named.items():
        meant = _layers_of(contract, roles)
        whole = {role for layer in meant for role in own[layer]} == set(roles)
        alone = not any(set(roles) & set(others) for other, others in named.items() if other != path)
        alike = len({(contract.atoms[role].columns, contract.atoms[role].bias) for role in roles if role in contract.atoms}) == 1
        if whole and alone and alike and not any(layer in found for layer in meant):
            taken[path] = roles
    return taken


def _layers_of(contract: Contract, roles: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(contract.atoms[role].layer for role in roles if role in contract.atoms))


def _as_taken(contract: Contract, expected: Shapes, taken_for: Assignment) -> dict[str, tuple[int, ...]]:
    """The contract's parameters under the names of the learner's layers that are taken for them."""
    result = dict(expected)
    for path, roles in taken_for.items():
        for layer in _layers_of(contract, roles):
            result.pop(f"{layer}.weight")
            result.pop(f"{layer}.bias", None)
        atoms = [contract.atoms[role] for role in roles]
        rows = sum(atom.rows for atom in atoms)
        result[f"{path}.weight"] = (rows, atoms[0].columns)
        if atoms[0].bias:
            result[f"{path}.bias"] = (rows,)
    return result


def _covered(contract: Contract, name: str, roles: set[str]) -> bool:
    layer = name.rpartition(".")[0]
    own = [role for role, atom in contract.atoms.items() if atom.layer == layer]
    return bool(own) and all(role in roles for role in own)


def in_words(assignment: Assignment) -> str:
    """`fc1 as q, fc2 as k` for the report."""
    return ", ".join(f"{path} as {'+'.join(roles)}" for path, roles in assignment.items())
