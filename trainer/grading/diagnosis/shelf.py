"""Results to compare with: what right answers make on their way, found again whatever the layout."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import torch

from trainer.grading.diagnosis.derivation import factor_of
from trainer.grading.diagnosis.layout import HIDDEN, same
from trainer.grading.diagnosis.trail import Step, Trail

_AT_ONCE = 256  # steps


class Shelf:
    """Results to compare with, whatever their layout."""

    def __init__(self, trails: Sequence[Trail], sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.steps: list[Step] = []
        seen: set[tuple[object, ...]] = set()
        for trail in trails:
            for number in trail.leading_to_outputs:
                step = trail.steps[number]
                if step.features is None or step.value is None:
                    continue
                key = (tuple(step.value.shape), *(round(one, 6) for one in step.features))
                if key not in seen:
                    seen.add(key)
                    self.steps.append(step)
        self.numbers = {
            step.number for trail in trails for step in trail.steps if step.operation == "number"
        }
        self.trails = trails
        self._table = torch.tensor(
            [step.features for step in self.steps], dtype=torch.float64
        ).reshape(-1, 5)
        self._found: dict[tuple[int, bool], bool] = {}
        self._beside: dict[int, list[Step]] = {}  # what is near a step, by its id

    def look_ahead(self, trail: Trail) -> None:
        """Find at once what is near each step of a trail, which must live as long as this: one after another takes many times as long."""
        told = [
            step
            for step in trail.steps
            if step.features is not None and id(step) not in self._beside
        ]
        for start in range(0, len(told), _AT_ONCE):
            some = told[start : start + _AT_ONCE]
            near: list[list[Step]] = [[] for _ in some]
            if self.steps:
                for row, column in (
                    self._close([step.features for step in some if step.features is not None])
                    .nonzero()
                    .tolist()
                ):
                    near[row].append(self.steps[column])
            self._beside.update({id(step): steps for step, steps in zip(some, near, strict=True)})

    def has(self, step: Step, *, exchanging: bool = True) -> bool:
        """Whether the step's value stands here, in some honest layout; `exchanging`: axes of one size may have changed places."""
        if step.operation == "number":
            return step.value is not None and step.number in self.numbers
        if step.features is None or step.core is None:
            return False
        key = id(step), exchanging
        if key not in self._found:
            near = (other.core for other in self._near(step) if other.core is not None)
            self._found[key] = any(
                same(step.core, core, self.sizes, exchanging=exchanging) for core in near
            )
        return self._found[key]

    def has_entries(self, step: Step) -> bool:
        """Whether all entries of the step's value, if they tell anything, are entries of what stands here, in whatever order."""
        if step.features is None or step.value is None or not len(self._entries):
            return False
        values = _entries(step.value)
        above = torch.searchsorted(self._entries, values).clamp(max=len(self._entries) - 1)
        nearest = torch.minimum(
            (self._entries[above] - values).abs(),
            (self._entries[(above - 1).clamp(min=0)] - values).abs(),
        )
        return bool((nearest <= 3e-6 * values.abs() + 1e-6 * values.pow(2).mean().sqrt()).all())

    def has_factor(self, factor: float) -> bool:
        """Whether something here is multiplied or divided by this number."""
        return any(
            abs(factor - one) <= 1e-4 * abs(one) or abs(factor * one - 1) <= 1e-4
            for one in self._factors
        )

    @cached_property
    def _factors(self) -> set[float]:
        """By which numbers tensors are multiplied or divided."""
        found = (
            factor_of(trail, number) for trail in self.trails for number in trail.leading_to_outputs
        )
        return {round(factor, 8) for factor in found if factor is not None}

    @cached_property
    def _entries(self) -> torch.Tensor:
        """Every entry of everything here, in order."""
        return (
            torch.cat(
                [
                    torch.empty(0, dtype=torch.float64),
                    *(_entries(step.value) for step in self.steps if step.value is not None),
                ]
            )
            .sort()
            .values
        )

    def holds_nearly(self, features: Collection[tuple[float, ...]]) -> int:
        """Of how many others something here may be the same, by figures alone."""
        return int(self._close(features).any(dim=1).sum()) if self.steps and features else 0

    def _close(self, features: Collection[tuple[float, ...]]) -> torch.Tensor:
        """Whether figures are those of a step here: bool [features, steps]."""
        mine = torch.tensor([*features], dtype=torch.float64)[:, None]
        room = 1e-3 * torch.maximum(self._table[:, 1:2], mine[:, :, 1:2])
        return ((self._table[:, :4] - mine[:, :, :4]).abs() <= room).all(dim=2) & (
            (self._table[:, 4] - mine[:, :, 4]).abs() < 1e-9
        )

    def _near(self, step: Step) -> list[Step]:
        """What may be the same value by its figures."""
        if id(step) in self._beside:
            return self._beside[id(step)]
        if not self.steps or step.features is None:
            return []
        return [
            self.steps[index]
            for index in self._close([step.features])[0].nonzero().flatten().tolist()
        ]


def _entries(value: torch.Tensor) -> torch.Tensor:
    """The entries of a result; what a mask has filled in is one number."""
    return (
        value.to(torch.float64).flatten().nan_to_num(HIDDEN, HIDDEN, -HIDDEN).clamp(-HIDDEN, HIDDEN)
    )
