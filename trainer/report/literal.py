"""Draw text on a terminal as it stands: `[axis 0]` in a message or a name is no markup.

All consoles and tables of the package are made here, so that no other place has to escape anything.
"""

from __future__ import annotations

from typing import IO, Any

from rich.console import Console, RenderableType
from rich.padding import PaddingDimensions
from rich.table import Table
from rich.text import Text


def console(stream: IO[str] | None = None, **options: Any) -> Console:
    """Return a console that prints strings as they stand: no markup, no emoji codes, no highlights.

    In the kernel of a notebook it prints to its file too, and not into the notebook.

    Args:
        stream: the file to print to; by default stdout.
        options: further arguments of `rich.console.Console`.
    """
    return Console(
        file=stream, markup=False, emoji=False, highlight=False, force_jupyter=False, **options
    )


class LiteralTable(Table):
    """A table that shows strings as they stand, whichever console prints it."""

    def add_column(self, header: RenderableType = "", *more: Any, **options: Any) -> None:
        """Add a column, as `rich.table.Table` does."""
        super().add_column(_literal(header), *more, **options)

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Add a row, as `rich.table.Table` does."""
        literal = (None if cell is None else _literal(cell) for cell in cells)
        super().add_row(*literal, **options)


def grid(padding: PaddingDimensions = 0) -> LiteralTable:
    """Return a table without lines and header.

    Args:
        padding: blank cells around each cell, as CSS has them.
    """
    found = LiteralTable.grid(padding=padding)
    assert isinstance(found, LiteralTable)  # `grid` makes a table of the class it is called on
    return found


def _literal(cell: RenderableType) -> RenderableType:
    return Text(cell) if isinstance(cell, str) else cell
