"""Consoles and tables read no markup."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

import attn_drill
from attn_drill.report.code_text import Trimmed, console, grid, one_row
from tests.support.report import HOSTILE, lines_of


@pytest.mark.parametrize("word", HOSTILE)
def test_consoles_and_tables_read_no_markup(word: str) -> None:
    """A printed string and a cell are shown unchanged."""
    stream = io.StringIO()
    table = grid(padding=(0, 1))
    table.add_column(word)
    table.add_row(word, f"cell {word}")
    console(stream, width=80).print(f"line {word}")
    Console(file=stream, width=80).print(table)
    assert f"line {word}" in stream.getvalue()
    assert f"cell {word}" in stream.getvalue()


@pytest.mark.parametrize("colour", [True, False])
def test_lines_of_a_trimmed_renderable_end_without_blanks(colour: bool) -> None:
    """Blanks at the start of a line stay, and so do empty lines."""
    table = grid(padding=(0, 2))
    table.add_column()
    table.add_column(style="reverse")
    table.add_row("a", "b")
    table.add_row("long", "")
    padded = Text("  x  ", style="bold").append(" \t ", style="dim")
    content = Group(Padding(table, (0, 0, 0, 3), expand=False), Text(), padded, Text("y\n\nz "))
    terminal = console(width=20, color_system="truecolor" if colour else None)
    with terminal.capture() as capture:
        terminal.print(Trimmed(content))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", capture.get())
    assert plain == "   a     b\n   long\n\n  x\ny\n\nz\n"
    assert ("\x1b" in capture.get()) == colour


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (8, "abc漢字f"),
        (7, "abc漢 …"),
        (6, "abc漢…"),
        (5, "abc …"),
        (1, "…"),
    ],
)
def test_cut_line_ends_with_an_ellipsis(width: int, shown: str) -> None:
    """Wide characters count twice. The given text stays unchanged."""
    text = Text("abc漢字f", style="bold")
    assert lines_of([one_row(text)], width) == [shown]
    assert not text.no_wrap


def test_no_other_module_makes_consoles_or_tables() -> None:
    """Consoles and tables of rich read brackets as markup."""
    folder = Path(attn_drill.__file__).parent
    makers = re.compile(r"\b(Console|Table|Table\.grid|Panel)\(|from_markup|markup=True")
    modules = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        for line in path.read_text().splitlines()
        if makers.search(line) and not line.startswith("class ")
    }
    assert modules == {"report/code_text.py"}
