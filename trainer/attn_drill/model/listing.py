"""List names in a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first names, and the number of the others.

    >>> first_of(["ana", "bob", "cy", "di"], 2), first_of(["ana"], 2)
    ('ana, bob and 2 more', 'ana')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
