"""Read a CSV file of a teacher, whatever program wrote it."""

from __future__ import annotations

import codecs
import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from trainer.model.errors import DrillError
from trainer.model.listing import first_of

_DELIMITERS = (",", ";", "\t")
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n")  # Excel's own hint about the delimiter
_SAVE_AS = "In the spreadsheet, save the table as “CSV UTF-8” and name that file."
_MOST_COLUMNS = 12  # in one sentence


@dataclass(frozen=True)
class CsvLine:
    """One line of a table.

    Attributes:
        number: the number of its first line in the file, from 1.
        cells: the cells exactly as read, by the heading of their column.
    """

    number: int
    cells: Mapping[str, str]


@dataclass(frozen=True)
class CsvTable:
    """A table with a heading for each column.

    Attributes:
        headings: the headings exactly as read.
        lines: the lines below the headings. Empty lines are left out.
    """

    headings: tuple[str, ...]
    lines: tuple[CsvLine, ...]

    def heading(self, *names: str) -> str | None:
        """Return the first heading with one of these names, or None. Earlier names come first.

        Args:
            names: names in the form of `plain_heading`.
        """
        return next((self._by_name[name] for name in names if name in self._by_name), None)

    @cached_property
    def _by_name(self) -> dict[str, str]:
        # Of two columns with the same name, the first counts.
        return {plain_heading(heading): heading for heading in reversed(self.headings)}


def plain_heading(heading: str) -> str:
    """Return a heading in small letters, without blanks and punctuation: `emailaddress`."""
    folded = unicodedata.normalize("NFKC", heading).casefold()
    return "".join(character for character in folded if character.isalnum())


def read_csv(path: Path, next_step: str) -> CsvTable:
    """Read a table with commas, semicolons or tabs, in UTF-8 or UTF-16.

    Args:
        path: the file.
        next_step: the sentence that says which file to name, for a file that does not exist.

    Raises:
        DrillError: one sentence that names the file, the line and the next step.
    """
    text = _text(path, next_step)
    hint = _SEPARATOR_LINE.match(text)
    delimiter = hint[1] if hint else _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    headings: tuple[str, ...] = ()
    lines: list[CsvLine] = []
    start = 1
    try:
        for cells in reader:
            number, start = start, reader.line_num + 1
            if (hint and number == 1) or not any(cell.strip() for cell in cells):
                continue
            if headings:
                lines.append(CsvLine(number, _by_heading(path, number, headings, cells)))
            else:
                headings = tuple(cells)
    except csv.Error as error:
        raise DrillError(f"{path} is not a CSV file: line {start}: {error}. {_SAVE_AS}") from None
    if not headings:
        raise DrillError(f"{path} is empty. {next_step}")
    return CsvTable(headings, tuple(lines))


def listed(names: Iterable[str]) -> str:
    """Return names of columns for a sentence."""
    return first_of([f"“{name.strip()}”" for name in names if name.strip()], _MOST_COLUMNS)


def _text(path: Path, next_step: str) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DrillError(f"There is no file {path}. {next_step}") from None
    except OSError as error:
        raise DrillError(f"{path} cannot be read: {error.strerror or error}. {next_step}") from None
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise DrillError(f"{path} is a workbook of a spreadsheet, not a CSV file. {_SAVE_AS}")
    try:
        text = data.decode(_encoding(data))
    except UnicodeDecodeError:
        raise DrillError(f"{path} is neither UTF-8 nor UTF-16 text. {_SAVE_AS}") from None
    if "\0" in text:
        raise DrillError(f"{path} is not a CSV file. {_SAVE_AS}")
    return text.removeprefix("\ufeff")


def _encoding(data: bytes) -> str:
    """Return the encoding of a file. Blackboard writes UTF-16, with or without a mark."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # The headings of every system begin with a letter of ASCII.
    if data[1:2] == b"\0":
        return "utf-16-le"
    return "utf-8-sig"


def _delimiter(text: str) -> str:
    """Return the delimiter that the first line has most often outside of quotes."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    outside = "".join(first.split('"')[::2])
    return max(_DELIMITERS, key=outside.count)


def _by_heading(
    path: Path, number: int, headings: Sequence[str], cells: Sequence[str]
) -> dict[str, str]:
    if any(cell.strip() for cell in cells[len(headings) :]):
        raise DrillError(
            f"{path}, line {number} has {len(cells)} cells, but the first line names"
            f" {len(headings)} columns. Write quotes around a cell that has a comma in it."
        )
    padded = [*cells, *[""] * (len(headings) - len(cells))]
    found: dict[str, str] = {}
    for heading, cell in zip(headings, padded, strict=False):
        found.setdefault(heading, cell)  # of two columns with the same heading, the first counts
    return found
