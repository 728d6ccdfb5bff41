"""Consoles and tables that print every character of a string.

rich takes `[axis 0]` in a message or a name for markup. The whole package makes its consoles and
tables here, so no other module has to escape strings.
"""

from __future__ import annotations

from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import PaddingDimensions
from rich.segment import Segment
from rich.table import Table
from rich.text import Text


def console(stream: IO[str] | None = None, **options: Any) -> Console:
    """Return a console that reads no markup and no emoji codes, and highlights nothing.

    In the kernel of a notebook the console also prints to `stream`, not into the notebook.

    Args:
        stream: the file to print to; by default stdout.
        options: more arguments of `rich.console.Console`.
    """
    return Console(
        file=stream, markup=False, emoji=False, highlight=False, force_jupyter=False, **options
    )


class LiteralTable(Table):
    """A table whose strings are never read as markup, on any console."""

    def add_column(self, header: RenderableType = "", *more: Any, **options: Any) -> None:
        """Add a column, as `rich.table.Table` does."""
        super().add_column(_literal(header), *more, **options)

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Add a row, as `rich.table.Table` does."""
        literal_cells = (None if cell is None else _literal(cell) for cell in cells)
        super().add_row(*literal_cells, **options)


def cut(text: Text, width: int, *, unicode: bool = True) -> Text:
    """Return a line of text that fits the width. A longer text ends with an ellipsis."""
    text = text.copy()
    text.no_wrap = True
    if text.cell_len > width:
        ellipsis = "…" if unicode else "..."
        text.truncate(max(0, width - len(ellipsis)), overflow="crop")
        text.append(ellipsis)
    return text


class Trimmed:
    """A renderable whose lines end without blanks, so that a pipe gets no trailing blanks."""

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def __rich_console__(self, terminal: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the content, as rich requires."""
        for line in terminal.render_lines(self._content, options, pad=False):
            while line and not line[-1].text.strip() and not line[-1].control:
                line.pop()
            if line and not line[-1].control:
                last = line.pop()
                line.append(Segment(last.text.rstrip(), last.style))
            yield from line
            yield Segment.line()


def grid(padding: PaddingDimensions = 0) -> LiteralTable:
    """Return a table without lines and header.

    Args:
        padding: the blank space around each cell, in the order of CSS.
    """
    table = LiteralTable.grid(padding=padding)
    assert isinstance(table, LiteralTable)  # `Table.grid` returns an object of its own class
    return table


def _literal(cell: RenderableType) -> RenderableType:
    return Text(cell) if isinstance(cell, str) else cell
