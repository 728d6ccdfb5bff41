"""A prompt as terminal text. Nothing of a prompt is cut off, however narrow the terminal is."""

from __future__ import annotations

from typing import ClassVar

from rich import box, markdown
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from trainer.report.literal import LiteralTable
from trainer.report.question_text import code_lines

_CODE_INDENT = 2
_BORDER = 2  # blanks at both sides of a table
_GAP = 2  # blanks between two columns of a table


def prompt_markdown(text: str) -> markdown.Markdown:
    """Return the renderable of a prompt, which is written in Markdown."""
    return _Prompt(text)


class _FoldingTable(markdown.TableElement):
    """A table whose long cells continue on more lines. rich would cut them with an ellipsis."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, as rich requires."""
        header = _cells(self.header.row) if self.header is not None and self.header.row else []
        rows = [_cells(row) for row in self.body.rows] if self.body is not None else []
        table = LiteralTable(
            box=box.SIMPLE,
            pad_edge=False,
            style="markdown.table.border",
            show_edge=True,
            collapse_padding=True,
        )
        widths = _widths([header, *rows], options.max_width - _BORDER - _GAP * (len(header) - 1))
        for heading, width in zip(header, widths, strict=True):
            heading.stylize("markdown.table.header")
            table.add_column(heading, width=width)
        for row in rows:
            table.add_row(*row)
        yield table


def _cells(row: markdown.TableRowElement) -> list[Text]:
    return [cell.content.copy() for cell in row.cells]


def _widths(rows: list[list[Text]], room: int) -> list[int]:
    """Return the width of each column of a table.

    No word is divided if there is room for the longest word of each column.

    Args:
        rows: The cells, row by row.
        room: The width of all columns together.
    """
    columns = [[text.plain for text in column] for column in zip(*rows, strict=True)]
    wanted = [max(1, *map(cell_len, column)) for column in columns]
    widths = [
        max((cell_len(word) for text in column for word in text.split()), default=1)
        for column in columns
    ]
    while sum(widths) > max(room, len(widths)):
        widths[widths.index(max(widths))] -= 1
    while sum(widths) < min(room, sum(wanted)):
        shares = [width / want for width, want in zip(widths, wanted, strict=True)]
        widths[shares.index(min(shares))] += 1
    return widths


class _PlainCode(markdown.CodeBlock):
    """Code in the terminal's own colours, readable on any background. Long lines continue."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the code, as rich requires."""
        lines = str(self.text).rstrip().expandtabs(4).split("\n")
        text = "\n".join(code_lines(lines, options.max_width - _CODE_INDENT))
        code = Syntax(text, self.lexer_name, theme="ansi_dark", background_color="default")
        yield Padding(code, (0, 0, 0, _CODE_INDENT), expand=False)


class _Prompt(markdown.Markdown):
    elements: ClassVar[dict[str, type[markdown.MarkdownElement]]] = {
        **markdown.Markdown.elements,
        "table_open": _FoldingTable,
        "fence": _PlainCode,
        "code_block": _PlainCode,
    }
