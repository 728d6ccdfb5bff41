"""The expected results of a case: values, gradients, and the bounds on differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from attn_drill.grading.tolerance import allowed


@dataclass(frozen=True)
class Value:
    """The expected value of one tensor."""

    value: Tensor  # the value in float64
    lost: float  # the rounding loss of the case's dtype, as `tolerance.loss` measures it
    dtype: str  # the dtype that the submission's tensor must have


@dataclass(frozen=True)
class Expected:
    """The results of the reference for one case."""

    outputs: Mapping[str, Value]  # the outputs of the first call, by name
    second: Mapping[str, Value]  # the outputs of the second call, which has other values
    # The outputs of the first call that are not tensors, as text.
    plain: Mapping[str, str] = field(default_factory=dict)
    # The outputs of the second call that are not tensors, as text.
    plain_second: Mapping[str, str] = field(default_factory=dict)
    # The gradients, by the name of the input or parameter.
    gradients: Mapping[str, Value] = field(default_factory=dict)
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
        return self.bounds, self.bounds_second, self.gradient_bounds

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


def _largest(value: Tensor) -> float:
    return float(value.abs().max()) if value.numel() else 0.0
