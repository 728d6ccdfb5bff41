"""Constructor arguments that attention modules must refuse, for the `refusals()` of a `cases.py`.

In every row one condition is broken, or two that do not follow from each other, and all else is
legal. So no check of another condition (`d_model % num_kv_heads`, `% num_heads > 1`, more key/value
heads than query heads) refuses them all. `d_model // num_heads` is even, as RoPE needs it.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainer.model.case import Refusal

# d_model, num_heads
_HEADS = ((20, 8), (26, 6), (25, 6), (17, 4), (4, 8))
# d_model, num_heads, num_kv_heads
_GROUPS = (
    (20, 8, 4),  # num_kv_heads divides both
    (15, 6, 3),
    (26, 6, 2),
    (25, 6, 1),  # a remainder of 1, where num_kv_heads divides both
    (26, 6, 3),  # num_kv_heads does not divide d_model
    (25, 6, 3),
    (22, 8, 4),
    (4, 8, 2),  # less than a feature for every head
    (24, 6, 4),  # from here on d_model is right: num_kv_heads divides it, but not num_heads
    (80, 8, 5),
    (24, 4, 3),  # a remainder of 1
    (42, 7, 3),
    (32, 8, 3),  # num_kv_heads divides neither
    (12, 6, 5),
    (24, 3, 6),  # more key/value heads than query heads
    (24, 4, 6),
    (24, 2, 5),
)


def bad_heads(**more: object) -> Iterator[Refusal]:
    """Yield sizes for a constructor with d_model and num_heads.

    Args:
        more: further arguments of every call.
    """
    for d_model, num_heads in _HEADS:
        why = _not_divisible("d_model", d_model, "num_heads", num_heads)
        yield Refusal(why, {"d_model": d_model, "num_heads": num_heads, **more})


def bad_groups(**more: object) -> Iterator[Refusal]:
    """Yield sizes for a constructor with d_model, num_heads and num_kv_heads.

    Args:
        more: further arguments of every call.
    """
    for d_model, num_heads, num_kv_heads in _GROUPS:
        init = {"d_model": d_model, "num_heads": num_heads, "num_kv_heads": num_kv_heads, **more}
        if d_model % num_heads:
            why = _not_divisible("d_model", d_model, "num_heads", num_heads)
        else:
            why = _not_divisible("num_heads", num_heads, "num_kv_heads", num_kv_heads)
        yield Refusal(why, init)


def _not_divisible(name: str, size: int, by_name: str, by: int) -> str:
    return f"{name} is not divisible by {by_name} (remainder {size % by})"
