"""Run one case on an implementation: the same code for the submission (in the worker) and for the reference (in the grader)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from trainer.model.challenge import Signature
from trainer.worker.arguments import construct

Drive = Callable[[Any, Any], dict[str, Tensor]]


@dataclass(frozen=True)
class Given:
    """What `drive` sees of a case: its inputs as attributes, and `sizes`."""

    inputs: Mapping[str, Any]
    sizes: Mapping[str, int]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["inputs"][name]
        except KeyError:
            raise AttributeError(name) from None


def build(
    namespace: Mapping[str, Any],
    kind: str,
    entry: Sequence[str],
    init: Mapping[str, Any],
    dtype: torch.dtype,
    mode: str,
    signatures: Sequence[Signature] = (),
    lost: list[str] | None = None,
) -> Any:
    """Return what `drive` calls: a module, a function, or several functions by name.

    The weights of a module are to be overwritten.

    Args:
        entry: the names that the file defines.
        init: arguments of the constructor, by the contract's names.
        dtype, mode: of the module.
        signatures: the contract's callables; without them arguments must have the contract's names.
        lost: gets the names of the buffers that lose their imaginary parts in the cast to `dtype`.
    """
    if kind == "module":
        with quick_first_weights():
            module = construct(namespace[entry[0]], entry[0], init, signatures)
        return _in_dtype(module, dtype, [] if lost is None else lost).train(mode == "train")
    if len(entry) == 1:
        return namespace[entry[0]]
    return SimpleNamespace(**{name: namespace[name] for name in entry})


@contextmanager
def quick_first_weights() -> Iterator[None]:
    """Linear layers draw their first weights as torch does, but without the detour through `nn.init`, which takes longer than all else of a layer.

    They must be drawn, though the grader's weights take their place: a layer that no parameter names, in a plain list say, keeps them.
    """
    usual = nn.Linear.reset_parameters
    nn.Linear.reset_parameters = _draw_weights  # type: ignore[assignment,method-assign]  # for a moment
    try:
        yield
    finally:
        nn.Linear.reset_parameters = usual  # type: ignore[method-assign]  # as it was


def _draw_weights(layer: nn.Linear) -> None:
    """Uniform within 1 / sqrt(in_features), the weight first: what `nn.Linear.reset_parameters` comes to, number by number."""
    if layer.in_features:
        bound = layer.in_features**-0.5
        with torch.no_grad():
            for parameter in (layer.weight, layer.bias):
                if parameter is not None:
                    parameter.uniform_(-bound, bound)


def _in_dtype(module: Any, dtype: torch.dtype, lost: list[str]) -> Any:
    """Return the module cast as torch casts it; names of buffers that lose their angles go to `lost`.

    torch makes complex buffers real: it cuts off their imaginary parts and warns.
    """
    if isinstance(module, nn.Module) and all(
        tensor.dtype == dtype or not tensor.is_floating_point() for tensor in _tensors(module)
    ):
        return module  # as most are: going through it once more would cost as much as building it
    buffers = dict(module.named_buffers()) if isinstance(module, nn.Module) else {}
    complex_buffers = {name: buffer for name, buffer in buffers.items() if buffer.is_complex()}
    with warnings.catch_warnings():
        if complex_buffers:
            warnings.simplefilter("ignore")  # the report says it
        module = module.to(dtype)
    for name, buffer in dict(module.named_buffers()).items() if complex_buffers else ():
        before = complex_buffers.get(name)
        if before is not None and not buffer.is_complex() and bool((before.imag != 0).any()):
            lost.append(name)
    return module


def _tensors(module: nn.Module) -> Iterator[Tensor]:
    """Parameters and buffers. A complex one is no floating-point tensor to torch, and stays as it is."""
    for part in module.modules():
        yield from (
            one
            for some in (part._parameters, part._buffers)
            for one in some.values()
            if one is not None
        )


def leaves(inputs: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """The tensors among the inputs, with a name each: `x`, `blocks[0]`."""
    for name, value in inputs.items():
        if isinstance(value, Tensor):
            yield name, value
        elif isinstance(value, tuple | list):
            for index, one in enumerate(value):
                if isinstance(one, Tensor):
                    yield f"{name}[{index}]", one


def map_leaves(
    inputs: Mapping[str, Any], change: Callable[[str, Tensor], Tensor]
) -> dict[str, Any]:
    """The same inputs with every tensor replaced by `change(name, tensor)`."""
    changed: dict[str, Any] = {}
    for name, value in inputs.items():
        if isinstance(value, Tensor):
            changed[name] = change(name, value)
        elif isinstance(value, tuple | list):
            changed[name] = tuple(
                change(f"{name}[{index}]", one) if isinstance(one, Tensor) else one
                for index, one in enumerate(value)
            )
        else:
            changed[name] = value
    return changed


def lay_out(tensor: Tensor, layout: str | None) -> Tensor:
    """Return the same values in memory of their own; the last axis always has stride 1.

    Args:
        layout: None for contiguous memory, "transposed" for memory in which all axes but the last
            are in reverse order, "strided" for a part of a larger tensor, "expanded" for memory that
            all indices of axis 0 share. A tensor without axes to reverse is laid out as "strided".
    """
    if layout == "expanded":
        return tensor[:1].clone(memory_format=torch.contiguous_format).expand(tensor.shape)
    if layout == "transposed" and tensor.dim() > 2:
        order = [*reversed(range(tensor.dim() - 1)), tensor.dim() - 1]
        return tensor.permute(order).clone(memory_format=torch.contiguous_format).permute(order)
    if layout in ("transposed", "strided") and tensor.dim():
        # Twice as long in the last two axes: no two axes can be merged, and strides of an even last
        # axis are even, so that its pairs can be viewed as complex numbers.
        last = tensor.shape[-2:]
        view = tensor.new_ones((*tensor.shape[:-2], *(2 * size for size in last)))
        for axis, size in zip((-1, -2), reversed(last), strict=False):
            view = view.narrow(axis, size, size)
        view.copy_(tensor)
        return view
    return tensor.clone(memory_format=torch.contiguous_format)


def overwrite(target: Tensor, values: Tensor) -> None:
    """Put new values where `target` lies, also where several of its entries share memory."""
    with torch.no_grad():
        if target.dim() and target.stride(0) == 0 and target.shape[0] > 1:
            target[:1].copy_(values[:1])
        else:
            target.copy_(values)


def gradients(
    outputs: Mapping[str, Any],
    cotangents: Mapping[str, Tensor],
    wrt: Mapping[str, Tensor],
) -> dict[str, Tensor | None]:
    """Return the gradient of sum(output * cotangent) for every tensor of `wrt`; None if none arrives.

    Gradients are taken as in training, with `backward()` and from `.grad`: reentrant checkpointing
    refuses `torch.autograd.grad`. The `.grad` of every tensor of `wrt` is as before afterwards.
    """
    with torch.enable_grad():  # the submission may have switched gradients off for all the process
        terms = [
            (output * cotangents[name].to(output.dtype)).sum()
            for name, output in outputs.items()
            if isinstance(output, Tensor)
            and output.requires_grad
            and name in cotangents
            and output.shape == cotangents[name].shape
        ]
        tracked = {name: tensor for name, tensor in wrt.items() if tensor.requires_grad}
        if not terms or not tracked:
            return dict.fromkeys(wrt)
        # A scalar: with `grad_tensors` torch imports its symbolic shapes, which takes 0.3 s.
        total = (
            terms[0]
            if len(terms) == 1
            else torch.stack([term.to(torch.float64) for term in terms]).sum()
        )
        with _without_grad(tracked.values()):
            total.backward()  # type: ignore[no-untyped-call]  # torch gives it no types
            found = {name: tensor.grad for name, tensor in tracked.items()}
        return {**dict.fromkeys(wrt), **found}


@contextmanager
def _without_grad(tensors: Collection[Tensor]) -> Iterator[None]:
    """Take away the `.grad` of tensors, which the submission may have set, and put it back."""
    before = [(tensor, tensor.grad) for tensor in tensors if tensor.is_leaf]
    for tensor in tensors:
        if tensor.is_leaf:
            tensor.grad = None
        else:
            tensor.retain_grad()
    try:
        yield
    finally:
        for tensor, gradient in before:
            tensor.grad = gradient


def module_parameters(implementation: Any) -> dict[str, Tensor]:
    """The parameters of a module; {} of a function."""
    return dict(implementation.named_parameters()) if isinstance(implementation, nn.Module) else {}
