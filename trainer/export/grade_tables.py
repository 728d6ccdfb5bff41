"""Write the grades of a class as CSV, with one row for each submission."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator

from trainer.classroom.records import StudentResult
from trainer.report.class_words import checks_passed, likely, points
from trainer.report.visible import visible

COLUMNS = (
    "student",
    "challenge",
    "verdict",
    "score",
    "checks_passed",
    "checks_total",
    "likely_mistake",
    "seconds",
)

# The file has no byte order mark: with the mark, a program would find the column `\ufeffstudent`
# instead of `student`. If a spreadsheet assumes an old encoding of its country, choose UTF-8 when
# importing the file (in Excel: Data, From Text/CSV).
ENCODING = "utf-8"

# The beginning of a text that spreadsheets read as a formula. Full-width signs count, too, and so
# do signs after blanks, quotes and invisible characters.
_FORMULA = re.compile(r"[\s\"'`\u200c\u200d]*[=+\-@＝＋－＠]")


def grades_csv(results: Iterable[StudentResult]) -> str:
    """Return the text of the file. Write the text with `ENCODING` and newline=""."""
    return "".join(rows(results))


def rows(results: Iterable[StudentResult]) -> Iterator[str]:
    """Yield the lines of the file, the header first.

    Each row is exactly one line: line ends in names are escaped. So tools that read line by line
    work, too.
    """
    yield ",".join(COLUMNS) + "\n"
    for result in results:
        yield csv_line(cells(result))


def cells(result: StudentResult) -> tuple[str, ...]:
    """Return the cells of one submission, in the order of `COLUMNS`.

    Without a verdict, unknown values are empty cells. If several submissions have the same
    student's name, the column `likely_mistake` has a sentence about it.
    """
    graded = result.verdict is not None
    passed, total = checks_passed(result)
    return (
        cell_of(result.student),
        cell_of(result.challenge),
        "not graded" if result.verdict is None else result.verdict,
        points(result.score) if graded and result.score is not None else "",
        str(passed) if graded else "",
        str(total) if graded else "",
        cell_of((result.error or "") if result.unsettled else likely(result)),
        f"{result.seconds:.2f}",
    )


def cell_of(text: str) -> str:
    """Return a text that a spreadsheet shows and does not compute.

    A text that could be a formula gets an apostrophe at its beginning.
    """
    shown = visible(text)
    # `visible` has escaped tabs and line ends. A program that undoes the escapes must not get a
    # formula either, so texts that begin with these characters get an apostrophe, too.
    return "'" + shown if _FORMULA.match(text) or text[:1] in ("\t", "\r", "\n") else shown


def csv_line(row: tuple[str, ...]) -> str:
    """Return a row as a line of a CSV file."""
    # In some countries, spreadsheets split cells at semicolons. Quotes keep a name with a
    # semicolon in one cell.
    buffer = io.StringIO()
    csv.writer(
        buffer,
        quoting=csv.QUOTE_ALL if any(";" in cell for cell in row) else csv.QUOTE_MINIMAL,
        lineterminator="\n",
    ).writerow(row)
    return buffer.getvalue()
