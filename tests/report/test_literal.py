"""Consoles and tables read no markup."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

import trainer
from tests.support.display import HOSTILE
from trainer.report.literal import console, grid


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


def test_no_other_module_makes_consoles_or_tables() -> None:
    """Consoles and tables of rich read brackets as markup."""
    folder = Path(trainer.__file__).parent
    makers = re.compile(r"\b(Console|Table|Table\.grid|Panel|Columns)\(|from_markup|markup=True")
    modules = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        for line in path.read_text().splitlines()
        if makers.search(line) and not line.startswith("class ")
    }
    assert modules == {"report/literal.py"}
