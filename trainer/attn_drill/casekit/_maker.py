"""Make a case from its sizes, a call with bad sizes, and the call of realistic size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import combinations
from typing import Any, Protocol

import torch
from torch import Tensor

from attn_drill.casekit.draw import Draw
from attn_drill.model.case import Case, Refusal, axes, size_of
from attn_drill.model.errors import PackError

Sizes = Mapping[str, int]
Parts = dict[str, Any]  # arguments of a CaseMaker: inputs, parameters, init, outputs

Mask = Tensor | str | None
# The fields of a case that a call may give.
_FIELDS = {field.name for field in fields(Case)} - {"dims", "sizes"}

# d_model, num_heads
_HEADS = ((20, 8), (26, 6), (25, 6), (17, 4), (4, 8))
# d_model, num_heads, num_kv_heads
_GROUPS = (
    (20, 8, 4),  # num_kv_heads divides d_model and num_heads
    (15, 6, 3),
    (26, 6, 2),
    (25, 6, 1),  # a remainder of 1; num_kv_heads divides d_model and num_heads
    (26, 6, 3),  # num_kv_heads does not divide d_model
    (25, 6, 3),
    (22, 8, 4),
    (4, 8, 2),  # less than one feature per head
    # From here on num_heads divides d_model, but num_kv_heads does not divide num_heads.
    (24, 6, 4),  # num_kv_heads divides d_model
    (80, 8, 5),
    (24, 4, 3),  # a remainder of 1
    (42, 7, 3),
    (32, 8, 3),  # num_kv_heads divides neither d_model nor num_heads
    (12, 6, 5),
    (24, 3, 6),  # more key/value heads than query heads
    (24, 4, 6),
    (24, 2, 5),
)


@dataclass(frozen=True)
class Scores:
    """The scores of a case: the score of a pair is `keys * queries * heads`, within ±1."""

    keys: Tensor  # the factor of each key, [Lk] or [B, Lk], up to ±200
    queries: Tensor | None = None  # the factor of each query, [Lq] or [B, Lq], ±1; None for 1
    alternating: bool = False  # whether the heads have alternating signs
    # [Lk] bool. Marked keys have values of 1e36, and all others have values of about 1e-6.
    huge: Tensor | None = None
    # Whether scores are products of smaller factors and outputs are small, so that the gradients of
    # right answers lose little precision.
    factored: bool = False

    def of_heads(self, heads: int) -> Tensor:
        """Return the factor of every head.

        >>> Scores(torch.ones(5), alternating=True).of_heads(3)
        tensor([ 1., -1.,  1.])
        """
        return (-1.0) ** torch.arange(heads) if self.alternating else torch.ones(heads)


class Roles(Protocol):
    """The queries, keys and values of a challenge. Methods return arguments of a CaseMaker."""

    def scored(self, case: CaseMaker, sizes: Sizes, scores: Scores) -> Parts:
        """Return inputs and parameters that give these scores."""

    def tiny(self, case: CaseMaker, sizes: Sizes) -> Parts:
        """Return inputs and parameters that give values of about 1e-7."""

    def without_biases(self) -> Parts:
        """Return the constructor argument that switches biases off, if there is one."""


@dataclass(frozen=True)
class SecondCall:
    """A second call on the same object."""

    mask: Mask = None
    sizes: Sizes = field(default_factory=dict)  # those that differ from the first call
    # Inputs that are not drawn, by the names of the first call.
    inputs: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class MaskAxes:
    """The letters of a mask's axes; "" for an axis that the mask does not have."""

    batch: str
    heads: str  # "" if a mask is the same for all heads
    queries: str  # "" if a mask is the same for all queries
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
    """

    draw: Draw  # the argument of `cases(draw)`
    inputs: Mapping[str, str]  # the dimensions of every drawn input, in letters
    outputs: Mapping[str, str]  # the dimensions of every output, in letters
    # The letter of every constructor argument that is a size. If a case has no size for the letter,
    # the argument keeps its default.
    init: Mapping[str, str] = field(default_factory=dict)
    # Sizes that are products of other sizes: `{"M": "H D"}` makes M = H * D.
    products: Mapping[str, str] = field(default_factory=dict)
    # The dimensions to which every mask broadcasts; "" if there is no input `mask`. The dimensions
    # may have no heads, "B Lq Lk", or no queries, "B Lk". All masks have exactly these axes then.
    # Letters of lengths must begin with L.
    mask: str = ""
    # The source of queries, keys and values. Several suites need it.
    roles: Roles | None = None

    def __call__(
        self,
        name: str,
        *,
        mask: Mask = None,
        later: SecondCall | None = None,
        equal: str = "",
        inputs: Mapping[str, object] | None = None,
        outputs: Mapping[str, str] | None = None,
        more_sizes: Sizes | None = None,
        init: Mapping[str, object] | None = None,
        layout: str | Mapping[str, str] | None = None,
        **more: Any,
    ) -> Case:
        """Return one case. Inputs are drawn from N(0, 1) in the given sizes.

        Other arguments are the size of every letter, `B=2, L=5`, and fields of `Case`. Sizes must
        differ, except for sizes of 1. The field `check` is "masks" if there is a mask.

        Args:
            mask: a tensor; "causal"; "padding"; dimensions such as "B 1 1 Lk" for a random mask
                of this shape; or None.
            later: a second call. Its inputs and outputs have the prefix `later_`.
            equal: the letters whose sizes are equal on purpose, "B H" or "B H, Lq Lk".
            inputs: inputs that are not drawn. The name of another input means the same tensor.
            outputs: the dimensions of the outputs, if they differ from the maker's.
            more_sizes: the sizes of further letters in `outputs`.
            init: constructor arguments that are no sizes.
            layout: the memory layout of all inputs, or of each input by name.
        """
        # None means the default of a field.
        values = {key: more.pop(key, None) for key in _FIELDS}
        case_fields = {key: value for key, value in values.items() if value is not None}
        case_fields.setdefault("check", "values" if mask is None else "masks")
        _check_sizes(name, more, equal)
        all_sizes = self.with_products(more)
        all_inputs = self.one_call(all_sizes, inputs or {}, mask)
        dims = dict(self.outputs if outputs is None else outputs)
        extra = dict(more_sizes or {})
        if later is not None:
            again = self.one_call(all_sizes | dict(later.sizes), later.inputs, later.mask)
            all_inputs |= {f"later_{key}": value for key, value in again.items()}
            for key, words in self.outputs.items():
                # A letter with another size in the second call gets the suffix 2 there.
                letters = words.replace("(", "( ").replace(")", " )").split()
                dims[f"later_{key}"] = " ".join(
                    f"{letter}2" if letter in later.sizes else letter for letter in letters
                )
            extra |= {f"{letter}2": size for letter, size in later.sizes.items()}
        if isinstance(layout, str):
            layout = dict.fromkeys(all_inputs, layout)
        return Case(
            name=name,
            inputs=all_inputs,
            dims=dims,
            sizes=all_sizes | extra,
            init=self.arguments(all_sizes) | dict(init or {}),
            layout=layout or {},
            **case_fields,
        )

    def arguments(self, sizes: Sizes) -> dict[str, object]:
        """Return the constructor arguments that are sizes, by name."""
        return {name: sizes[letter] for name, letter in self.init.items() if letter in sizes}

    def with_products(self, sizes: Sizes) -> dict[str, int]:
        """Return the sizes and their products."""
        products = dict(sizes)
        for letter, factors in self.products.items():
            products[letter] = math.prod(
                size_of(factor, products, f"{letter} = {factors}") for factor in factors.split()
            )
        return products

    def __str__(self) -> str:
        # For messages of Python, without the address of `draw`.
        return "the case maker"

    def one_call(self, sizes: Sizes, chosen: Mapping[str, object], mask: Mask) -> dict[str, object]:
        """Return all inputs of a call: the chosen inputs, and draws for all others."""
        inputs = self.drawn(sizes) | dict(chosen)
        if self.mask:
            inputs["mask"] = self.make_mask(mask, sizes)
        return inputs

    def drawn(self, sizes: Sizes) -> dict[str, Any]:
        """Return a draw from N(0, 1) for every input, by name."""
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
        """The usual mask in words: "causal" if masks have an axis for queries, else "padding"."""
        return "causal" if self.mask_axes.queries else "padding"

    @property
    def shared_mask(self) -> str:
        """The dimensions of a small mask, shared by all batch items and heads or by all queries."""
        axes = self.mask_axes
        if axes.heads:
            return f"{axes.queries} {axes.keys}"
        return f"{axes.batch} 1 {axes.keys}" if axes.queries else self.mask

    def at_one_position(self, sizes: Sizes) -> dict[str, object]:
        """Return inputs that put all tokens of a sequence at one position; {} without positions."""
        return {}

    def shared(self, sizes: Sizes) -> dict[str, object]:
        """Return inputs with equal batch items that share their memory.

        Inputs with a single axis are left out: the last axis of an input always has stride 1.
        """
        drawn = self.drawn(sizes)
        return {
            name: drawn[name][:1].expand(drawn[name].shape)
            for name, dims in self.inputs.items()
            if len(dims.split()) > 1
        }

    def make_mask(self, mask: Mask, sizes: Sizes) -> Tensor | None:
        """Return the mask for the argument `mask` of a case."""
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


class TokenMaker(CaseMaker):
    """Make cases whose inputs called `tokens` are indices below the size V."""

    def drawn(self, sizes: Sizes) -> dict[str, Any]:
        """Return a draw for every input: tokens from 0 to V - 1, other inputs from N(0, 1)."""
        all_sizes = self.with_products(sizes)
        inputs = super().drawn(sizes)
        for name, dims in self.inputs.items():
            if name.endswith("tokens"):
                inputs[name] = self.draw.integers(*shape(dims, all_sizes), high=all_sizes["V"])
        return inputs


def shape(dims: str, sizes: Sizes) -> tuple[int, ...]:
    """Return the shape of named dimensions; digits are sizes.

    >>> shape("B 1 L (H D)", {"B": 2, "L": 5, "H": 3, "D": 4})
    (2, 1, 5, 12)
    """
    lengths: list[int] = []
    for axis in axes(dims):
        factors = [int(word) if word.isdigit() else size_of(word, sizes, dims) for word in axis]
        lengths.append(math.prod(factors))
    return tuple(lengths)


def ragged(draw: Draw, batch: int, length: int, side: str = "right") -> Tensor:
    """Return padding [batch, length] whose first item is full, unlike the other items."""
    real = draw.padding(batch, length, side)
    if batch > 1:
        real[0] = True
    if bool(real.all()):
        real[-1, 0 if side == "left" else -1] = False
    return real


def bad_heads(**more: object) -> Iterator[Refusal]:
    """Yield bad sizes for a constructor with d_model and num_heads."""
    for d_model, num_heads in _HEADS:
        why = _not_divisible("d_model", d_model, "num_heads", num_heads)
        yield Refusal(why, {"d_model": d_model, "num_heads": num_heads, **more})


def bad_groups(**more: object) -> Iterator[Refusal]:
    """Yield bad sizes for a constructor with d_model, num_heads and num_kv_heads."""
    for d_model, num_heads, num_kv_heads in _GROUPS:
        init = {"d_model": d_model, "num_heads": num_heads, "num_kv_heads": num_kv_heads, **more}
        if d_model % num_heads:
            why = _not_divisible("d_model", d_model, "num_heads", num_heads)
        else:
            why = _not_divisible("num_heads", num_heads, "num_kv_heads", num_kv_heads)
        yield Refusal(why, init)


def small_hidden(draw: Draw, mlp: str, width: int, size: float = 0.02) -> dict[str, Tensor]:
    """Return weights of the first layer of an MLP that make its hidden values small.

    There the exact GELU and its approximation with tanh agree to the last digits of float32, so
    both are right. For values of 0.02 their derivatives agree too; for values of 0.1 only the
    functions agree.

    `mlp` is the path of the MLP, e.g. "blocks.0.mlp". Its first layer is `fc`, from M to 4 M.
    """
    return {
        f"{mlp}.fc.weight": draw.normal(4 * width, width, scale=size * width**-0.5),
        f"{mlp}.fc.bias": draw.normal(4 * width, scale=size / 2),
    }


def own_scores_far_below_zero(draw: Draw, width: int) -> dict[str, Tensor]:
    """Return weights with which each token of the first block scores about -100 with itself.

    The first token sees only itself. So a mask that fills with -100 does not hide the others from
    it. The keys are the queries with the opposite sign. In float64, exp of such scores is not 0.
    """
    queries = draw.normal(width, width, scale=2.0)
    values = draw.normal(width, width, scale=width**-0.5)
    return {
        "blocks.0.attn.qkv_proj.weight": torch.cat([queries, -queries, values]),
        "blocks.0.attn.qkv_proj.bias": queries.new_zeros(3 * width),
    }


def realistic_call(
    name: str,
    *,
    init: Mapping[str, object] | None = None,
    sizes: Mapping[str, int] | None = None,
    **inputs: object,
) -> Case:
    """Return the call that `realistic()` of a `cases.py` describes.

    The name says the size, e.g. "a layer of Llama 3 8B, B = 1, L = 2048". Inputs and sizes are
    those that `drive` reads; `shaped` makes tensors.
    """
    return Case(name, inputs, dims={}, sizes=sizes or {}, init=init or {}, gradients=False)


def shaped(*shape: int, dtype: str = "float32") -> Tensor:
    """Return a tensor of this shape and dtype without values."""
    return torch.empty(shape, dtype=getattr(torch, dtype), device="meta")


def _check_sizes(name: str, sizes: Sizes, equal: str) -> None:
    """Raise PackError if a size is no number, or two sizes are equal that `equal` does not name."""
    for letter, size in sizes.items():
        if type(size) is not int or size < 0:
            raise PackError(
                f"Case {name!r}: {letter}={size!r} is neither a size nor an argument of a case. A "
                "size is a whole number from 0; the docstring of CaseMaker lists the arguments."
            )
    groups = [set(group.split()) for group in equal.split(",")]
    for group in groups:
        if len({size_of(letter, sizes, f"equal={equal}") for letter in group}) > 1:
            values = ", ".join(f"{letter} = {sizes[letter]}" for letter in sorted(group))
            raise PackError(f"Case {name!r} says equal={equal!r}, but {values}.")
    for first, second in combinations(sizes, 2):
        is_on_purpose = any(group.issuperset((first, second)) for group in groups)
        if sizes[first] == sizes[second] != 1 and not is_on_purpose:
            raise PackError(
                f"Case {name!r}: {first} and {second} are both {sizes[first]}, so a wrong axis can "
                f'pass by luck. Make them differ, or say equal="{first} {second}".'
            )


def _not_divisible(name: str, size: int, by_name: str, by: int) -> str:
    return f"{name} is not divisible by {by_name} (remainder {size % by})"
