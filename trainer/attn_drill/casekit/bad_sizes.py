"""Constructor arguments that attention modules must refuse, for the `refusals()` of a `cases.py`.

Every row breaks one condition, or two independent conditions, and is legal otherwise. So a check of
another condition (`d_model % num_kv_heads`, `% num_heads > 1`, more key/value heads than query
heads) does not refuse all rows. `d_model // num_heads` is even, as RoPE requires.
"""

from __future__ import annotations

from collections.abc import Iterator

from attn_drill.model.case import Refusal

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


def _not_divisible(name: str, size: int, by_name: str, by: int) -> str:
    return f"{name} is not divisible by {by_name} (remainder {size % by})"
