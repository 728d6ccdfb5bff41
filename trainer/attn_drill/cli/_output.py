"""Write pages to the files that `--html` names, and lines in columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import typer

from attn_drill.model.errors import DrillError


def check_page_name(path: Path) -> None:
    """Refuse a page without the name of a page, so that no other file is overwritten."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise DrillError(
            f"--html is {path}; its name must end in .html, so that no other file is overwritten. "
            f"Name it {path.with_suffix('.html')}."
        )


def write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise DrillError(
            f"{path} cannot be written: {error.strerror or error}. Name another file with --html."
        ) from None


_LEAST_PROSE = 30  # columns, so that a title takes at most two lines
NO_COLOURS: Mapping[str, str] = {}


def in_columns(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    colours: Mapping[str, str] = NO_COLOURS,
) -> Iterator[str]:
    """Yield the lines of a table, with the numbers at the right of their column.

    The last column has prose. If the terminal is too narrow for it, it has its own lines.

    Args:
        colours: the colour of each cell that has one.
    """
    sizes = [max(map(len, column)) for column in zip(heads, *rows, strict=True)][:-1]
    # The first row shows which columns have numbers.
    numbers = [cell.isdecimal() for cell in (*rows, heads)[0]]
    indent = sum(sizes) + 2 * len(sizes)
    is_beside = width - indent >= _LEAST_PROSE

    def cells(row: Sequence[str]) -> str:
        line = ""
        for cell, size, is_number in zip(row, sizes, numbers, strict=False):
            text = cell.rjust(size) if is_number else cell.ljust(size)
            if cell in colours:
                text = text.replace(cell, typer.style(cell, fg=colours[cell]))
            line += f"{text}  "
        return line

    yield f"{cells(heads)}{heads[-1]}" if is_beside else cells(heads).rstrip()
    room = width - indent if is_beside else max(20, width - 2)
    for row in rows:
        parts = textwrap.wrap(row[-1], room, break_on_hyphens=False)
        beside = parts.pop(0) if parts and is_beside else ""
        yield f"{cells(row)}{beside}".rstrip()
        for part in parts:
            yield " " * (indent if is_beside else 2) + part
