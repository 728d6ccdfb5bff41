"""Make cases from sizes: a challenge says once how inputs and outputs follow from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, Protocol

from torch import Tensor

from trainer.casekit.draw import Draw
from trainer.casekit.scores import Scores
from trainer.model.case import Case, axes
from trainer.model.errors import PackError

Sizes = Mapping[str, int]
Parts = dict[str, Any]  # arguments of a CaseMaker: inputs, parameters, init, outputs

Mask = Tensor | str | None
Check = Literal["values", "masks", "train/eval", "properties"]


class Roles(Protocol):
    """Say how a challenge gets at queries, keys and values. Methods return arguments of a case."""

    def scored(self, case: CaseMaker, sizes: Sizes, scores: Scores) -> Parts:
        """Return inputs and parameters that give these scores."""

    def tiny(self, case: CaseMaker, sizes: Sizes) -> Parts:
        """Return inputs and parameters that give values of about 1e-7."""

    def without_biases(self) -> Parts:
        """Return the constructor argument that switches biases off, if there is one."""


@dataclass(frozen=True)
class Second:
    """A second call on the same object.

    Attributes:
        mask: as for the first call.
        sizes: the sizes that differ from those of the first call.
        inputs: inputs that are not drawn, by the names of the first call.
    """

    mask: Mask = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class MaskAxes:
    """The letters of a mask's axes, with "" for an axis that it does not have.

    Attributes:
        batch: the first axis.
        heads: "" if a mask is the same for all heads.
        queries: "" if a mask is the same for all queries.
        keys: the last axis.
    """

    batch: str
    heads: str
    queries: str
    keys: str


@dataclass(frozen=True)
class CaseMaker:
    """Make the cases of one challenge. Call an instance with a name and the sizes of a case.

        case = CaseMaker(
            draw,
            init={"d_model": "M", "num_heads": "H"},
            inputs={"x": "B L M"},
            outputs={"out": "B L M"},
            products={"M": "H D"},
            mask="B H L L",
        )
        yield case("no mask", B=2, L=5, H=3, D=4)
        yield case("causal", B=2, L=5, H=3, D=4, mask="causal")

    Attributes:
        draw: what `cases(draw)` receives.
        inputs: the dimensions of every drawn input, in letters.
        outputs: the dimensions of every output, in letters.
        init: the letter of every constructor argument that is a size. A case without a size for the
            letter leaves the argument to its default.
        products: sizes that follow from others: `{"M": "H D"}` makes M = H * D.
        mask: the dimensions to which every mask broadcasts; "" if there is no input `mask`. They
            may lack heads, "B Lq Lk", and queries, "B Lk": no mask has more axes then, nor fewer.
            Letters of lengths begin with L.
        roles: where queries, keys and values come from; several suites need it.
    """

    draw: Draw
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    init: Mapping[str, str] = field(default_factory=dict)
    products: Mapping[str, str] = field(default_factory=dict)
    mask: str = ""
    roles: Roles | None = None

    def __call__(
        self,
        name: str,
        *,
        mask: Mask = None,
        later: Second | None = None,
        alike: str = "",
        inputs: Mapping[str, object] | None = None,
        outputs: Mapping[str, str] | None = None,
        more_sizes: Mapping[str, int] | None = None,
        init: Mapping[str, object] | None = None,
        parameters: Mapping[str, object] | None = None,
        layout: str | Mapping[str, str] | None = None,
        check: Check | None = None,
        dtype: Literal["float32", "float64", "bfloat16"] = "float32",
        mode: Literal["eval", "train"] = "eval",
        gradients: bool = True,
        dropout: float | None = None,
        probe: Literal["vectorised", "memory", "held", "work"] | None = None,
        limit: int | None = None,
        **sizes: int,
    ) -> Case:
        """Return one case. Inputs are drawn from N(0, 1) in the sizes given.

        Arguments that are not explained here are fields of `Case`.

        Args:
            name: of the case, unique in its challenge.
            mask: a tensor; "causal"; "padding"; dimensions such as "B 1 1 Lk" for a random mask
                of this shape; or None.
            later: a second call. Its inputs and outputs have the prefix `later_`.
            alike: the letters whose sizes are equal on purpose, "B H" or "B H, Lq Lk".
            inputs: inputs that are not drawn. The name of another input stands for that very
                tensor.
            outputs: the dimensions of the outputs, if this case has others.
            more_sizes: the sizes of further letters in `outputs`.
            init: further constructor arguments.
            layout: the memory layout of all inputs, or of each by name.
            check: the check that answers for the values; by default "masks" for a case with a
                mask and "values" for others.
            sizes: of every letter, `B=2, L=5`. They differ, except for sizes of 1.

        Raises:
            PackError: if two sizes are equal that `alike` does not name.
        """
        require_different(name, sizes, alike)
        known = self.with_products(sizes)
        given = self.one_call(known, inputs or {}, mask)
        dims = dict(self.outputs if outputs is None else outputs)
        extra = dict(more_sizes or {})
        if later is not None:
            again = self.one_call(known | dict(later.sizes), later.inputs, later.mask)
            given |= {f"later_{key}": value for key, value in again.items()}
            dims |= {f"later_{key}": _renamed(dims, later) for key, dims in self.outputs.items()}
            extra |= {f"{letter}2": size for letter, size in later.sizes.items()}
        if isinstance(layout, str):
            layout = dict.fromkeys(given, layout)
        return Case(
            name=name,
            inputs=given,
            dims=dims,
            sizes=known | extra,
            init=self.arguments(known) | dict(init or {}),
            parameters=parameters or {},
            layout=layout or {},
            check=check or ("values" if mask is None else "masks"),
            dtype=dtype,
            mode=mode,
            gradients=gradients,
            dropout=dropout,
            probe=probe,
            limit=limit,
        )

    def arguments(self, sizes: Mapping[str, int]) -> dict[str, object]:
        """Return the constructor arguments that are sizes."""
        return {name: sizes[letter] for name, letter in self.init.items() if letter in sizes}

    def with_products(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Return these sizes and those that follow from them."""
        known = dict(sizes)
        for letter, factors in self.products.items():
            known[letter] = math.prod(known[factor] for factor in factors.split())
        return known

    def one_call(
        self, sizes: Mapping[str, int], given: Mapping[str, object], mask: Mask
    ) -> dict[str, object]:
        """Return all inputs of a call: those that are given, and the others drawn."""
        inputs = self.drawn(sizes) | dict(given)
        if self.mask:
            inputs["mask"] = self.made_mask(mask, sizes)
        return inputs

    def drawn(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """Return the inputs that are drawn, ~ N(0, 1)."""
        return {
            name: self.draw.normal(*shape(dims, self.with_products(sizes)))
            for name, dims in self.inputs.items()
        }

    @property
    def mask_axes(self) -> MaskAxes:
        """The letters of the axes of `mask`. Letters of lengths begin with L."""
        *lead, keys = self.mask.split() or [""]
        queries = lead.pop() if lead[-1:] and lead[-1].startswith("L") else ""
        heads = lead.pop() if len(lead) > 1 else ""
        return MaskAxes(lead[0] if lead else "", heads, queries, keys)

    @property
    def usual_mask(self) -> str:
        """A mask in words, which depends on the query if masks can: "causal" or "padding"."""
        return "causal" if self.mask_axes.queries else "padding"

    @property
    def shared_mask(self) -> str:
        """The dimensions of a small mask: all batch items and heads share it, or all queries."""
        axes = self.mask_axes
        if axes.heads:
            return f"{axes.queries} {axes.keys}"
        return f"{axes.batch} 1 {axes.keys}" if axes.queries else self.mask

    def at_one_position(self, sizes: Mapping[str, int]) -> dict[str, object]:
        """Return inputs with which all tokens of a sequence stand at one position, if any."""
        return {}

    def shared(self, sizes: Mapping[str, int]) -> dict[str, object]:
        """Return inputs that are the same for all batch items, in memory that these share.

        The last axis of an input has stride 1, so inputs of one axis cannot share memory.
        """
        drawn = self.drawn(sizes)
        return {
            name: drawn[name][:1].expand(drawn[name].shape)
            for name, dims in self.inputs.items()
            if len(dims.split()) > 1
        }

    def made_mask(self, mask: Mask, sizes: Mapping[str, int]) -> Tensor | None:
        """Return the mask that the argument `mask` of a case asks for."""
        if not isinstance(mask, str):
            return mask
        full = shape(self.mask, sizes)
        if mask == "causal":
            if full[-2] > full[-1]:
                raise PackError(
                    f"A causal mask of {full[-2]} queries and {full[-1]} keys leaves a query "
                    "without keys. Give the case as many keys as queries, or more."
                )
            causal = self.draw.causal(full[-2], full[-1])
            return causal if self.mask_axes.heads else causal.expand(full)
        if mask == "padding":
            real = ragged(self.draw, full[0], full[-1])
            return real.reshape(full[0], *(1,) * (len(full) - 2), full[-1])
        return self.draw.keep(*shape(mask, sizes))


def shape(dims: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return the shape of "B 1 L (H D)" in these sizes; a number stands for itself."""
    found: list[int] = []
    for axis in axes(dims):
        found.append(math.prod(int(word) if word.isdigit() else sizes[word] for word in axis))
    return tuple(found)


def ragged(draw: Draw, batch: int, length: int, side: str = "right") -> Tensor:
    """Return padding [batch, length] whose first item is whole: it says nothing of the others."""
    real = draw.padding(batch, length, side)
    if batch > 1:
        real[0] = True
    if bool(real.all()):
        real[-1, 0 if side == "left" else -1] = False
    return real


def require_different(name: str, sizes: Mapping[str, int], alike: str) -> None:
    """Check that sizes differ, except for sizes of 1 and for letters that `alike` names.

    Raises:
        PackError: naming the two letters and what to do.
    """
    groups = [set(group.split()) for group in alike.split(",")]
    for group in groups:
        if len({sizes[letter] for letter in group}) > 1:
            values = ", ".join(f"{letter} = {sizes[letter]}" for letter in sorted(group))
            raise PackError(f"Case {name!r} says alike={alike!r}, but {values}.")
    for pair in combinations(sizes, 2):
        first, second = pair
        wanted = any(group.issuperset(pair) for group in groups)
        if sizes[first] == sizes[second] != 1 and not wanted:
            raise PackError(
                f"Case {name!r}: {first} and {second} are both {sizes[first]}, so a wrong axis can "
                f'pass by luck. Make them differ, or say alike="{first} {second}".'
            )


def _renamed(dims: str, later: Second) -> str:
    """Return dimensions in which the letters whose sizes differ in the second call end in 2."""
    words = dims.replace("(", "( ").replace(")", " )").split()
    return " ".join(f"{word}2" if word in later.sizes else word for word in words)
