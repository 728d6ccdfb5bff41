"""Put large numbers into words."""

from __future__ import annotations


def in_bytes(count: int) -> str:
    """Return a number of bytes in words, e.g. "64 MiB"."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"


def in_count(count: int) -> str:
    """Return a large number in words, e.g. "137 billion"."""
    for size, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if count >= size:
            return f"{count / size:.3g} {word}"
    return f"{count:,}"
