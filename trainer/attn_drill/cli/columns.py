"""Write rows in columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

import typer

_LEAST_PROSE = 30  # columns, so that a title takes at most two lines
NO_COLOURS: Mapping[str, str] = {}


def in_columns(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    colours: Mapping[str, str] = NO_COLOURS,
) -> Iterator[str]:
    """Yield the lines of a table.

    The last column has prose. If the terminal is too narrow for it, it has its own lines.
    Numbers are at the right of their column.

    Args:
        heads: the heading of each column.
        rows: the cells of each row.
        width: the columns of the terminal.
        colours: the colour of each cell that has one.
    """
    sizes = [max(map(len, column)) for column in zip(heads, *rows, strict=True)][:-1]
    indent = sum(sizes) + 2 * len(sizes)
    is_beside = width - indent >= _LEAST_PROSE

    def cells(row: Sequence[str], sample: Sequence[str]) -> str:
        padded = [
            f"{cell:>{size}}" if model.isdecimal() else f"{cell:<{size}}"
            for cell, model, size in zip(row, sample, sizes, strict=False)
        ]
        words = zip(row, padded, strict=False)
        coloured = [
            typer.style(cell, fg=colours[cell]) + place[len(cell) :] if cell in colours else place
            for cell, place in words
        ]
        return "  ".join(coloured)

    sample = rows[0] if rows else heads
    yield f"{cells(heads, sample)}  {heads[-1]}" if is_beside else cells(heads, sample).rstrip()
    room = width - indent if is_beside else max(20, width - 2)
    for row in rows:
        parts = textwrap.wrap(row[-1], room, break_on_hyphens=False)
        beside = parts.pop(0) if parts and is_beside else ""
        yield f"{cells(row, sample)}  {beside}".rstrip()
        yield from (" " * (indent if is_beside else 2) + part for part in parts)
