"""Take apart the value that a learner's function returned, or describe it. Used by `drive`."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from attn_drill.worker.torch_private import unseen

NOTHING = "None (is a `return` missing?)"


class UnexpectedReturnError(Exception):
    """The implementation returned a value of another structure. The message states both."""


def unpack(value: object, *names: str) -> tuple[object, ...]:
    """Return the parts of a tuple or list that has exactly the parts of these names.

    Raises:
        UnexpectedReturnError: if the value has another structure.
    """
    if isinstance(value, tuple | list) and len(value) == len(names):
        return tuple(value)
    raise UnexpectedReturnError(
        f"the return value must be ({', '.join(names)}), but it is {describe(value)}"
    )


def array_of(value: object) -> object:
    """Return the NumPy array on the memory of a tensor; any other value stays.

    The conversion is no work of the learner's code, so it is not counted.
    """
    with unseen():
        return value.numpy() if isinstance(value, Tensor) else value


def tensor_of(value: object, name: str) -> Tensor:
    """Return the tensor on the memory of a NumPy array that an implementation returned.

    Args:
        name: the name of the output for the exception.

    Raises:
        UnexpectedReturnError: if the value is no array, or if torch has no such dtype.
    """
    if not isinstance(value, np.ndarray):
        raise UnexpectedReturnError(f"{name} must be a NumPy array, but it is {describe(value)}")
    if value.dtype.kind not in "bif" or value.dtype.itemsize > 8:
        raise UnexpectedReturnError(f"{name} is an array of the dtype {value.dtype}")
    with unseen():
        # torch has no negative strides, as `array[::-1]` has.
        return torch.from_numpy(value.copy() if min(value.strides, default=0) < 0 else value)


def describe(value: object) -> str:
    """Return a value in words. Long texts and tuples are cut.

    >>> describe((1, None)), describe(range(7)), describe("x" * 9)
    ('a tuple of 2: (int, NoneType)', 'a range', "the str 'xxxxxxxxx'")
    """
    if isinstance(value, Tensor):
        return f"a tensor {list(value.shape)}"
    if value is None:
        return NOTHING
    if isinstance(value, tuple | list):
        inner = ", ".join(
            f"Tensor {list(part.shape)}" if isinstance(part, Tensor) else type(part).__name__
            for part in value[:6]
        )
        more = ", …" if len(value) > 6 else ""
        return f"a {type(value).__name__} of {len(value)}: ({inner}{more})"
    if type(value) in (bool, int, float, complex, str) and not is_huge(value):
        shown = repr(value)
        return f"the {type(value).__name__} {shown if len(shown) <= 60 else shown[:60] + '…'}"
    name = type(value).__name__
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def as_tuple(description: str) -> str:
    """Return a description in which a list of parts counts as a tuple."""
    return description.replace("a list of", "a tuple of", 1)


def is_huge(value: object) -> bool:
    """Return whether a value is an integer that Python would not write out, or only slowly."""
    return isinstance(value, int) and int.bit_length(value) > 1000


def plain_value(value: object) -> tuple[str, str]:
    """Return the type ("int" or "str") and the text of an integer or a string.

    A value of a subclass, for example a member of an enumeration, counts too. The `__str__` of the
    subclass is not called. True and False do not count as integers here.

    >>> plain_value(7), plain_value("causal"), plain_value(1.5)
    (('int', '7'), ('str', 'causal'), ('', ''))
    """
    if isinstance(value, int) and not isinstance(value, bool) and not is_huge(value):
        return "int", int.__repr__(value)
    return ("str", str.__str__(value)) if isinstance(value, str) else ("", "")
