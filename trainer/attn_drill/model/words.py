"""Lists, counts and amounts in words."""

from __future__ import annotations

from collections.abc import Sequence


def first_of(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, as many as fit into a sentence, and the number of the others.

    >>> first_of(["ana", "bob", "cy", "di"], 2), first_of(["ana"], 2)
    ('ana, bob and 2 more', 'ana')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> plural(1, "head"), plural(2, "head")
    ('1 head', '2 heads')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def in_bytes(count: int) -> str:
    """Return a number of bytes in words.

    >>> in_bytes(1000), in_bytes(64 << 20), in_bytes(1216 << 20)
    ('1,000 bytes', '64 MiB', '1.19 GiB')
    """
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if round(size) < 1024:
            return f"{_short(size)} {unit}"
        size /= 1024
    return f"{_short(size)} GiB"


def in_count(count: int) -> str:
    """Return a number with three digits in words; a small number is exact.

    >>> in_count(12_345), in_count(120_259_084_288)
    ('12,345', '120 billion')
    """
    for size, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if round(count / size, 3) >= 1:
            return f"{_short(count / size)} {word}"
    return f"{count:,}"


def _short(number: float) -> str:
    """Return a number with three digits, or as an integer if it has more."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
