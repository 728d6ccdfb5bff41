"""A prompt as terminal text. Nothing of a prompt is cut off, however narrow the terminal is."""

from __future__ import annotations

from typing import ClassVar

from rich import markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table

from attn_drill.report.code_pair import code_block
from attn_drill.report.literal import indented


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
    """Code whose long lines continue below."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield indented(code_block(str(self.text), options.max_width - 2, self.lexer_name))


class _Prompt(markdown.Markdown):
    elements: ClassVar[dict[str, type[markdown.MarkdownElement]]] = {
        **markdown.Markdown.elements,
        "table_open": _FoldingTable,
        "fence": _PlainCode,
        "code_block": _PlainCode,
    }
