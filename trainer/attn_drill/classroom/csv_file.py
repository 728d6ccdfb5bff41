"""Read a CSV file of a teacher, whatever program wrote it."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from attn_drill.model.errors import DrillError
from attn_drill.model.listing import first_of

_SAVE_AS = "In the spreadsheet, save the table as “CSV UTF-8” and name that file."
_MOST_COLUMNS = 12  # in one sentence


@dataclass(frozen=True)
class CsvLine:
    """One line of a table."""

    number: int  # of its last line in the file, from 1: a cell may hold line ends
    cells: Mapping[str, str]  # exactly as read, by heading

    def cell(self, *names: str) -> str:
        """Return the cell of the first of these plain headings that is not empty, or ""."""
        by_name: dict[str, str] = {}
        for heading, cell in self.cells.items():
            by_name.setdefault(plain_heading(heading), cell.strip())
        return next((by_name[name] for name in names if by_name.get(name)), "")


@dataclass(frozen=True)
class CsvTable:
    """A table with a heading for each column. Empty lines are left out."""

    headings: tuple[str, ...]
    lines: tuple[CsvLine, ...]

    def has(self, *names: str) -> bool:
        """Return whether one of these plain headings exists."""
        return not {plain_heading(heading) for heading in self.headings}.isdisjoint(names)


def plain_heading(heading: str) -> str:
    """Return a heading in small letters, without blanks and punctuation.

    >>> plain_heading(" E-Mail ")
    'email'
    """
    folded = unicodedata.normalize("NFKC", heading).casefold()
    return "".join(character for character in folded if character.isalnum())


def listed(names: Iterable[str]) -> str:
    """Return names of columns for a sentence.

    >>> listed(["id", " ", "name"])
    '“id”, “name”'
    """
    return first_of([f"“{name.strip()}”" for name in names if name.strip()], _MOST_COLUMNS)


def read_csv(path: Path, next_step: str) -> CsvTable:
    """Read a table with commas, semicolons or tabs, in UTF-8 or UTF-16, or raise DrillError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DrillError(f"{path} cannot be read: {error.strerror or error}. {next_step}") from None
    # Blackboard writes UTF-16, with or without a mark. A heading begins with a letter of ASCII.
    is_marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    encoding = "utf-16" if is_marked else "utf-16-le" if data[1:2] == b"\0" else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise DrillError(f"{path} is no CSV file in UTF-8 or UTF-16. {_SAVE_AS}") from None
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t", key="".join(first.split('"')[::2]).count)  # outside of quotes
    reader = csv.DictReader(
        io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=delimiter, restval="", strict=True
    )
    headings = tuple(reader.fieldnames or ())
    if not headings:
        raise DrillError(f"{path} is empty. {next_step}")
    lines: list[CsvLine] = []
    try:
        for row in reader:
            extra = row.pop(None, ())
            if any(cell.strip() for cell in extra):
                raise DrillError(
                    f"{path}, line {reader.line_num} has {len(headings) + len(extra)} cells, but"
                    f" the first line names {len(headings)} columns. Write quotes around a cell"
                    " that has a comma in it."
                )
            if any(cell.strip() for cell in row.values()):
                lines.append(CsvLine(reader.line_num, row))
    except csv.Error as error:
        raise DrillError(
            f"{path}, line {reader.line_num + 1} cannot be read: {error}. {_SAVE_AS}"
        ) from None
    return CsvTable(headings, tuple(lines))
