"""A case of a challenge with everything that goes into it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from torch import Tensor

from trainer.grading.expected import Expected
from trainer.model.case import Case
from trainer.worker.execution import leaves
from trainer.worker.protocol import Purpose


class Computes(Protocol):
    """Compute the results that are expected of a case; `reference.Reference` does it."""

    def expect(self, prepared: PreparedCase) -> Expected:
        """Return the results of the reference for this case."""

    def gradients_under(
        self, prepared: PreparedCase, output: str, actual: Tensor
    ) -> Expected | None:
        """Return the results under the dropout that a submission's weights show, or None."""


@dataclass(frozen=True, eq=False)
class PreparedCase:
    """A case with everything that goes into it.

    inputs       in the case's dtype, by name
    again        the same for the second call, with other values
    parameters   the weights, named as in the contract
    cotangents   gradients are taken with these, by output; empty if no gradients are compared
    exact        the reference in float64
    smaller      the smaller case of the same growth probe, if this case is the larger
    purpose      what a worker is asked for in this case, if it is not the request's purpose
    varied_from  the case whose inputs or parameters were changed to make this case
    """

    case: Case
    inputs: Mapping[str, Any]
    again: Mapping[str, Any]
    parameters: Mapping[str, Tensor]
    cotangents: Mapping[str, Tensor]
    reference: Computes
    exact: Any
    smaller: PreparedCase | None = None
    purpose: Purpose | None = None
    varied_from: PreparedCase | None = None

    @cached_property
    def expected(self) -> Expected:
        """The results of the reference; a varied case shares those of the case it was made from."""
        if self.varied_from is not None:
            return self.varied_from.expected
        return self.reference.expect(self)

    @property
    def differentiable(self) -> list[str]:
        """The names of the inputs to which gradients flow."""
        if not self.cotangents:
            return []
        return [
            name
            for name, tensor in leaves(self.inputs)
            if tensor.is_floating_point() and name not in self.case.constants
        ]

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors among the inputs, by name."""
        return dict(leaves(self.inputs))

    @cached_property
    def largest_number(self) -> float:
        """The largest number, by size, of all that goes into the case."""
        largest = 0.0
        for tensor in [*self.tensors.values(), *self.parameters.values()]:
            if tensor.is_floating_point() and tensor.numel():
                largest = max(largest, float(tensor.abs().nan_to_num(0.0, math.inf).max()))
        return largest

    def varied(self, inputs: Mapping[str, Any], parameters: Mapping[str, Tensor]) -> PreparedCase:
        """Return this case with other inputs and weights. It is looked at, never graded."""
        return replace(
            self,
            inputs=dict(inputs),
            again=dict(inputs),
            parameters=dict(parameters),
            varied_from=self.varied_from or self,
        )
