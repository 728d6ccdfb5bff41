"""A prompt as terminal text. Nothing of a prompt is cut off, however narrow the terminal is."""

from __future__ import annotations

from typing import ClassVar

from rich import markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table

from attn_drill.report.question_text import code_lines

_CODE_INDENT = 2


def prompt_markdown(text: str) -> markdown.Markdown:
    """Return the renderable of a prompt, which is written in Markdown."""
    return _Prompt(text)


class _FoldingTable(markdown.TableElement):
    """A table whose long words continue on more lines. rich would cut them with an ellipsis."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            assert isinstance(table, Table)
            for column in table.columns:
                column.overflow = "fold"
            yield table


class _PlainCode(markdown.CodeBlock):
    """Code in the terminal's own colours, readable on any background. Long lines continue."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
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
