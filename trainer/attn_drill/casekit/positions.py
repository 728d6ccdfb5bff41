"""Suites for challenges with rotary positions (RoPE).

Most positions of these suites are scattered, for two reasons: a shift of all positions does not
change attention, and an implementation makes the positions 0 .. L-1 itself.

Use odd lengths, at most three sequences, and a table with at least 3 times as many rows as tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attn_drill.casekit import suites
from attn_drill.casekit._maker import CaseMaker, Mask, Sizes, shape
from attn_drill.casekit._roles import Projected
from attn_drill.model.case import Case

Positions = Tensor | str | int | None


@dataclass(frozen=True)
class RotaryMaker(CaseMaker):
    """Make the cases of a challenge with the input `position_ids`."""

    places: str = "B L"  # the dimensions of the positions, "B L" or "L"
    # The letter for the number of rows in the table of positions; "" if there is no table and
    # positions have no limit.
    rows: str = "T"
    words: str = ""  # a suffix for the name of every case

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
            positions: a tensor; "scattered"; an int for scattered positions below it; None for no
                positions; "with a mask" for scattered positions, except for no positions in a call
                without a mask if the challenge has masks.
            base: the base of the angles: the constructor's argument `rope_base`, or the input
                `base` of a function. None keeps the default.
        """
        all_inputs, arguments = dict(inputs or {}), dict(init or {})
        if isinstance(positions, int):
            all_inputs["position_ids"] = self.scattered(more, positions)
        elif positions == "scattered":
            all_inputs["position_ids"] = self.scattered(more)
        elif not isinstance(positions, str):
            all_inputs["position_ids"] = positions
        if base is not None and self.init:
            arguments["rope_base"] = base
        elif base is not None:
            all_inputs["base"] = base
        return super().__call__(name + self.words, inputs=all_inputs, init=arguments, **more)

    def one_call(self, sizes: Sizes, chosen: Mapping[str, object], mask: Mask) -> dict[str, object]:
        """Return all inputs of a call. By default, a call has positions if it has a mask."""
        inputs = super().one_call(sizes, chosen, mask)
        if "position_ids" not in inputs:
            is_bare = bool(self.mask) and mask is None
            inputs["position_ids"] = None if is_bare else self.scattered(sizes)
        return inputs

    def table_of(self, rows: int) -> dict[str, int]:
        """Return the size that gives the table this number of rows; {} if there is no table."""
        return {self.rows: rows} if self.rows else {}

    def scattered(self, sizes: Sizes, high: int | None = None) -> Tensor:
        """Return unordered positions below `high`, by default below the number of rows."""
        high = high or sizes.get(self.rows, 20)
        return self.draw.positions(*shape(self.places, sizes), high=high)

    def at_one_position(self, sizes: Sizes) -> dict[str, object]:
        """Return one position for all tokens of a sequence, so queries and keys turn equally."""
        high = sizes.get(self.rows, 20)
        position = self.draw.integers(sizes["B"], 1, low=1, high=high)
        return {"position_ids": position.expand(sizes["B"], sizes["L"])}

    def shared(self, sizes: Sizes) -> dict[str, object]:
        """Return inputs and positions that all batch items share."""
        positions = self.scattered({**sizes, "B": 1}).expand(sizes["B"], sizes["L"])
        return {**super().shared(sizes), "position_ids": positions}


def orders(case: RotaryMaker, **sizes: Any) -> Iterator[Case]:
    """Yield unordered, repeated, falling and large positions.

    Mistakes: positions that are ignored, sorted, replaced by a count from the first position, or
    cut to the length of the call; the positions of the first batch item or of one token for all.
    """
    batch, length = sizes["B"], sizes["L"]
    top = sizes.get(case.rows, 200) - 1
    item, token = torch.arange(batch)[:, None], torch.arange(length)

    def at(name: str, positions: Tensor, **other: int) -> Case:
        lines = positions if "B" in case.places.split() else positions[0]
        return case(name, positions=lines, **{**sizes, **other})

    yield case("scattered positions", positions="scattered", **sizes)
    yield at("repeated and falling positions", top - token // 2 * 3 - 2 * item)
    far = top - 2 * length + 2 * token
    yield at("every other position, far along", far.expand(batch, length))
    shuffled = (case.draw.integers(1, 1, high=length) + 2 * token) % length
    yield at("one sequence, shuffled", shuffled, B=1)
    yield at("one token of every sequence, far along (a decode step)", top - 7 * item, L=1)


def full_table(case: RotaryMaker, **sizes: Any) -> Iterator[Case]:
    """Yield calls with as many tokens as the table has rows.

    Mistakes: a table that is one row too short; a call of full length that is refused; the rows in
    order for every call of full length.
    """
    name = "as many tokens as the table has rows"
    equal = f"{sizes.get('equal', '')}, L {case.rows}"
    full = {**sizes, case.rows: sizes["L"], "equal": equal}
    yield case(name, positions=None, **full)
    rows = torch.arange(sizes["L"])
    orders = torch.stack([rows.flip(0), rows.roll(3), rows.roll(1)])
    yield case(f"{name}, in other orders", positions=orders[: sizes["B"]], **full)


def equal_sizes(case: RotaryMaker, **sizes: Any) -> Iterator[Case]:
    """Yield calls with equal sizes, in which angles on a wrong axis raise no exception.

    Mistakes: angles without an axis for the heads or with this axis in another place; code that
    infers the meaning of positions from their length.
    """
    heads = [letter for letter in ("H", "Hkv") if letter in sizes]

    def same(name: str, *letters: str, positions: str | None = "scattered") -> Case:
        equal = dict.fromkeys(letters, sizes[letters[0]])
        words = " ".join(letters)
        return case(name, positions=positions, **{**sizes, **equal, "equal": words})

    yield same("as many batch items as heads", "B", *heads)
    yield same("as many heads as tokens", "L", *heads)
    yield same("as many batch items as tokens", "L", "B")
    yield same("as many batch items as heads and tokens", "L", "B", *heads)
    if case.mask:
        yield same("as many heads as tokens, no positions", "L", *heads, positions=None)


def bases(case: RotaryMaker, **sizes: Any) -> Iterator[Case]:
    """Yield other bases. Use the same sizes as cases with the default base.

    Mistakes: a base that is ignored, tables that are kept for later objects of the same sizes.
    """
    yield case("base 100", positions="scattered", base=100.0, **sizes)
    none = None if case.mask else "scattered"
    yield case("base 500000", positions=none, base=500000.0, **sizes)


def far_along(case: RotaryMaker, farthest: int = 8999, **sizes: Any) -> Iterator[Case]:
    """Yield large positions in all dtypes. Use a head dim of about 16.

    Mistakes: positions, frequencies or angles in bfloat16 or float16, which cannot hold odd numbers
    above 256 or 2048; a table of fixed length. An answer may round tables of cosines to the dtype
    of the input, so in bfloat16 the output projection is the identity, to avoid other rounding.
    """

    def far(name: str, high: int, **more: Any) -> Case:
        return case(name, positions=high, **more, **{**sizes, **case.table_of(high)})

    yield far(f"positions up to {farthest}", farthest + 1)
    # This case has the default base: float32 holds its frequencies well, however an answer computes
    # them. With another base, a right answer can lose many times more than the reference.
    yield far("float64, positions up to 1999", 2000, dtype="float64")
    # A base of 500 gives frequencies with a large rounding error in bfloat16.
    apart: dict[str, Any] = {}
    if isinstance(case.roles, Projected):
        apart = case.roles.heads_apart(case, case.with_products(sizes))
    yield far("bfloat16, positions up to 1999", 2000, dtype="bfloat16", base=500.0, **apart)


def left_padding(case: RotaryMaker, **sizes: Any) -> Iterator[Case]:
    """Yield a batch for generation, with padding on the left. The positions count real tokens.

    Mistakes: 0 .. L-1 for all batch items, in bfloat16.
    """
    real = case.draw.padding(sizes["B"], sizes["L"], side="left")
    count = (real.cumsum(-1) - 1).clamp(min=0)
    mask = real[:, None, None, :]
    name = "bfloat16, padding on the left, positions count real tokens"
    yield case(name, mask=mask, positions=count, dtype="bfloat16", **sizes)


def weights_shown(case: RotaryMaker, **sizes: Any) -> Iterator[Case]:
    """Yield cases whose output shows the weights: features 0 .. L-1 of every head are its weights.

    With these cases, the report can explain wrong positions.
    """
    roles = suites.projected(case)
    all_sizes = case.with_products(sizes)
    length = sizes["L"]

    def shown(name: str, positions: Tensor | None) -> Case:
        inputs = case.drawn(all_sizes)
        inputs[roles.value][..., :length] = torch.eye(length)
        weights = roles.drawn_weights(case, all_sizes)
        # Queries and keys are larger than usual, so that scores of different positions differ.
        weights["q"] *= 2
        weights["k"] *= 2
        weights["v"][:, :length] = torch.eye(length, weights["v"].shape[-1])
        weights["o"] = torch.eye(all_sizes["H"] * all_sizes["D"])
        parts = roles.heads_apart(case, all_sizes)
        parts["inputs"] = inputs
        parts["parameters"] = roles.parameters(case, all_sizes, weights, {"v", "o"})
        return case(name, positions=positions, **parts, **sizes)

    yield shown("heads apart, their first features are the weights", None)
    gaps = torch.arange(length) * 2 + torch.arange(length) // 2
    items = torch.arange(sizes["B"])[:, None]
    yield shown("the same with gaps between positions", gaps + items * gaps.sign())


def growth(case: RotaryMaker, small: Sizes, large: Sizes) -> Iterator[Case]:
    """Yield calls in two sizes whose operations are counted, with positions and without.

    Mistakes: a loop over batch items, heads or tokens. No other case has these bases, and a call
    without positions has at least 17 tokens. So an answer that keeps tables after the life of an
    object, or lets them grow, makes tables in both sizes.
    """
    few, many = {**small, "L": 3, **case.table_of(31)}, {**large, "L": 9}
    name = "everything, mask and positions"
    yield from suites.growth(case, name, few, many, mask=case.mask, base=123.0)
    few, many = {**small, "L": 17, **case.table_of(20)}, {**large, "L": 21, **case.table_of(25)}
    yield from suites.growth(case, "everything, no mask, no positions", few, many, base=321.0)
    few = {**small, "B": 1, "L": 33, **case.table_of(400)}
    yield from suites.growth(case, "length, no mask", few, {"L": 300}, positions=400, base=231.0)
