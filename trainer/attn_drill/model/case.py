"""A case on which an implementation runs.

Tensors are typed as `object`, because this package does not import torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from attn_drill.model.errors import PackError


@dataclass(frozen=True)
class Case:
    """One run of `drive`: its inputs, and the known properties of its outputs.

    A challenge's `cases.py` makes the cases.
    """

    name: str  # a few words that a report shows
    # The values that `drive` reads, by name: tensors (float64; the engine rounds them to `dtype`),
    # numbers, None, and tuples of these.
    inputs: Mapping[str, object]
    # The named dimensions of every output, for example {"out": "B L M"}. "(H D)" is one axis that
    # joins two dimensions.
    dims: Mapping[str, str]
    sizes: Mapping[str, int]  # the size of every letter in `dims`
    # Outputs that are not tensors, with their types, for example {"total": "int"}. They are
    # compared exactly.
    plain: Mapping[str, Literal["int", "str"]] = field(default_factory=dict)
    # Constructor arguments (challenges of kind "module").
    init: Mapping[str, object] = field(default_factory=dict)
    # Values for some parameters of the module; the engine draws the others.
    parameters: Mapping[str, object] = field(default_factory=dict)
    initial: bool = False  # True if the module keeps the values with which it was constructed
    # The dtype of the floating-point inputs and of the module.
    dtype: Literal["float32", "float64", "bfloat16"] = "float32"
    mode: Literal["eval", "train"] = "eval"  # the mode of the module
    # The check that fails if the values of this case are wrong.
    check: Literal["values", "masks", "train/eval", "properties"] = "values"
    part: str = ""  # the part of the challenge that the case tests, for challenges with `parts`
    gradients: bool = True  # True if gradients are compared
    # Floating-point inputs that get no gradient and keep float32, for example tables.
    constants: frozenset[str] = frozenset()
    # The memory layout of an input, by its name: "transposed", "strided" or "expanded". The last
    # axis always has stride 1.
    layout: Mapping[str, str] = field(default_factory=dict)
    # The dropout probability, if the outputs are attention weights under dropout.
    dropout: float | None = None
    # The quantity that is counted: "vectorised" (operations), "memory" (the largest tensor), "held"
    # (all memory in use at the same time) or "work" (FLOPs).
    probe: Literal["vectorised", "memory", "held", "work"] | None = None
    # Upper bound for the probes "memory", "held" and "work", in entries or operations.
    limit: int | None = None
    # This case with larger sizes. The probe "vectorised" compares the counts of both cases.
    larger: Case | None = None

    def output_shape(self, output: str) -> tuple[int, ...]:
        """Return the shape that `output` must have; PackError if a dimension has no size."""
        shape: list[int] = []
        for axis in axes(self.dims[output]):
            length = 1
            for letter in axis:
                length *= size_of(letter, self.sizes, self.dims[output])
            shape.append(length)
        return tuple(shape)


@dataclass(frozen=True)
class Refusal:
    """A call with bad arguments, which must raise ValueError or AssertionError."""

    why: str  # the reason, in words that a report shows
    # The arguments by name: those of the constructor (challenges of kind "module"), or those of the
    # function. Tensors and tuples of tensors are allowed.
    arguments: Mapping[str, object]
    call: str = ""  # the name of the function, if a challenge has several; by default the first
    # The constructor arguments, if a call of the module must fail and not its construction. `drive`
    # makes this call then, and reads `arguments` as its inputs.
    init: Mapping[str, object] | None = None
    only_value_error: bool = False  # True if an AssertionError does not count
    # The call as a learner writes it, if `drive` makes another call than the arguments say, for
    # example "generate(model, tokens [2, 3], 4)".
    shown_call: str = ""


def size_of(letter: str, sizes: Mapping[str, int], dims: str) -> int:
    """Return the size of a letter of these dimensions; PackError if it has none."""
    if letter in sizes:
        return sizes[letter]
    listed = ", ".join(f"{name} = {size}" for name, size in sizes.items()) or "none"
    raise PackError(
        f"the dimensions {dims!r} name {letter}, which has no size (the sizes are: {listed}). "
        f"Give the case a size {letter}, or correct the dimensions."
    )


def axes(dims: str) -> tuple[tuple[str, ...], ...]:
    """Return the letters of each axis. A group in parentheses is one axis.

    >>> axes("B L (H D)")
    (('B',), ('L',), ('H', 'D'))
    """
    all_axes: list[tuple[str, ...]] = []
    group: list[str] | None = None
    for word in dims.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            group = []
        elif word == ")":
            all_axes.append(tuple(group or ()))
            group = None
        elif group is not None:
            group.append(word)
        else:
            all_axes.append((word,))
    return tuple(all_axes)
