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
    raise UnexpectedReturnError(
        f"expected ({', '.join(names)}) to be returned; it returned {describe(value)}"
    )


def describe(value: object) -> str:
    """`a tuple of 2: (Tensor [2, 3], None)`."""
    if isinstance(value, Tensor):
        return f"a tensor {list(value.shape)}"
    if value is None:
        return "None (is a `return` missing?)"
    if isinstance(value, tuple | list):
        inner = ", ".join(
            f"Tensor {list(one.shape)}" if isinstance(one, Tensor) else type(one).__name__
            for one in value[:6]
        )
        more = ", …" if len(value) > 6 else ""
        return f"a {type(value).__name__} of {len(value)}: ({inner}{more})"
    if type(value) in (bool, int, float, complex, str) and not is_huge(value):
        shown = repr(value)
        return f"the {type(value).__name__} {shown if len(shown) <= 60 else shown[:60] + '…'}"
    name = type(value).__name__
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def is_huge(value: object) -> bool:
    """Whether Python would refuse, or take long, to write a number out."""
    return isinstance(value, int) and int.bit_length(value) > 1000


def plain_value(value: object) -> tuple[str, str]:
    """The type ("int" or "str") and the text of a value that is one, also of a subclass (an enumeration's member); ("", "") of any other.

    True and False are no numbers here. The class's own `__str__` is not asked.
    """
    if isinstance(value, int) and not isinstance(value, bool) and not is_huge(value):
        return "int", int.__repr__(value)
    return ("str", str.__str__(value)) if isinstance(value, str) else ("", "")
