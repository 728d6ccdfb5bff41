"""A case on which an implementation runs.

Tensors are typed as `object`, because this package does not import torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from trainer.model.errors import PackError


@dataclass(frozen=True)
class Case:
    """One run of `drive`: its inputs, and the known properties of its outputs.

    A challenge's `cases.py` makes the cases.

    Attributes:
        name: a few words that a report shows.
        inputs: the values that `drive` reads, by name: tensors (float64; the engine rounds them
            to `dtype`), numbers, None, and tuples of these.
        dims: the named dimensions of every output, for example {"out": "B L M"}. "(H D)" is one
            axis that joins two dimensions.
        sizes: the size of every letter in `dims`.
        plain: outputs that are not tensors, with their types, for example {"total": "int"}.
            They are compared exactly.
        init: constructor arguments (challenges of kind "module").
        parameters: values for some parameters of the module; the engine draws the others.
        initial: True if the module keeps the values with which it was constructed.
        dtype: the dtype of the floating-point inputs and of the module.
        mode: the mode of the module.
        check: the check that fails if the values of this case are wrong.
        part: the part of the challenge that the case tests, for challenges with `parts`.
        gradients: True if gradients are compared.
        constants: floating-point inputs that get no gradient and keep float32, for example
            tables.
        layout: the memory layout of an input, by its name: "transposed", "strided" or
            "expanded". The last axis always has stride 1.
        dropout: the dropout probability, if the outputs are attention weights under dropout.
        probe: the quantity that is counted: "vectorised" (operations), "memory" (the largest
            tensor), "held" (all memory in use at the same time) or "work" (FLOPs).
        limit: upper bound for the probes "memory", "held" and "work", in entries or operations.
        larger: the same case with larger sizes. The probes "vectorised" and "held" compare the
            counts of both cases.
    """

    name: str
    inputs: Mapping[str, object]
    dims: Mapping[str, str]
    sizes: Mapping[str, int]
    plain: Mapping[str, Literal["int", "str"]] = field(default_factory=dict)
    init: Mapping[str, object] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)
    initial: bool = False
    dtype: Literal["float32", "float64", "bfloat16"] = "float32"
    mode: Literal["eval", "train"] = "eval"
    check: Literal["values", "masks", "train/eval", "properties"] = "values"
    part: str = ""
    gradients: bool = True
    constants: frozenset[str] = frozenset()
    layout: Mapping[str, str] = field(default_factory=dict)
    dropout: float | None = None
    probe: Literal["vectorised", "memory", "held", "work"] | None = None
    limit: int | None = None
    larger: Case | None = None

    def output_shape(self, output: str) -> tuple[int, ...]:
        """Return the shape that `output` must have, from its named dimensions.

        Raises:
            PackError: if a dimension has no size.
        """
        shape: list[int] = []
        for axis in axes(self.dims[output]):
            length = 1
            for letter in axis:
                length *= size_of(letter, self.sizes, self.dims[output])
            shape.append(length)
        return tuple(shape)


@dataclass(frozen=True)
class Refusal:
    """A call with bad arguments, which must raise ValueError or AssertionError.

    Attributes:
        why: the reason, in words that a report shows.
        arguments: the arguments by name: those of the constructor (challenges of kind "module"), or
            those of the function. Tensors and tuples of tensors are allowed.
        call: the name of the function, if a challenge has several; by default the first.
        init: the constructor arguments, if a call of the module must fail and not its
            construction. `drive` makes this call then, and reads `arguments` as its inputs.
        only_value_error: True if an AssertionError does not count.
        shown_call: the call as a learner writes it, if `drive` makes another call than the
            arguments say, for example "generate(model, tokens [2, 3], 4)".
    """

    why: str
    arguments: Mapping[str, object]
    call: str = ""
    init: Mapping[str, object] | None = None
    only_value_error: bool = False
    shown_call: str = ""


def size_of(letter: str, sizes: Mapping[str, int], dims: str) -> int:
    """Return the size of a letter.

    Args:
        letter: the letter.
        sizes: the size of every letter.
        dims: the dimensions with this letter, for the message.

    Raises:
        PackError: if the letter has no size.
    """
    if letter in sizes:
        return sizes[letter]
    known = ", ".join(f"{name} = {size}" for name, size in sizes.items()) or "none"
    raise PackError(
        f"the dimensions {dims!r} name {letter}, which has no size (the sizes are: {known}). "
        f"Give the case a size {letter}, or correct the dimensions."
    )


def axes(dims: str) -> tuple[tuple[str, ...], ...]:
    """Split "B L (H D)" into (("B",), ("L",), ("H", "D"))."""
    found: list[tuple[str, ...]] = []
    group: list[str] | None = None
    for word in dims.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            group = []
        elif word == ")":
            found.append(tuple(group or ()))
            group = None
        elif group is not None:
            group.append(word)
        else:
            found.append((word,))
    return tuple(found)
