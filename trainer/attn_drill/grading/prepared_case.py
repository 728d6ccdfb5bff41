"""A case of a challenge with its inputs, weights and expected results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from torch import Tensor

from attn_drill.grading.expected import Expected
from attn_drill.model.case import Case
from attn_drill.worker.execution import leaves


class ResultSource(Protocol):
    """The part of `reference.Reference` that a case uses."""

    def expect(self, prepared: PreparedCase) -> Expected: ...

    def gradients_under(
        self, prepared: PreparedCase, output: str, actual: Tensor
    ) -> Expected | None: ...


@dataclass(frozen=True, eq=False)
class PreparedCase:
    """A case with its inputs, weights and expected results."""

    case: Case
    inputs: Mapping[str, Any]  # the inputs of the first call in the case's dtype, by name
    second: Mapping[str, Any]  # the inputs of the second call, which has other values
    parameters: Mapping[str, Tensor]  # the weights, by the names of the contract
    # The output gradients of the backward pass, by output; empty if the case compares no gradients.
    cotangents: Mapping[str, Tensor]
    reference: ResultSource  # computes the expected results
    exact: Any  # the reference's module or function in float64
    # The smaller case of the same growth probe, if this case is the larger one.
    smaller: PreparedCase | None = None
    # The original case, if this case is a variant with other inputs or weights.
    varied_from: PreparedCase | None = None

    @cached_property
    def expected(self) -> Expected:
        """The results of the reference. A variant has the results of its original case."""
        if self.varied_from is not None:
            return self.varied_from.expected
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

    def varied(self, inputs: Mapping[str, Any], parameters: Mapping[str, Tensor]) -> PreparedCase:
        """Return a variant with other inputs and weights, for the diagnosis: it is not graded."""
        return replace(
            self,
            inputs=dict(inputs),
            second=dict(inputs),
            parameters=dict(parameters),
            varied_from=self.varied_from or self,
        )
