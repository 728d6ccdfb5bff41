"""Consoles and tables that print every character of a string."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType, RenderResult
from rich.padding import Padding, PaddingDimensions
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from attn_drill.report.styles import QUIET

# The characters that this package and rich draw with, after the ASCII character for each of them.
# One stands for one, so that no line changes its length.
_DRAWN = {
    "+": "✓▒┌┐└┘├┤┬┴┼╭╮╰╯┏┓┗┛",
    "x": "✗▓×",
    "-": "–−─━╸╺•",
    "|": "│┃▕▏▎▍▌▐",
    ">": "❯❱→",
    "~": "…≈±",
    ".": "·",
    ":": "░",
    "#": "█▉▊▋",
    "o": "●",
    "*": "◉⋅",
    "^": "↑",
    "v": "↓",
    "'": "‘’",
    '"': "“”",
    " ": "\N{NO-BREAK SPACE}",
}
_TO_ASCII = str.maketrans(
    {sign: ascii_sign for ascii_sign, signs in _DRAWN.items() for sign in signs}
    | dict(zip("▁▂▃▄▅▆▇", "1234567", strict=True))
)


def in_ascii(text: str) -> str:
    """Return text of the same length in ASCII. `?` stands for a character without a likeness.

    >>> in_ascii("✗ values: 67 % …")
    'x values: 67 % ~'
    """
    return text.translate(_TO_ASCII).encode("ascii", "replace").decode("ascii")


def is_utf(stream: object) -> bool:
    """Return whether a stream takes all characters. A stream without an encoding does."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return str(encoding).lower().startswith("utf")


class _AsciiStream:
    """A stream to which text is written in ASCII."""

    # rich then draws the same lines and bars as on every other terminal.
    encoding = "utf-8"

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(in_ascii(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


# rich takes `[axis 0]` in a message or a name for markup. The whole package makes its consoles and
# tables here, so no other module has to escape strings.
def console(stream: IO[str] | None = None, **options: Any) -> Console:
    """Return a console that reads no markup and no emoji codes, and highlights nothing."""
    out = stream or sys.stdout
    file: Any = stream if is_utf(out) else _AsciiStream(out)
    return Console(
        file=file,
        markup=False,
        emoji=False,
        highlight=False,
        # Else it would print into a notebook, not to the stream.
        force_jupyter=False,
        **options,
    )


class LiteralTable(Table):
    """A table whose strings are never read as markup, on any console, and never cut."""

    def add_column(self, header: RenderableType = "", *more: Any, **options: Any) -> None:
        # A word that is wider than its column continues on the next line. rich would cut it, and
        # also Chinese, which has no blanks.
        options.setdefault("overflow", "fold")
        super().add_column(_literal(header), *more, **options)

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        super().add_row(*map(_literal, cells), **options)


def one_row(text: Text) -> Text:
    """Return text that stays one row. On a narrower terminal it ends with an ellipsis."""
    text = text.copy()
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


class Trimmed:
    """A renderable whose lines end without blanks, so that a pipe gets no trailing blanks."""

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def __rich_console__(self, terminal: Console, options: ConsoleOptions) -> RenderResult:
        for line in terminal.render_lines(self._content, options, pad=False):
            while line and not line[-1].text.strip() and not line[-1].control:
                line.pop()
            if line and not line[-1].control:
                last = line.pop()
                line.append(Segment(last.text.rstrip(), last.style))
            yield from line
            yield Segment.line()


def grid(*columns: JustifyMethod, padding: PaddingDimensions = 0) -> LiteralTable:
    """Return a table without lines and header, with columns aligned at these sides."""
    table = LiteralTable.grid(padding=padding)
    # `Table.grid` returns an object of its own class.
    assert isinstance(table, LiteralTable)
    for side in columns:
        table.add_column(justify=side)
    return table


def labelled(
    rows: Iterable[tuple[RenderableType, RenderableType]],
    padding: PaddingDimensions = (0, 2),
    style: str = QUIET,
) -> LiteralTable:
    """Return rows of a label, which has this style and is never broken, and a value."""
    table = grid(padding=padding)
    table.add_column(style=style, no_wrap=True)
    table.add_column()
    for label, value in rows:
        table.add_row(label, value)
    return table


def indented(*parts: RenderableType, blanks: int = 2) -> Padding:
    """Return parts, one below the other, after so many blanks."""
    return Padding(Group(*parts), (0, 0, 0, blanks), expand=False)


def _literal(cell: Any) -> Any:
    return Text(cell) if isinstance(cell, str) else cell
