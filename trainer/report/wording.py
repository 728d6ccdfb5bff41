"""Numbers, indices and ranges as a reader sees them. No rich, no colour."""

from __future__ import annotations

import math

from trainer.model.case import Case, axes
from trainer.model.report import Affected, Summary

# What the letters of the contract are called.
NAMES = {
    "B": "batch",
    "H": "heads",
    "Hkv": "kv heads",
    "L": "positions",
    "Lq": "queries",
    "Lk": "keys",
    "M": "features",
    "D": "features",
    "Dv": "features",
}


def counted(number: int, what: str) -> str:
    """`1 head`, `2 heads`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def number(value: float) -> str:
    """At most 8 characters: `0.3661`, `-1.2e-05`, `nan`."""
    if math.isnan(value) or math.isinf(value):
        return str(value)
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e4:
        text = f"{value:.4f}" if abs(value) < 100 else f"{value:.2f}"
        return text
    return f"{value:.1e}"


def entry(value: float, kind: str | None) -> str:
    """A number, or True and False where the tensor is boolean."""
    return str(bool(value)) if kind == "bool" else number(value)


def small_tensors(case: Case) -> list[tuple[str, str]]:
    """Name and rows of every input that is a matrix of at most 8 x 8: a tensor, or its rows as a report from another process has them."""
    found: list[tuple[str, str]] = []
    for name, value in case.inputs.items():
        shape = getattr(value, "shape", None)
        if shape is not None and len(shape) == 2 and max(shape) <= 8:
            value = value.tolist()  # type: ignore[attr-defined]  # a tensor; this floor does not import torch
        if isinstance(value, list) and value and all(isinstance(row, list) for row in value):
            found.append(
                (
                    name,
                    "\n".join(" ".join(f"{number(float(one)):>8}" for one in row) for row in value),
                )
            )
    return found


def index_in_words(index: tuple[int, ...], dims: str, sizes: dict[str, int]) -> str:
    """`b=1 l=3 h=0 d=4`: every axis by its letter, a grouped axis taken apart. Without dims `[1, 3, 4]`."""
    letters = axes(dims)
    if not dims or len(letters) != len(index):
        return str(list(index))
    parts: list[str] = []
    for axis, position in zip(letters, index, strict=True):
        apart: list[str] = []
        for letter in reversed(axis):
            position, rest = divmod(position, sizes[letter])
            apart.append(f"{letter.lower()}={rest}")
        parts += reversed(apart)
    return " ".join(parts)


def ranges(indices: tuple[int, ...]) -> str:
    """`0-3, 7`."""
    found: list[str] = []
    start = previous = None
    for index in [*indices, None]:
        if previous is not None and index != previous + 1:
            found.append(
                str(previous)
                if start == previous
                else f"{start}-{previous}"
                if previous - (start or 0) > 1
                else f"{start}, {previous}"
            )
            start = None
        if start is None:
            start = index
        previous = index
    return ", ".join(found)


def affected(one: Affected) -> tuple[str, str]:
    """Name of the dimension, and which of its indices are wrong: `("heads", "wrong 1, 3   right 0, 2")`."""
    name = f"{NAMES.get(one.dim, one.dim)} ({one.dim})"
    if len(one.wrong) == one.size:
        return name, f"all {one.size} wrong" if one.size > 1 else "the only one"
    right = tuple(index for index in range(one.size) if index not in one.wrong)
    return name, f"wrong {ranges(one.wrong)}   right {ranges(right)}"


def summary(one: Summary) -> str:
    """`mean 0.01  std 0.98  from -2.3 to 2.1`."""
    text = f"mean {number(one.mean)}  std {number(one.std)}  from {number(one.low)} to {number(one.high)}"
    return f"{text}  not finite {one.not_finite}" if one.not_finite else text


def plain_inputs(case: Case) -> str:
    """`d_model=24, num_heads=6`: the inputs that are numbers, words or tuples of those."""
    simple = (bool, int, float, str)
    shown = (
        (name, value)
        for name, value in case.inputs.items()
        if isinstance(value, simple)
        or (
            isinstance(value, tuple | list)
            and value
            and all(isinstance(one, simple) for one in value)
        )
    )
    return ", ".join(
        f"{name}={tuple(value) if isinstance(value, list) else value!r}" for name, value in shown
    )


def sizes_in_words(case: Case) -> str:
    """`B=2 L=7 H=6`."""
    return " ".join(f"{letter}={size}" for letter, size in case.sizes.items())
