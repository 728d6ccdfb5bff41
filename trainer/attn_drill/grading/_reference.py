"""Run the reference of a challenge on its prepared cases to get the expected results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attn_drill.grading._tolerance import allowed, loss, lower_dtype
from attn_drill.grading.content import Content, in_authors_words
from attn_drill.model.case import Case, axes
from attn_drill.model.errors import GraderError, PackError
from attn_drill.worker.execution import (
    Given,
    build,
    gradients,
    lay_out,
    leaves,
    map_leaves,
    module_parameters,
)
from attn_drill.worker.protocol import DTYPES
from attn_drill.worker.returns import plain_value

_MOST_DRAWINGS = 16  # dropout patterns whose gradients are kept


@dataclass(frozen=True)
class Value:
    """The expected value of one tensor."""

    value: Tensor  # in float64
    lost: float  # the rounding loss of the case's dtype, as `loss` measures it
    dtype: str  # the dtype that the submission's tensor must have


@dataclass(frozen=True)
class Expected:
    """The results of the reference for one case."""

    outputs: Mapping[str, Value]  # the outputs of the first call, by name
    second: Mapping[str, Value]  # the outputs of the second call, which has other values
    # The outputs of both calls that are not tensors, as text.
    plain: Mapping[str, str] = field(default_factory=dict)
    plain_second: Mapping[str, str] = field(default_factory=dict)
    gradients: Mapping[str, Value] = field(default_factory=dict)  # by input or parameter
    dtype: str = "float32"  # the dtype of the case

    @cached_property
    def bounds(self) -> Mapping[str, Tensor]:
        """The largest allowed difference of each output entry of the first call, by name."""
        return self._bounds_of(self.outputs)

    @cached_property
    def bounds_second(self) -> Mapping[str, Tensor]:
        """The largest allowed difference of each output entry of the second call, by name."""
        return self._bounds_of(self.second)

    @cached_property
    def gradient_bounds(self) -> Mapping[str, Tensor]:
        """The largest allowed difference of each gradient entry, by input or parameter."""
        return {
            name: allowed(want.value, self.dtype, want.lost, self.gradient_scale)
            for name, want in self.gradients.items()
        }

    @cached_property
    def gradient_scale(self) -> float:
        """The largest absolute entry of all gradients of the case."""
        return max((_largest(want.value) for want in self.gradients.values()), default=0.0)

    def _bounds_of(self, outputs: Mapping[str, Value]) -> Mapping[str, Tensor]:
        # An output of zeros is measured by the largest of all outputs.
        sizes = {
            name: _largest(want.value)
            for name, want in self.outputs.items()
            if want.value.dtype != torch.bool
        }
        largest = max(sizes.values(), default=0.0)
        return {
            name: allowed(want.value, self.dtype, want.lost, sizes.get(name) or largest)
            for name, want in outputs.items()
        }


def _largest(value: Tensor) -> float:
    return float(value.abs().max()) if value.numel() else 0.0


@dataclass(frozen=True, eq=False)
class PreparedCase:
    """A case with its inputs, weights and expected results."""

    case: Case
    inputs: Mapping[str, Any]  # the inputs of the first call in the case's dtype, by name
    second: Mapping[str, Any]  # the inputs of the second call, which has other values
    parameters: Mapping[str, Tensor]  # the weights, by the names of the contract
    # The output gradients of the backward pass, by output; empty if the case compares no gradients.
    cotangents: Mapping[str, Tensor]
    reference: Reference  # computes the expected results
    exact: Any  # the reference's module or function in float64
    # The factor of all weights in the second call. A power of two changes no digit.
    second_weights: float = 1.0
    # The smaller case of the same growth probe, if this case is the larger one.
    smaller: PreparedCase | None = None

    @cached_property
    def expected(self) -> Expected:
        """The results of the reference."""
        return self.reference.expect(self)

    @property
    def differentiable(self) -> list[str]:
        """The names of the inputs that get gradients."""
        names = [name for name, tensor in leaves(self.inputs) if tensor.is_floating_point()]
        return [name for name in names if self.cotangents and name not in self.case.constants]

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors among the inputs, by name."""
        return dict(leaves(self.inputs))

    @cached_property
    def largest_number(self) -> float:
        """The largest absolute value of all inputs and weights."""
        largest = 0.0
        for tensor in [*self.tensors.values(), *self.parameters.values()]:
            if tensor.is_floating_point() and tensor.numel():
                largest = max(largest, float(tensor.abs().nan_to_num(0.0, math.inf).max()))
        return largest


def kept_weights(
    dims: str, sizes: Mapping[str, int], weights: Tensor, actual: Tensor
) -> dict[str, Tensor]:
    """Return boolean tensors that are True for kept weights, one for each order of the dimensions.

    The keys are the letters of the dimensions in order, e.g. "B H Lq Lk".

    Args:
        dims: the named dimensions of both tensors. Along `copy` lie copies of the same weight. The
            last letter is the key.
        actual: the submission's output. A dropped weight is 0.
    """
    letters = [letter for axis in axes(dims) for letter in axis]
    kept = actual.to(torch.float64).abs() > weights.abs() / 2
    kept = kept.reshape([sizes[letter] for letter in letters])
    if "copy" in letters:
        kept = kept.select(letters.index("copy"), 0)
        letters.remove("copy")
    in_orders: dict[str, Tensor] = {}
    # [B, H, Lq, Lk] first: implementations have heads before queries, outputs after queries.
    for order in sorted(
        permutations(letters[:-1]),
        key=lambda candidate: [letter not in ("B", "H") for letter in candidate],
    ):
        full = [*order, letters[-1]]
        in_orders[" ".join(full)] = kept.permute([letters.index(letter) for letter in full])
    return in_orders


class ReplayedDropout(TorchFunctionMode):
    """Make dropout in this thread keep the weights of `kept_weights`, and scale them as usual."""

    def __init__(self, kept: Mapping[str, Tensor], p: float) -> None:
        super().__init__()
        self._kept, self._p = kept, p
        self.calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in (functional.dropout, torch.dropout):
            return func(*args, **(kwargs or {}))
        weights = args[0] if args else (kwargs or {})["input"]
        count = math.prod(weights.shape)
        for kept in self._kept.values():
            if kept.numel() == count and without_ones(kept.shape) == without_ones(weights.shape):
                self.calls += 1
                return weights * (kept.reshape(weights.shape).to(weights.dtype) / (1 - self._p))
        return weights


def without_ones(shape: Sequence[int]) -> list[int]:
    """Return the sizes of the axes that are longer than 1, or empty."""
    return [size for size in shape if size != 1]


@dataclass
class _Results:
    """The results of one call of the reference, by name."""

    outputs: dict[str, Tensor]
    gradients: dict[str, Tensor]
    plain: dict[str, str]  # the outputs that are not tensors, as text


class Reference:
    """The reference of a challenge, evaluated on prepared cases.

    With `is_tied`, the parameters that a submission may tie are tied.
    """

    def __init__(self, content: Content, *, is_tied: bool = False) -> None:
        self._content = content
        self._ties = content.challenge.ties if is_tied else ()
        self._under: dict[tuple[PreparedCase, str, bytes], Expected | None] = {}
        self._built: dict[tuple[str, str], Any] = {}

    def build(self, case: Case, dtype: str) -> Any:
        """Return the reference's module in eval mode, or its function, for `drive` to call."""
        # Cases with the same constructor arguments share a module, because the weights of a case
        # are copied into it before a call.
        if case.initial:
            return self._build_anew(case, dtype)
        key = repr(sorted(case.init.items())), dtype
        if key not in self._built:
            self._built[key] = self._build_anew(case, dtype)
        return self._built[key]

    def _build_anew(self, case: Case, dtype: str) -> Any:
        challenge = self._content.challenge
        with self._blame(case), _default_dtype(dtype):
            names = challenge.kind, challenge.entry, case.init, DTYPES[dtype], "eval"
            return build(self._content.reference, *names, ties=self._ties)

    def expect(self, prepared: PreparedCase) -> Expected:
        """Return the expected results of a case.

        The reference runs in float64 and in a lower dtype (see `lower_dtype`). The
        difference is the rounding loss that a right answer may have.

        Raises:
            PackError: if the reference contradicts the case in `cases.py`.
            GraderError: if the reference raises an exception or gives a value that is not finite.
        """
        case, low = prepared.case, lower_dtype(prepared.case.dtype)
        modules = {"float64": prepared.exact, low: self.build(case, low)}
        # Gradients under dropout depend on the dropped weights: `gradients_under` computes them.
        has_gradients = case.dropout is None
        exact, lowered = self._evaluate(prepared, modules, prepared.inputs, has_gradients)
        for name, value in exact.outputs.items():
            shape = case.output_shape(name)
            if tuple(value.shape) != shape:
                raise PackError(
                    f"{self._content.cases_path}: case {case.name!r} says {name} is "
                    f"{case.dims[name]} = {list(shape)}; the reference gives {list(value.shape)}. "
                    f"Correct `dims`, or {self._content.reference_path}."
                )
        second, second_lowered = exact, lowered
        if case.probe:
            second = second_lowered = _Results({}, {}, {})
        elif prepared.second is not prepared.inputs:
            factor = prepared.second_weights
            second, second_lowered = self._evaluate(
                prepared, modules, prepared.second, weights=factor
            )
        for right, rounded in ((exact, lowered), (second, second_lowered)):
            if right.plain != rounded.plain:
                raise PackError(
                    f"{self._content.cases_path}: case {case.name!r}: rounding decides the result; "
                    f"the reference gives {right.plain} in float64 and {rounded.plain} in "
                    f"{case.dtype}."
                )
        return Expected(
            outputs=_values(case, exact.outputs, lowered.outputs),
            second=_values(case, second.outputs, second_lowered.outputs),
            plain=exact.plain,
            plain_second=second.plain,
            gradients=_values(case, exact.gradients, lowered.gradients),
            dtype=case.dtype,
        )

    def gradients_under(
        self, prepared: PreparedCase, output: str, actual: Tensor
    ) -> Expected | None:
        """Return the reference's results with the same weights dropped as in a submission.

        None if the case compares no gradients, or if the reference has no dropout on a tensor of
        the shape of the attention weights.
        """
        case = prepared.case
        if case.dropout is None or not prepared.cotangents:
            return None
        weights = prepared.expected.outputs[output].value
        kept = kept_weights(case.dims[output], case.sizes, weights, actual)
        # Most submissions draw once from the same random seed, so they drop the same weights.
        key = (prepared, output, next(iter(kept.values())).numpy().tobytes())
        if key not in self._under:
            if len(self._under) >= _MOST_DRAWINGS:
                self._under.pop(next(iter(self._under)))
            self._under[key] = self._with_kept(prepared, kept, case.dropout)
        return self._under[key]

    def _with_kept(
        self, prepared: PreparedCase, kept: Mapping[str, Tensor], dropout: float
    ) -> Expected | None:
        case = prepared.case
        dtypes = ("float64", lower_dtype(case.dtype))
        modules = {dtype: self._build_anew(case, dtype).train() for dtype in dtypes}
        with ReplayedDropout(kept, dropout) as mode:
            exact, lowered = self._evaluate(prepared, modules, prepared.inputs, with_gradients=True)
        if mode.calls != len(modules):
            return None
        return Expected(
            outputs=_values(case, exact.outputs, lowered.outputs),
            second={},
            gradients=_values(case, exact.gradients, lowered.gradients),
            dtype=case.dtype,
        )

    def _evaluate(
        self,
        prepared: PreparedCase,
        modules: Mapping[str, Any],
        inputs: Mapping[str, Any],
        with_gradients: bool = False,
        weights: float = 1.0,
    ) -> list[_Results]:
        """Call the reference once in each dtype, with the weights of the case times a factor."""
        case = prepared.case
        with_gradients = with_gradients and bool(prepared.cotangents)
        results = []
        for dtype, implementation in modules.items():
            call_inputs = _cast_inputs(prepared, inputs, dtype, with_gradients)
            parameters = module_parameters(implementation)
            if not case.initial:
                with torch.no_grad():
                    for name, parameter in parameters.items():
                        parameter.copy_(prepared.parameters[name]).mul_(weights)
            with self._blame(case), _default_dtype(dtype), torch.set_grad_enabled(with_gradients):
                outputs, plain = self._outputs(case, implementation, call_inputs)
                by_name: dict[str, Tensor] = {}
                if with_gradients and any(output.requires_grad for output in outputs.values()):
                    wrt = {name: leaf for name, leaf in leaves(call_inputs) if leaf.requires_grad}
                    wrt |= parameters
                    for name, value in gradients(outputs, prepared.cotangents, wrt).items():
                        by_name[name] = torch.zeros_like(wrt[name]) if value is None else value
            # An output may be a weight, which the next case with this module overwrites.
            detached = {name: output.detach().clone() for name, output in outputs.items()}
            results.append(_Results(detached, by_name, plain))
        return results

    def _outputs(
        self, case: Case, implementation: Any, call_inputs: Mapping[str, Any]
    ) -> tuple[dict[str, Tensor], dict[str, str]]:
        """Return the outputs of `drive` that are tensors, and the others as text."""
        place = f"{self._content.cases_path}: case {case.name!r}"
        outputs: Any = self._content.drive(implementation, Given(call_inputs, case.sizes))
        if not isinstance(outputs, dict):
            raise PackError(
                f"{place}: drive returns an object of the type {type(outputs).__name__}. "
                'Return the outputs by name, as in `return {"out": out}`.'
            )
        if outputs.keys() != case.dims.keys() | case.plain.keys():
            raise PackError(
                f"{place} names {sorted([*case.dims, *case.plain])}, "
                f"but drive returns {sorted(map(str, outputs))}. Make the names equal."
            )
        for name in case.dims:
            if not isinstance(outputs[name], Tensor):
                raise PackError(
                    f"{place}: {name} of the reference has the type "
                    f"{type(outputs[name]).__name__}, but `dims` says that it is a tensor. Correct "
                    f"drive or {self._content.reference_path}; an int or a str belongs in "
                    "`Case.plain`."
                )
        plain: dict[str, str] = {}
        for name, declared in case.plain.items():
            kind, plain[name] = plain_value(outputs.pop(name))
            if kind != declared:
                raise PackError(
                    f"{place}: {name} of the reference is not of the type {declared}. "
                    f"Correct `plain`, or {self._content.reference_path}."
                )
        return outputs, plain

    @contextmanager
    def _blame(self, case: Case) -> Iterator[None]:
        try:
            yield
        except (PackError, GraderError):
            raise
        except (Exception, SystemExit) as error:
            challenge = self._content.challenge.id
            doing = (
                f"the reference of {challenge} fails on case {case.name!r}, or this case is wrong:"
            )
            paths = self._content.cases_path, self._content.reference_path
            raise GraderError(in_authors_words(error, doing, *paths)) from error


def _cast_inputs(
    prepared: PreparedCase, inputs: Mapping[str, Any], dtype: str, with_gradients: bool
) -> Mapping[str, Any]:
    """Return inputs for a call in which all computation is in `dtype`."""
    case = prepared.case
    differentiable = prepared.differentiable if with_gradients else []

    def prepare(name: str, tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return tensor.clone()
        # Constants keep their dtype, except in the float64 run, which must not round.
        keeps_dtype = name in case.constants and dtype != "float64"
        converted = tensor.to(tensor.dtype if keeps_dtype else DTYPES[dtype])
        laid_out = lay_out(converted, case.layout.get(name.partition("[")[0]))
        return laid_out.requires_grad_(name in differentiable)

    return map_leaves(inputs, prepare)


@contextmanager
def _default_dtype(dtype: str) -> Iterator[None]:
    # Constants of the reference (a table, a slope) must not round the run in float64.
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if dtype == "float64" else torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _values(
    case: Case, exact: Mapping[str, Tensor], lowered: Mapping[str, Tensor]
) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, value in exact.items():
        lost = loss(value, lowered[name])
        if not math.isfinite(lost):  # a value that is not finite makes the loss not finite
            raise GraderError(
                f"The reference gives values of {name} that are not finite on case {case.name!r}. "
                "Correct solution.py, or the inputs of the case in cases.py."
            )
        keeps_dtype = case.dtype == "float64" or not value.is_floating_point()
        dtype = value.dtype if keeps_dtype else lowered[name].dtype
        values[name] = Value(value, lost, str(dtype).removeprefix("torch."))
    return values
