"""The line at which the computation first left the right path.

Right results of one case stand on a shelf: what the reference and every other right answer of the pack make on their
way. From a wrong output the submission's own results are followed backwards as far as they are none of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from trainer.grading.diagnosis.derivation import (
    KINDS,
    alike,
    computed_of,
    factor_of,
    given_to,
    kind_of,
    laid_out_of,
    operands_of,
)
from trainer.grading.diagnosis.layout import LAYOUTS
from trainer.grading.diagnosis.shelf import Shelf
from trainer.grading.diagnosis.trail import Step, Trail

# Operations that take a part of their input, and those that work on every entry alone or put parts together.
_PARTS = frozenset(
    "split split_with_sizes unsafe_split chunk unbind select slice narrow index index_select".split()
)
_ENTRYWISE = frozenset("add sub mul div neg cat stack view_as_real view_as_complex complex".split())
_FUNCTIONS = frozenset("sin cos exp tanh relu neg reciprocal pow".split())
_PIECEWISE = frozenset(
    "mm bmm addmm baddbmm mul div t transpose permute unsqueeze squeeze expand clone return".split()
)


@dataclass(frozen=True)
class Parting:
    """Where the computation left the right path: the first result that is wrong as far as can be told, and its line.

    `unfinished`: it is right, but no operand for this step; perhaps something was left out that would have bound one of these `names` anew.
    """

    step: int
    line: int
    unfinished: int | None = None
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Use:
    """Where a trail does something with what is an operand elsewhere (its twins), directly or with what it has made of it."""

    trail: Trail
    step: int
    twins: set[int]
    direct: bool


class Path:
    """A submission's trail beside right ones.

    Args:
        right: what right answers make.
        reference: what the reference makes.
        wrong: what the reference makes with the known mistake in it, if one is known.
        passed: what the submission makes in other cases, which it passes; asked only where a function of its own is called from several places.
        around: the lines of the function that a line is in.
    """

    def __init__(
        self,
        trail: Trail,
        right: Shelf,
        reference: Trail,
        wrong: Trail | None = None,
        passed: Callable[[int], Sequence[Trail]] = lambda line: (),
        around: Callable[[int], range] = lambda line: range(line, line + 1),
    ) -> None:
        self.trail, self.right, self.reference, self.mistaken, self.passed = (
            trail,
            right,
            reference,
            wrong,
            passed,
        )
        self._around = around
        self.wrong = None if wrong is None else Shelf([wrong], right.sizes)
        for shelf in (self.right, self.wrong):
            if shelf is not None:
                shelf.look_ahead(trail)

    def is_right(self, number: int) -> bool:
        """Whether the step is given, or a right answer makes the same."""
        step = self.trail.steps[number]
        if self._is_integer_missed and step.operation == "number" and step.is_float:
            return False
        if step.operation.startswith("input "):
            return True
        return self.right.has(step) and not self._is_rather_wrong(step)

    def _is_rather_wrong(self, step: Step) -> bool:
        """Whether what a right answer makes as well is the known mistake's: the reference does not make it, or only with two axes exchanged."""
        if self.wrong is None or step.operation == "number" or not self.wrong.has(step):
            return False
        if not self._of_reference.has(step):
            return True
        shape = [] if step.value is None else [size for size in step.value.shape if size > 1]
        return (
            len(set(shape)) < len(shape)
            and self.wrong.has(step, exchanging=False)
            and not self.right.has(step, exchanging=False)
        )

    @cached_property
    def _of_reference(self) -> Shelf:
        """What the reference itself makes."""
        shelf = Shelf([self.reference], self.right.sizes)
        shelf.look_ahead(self.trail)
        return shelf

    @cached_property
    def _is_integer_missed(self) -> bool:
        """Whether an output is a float where the reference gives an integer."""
        mine, theirs = (
            {name: trail.steps[one] for name, one in trail.made_by.items()}
            for trail in (self.trail, self.reference)
        )
        return any(
            one.operation == theirs[name].operation == "number"
            and one.is_float
            and not theirs[name].is_float
            for name, one in mine.items()
            if name in theirs
        )

    def is_known_wrong(self, number: int) -> bool:
        """Whether the known mistake makes the same, and no right answer does."""
        step = self.trail.steps[number]
        if (
            step.operation == "number" and not step.is_large_number
        ):  # small numbers are equal by chance
            return False
        return self.wrong is not None and not self.is_right(number) and self.wrong.has(step)

    def parting(self, outputs: Iterable[str]) -> Parting | None:
        """The first wrong line on the way to these outputs, or None where nothing can be told."""
        ends = [self._source_of(name) for name in outputs if name in self.trail.made_by]
        written = [
            number
            for number, step in enumerate(self.trail.steps)
            if step.into >= 0 and self._is_input(step.into) and step.lines
        ]
        if written:  # an input is changed in place
            return self._at(written[0])
        if not ends:
            return self._first_known_wrong()
        region = self._region(ends)
        told = [number for number in sorted(region) if self._tells(number)]
        if not told:  # nothing to compare with, but perhaps one line has made it all
            lines = {
                self.trail.steps[number].lines[0]
                for number in region
                if self.trail.steps[number].lines
            }
            return Parting(ends[0], lines.pop()) if len(lines) == 1 else None
        first = self._entry(region, told)
        place = self._misfit(first)
        place = self._forgotten(first, region) if place == first else place
        if place >= first:
            return self._at(place)
        names = frozenset(self.trail.steps[one].name for one in self._laid_out(place))
        return replace(self._at(place), unfinished=first, names=names)

    def _source_of(self, output: str) -> int:
        """Where a wrong output was made; where it is something right that stands for another, where that was computed, if for this output alone."""
        end = self.trail.made_by[output]
        if not self.is_right(end) or self._is_unfinished(end, output):
            return end
        others = {
            one
            for name in self.trail.made_by
            if name != output
            for one in self._put_together_of(self.trail.made_by[name])
        }
        own = [
            one
            for one in self._put_together_of(end)
            if one not in others and self.trail.steps[one].lines
        ]
        return min(own, default=end)

    def _is_unfinished(self, number: int, output: str) -> bool:
        """Whether the reference makes it on the way to this output and goes on from there: something was forgotten."""
        end = self.reference.made_by.get(output)
        if end is None:
            return False
        laid = laid_out_of(self.reference, end)
        return any(
            alike(self.trail.steps[number], self.reference.steps[one], self.right.sizes)
            for one in self.reference.leading_to([end])
            if one < laid
        )

    def _put_together_of(self, number: int) -> set[int]:
        """The right results that it is one of in another layout, or several of side by side."""
        found: set[int] = set()
        waiting, seen = [number], set[int]()
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            step = self.trail.steps[number]
            if (
                (step.operation in LAYOUTS or step.operation == "cat")
                and step.parents
                and all(self.is_right(one) for one in step.parents)
            ):
                waiting += step.parents
            else:
                found.add(number)
        return found

    def _tells(self, number: int) -> bool:
        step = self.trail.steps[number]
        return bool(step.lines) and step.tells

    def _first_known_wrong(self) -> Parting | None:
        """Where no output is a tensor nothing can be followed back: the first result or number that the known mistake makes and no right answer."""
        if self.wrong is None:
            return None
        given = max(
            (
                number
                for number, step in enumerate(self.trail.steps)
                if step.operation.startswith("input ")
            ),
            default=-1,
        )
        known = next(
            (
                number
                for number, step in enumerate(self.trail.steps)
                if number > given and step.lines and self.is_known_wrong(number)
            ),
            None,
        )
        if known is None:
            return None
        # What it was made from may be wrong already, in a way that the reference never writes down: back to where all it was made from is right.
        region = self._region([known])
        steps = [(one, self.trail.steps[one]) for one in sorted(region)]
        entries = [
            one
            for one, step in steps
            if step.lines and step.parents and all(self.is_right(parent) for parent in step.parents)
        ]
        return self._at(entries[0]) if entries else None

    def _entry(self, region: set[int], told: list[int]) -> int:
        """The first step that is not right though all it was made from is.

        What is made from nothing that is given, and is neither right nor known to be wrong, may be another way to write a right
        constant: it does not count, if there is anything else.
        """
        known = next((number for number in told if self.is_known_wrong(number)), None)
        if known is not None and not self._is_made_from_inputs(known):
            return known
        counted = [number for number in told if self._is_made_from_inputs(number)] or told
        counted = [number for number in counted if number not in self._vouched] or counted
        counted = [
            number
            for number in counted
            if self.is_known_wrong(number) or not self._is_style(number)
        ] or counted
        entries = [
            number
            for number in counted
            if not any(parent in counted for parent in self._informative_parents(number))
        ]
        first = self._levelled(min(entries or counted))
        return first if known is None or known in self._vouched else min(known, first)

    def _is_style(self, number: int) -> bool:
        """Whether it is no right answer's result, but may well be on the way to one."""
        return (
            self._is_piece(number)
            or self._is_taken_apart(number)
            or self._is_scaled(number)
            or self._is_of_a_product(number)
            or self._is_done_early(number)
        )

    def _is_done_early(self, number: int) -> bool:
        """Whether a function of every entry alone was taken of something right, and right answers take it before they repeat the entries."""
        step = self.trail.steps[number]
        parents = self._informative_parents(number)
        return (
            step.operation in _FUNCTIONS
            and len(parents) == 1
            and self.is_right(parents[0])
            and self.right.has_entries(step)
        )

    def _is_of_a_product(self, number: int) -> bool:
        """Whether torch laid something right out for a product of matrices on the same line, heads beside heads."""
        step = self.trail.steps[number]
        if (
            step.operation not in LAYOUTS
            or step.value is None
            or step.value.dim() != 3
            or not self.is_right(laid_out_of(self.trail, number))
        ):
            return False
        users = [self.trail.steps[one] for one in self.trail.users.get(number, ())]
        return bool(users) and all(
            other.operation == "bmm" and other.lines == step.lines for other in users
        )

    def _is_scaled(self, number: int) -> bool:
        """Whether it is something right times a factor that right answers have too, for the first time: they may multiply something else by it."""
        number = laid_out_of(self.trail, number)
        if self._scale(number) is None or not all(
            self.is_right(one) for one in self._informative_parents(number)
        ):
            return False
        return all(
            one == number or self._scale(one) is None for one in self.trail.leading_to([number])
        )

    def _scale(self, number: int) -> float | None:
        """By which number that right answers multiply by too, and other than 1 or -1, a step multiplies."""
        factor = factor_of(self.trail, number)
        return (
            factor
            if factor is not None and abs(abs(factor) - 1) > 1e-3 and self.right.has_factor(factor)
            else None
        )

    def _is_piece(self, number: int) -> bool:
        """Whether it is made again and again, as in a loop over heads or blocks, and all its entries are entries of right results.

        What is only laid out anew, or put together, may be put in the wrong order.
        """
        step = self.trail.steps[number]
        if (
            self._visits[step.lines, step.operation] < 2
            or self.is_right(number)
            or not self.right.has_entries(step)
        ):
            return False
        if step.operation in _PARTS:
            return all(
                step.entries < self.trail.steps[parent].entries for parent in step.parents[:1]
            )
        if step.operation in ("mul", "div") and factor_of(self.trail, number) is None:
            return False
        return step.operation in _PIECEWISE

    def _is_taken_apart(self, number: int) -> bool:
        """Whether it is a part of something right of which the other parts are taken as well."""
        step = self.trail.steps[number]
        if step.operation not in _PARTS or not step.parents or not self.is_right(step.parents[0]):
            return False
        whole = step.parents[0]
        users = [self.trail.steps[one] for one in self.trail.users[whole]]
        return (
            sum(one.entries for one in users if one.operation in _PARTS and one.parents[0] == whole)
            == self.trail.steps[whole].entries
        )

    @cached_property
    def _visits(self) -> Counter[tuple[tuple[int, ...], str]]:
        """How often each line has made something by each operation."""
        return Counter((step.lines, step.operation) for step in self.trail.steps)

    def _levelled(self, number: int) -> int:
        """The step before whose entries are all one number, which no right answer has: what was clamped, say. It has no figures to be found by."""
        usual = {_level(one.value) for one in self.reference.steps if one.value is not None}
        while True:
            levels = {
                parent: _level(step.value)
                for parent in self.trail.steps[number].parents
                if (step := self.trail.steps[parent]).value is not None
            }
            before = [
                parent
                for parent, level in levels.items()
                if level is not None and level not in usual and self._is_made_from_inputs(parent)
            ]
            if not before:
                return number
            number = min(before)

    @cached_property
    def _vouched(self) -> set[int]:
        """What is none of a right answer's results, but of which something right was made: a whole of right and wrong parts, perhaps."""
        found: set[int] = set()
        for number in reversed(range(len(self.trail.steps))):
            step = self.trail.steps[number]
            whole_to_part = step.operation in LAYOUTS or step.operation in _PARTS
            if number in found:
                passed_on = whole_to_part or step.operation in _ENTRYWISE
            else:
                passed_on = whole_to_part and step.features is not None and self.is_right(number)
            if passed_on:
                found.update(parent for parent in step.parents if not self.is_right(parent))
        return found

    def _at(self, number: int) -> Parting:
        """The step's line; the line of the call where the same line of a function of the file's own is right when it is called elsewhere."""
        step = self.trail.steps[number]
        if not self.is_right(number) and (place := self._set_up(number)) is not None:
            return Parting(number, place)
        lines = step.lines
        while len(lines) > 1 and self._is_right_elsewhere(lines, step.operation):
            lines = lines[1:]
        return Parting(number, lines[0])

    def _is_right_elsewhere(self, lines: tuple[int, ...], operation: str) -> bool:
        """Whether the innermost line makes something right, or something that ends well, when it is called from another line."""

        def is_meant(other: Step) -> bool:
            return (
                other.lines[:1] == lines[:1]
                and other.lines[1:] != lines[1:]
                and other.operation == operation
            )

        if any(
            is_meant(other) and self._tells(place) and self.is_right(place)
            for place, other in enumerate(self.trail.steps)
        ):
            return True
        if self._returns_right_elsewhere(lines):
            return True
        here = {step.lines for step in self.trail.steps}
        return any(
            is_meant(step := trail.steps[place]) and step.lines not in here
            for trail in self.passed(lines[0])
            for place in trail.leading_to_outputs
        )

    def _returns_right_elsewhere(self, lines: tuple[int, ...]) -> bool:
        """Whether the function that the innermost line is in returns only right results when it is called from another line."""
        function = self._around(lines[0])
        if len(function) < 2:
            return False
        returned: dict[tuple[int, ...], list[int]] = {}
        for number, step in enumerate(self.trail.steps):
            if (
                step.operation == "return"
                and step.lines
                and step.lines[0] in function
                and step.lines[1:] != lines[1:]
                and len(step.lines) == len(lines)
            ):
                returned.setdefault(step.lines[1:], []).append(number)
        return any(
            all(self._tells(one) and self.is_right(one) for one in some)
            for some in returned.values()
        )

    def _set_up(self, number: int) -> int | None:
        """Where a constant factor that is wrong was put into an attribute while the module was built."""
        given = next(
            (
                place
                for place, one in enumerate(self.trail.steps)
                if one.operation.startswith("input ")
            ),
            0,
        )
        factor = (
            factor_of(self.trail, number) if number > given else None
        )  # else it was computed while the module was built
        if factor is None or self.right.has_factor(factor):
            return None
        for one in reversed(self.trail.steps[:given]):
            if (
                one.operation == "number"
                and one.is_float
                and any(
                    abs(one.number - want) <= 1e-5 * abs(want)
                    for want in (factor, 1 / factor if factor else 0.0)
                )
            ):
                return one.lines[1] if len(one.lines) > 1 else one.lines[0]
        return None

    def _is_input(self, number: int) -> bool:
        operation = self.trail.steps[number].operation
        return operation.startswith("input ") and not operation.startswith("input parameter ")

    def _is_made_from_inputs(self, number: int) -> bool:
        return bool(self.trail.given[number])

    def _is_made_of_values(self, number: int) -> bool:
        """Whether something that is given has gone into it, other than parameters."""
        return bool(given_to(self.trail, [number]))

    def _informative_parents(self, number: int) -> list[int]:
        """The steps that it was made from; past those that say nothing, what these were made from."""
        found: dict[int, None] = {}
        waiting, seen = [number], {number}
        while waiting:
            for parent in self.trail.steps[waiting.pop()].parents:
                if self.trail.steps[parent].tells:
                    found[parent] = None
                elif parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return sorted(found)

    def _region(self, ends: Iterable[int]) -> set[int]:
        """Everything on the way to the ends that is not right; an end itself counts, right or not: it is no output."""
        region: set[int] = set()
        waiting = list(ends)
        while waiting:
            number = waiting.pop()
            if number not in region:
                region.add(number)
                if not self.is_right(number):
                    waiting += [
                        parent
                        for parent in self.trail.steps[number].parents
                        if not self.is_right(parent)
                    ]
        return region

    def _forgotten(self, number: int, region: Collection[int]) -> int:
        """Where right answers do the same with what they have made of an operand first: the operand, or where it is done too late."""
        done = self._first_computed(number)
        kind = kind_of(self.trail.steps[laid_out_of(self.trail, done)].operation)
        if kind not in KINDS:
            return number
        for operand in self._made_from(self.trail, done):
            if (
                self.is_right(operand)
                and self.trail.steps[operand].lines
                and self._is_made_of_values(operand)
            ):
                uses = [
                    use
                    for trail in self.right.trails
                    if (use := self._use(trail, operand, done, kind)) is not None
                ]
                later = [use for use in uses if not use.direct]
                if len(later) > len(uses) - len(later):  # there may be a style that does both
                    return self._done_late(done, region, later[0]) or operand
        return number

    def _first_computed(self, number: int) -> int:
        """What is first computed of something right that is only laid out anew; of other steps the step itself."""
        if self.trail.steps[number].operation not in LAYOUTS or not self.is_right(
            laid_out_of(self.trail, number)
        ):
            return number
        laid = set(self._laid_out(number))
        users = (
            one
            for one, step in enumerate(self.trail.steps)
            if one not in laid and laid & set(step.parents)
        )
        return next(users, number)

    def _use(self, trail: Trail, operand: int, number: int, kind: str) -> _Use | None:
        """Where another trail does something of this kind with the operand, or else with what it has made of it."""
        step = self.trail.steps[operand]
        twins = {
            one for one, other in enumerate(trail.steps) if alike(step, other, self.right.sizes)
        }
        places = [
            one
            for one, other in enumerate(trail.steps)
            if twins and one not in twins and kind_of(other.operation) == kind
        ]
        given = given_to(self.trail, [number])
        direct = next((one for one in places if twins & operands_of(trail, one, given)), None)
        if direct is not None:
            return _Use(trail, direct, twins, direct=True)
        later = next((one for one in places if twins & set(trail.leading_to([one]))), None)
        return None if later is None else _Use(trail, later, twins, direct=False)

    def _done_late(self, number: int, region: Collection[int], use: _Use) -> int | None:
        """Where what else goes into the forgotten step is used after all."""
        missing = (
            given_to(use.trail, [use.step])
            - given_to(use.trail, use.twins)
            - given_to(self.trail, [number])
        )
        return next(
            (
                one
                for one in sorted(region)
                if self.trail.steps[one].lines and missing & given_to(self.trail, [one])
            ),
            None,
        )

    def _misfit(self, number: int) -> int:
        """Where a wrong result was made from right ones, perhaps one of them does not belong there: then the step that made it."""
        meant = next(
            (found for one in self._laid_out(number) if (found := self._meant(one)) is not None),
            None,
        )
        if meant is None:
            return number
        mine = self._made_from(self.trail, number)
        theirs = self._made_from(self.reference, meant)
        if len(mine) != len(theirs) or (
            len(mine) == 1 and kind_of(self.trail.steps[number].operation) != "product"
        ):
            return number
        odd = [one for one in mine if not any(self._is_meant(one, other) for other in theirs)]
        if not odd and (apart := self._taken_apart_together(mine)) is not None:
            return apart  # the right operands, in exchanged parts
        if len(odd) != 1 or not self.is_right(odd[0]) or not self.trail.steps[odd[0]].lines:
            return number
        users = [
            one
            for one, step in enumerate(self.trail.steps)
            if odd[0] in self._made_from_any(one) and step.operation not in LAYOUTS
        ]
        return odd[0] if len(set(users)) <= 1 else self._handed_back(number, odd[0]) or number

    def _taken_apart_together(self, numbers: Sequence[int]) -> int | None:
        """Where one result was split into all of these, if it was at one line."""
        steps = [self.trail.steps[one] for one in numbers]
        together = {(step.operation, step.parents, step.lines) for step in steps}
        return (
            min(numbers)
            if len(steps) > 1
            and len(together) == 1
            and steps[0].operation in _PARTS
            and steps[0].lines
            else None
        )

    def _handed_back(self, number: int, source: int) -> int | None:
        """Where something was returned from one call before it was used in another."""
        for parent in self.trail.steps[number].parents:
            while (
                parent != source
                and self.trail.steps[parent].operation in LAYOUTS
                and len(self.trail.steps[parent].parents) == 1
            ):
                if (
                    self.trail.steps[parent].operation == "return"
                    and len(self.trail.steps[parent].lines) == 1
                ):
                    return parent
                parent = self.trail.steps[parent].parents[0]
        return None

    def _is_meant(self, number: int, other: int) -> bool:
        """Whether a step is one of the reference's, or was before it was multiplied by a number, or that was."""
        mine = {number, computed_of(self.trail, number)}
        theirs = {other, computed_of(self.reference, other)}
        return any(
            alike(self.trail.steps[one], self.reference.steps[its], self.right.sizes)
            for one in mine
            for its in theirs
        )

    def _laid_out(self, number: int) -> Iterator[int]:
        """The step and those that only lay it out anew."""
        found = {number}
        yield number
        for one, step in enumerate(self.trail.steps[number + 1 :], number + 1):
            if step.operation in LAYOUTS and len(step.parents) == 1 and step.parents[0] in found:
                found.add(one)
                yield one

    def _meant(self, number: int) -> int | None:
        """The step of the reference that this one should have been, as the known mistake tells."""
        if self.mistaken is None:
            return None
        step = self.trail.steps[number]
        for place, other in enumerate(self.mistaken.steps):
            if alike(step, other, self.right.sizes):
                twins = [
                    one
                    for one, its in enumerate(self.reference.steps)
                    if its.operation == other.operation and its.lines == other.lines
                ]
                same_place = [
                    one
                    for one, its in enumerate(self.mistaken.steps)
                    if its.operation == other.operation and its.lines == other.lines
                ]
                return twins[same_place.index(place)] if len(twins) == len(same_place) else None
        return None

    def _made_from(self, trail: Trail, number: int) -> list[int]:
        """What a result was computed from, past all changes of layout and a factor of its own; parameters and constants are left out."""
        found: list[int] = []
        for parent in trail.steps[computed_of(trail, number)].parents:
            parent = laid_out_of(trail, parent)
            if trail.steps[parent].features is not None and not trail.steps[
                parent
            ].operation.startswith("input parameter "):
                found.append(parent)
        return list(dict.fromkeys(found))

    def _made_from_any(self, number: int) -> list[int]:
        return self._made_from(self.trail, number)


def _level(value: torch.Tensor) -> float | None:
    """The one number that all entries are, where they are several and it is not 0 or 1."""
    if value.numel() < 2 or value.dtype == torch.bool:
        return None
    first = value.flatten()[0]
    return float(first) if float(first) not in (0.0, 1.0) and bool((value == first).all()) else None
