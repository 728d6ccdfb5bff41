"""Run trusted code on cases, and compare it with a reference under the grader's tolerance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import torch
from torch import Tensor

from attn_drill.grading._tolerance import allowed, compare_dropout, loss, lower_dtype
from attn_drill.model.case import Case
from attn_drill.worker.execution import (
    Drive,
    Given,
    build,
    gradients,
    lay_out,
    leaves,
    map_leaves,
    module_parameters,
)

Tensors = dict[str, Tensor]
Results = tuple[Tensors, Tensors]  # outputs and gradients, by name
_EXPECTED: dict[int, tuple[Case, Results, Results]] = {}  # by `id` of the case


def patched(source: str, was: str, now: str) -> str:
    """Return the source with one place replaced."""
    assert source.count(was) == 1, f"{was!r} is {source.count(was)} times in the source"
    return source.replace(was, now)


def caught_by(cases: Iterable[Case], drive: Drive, source: str, mistaken: str) -> set[str]:
    """Return the names of the cases in which a mistaken implementation is wrong."""
    return {case.name for case in cases if not is_right(case, drive, source, mistaken)}


def is_right(case: Case, drive: Drive, source: str, other: str) -> bool:
    """Return whether `other` has the same results as `source` in a case, within the tolerance."""
    if id(case) not in _EXPECTED:
        mode = "eval" if case.dropout is not None else case.mode
        _EXPECTED[id(case)] = (
            case,
            _run(case, drive, source, source, "float64", mode),
            _run(case, drive, source, source, lower_dtype(case.dtype), mode),
        )
    _, exact, lowered = _EXPECTED[id(case)]
    try:
        actual = _run(case, drive, source, other, case.dtype, case.mode)
    except (RuntimeError, TypeError, ValueError):
        return False
    for wanted, rounded, got in zip(exact, lowered, actual, strict=True):
        for name, value in wanted.items():
            if got[name].shape != value.shape or got[name].dtype != getattr(torch, case.dtype):
                return False
            # Gradients are measured against all gradients of the case.
            group = wanted if wanted is exact[1] else {name: value}
            scale = max(float(tensor.abs().max()) for tensor in group.values())
            bound = allowed(value, case.dtype, loss(value, rounded[name]), scale)
            if not _agree(case, name, value, got[name], bound):
                return False
    return True


def _agree(case: Case, name: str, value: Tensor, got: Tensor, bound: Tensor) -> bool:
    if case.dropout is None:
        return bool(((got.double() - value).abs() <= bound).all())
    dims = case.dims[name]
    return compare_dropout(dims, case.sizes, value, got, bound, case.dropout) is None


def _run(
    case: Case, drive: Drive, source: str, implementation: str, dtype: str, mode: str
) -> Results:
    """Return the outputs and the gradients of `implementation`, with the parameters of `source`."""
    target = getattr(torch, dtype)
    module = build(_namespace(implementation), "module", ["Attention"], case.init, target, mode)
    parameters = _parameters(case, source)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(parameters[name])

    def prepare(name: str, tensor: Tensor) -> Tensor:
        laid_out = lay_out(tensor, case.layout.get(name))
        if not tensor.is_floating_point():
            return laid_out
        rounded = tensor.to(getattr(torch, case.dtype)).to(target)
        return lay_out(rounded, case.layout.get(name)).requires_grad_()

    given = map_leaves(case.inputs, prepare)
    torch.manual_seed(3)
    outputs = drive(module, Given(given, case.sizes))
    wrt = {name: tensor for name, tensor in leaves(given) if tensor.requires_grad}
    wrt |= module_parameters(module)
    generator = torch.Generator().manual_seed(2)
    cotangents = {
        name: torch.randn(value.shape, generator=generator) for name, value in outputs.items()
    }
    found = gradients(outputs, cotangents, wrt)
    values = {name: value.detach() for name, value in outputs.items()}
    if not case.gradients or case.dropout is not None:
        return values, {}
    complete = {
        name: torch.zeros_like(wrt[name]) if value is None else value
        for name, value in found.items()
    }
    return values, complete


def _parameters(case: Case, source: str) -> Tensors:
    """Return the parameters of a case. Parameters that the case does not set are drawn."""
    module = build(_namespace(source), "module", ["Attention"], case.init, torch.float64, "eval")
    generator = torch.Generator().manual_seed(1)
    found: Tensors = {}
    for name, parameter in module_parameters(module).items():
        drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        value = torch.as_tensor(case.parameters.get(name, drawn * parameter.shape[-1] ** -0.5))
        found[name] = value.to(getattr(torch, case.dtype))
    return found


@cache
def _namespace(source: str) -> Mapping[str, Any]:
    scope: dict[str, Any] = {}
    exec(source, scope)
    return scope
