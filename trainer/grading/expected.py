"""The expected results of a case: values, gradients, and the bounds on differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from trainer.grading.tolerance import allowed


@dataclass(frozen=True)
class Value:
    """The expected value of one tensor.

    Attributes:
        value: the value in float64.
        lost: the rounding loss of the case's dtype, as `tolerance.loss` measures it.
        dtype: the dtype that the submission's tensor must have.
    """

    value: Tensor
    lost: float
    dtype: str


@dataclass(frozen=True)
class Expected:
    """The results of the reference for one case.

    Attributes:
        outputs: the outputs of the first call, by name.
        again: the outputs of the second call, which has other values.
        plain: the outputs of the first call that are not tensors, as text.
        plain_again: the outputs of the second call that are not tensors, as text.
        gradients: the gradients, by the name of the input or parameter.
        dtype: the dtype of the case.
    """

    outputs: Mapping[str, Value]
    again: Mapping[str, Value]
    plain: Mapping[str, str] = field(default_factory=dict)
    plain_again: Mapping[str, str] = field(default_factory=dict)
    gradients: Mapping[str, Value] = field(default_factory=dict)
    dtype: str = "float32"

    @cached_property
    def bounds(self) -> Mapping[str, Tensor]:
        """The largest allowed difference of each output entry of the first call, by name."""
        return self._bounds_of(self.outputs)

    @cached_property
    def bounds_again(self) -> Mapping[str, Tensor]:
        """The largest allowed difference of each output entry of the second call, by name."""
        return self._bounds_of(self.again)

    @cached_property
    def gradient_bounds(self) -> Mapping[str, Tensor]:
        """The largest allowed difference of each gradient entry, by input or parameter."""
        scale = self.gradient_scale
        return {
            name: allowed(want.value, self.dtype, want.lost, scale)
            for name, want in self.gradients.items()
        }

    @cached_property
    def gradient_scale(self) -> float:
        """The largest absolute entry of all gradients of the case."""
        return max((_largest(want.value) for want in self.gradients.values()), default=0.0)

    def all_bounds(self) -> tuple[Mapping[str, Tensor], ...]:
        """Return the bounds of both calls and of the gradients, and keep them for later use."""
        return self.bounds, self.bounds_again, self.gradient_bounds

    def _bounds_of(self, outputs: Mapping[str, Value]) -> Mapping[str, Tensor]:
        return {
            name: allowed(want.value, self.dtype, want.lost, self._scale_of(name))
            for name, want in outputs.items()
        }

    def _scale_of(self, output: str) -> float:
        """Return the scale against which rounding of an output is measured.

        This is the largest entry of the output, or of all outputs if the output is all zeros.
        """
        return self._sizes.get(output, 0.0) or max(self._sizes.values(), default=0.0)

    @cached_property
    def _sizes(self) -> Mapping[str, float]:
        return {
            name: _largest(want.value)
            for name, want in self.outputs.items()
            if want.value.dtype != torch.bool
        }

    def in_one_row(
        self, calls: tuple[bool, ...], names: tuple[str, ...]
    ) -> tuple[Tensor, Tensor] | None:
        """Return the values of several calls and gradients in one flat tensor, and their bounds.

        None if there are no values, or if some values are not floating-point tensors.

        Args:
            calls: for each call, whether the call is the second one, which has other values.
            names: the names of the gradients.
        """
        key = calls, names
        if key not in self._rows:
            self._rows[key] = self._row(calls, names)
        return self._rows[key]

    @cached_property
    def _rows(self) -> dict[tuple[tuple[bool, ...], tuple[str, ...]], tuple[Tensor, Tensor] | None]:
        return {}

    def _row(self, calls: tuple[bool, ...], names: tuple[str, ...]) -> tuple[Tensor, Tensor] | None:
        values: list[Tensor] = []
        bounds: list[Tensor] = []
        for again in calls:
            outputs = self.again if again else self.outputs
            limits = self.bounds_again if again else self.bounds
            values += [want.value for want in outputs.values()]
            bounds += [limits[name] for name in outputs]
        values += [self.gradients[name].value for name in names]
        bounds += [self.gradient_bounds[name] for name in names]
        if self.plain or not values or not all(value.is_floating_point() for value in values):
            return None
        return _joined(values), _joined(bounds)


def _joined(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def _largest(value: Tensor) -> float:
    return float(value.abs().max()) if value.numel() else 0.0
