"""Run the reference of a challenge on its cases to get the expected results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attn_drill.grading.challenge_content import Content, in_authors_words
from attn_drill.grading.expected import Expected, Value
from attn_drill.grading.prepared_case import PreparedCase
from attn_drill.grading.seen_dropout import ReplayedDropout, kept_weights
from attn_drill.grading.tolerance import loss, lower_dtype
from attn_drill.model.case import Case
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
class _Evaluated:
    """The results of one call of the reference."""

    outputs: dict[str, Tensor]  # the outputs that are tensors, by name
    gradients: dict[str, Tensor]  # the gradients, by the name of the input or parameter
    plain: dict[str, str]  # the other outputs as text, by name


class Reference:
    """The reference of a challenge, evaluated on prepared cases.

    Args:
        is_tied: True if the parameters that a submission may tie are tied.
    """

    def __init__(self, content: Content, *, is_tied: bool = False) -> None:
        self._content = content
        self._ties = content.challenge.ties if is_tied else ()
        self._under: dict[tuple[PreparedCase, str, bytes], Expected | None] = {}
        self._built: dict[tuple[str, str], Any] = {}

    def build(self, case: Case, dtype: str) -> Any:
        """Return the reference's module or function in a dtype, for `drive` to call.

        A module is in eval mode. Cases with the same constructor arguments share a module, because
        the weights of a case are copied into it before a call. If a case keeps the weights of the
        constructor, it gets a module of its own.

        Raises:
            GraderError: if the reference raises an exception.
        """
        if case.initial:
            return self._build_anew(case, dtype)
        key = repr(sorted(case.init.items())), dtype
        if key not in self._built:
            self._built[key] = self._build_anew(case, dtype)
        return self._built[key]

    def _build_anew(self, case: Case, dtype: str) -> Any:
        challenge, target = self._content.challenge, DTYPES[dtype]
        default = target if dtype == "float64" else torch.float32
        with self._blame(case), _default_dtype(default):
            names = challenge.kind, challenge.entry, case.init, target, "eval"
            return build(self._content.reference, *names, ties=self._ties)

    def expect(self, prepared: PreparedCase) -> Expected:
        """Return the expected results of a case.

        The reference runs in float64 and in a lower dtype (see `tolerance.lower_dtype`). The
        difference is the rounding loss that a right answer may have.

        Raises:
            PackError: if the reference contradicts the case in `cases.py`.
            GraderError: if the reference raises an exception or gives a value that is not finite.
        """
        case, low = prepared.case, lower_dtype(prepared.case.dtype)
        exact_module = _with_weights(prepared, prepared.exact)
        low_module = _with_weights(prepared, self.build(case, low))
        # Gradients under dropout depend on the dropped weights: `gradients_under` computes them.
        wanted = case.dropout is None
        exact = self._evaluate(prepared, exact_module, prepared.inputs, "float64", wanted)
        lowered = self._evaluate(prepared, low_module, prepared.inputs, low, wanted)
        self._check_shapes(case, exact.outputs)
        second = second_lowered = _Evaluated({}, {}, {})
        if not case.probe and prepared.second is prepared.inputs:
            second, second_lowered = exact, lowered
        elif not case.probe:
            second = self._evaluate(prepared, exact_module, prepared.second, "float64", False)
            second_lowered = self._evaluate(prepared, low_module, prepared.second, low, False)
        self._check_plain(case, exact.plain, lowered.plain)
        self._check_plain(case, second.plain, second_lowered.plain)
        return Expected(
            outputs=_values(case, exact.outputs, lowered.outputs),
            second=_values(case, second.outputs, second_lowered.outputs),
            plain=exact.plain,
            plain_second=second.plain,
            gradients=_values(case, exact.gradients, lowered.gradients),
            dtype=case.dtype,
        )

    def _check_shapes(self, case: Case, outputs: Mapping[str, Tensor]) -> None:
        for name, value in outputs.items():
            shape = case.output_shape(name)
            if tuple(value.shape) != shape:
                raise PackError(
                    f"{self._content.cases_path}: case {case.name!r} says {name} is "
                    f"{case.dims[name]} = {list(shape)}; the reference gives {list(value.shape)}. "
                    f"Correct `dims`, or {self._content.reference_path}."
                )

    def _check_plain(self, case: Case, exact: dict[str, str], lowered: dict[str, str]) -> None:
        if exact != lowered:
            raise PackError(
                f"{self._content.cases_path}: case {case.name!r}: rounding decides the result; the "
                f"reference gives {exact} in float64 and {lowered} in {case.dtype}."
            )

    def gradients_under(
        self, prepared: PreparedCase, output: str, actual: Tensor
    ) -> Expected | None:
        """Return the reference's results with the same weights dropped as in a submission.

        None if the case compares no gradients, or if the reference has no dropout on a tensor of
        the shape of the attention weights.

        Args:
            prepared: a case with `dropout`.
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
            self._under[key] = self._gradients_with(prepared, kept, case.dropout)
        return self._under[key]

    def _gradients_with(
        self, prepared: PreparedCase, kept: Mapping[str, Tensor], dropout: float
    ) -> Expected | None:
        """Return the reference's outputs and gradients with the given weights kept.

        None if the reference has no dropout on a tensor of their shape.
        """
        case = prepared.case
        found: list[_Evaluated] = []
        for dtype in ("float64", lower_dtype(case.dtype)):
            module = _with_weights(prepared, self._build_anew(case, dtype)).train()
            with ReplayedDropout(kept, dropout) as mode:
                found.append(self._evaluate(prepared, module, prepared.inputs, dtype, True))
            if mode.calls != 1:
                return None
        exact, lowered = found
        return Expected(
            outputs=_values(case, exact.outputs, lowered.outputs),
            second={},
            gradients=_values(case, exact.gradients, lowered.gradients),
            dtype=case.dtype,
        )

    def _evaluate(
        self,
        prepared: PreparedCase,
        implementation: Any,
        inputs: Mapping[str, Any],
        dtype: str,
        with_gradients: bool,
    ) -> _Evaluated:
        """Call the reference on `inputs` with all computation in `dtype`."""
        case, target = prepared.case, DTYPES[dtype]
        with_gradients = with_gradients and bool(prepared.cotangents)
        differentiable = prepared.differentiable if with_gradients else []

        def prepare(name: str, tensor: Tensor) -> Tensor:
            if not tensor.is_floating_point():
                return tensor.clone()
            # Constants keep their dtype, except in the float64 run, which must not round.
            kept = name in case.constants and dtype != "float64"
            own = tensor.to(tensor.dtype if kept else target)
            laid = lay_out(own, case.layout.get(name.partition("[")[0]))
            return laid.requires_grad_(name in differentiable)

        given = map_leaves(inputs, prepare)
        default = target if dtype == "float64" else torch.float32
        with self._blame(case), _default_dtype(default), torch.set_grad_enabled(with_gradients):
            outputs = self._driven(case, implementation, given)
            plain = self._taken_plain(case, outputs)
            found: dict[str, Tensor] = {}
            if with_gradients and any(output.requires_grad for output in outputs.values()):
                wrt = {name: leaf for name, leaf in leaves(given) if name in differentiable}
                wrt |= module_parameters(implementation)
                some = gradients(outputs, prepared.cotangents, wrt)
                for name, value in some.items():
                    found[name] = torch.zeros_like(wrt[name]) if value is None else value
        # An output may be a weight, which the next case with this module overwrites.
        detached = {name: output.detach().clone() for name, output in outputs.items()}
        return _Evaluated(detached, found, plain)

    def _driven(self, case: Case, implementation: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs of `drive` by name.

        Raises:
            PackError: if `drive` returns no dict, or other names than the case declares.
        """
        path = self._content.cases_path
        outputs: Any = self._content.drive(implementation, Given(given, case.sizes))
        if not isinstance(outputs, dict):
            raise PackError(
                f"{path}: case {case.name!r}: drive returns an object of the type "
                f"{type(outputs).__name__}. Return the outputs by name, as in "
                '`return {"out": out}`.'
            )
        if outputs.keys() != case.dims.keys() | case.plain.keys():
            raise PackError(
                f"{path}: case {case.name!r} names {sorted([*case.dims, *case.plain])}, "
                f"but drive returns {sorted(map(str, outputs))}. Make the names equal."
            )
        for name in case.dims:
            if not isinstance(outputs[name], Tensor):
                raise PackError(
                    f"{path}: case {case.name!r}: {name} of the reference has the type "
                    f"{type(outputs[name]).__name__}, but `dims` says that it is a tensor. Correct "
                    f"drive or {self._content.reference_path}; an int or a str belongs in "
                    "`Case.plain`."
                )
        return outputs

    def _taken_plain(self, case: Case, outputs: dict[str, Any]) -> dict[str, str]:
        """Remove the outputs that are not tensors from `outputs` and return them as text.

        Raises:
            PackError: if an output has another type than the case declares.
        """
        path = self._content.cases_path
        found: dict[str, str] = {}
        for name, wanted_kind in case.plain.items():
            kind, found[name] = plain_value(outputs.pop(name))
            if kind != wanted_kind:
                raise PackError(
                    f"{path}: case {case.name!r}: {name} of the reference is not of the type "
                    f"{wanted_kind}. Correct `plain`, or {self._content.reference_path}."
                )
        return found

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


def _with_weights(prepared: PreparedCase, implementation: Any) -> Any:
    """Copy the weights of a case into an implementation and return the implementation."""
    if not prepared.case.initial:
        with torch.no_grad():
            for name, parameter in module_parameters(implementation).items():
                parameter.copy_(prepared.parameters[name])
    return implementation


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Set torch's default dtype, so that constants of the reference (a table, a slope) have it."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _values(
    case: Case, exact: Mapping[str, Tensor], lowered: Mapping[str, Tensor]
) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, value in exact.items():
        lost = loss(value, lowered[name])
        if not math.isfinite(lost):  # a value that is not finite makes the loss not finite
            raise GraderError(
                f"The reference gives values of {name} that are not finite on case {case.name!r}. "
                "Correct solution.py, or the inputs of the case in cases.py."
            )
        keeps_dtype = case.dtype == "float64" or not value.is_floating_point()
        dtype = value.dtype if keeps_dtype else lowered[name].dtype
        found[name] = Value(value, lost, str(dtype).removeprefix("torch."))
    return found
