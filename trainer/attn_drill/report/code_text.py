"""Text that is never read as markup, and lines of code with marks, for the terminal."""

from __future__ import annotations

import difflib
import io
import sys
from collections.abc import Iterable, Sequence
from typing import IO, Any

from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType, RenderResult
from rich.padding import Padding, PaddingDimensions
from rich.rule import Rule
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from attn_drill.report.question_text import code_lines
from attn_drill.report.wording import QUIET, RIGHT, WRONG, visible

_AROUND = 2  # lines above and below the line to show
_MOST_BETWEEN = 8  # lines from an earlier line that are all shown
# The least width at which two codes of usual width fit next to each other.
SIDE_BY_SIDE = 140
_GAP = 3  # columns between them
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


def _literal(cell: Any) -> Any:
    return Text(cell) if isinstance(cell, str) else cell


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


def _syntax(code: str, language: str = "python") -> Syntax:
    # The terminal's own palette is readable on any background.
    return Syntax(code, language, theme="ansi_dark", background_color="default")


def highlighted(lines: Sequence[str]) -> list[str]:
    """Return lines of Python code with escape sequences that colour them."""
    text = _syntax("").highlight("\n".join(lines))
    width = max(map(len, lines), default=1) + 1
    stream = io.StringIO()
    terminal = console(stream, width=width, force_terminal=True, color_system="standard")
    for line in text.split("\n", allow_blank=True)[: len(lines)]:
        terminal.print(line)
    return stream.getvalue().split("\n")[:-1]


def source_lines(source: str) -> list[str]:
    """Return the lines of a source as Python counts them."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def code_around(source: str, line: int, start: int | None = None) -> list[Text]:
    """Return the line and up to two lines above and below it; [] if there is no such line."""
    lines = [text.expandtabs(4) for text in source_lines(source)]
    if not 0 < line <= len(lines):
        return []
    # An earlier line `start` is shown too, with a dot.
    first, last = max(1, min(line - _AROUND, start or line)), min(len(lines), line + _AROUND)
    # Blank lines at both ends are left out, and the indentation that all lines share.
    while first < line and not lines[first - 1].strip():
        first += 1
    while last > line and not lines[last - 1].strip():
        last -= 1
    # Of many lines between both lines, only the first and the last are shown.
    gap = range(first + _AROUND, line - 1) if line - first > _MOST_BETWEEN else range(0)
    numbers = [number for number in range(first, last + 1) if number not in gap]
    filled = [lines[number - 1] for number in numbers if lines[number - 1].strip()]
    shared = min((len(text) - len(text.lstrip()) for text in filled), default=0)
    digits = len(str(last))
    shown: list[Text] = []
    for number in numbers:
        if gap and number == gap.stop:
            shown.append(Text(f"  {'':>{digits}} …", style=QUIET))
        marker = "❯" if number == line else "·" if number == start else ""
        text = Text(style="bold" if marker else "")
        text.append(f"{marker or ' '} ", style=f"bold {WRONG}" if marker else "")
        text.append(f"{number:>{digits}} │ ", style=f"bold {WRONG}" if marker else QUIET)
        text.append(visible(lines[number - 1][shared:]))
        shown.append(text)
    return [one_row(text) for text in shown]


def code_pair(titles: Sequence[str], codes: Sequence[str | None], width: int) -> RenderableType:
    """Return codes below their titles: side by side on a wide screen, else one below the other."""
    is_wide = width >= SIDE_BY_SIDE
    room = (width - _GAP * (len(codes) - 1)) // len(codes) if is_wide else width
    blocks: list[Group] = []
    for title, code in zip(titles, codes, strict=True):
        rule = Rule(Text(title, style=QUIET), style=QUIET, align="left")
        blocks.append(Group(rule, code_block(code, room)))
    if not is_wide:
        return Group(*blocks)
    table = grid(padding=(0, _GAP, 0, 0))
    for _ in blocks:
        table.add_column(width=room)
    table.add_row(*blocks)
    return table


def code_block(text: str | None, width: int, language: str = "python") -> RenderableType:
    """Return code in at most `width` columns. A longer line continues below, more indented."""
    if text is None:
        return Text("(nothing)", style=QUIET)
    lines = visible(text, lines=True).strip("\n").expandtabs(4).split("\n")
    return _syntax("\n".join(code_lines(lines, width)), language)


def difference(before: str, after: str, width: int) -> RenderableType:
    """Return the changed lines of two texts, with a line around each change."""
    old, new = (visible(text, lines=True).splitlines() for text in (before, after))
    changes = difflib.unified_diff(old, new, lineterm="", n=1)
    styles = {"+": RIGHT, "-": WRONG}
    shown: list[Text] = []
    # The first two lines name files.
    for change in list(changes)[2:]:
        sign, code = change[0], change[1:]
        if sign != "@":
            for part in code_lines([code], max(20, width - 2), [sign]):
                shown.append(Text(part, style=styles.get(sign, QUIET)))
    return Group(*shown) if shown else Text("The texts are equal.", style=QUIET)
