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

        The reference runs in float64 and in a lower dtype (see `tolerance.lower_dtype`). The
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
            second, second_lowered = self._evaluate(prepared, modules, prepared.second)
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
    ) -> list[_Results]:
        """Call the reference once in each dtype, with the weights of the case."""
        case = prepared.case
        with_gradients = with_gradients and bool(prepared.cotangents)
        results = []
        for dtype, implementation in modules.items():
            given = _given(prepared, inputs, dtype, with_gradients)
            parameters = module_parameters(implementation)
            if not case.initial:
                with torch.no_grad():
                    for name, parameter in parameters.items():
                        parameter.copy_(prepared.parameters[name])
            with self._blame(case), _default_dtype(dtype), torch.set_grad_enabled(with_gradients):
                outputs, plain = self._outputs(case, implementation, given)
                by_name: dict[str, Tensor] = {}
                if with_gradients and any(output.requires_grad for output in outputs.values()):
                    wrt = {name: leaf for name, leaf in leaves(given) if leaf.requires_grad}
                    wrt |= parameters
                    for name, value in gradients(outputs, prepared.cotangents, wrt).items():
                        by_name[name] = torch.zeros_like(wrt[name]) if value is None else value
            # An output may be a weight, which the next case with this module overwrites.
            detached = {name: output.detach().clone() for name, output in outputs.items()}
            results.append(_Results(detached, by_name, plain))
        return results

    def _outputs(
        self, case: Case, implementation: Any, given: Mapping[str, Any]
    ) -> tuple[dict[str, Tensor], dict[str, str]]:
        """Return the outputs of `drive` that are tensors, and the others as text."""
        place = f"{self._content.cases_path}: case {case.name!r}"
        outputs: Any = self._content.drive(implementation, Given(given, case.sizes))
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


def _given(
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
