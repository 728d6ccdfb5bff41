"""What the learner sees: verdict first, both values, at 80 and 50 columns, without colour and in ASCII."""

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
    """What is printed as a string, or lies in a cell, stands as it is."""
    stream = io.StringIO()
    table = grid(padding=(0, 1))
    table.add_column(word)
    table.add_row(word, f"cell {word}")
    console(stream, width=80).print(f"line {word}")
    Console(file=stream, width=80).print(table)
    assert f"line {word}" in stream.getvalue()
    assert f"cell {word}" in stream.getvalue()


def test_no_other_place_makes_consoles_or_tables() -> None:
    """Rich reads brackets as markup where a console or a table is made without care."""
    folder = Path(trainer.__file__).parent
    made = re.compile(r"\b(Console|Table|Table\.grid|Panel|Columns)\(|from_markup|markup=True")
    found = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        for line in path.read_text().splitlines()
        if made.search(line) and not line.startswith("class ")
    }
    assert found == {"report/literal.py"}
