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

    value: Tensor  # in float64
    lost: float  # the rounding loss of the case's dtype, as `tolerance.loss` measures it
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
