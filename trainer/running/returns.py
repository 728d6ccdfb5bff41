"""For `drive`: take apart what a learner's function returned, or say what it returned instead."""

from __future__ import annotations

from torch import Tensor


class UnexpectedReturnError(Exception):
    """The implementation returned something of another structure; the message says both."""


def unpack(value: object, *names: str) -> tuple[object, ...]:
    """Take apart a tuple or list of exactly these parts.

    Raises:
        UnexpectedReturnError: naming what was expected and what came.
    """
    if isinstance(value, tuple | list) and len(value) == len(names):
        return tuple(value)
    raise UnexpectedReturnError(f"expected ({', '.join(names)}) to be returned; it returned {describe(value)}")


def describe(value: object) -> str:
    """`a tuple of 2: (Tensor [2, 3], None)`."""
    if isinstance(value, Tensor):
        return f"a tensor {list(value.shape)}"
    if value is None:
        return "None (is a `return` missing?)"
    if isinstance(value, tuple | list):
        inner = ", ".join(f"Tensor {list(one.shape)}" if isinstance(one, Tensor) else type(one).__name__ for one in value[:6])
        more = ", …" if len(value) > 6 else ""
        return f"a {type(value).__name__} of {len(value)}: ({inner}{more})"
    return f"a {type(value).__name__}"
