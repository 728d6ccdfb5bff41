"""A case on which an implementation runs. Tensors are typed as `object`: this package does not import torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Case:
    """One run of `drive`: what goes in, and what is known of what comes out. Made by a challenge's `cases.py`.

    inputs      what `drive` reads, by name: tensors (float64; the engine rounds them to `dtype`), numbers, None, tuples of those
    dims        the named dimensions of every output, e.g. {"out": "B L M"}; "(H D)" is one axis made of two
    plain       outputs that are no tensors, and their types, e.g. {"total": "int"}; compared exactly
    sizes       the value of every letter
    init        constructor arguments (challenges of kind "module")
    parameters  values for some of the module's parameters; the engine draws the others
    check       the check that answers for the values of this case
    gradients   whether gradients are compared
    constants   floating inputs that get no gradient and keep float32 (tables, say)
    layout      per input: "transposed", "strided" or "expanded" memory; the last axis has stride 1
    dropout     the outputs are attention weights under dropout of this probability
    probe       what is counted: "vectorised", "memory" (the largest tensor), "held" (all that is alive at once) or "work";
                `limit` bounds the last three, in entries or operations
    larger      the same case with larger sizes: the probes "vectorised" and "held" compare what is counted in both
    """

    name: str
    inputs: Mapping[str, object]
    dims: Mapping[str, str]
    sizes: Mapping[str, int]
    plain: Mapping[str, Literal["int", "str"]] = field(default_factory=dict)
    init: Mapping[str, object] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)
    dtype: Literal["float32", "float64", "bfloat16"] = "float32"
    mode: Literal["eval", "train"] = "eval"
    check: Literal["values", "masks", "train/eval", "properties"] = "values"
    gradients: bool = True
    constants: frozenset[str] = frozenset()
    layout: Mapping[str, str] = field(default_factory=dict)
    dropout: float | None = None
    probe: Literal["vectorised", "memory", "held", "work"] | None = None
    limit: int | None = None
    larger: Case | None = None

    def output_shape(self, output: str) -> tuple[int, ...]:
        """The shape that the contract asks of `output`, from its named dimensions."""
        shape: list[int] = []
        for axis in axes(self.dims[output]):
            length = 1
            for letter in axis:
                length *= self.sizes[letter]
            shape.append(length)
        return tuple(shape)


@dataclass(frozen=True)
class Refusal:
    """Constructor arguments that must be refused with ValueError or AssertionError, and why, in words."""

    why: str
    init: Mapping[str, object]


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
