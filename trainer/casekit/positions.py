"""Suites for challenges with rotary positions (RoPE).

Most positions of these suites are scattered: attention does not feel a shift of all positions, and
0 .. L-1 are the positions that an implementation makes itself.

Take odd lengths, three sequences at most, and a table of at least 3 times as many rows as tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from trainer.casekit import suites
from trainer.casekit.maker import CaseMaker, Mask, shape
from trainer.casekit.roles import Projected
from trainer.model.case import Case

Positions = Tensor | str | int | None


@dataclass(frozen=True)
class RotaryMaker(CaseMaker):
    """Make the cases of a challenge with the input `position_ids`.

    Attributes:
        places: the dimensions of the positions, "B L" or "L".
        rows: the letter of the number of rows of a table of positions; "" if there is none, and any
            position may come.
        words: added to the name of every case.
    """

    places: str = "B L"
    rows: str = "T"
    words: str = ""

    def __call__(
        self,
        name: str,
        *,
        positions: Positions = "with a mask",
        base: float | None = None,
        inputs: Mapping[str, object] | None = None,
        init: Mapping[str, object] | None = None,
        **more: Any,
    ) -> Case:
        """Return one case.

        Args:
            name: of the case.
            positions: a tensor; "scattered"; a number for scattered ones below it; None to give
                none; "with a mask" for scattered ones, except in a call without the mask that
                the challenge could have.
            base: of the angles: the constructor's argument `rope_base`, or the input `base` of a
                function. None leaves it to its default.
            inputs, init: as for a CaseMaker.
            more: further arguments of a CaseMaker.
        """
        given, arguments = dict(inputs or {}), dict(init or {})
        if isinstance(positions, int):
            given["position_ids"] = self.scattered(more, positions)
        elif positions == "scattered":
            given["position_ids"] = self.scattered(more)
        elif not isinstance(positions, str):
            given["position_ids"] = positions
        if base is not None and self.init:
            arguments["rope_base"] = base
        elif base is not None:
            given["base"] = base
        return super().__call__(name + self.words, inputs=given, init=arguments, **more)

    def one_call(
        self, sizes: Mapping[str, int], given: Mapping[str, object], mask: Mask
    ) -> dict[str, object]:
        """Return all inputs of a call. Positions that are not given follow the mask."""
        inputs = super().one_call(sizes, given, mask)
        if "position_ids" not in inputs:
            is_bare = bool(self.mask) and mask is None
            inputs["position_ids"] = None if is_bare else self.scattered(sizes)
        return inputs

    def table_of(self, rows: int) -> dict[str, int]:
        """Return the size of a table of so many rows, if there is a table."""
        return {self.rows: rows} if self.rows else {}

    def scattered(self, sizes: Mapping[str, int], high: int | None = None) -> Tensor:
        """Return positions in no order, below `high` or the number of rows."""
        high = high or sizes.get(self.rows, 20)
        return self.draw.positions(*shape(self.places, sizes), high=high)

    def at_one_position(self, sizes: Mapping[str, int]) -> dict[str, object]:
        """Return one position for all tokens of a sequence: so queries and keys turn alike."""
        high = sizes.get(self.rows, 20)
        position = self.draw.integers(sizes["B"], 1, low=1, high=high)
        return {"position_ids": position.expand(sizes["B"], sizes["L"])}

    def shared(self, sizes: Mapping[str, int]) -> dict[str, object]:
        """Return inputs and positions that are the same for all batch items."""
        positions = self.scattered({**sizes, "B": 1}).expand(sizes["B"], sizes["L"])
        return {**super().shared(sizes), "position_ids": positions}


def orders(case: RotaryMaker, **sizes: Any) -> Iterator[Case]:
    """Yield positions in no order, repeated, falling and far along.

    Mistakes: positions that are ignored, sorted, counted on from the first one or cut to the length
    of the call; the positions of the first batch item or of one token for all.
    """
    batch, length = sizes["B"], sizes["L"]
    top = sizes.get(case.rows, 200) - 1
    item, token = torch.arange(batch)[:, None], torch.arange(length)

    def given(name: str, positions: Tensor, **other: int) -> Case:
        is_for_items = "B" in case.places.split()
        lines = positions if is_for_items else positions[0]
        return case(name, positions=lines, **{**sizes, **other})

    yield case("scattered positions", positions="scattered", **sizes)
    yield given("repeated and falling positions", top - token // 2 * 3 - 2 * item)
    far = top - 2 * length + 2 * token
    yield given("every other position, far along", far.expand(batch, length))
    shuffled = (case.draw.integers(1, 1, high=length) + 2 * token) % length
    yield given("one sequence, shuffled", shuffled, B=1)
    yield given("one token of every sequence, far along (a decode step)", top - 7 * item, L=1)


def full_table(case: RotaryMaker, **sizes: Any) -> Iterator[Case]:
    """Yield as many tokens as the table has rows.

    Mistakes: a table that is a row too short or that is refused, a table whose first rows are taken
    for every call of its length.
    """
    alike = f"{sizes.get('alike', '')}, L {case.rows}"
    full = {**sizes, case.rows: sizes["L"], "alike": alike}
    yield case("as many tokens as the table has rows", positions=None, **full)
    rows = torch.arange(sizes["L"])
    orders = [rows.flip(0), rows.roll(3), rows.roll(1)][: sizes["B"]]
    name = "as many tokens as the table has rows, in other orders"
    yield case(name, positions=torch.stack(orders), **full)


def alike(case: RotaryMaker, **sizes: Any) -> Iterator[Case]:
    """Yield sizes that are equal, where angles on a wrong axis raise nothing.

    Mistakes: angles without an axis for the heads or with one in another place, positions whose
    meaning is told by their length.
    """
    heads = [letter for letter in ("H", "Hkv") if letter in sizes]

    def same(name: str, *letters: str, positions: str | None = "scattered") -> Case:
        equal = dict.fromkeys(letters, sizes[letters[0]])
        words = " ".join(letters)
        return case(name, positions=positions, **{**sizes, **equal, "alike": words})

    yield same("as many batch items as heads", "B", *heads)
    yield same("as many heads as tokens", "L", *heads)
    yield same("as many batch items as tokens", "L", "B")
    yield same("as many batch items as heads and tokens", "L", "B", *heads)
    if case.mask:
        name = "as many heads as tokens, no positions"
        yield same(name, "L", *heads, positions=None)


def bases(case: RotaryMaker, **sizes: Any) -> Iterator[Case]:
    """Yield other bases. Take sizes of which there are cases with the base by default.

    Mistakes: a base that is ignored, tables that are kept for later objects of these sizes.
    """
    yield case("base 100", positions="scattered", base=100.0, **sizes)
    none = None if case.mask else "scattered"
    yield case("base 500000", positions=none, base=500000.0, **sizes)


def far_along(case: RotaryMaker, farthest: int = 8999, **sizes: Any) -> Iterator[Case]:
    """Yield large positions, in all dtypes. Take a head dim of about 16.

    Mistakes: positions, frequencies or angles in bfloat16 or float16, which hold no odd number
    above 256 or 2048; a table of fixed length. Tables of cosines may be rounded to the dtype of the
    input: the output projection is the identity, so that little else is.

    Args:
        case: of the challenge.
        farthest: the largest position.
        sizes: as for all suites.
    """

    def far(name: str, high: int, **more: Any) -> Case:
        return case(name, positions=high, **more, **{**sizes, **case.table_of(high)})

    yield far(f"positions up to {farthest}", farthest + 1)
    # The default base, because float32 holds its frequencies well, however they are written. With
    # another base a right answer can lose many times more than the reference.
    yield far("float64, positions up to 1999", 2000, dtype="float64")
    # A base of 500 makes frequencies that bfloat16 rounds much.
    apart: dict[str, Any] = {}
    if isinstance(case.roles, Projected):
        apart = case.roles.heads_apart(case, case.with_products(sizes))
    yield far("bfloat16, positions up to 1999", 2000, dtype="bfloat16", base=500.0, **apart)


def left_padding(case: RotaryMaker, **sizes: Any) -> Iterator[Case]:
    """Yield a batch for generation: padding on the left, and positions that count real tokens.

    Mistakes: 0 .. L-1 for all batch items, in bfloat16.
    """
    real = case.draw.padding(sizes["B"], sizes["L"], side="left")
    count = (real.cumsum(-1) - 1).clamp(min=0)
    mask = real[:, None, None, :]
    name = "bfloat16, padding on the left, positions count real tokens"
    yield case(name, mask=mask, positions=count, dtype="bfloat16", **sizes)


def weights_shown(case: RotaryMaker, **sizes: Any) -> Iterator[Case]:
    """Yield cases whose output shows the weights: features 0 .. L-1 of every head are its weights.

    They exist for the report, which can then tell how positions are wrong. Mistakes: none of their
    own.
    """
    roles = suites.projected(case)
    known = case.with_products(sizes)
    length = sizes["L"]

    def shown(name: str, positions: Tensor | None) -> Case:
        inputs = case.drawn(known)
        inputs[roles.value][..., :length] = torch.eye(length)
        weights = roles.drawn_weights(case, known)
        # Queries and keys are larger than the engine's own, so that scores tell positions apart.
        weights["q"] *= 2
        weights["k"] *= 2
        weights["v"][:, :length] = torch.eye(length, weights["v"].shape[-1])
        weights["o"] = torch.eye(known["H"] * known["D"])
        parameters = roles.parameters(case, known, weights, {"v", "o"})
        given = roles.heads_apart(case, known) | {"parameters": parameters, "inputs": inputs}
        return case(name, positions=positions, **given, **sizes)

    yield shown("heads apart, their first features are the weights", None)
    gaps = torch.arange(length) * 2 + torch.arange(length) // 2
    items = torch.arange(sizes["B"])[:, None]
    yield shown("the same with gaps between positions", gaps + items * gaps.sign())


def growth(case: RotaryMaker, small: Mapping[str, int], large: Mapping[str, int]) -> Iterator[Case]:
    """Yield calls in two sizes whose operations are counted, with positions and without.

    Mistakes: a loop over batch items, heads or tokens. No other case has these bases, and the
    smallest has 17 positions: so tables that outlive an object, or grow, are made in both sizes.
    """

    def both(name: str, few: Mapping[str, int], many: Mapping[str, int], **more: Any) -> Case:
        (probe,) = suites.growth(case, name, {**small, **few}, {**large, **many}, **more)
        return probe

    rows = case.table_of(31)
    few, many = {"L": 3, **rows}, {"L": 9}
    yield both("everything, mask and positions", few, many, mask=case.mask, base=123.0)
    few, many = {"L": 17, **case.table_of(20)}, {"L": 21, **case.table_of(25)}
    yield both("everything, no mask, no positions", few, many, base=321.0)
    few, many = {**small, "L": 33, **case.table_of(400)}, {**small, "L": 300}
    yield both("length, no mask", few, many, positions=400, base=231.0)
