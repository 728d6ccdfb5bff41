"""The grades of a class as CSV: one row a submission, in the columns of the contract."""

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

# No byte order mark: a program that asks for the column `student` would find one called `\ufeffstudent`. A spreadsheet that takes
# such a file for its country's old encoding is told UTF-8 when it imports it (in Excel: Data, From Text/CSV).
ENCODING = "utf-8"

# What spreadsheets take for a formula, full-width forms too, also behind blanks, quotes and what is not seen.
_FORMULA = re.compile(r"[\s\"'`\u200c\u200d]*[=+\-@＝＋－＠]")


def grades_csv(results: Iterable[StudentResult]) -> str:
    """The whole file; write it with `ENCODING` and newline=""."""
    return "".join(rows(results))


def rows(results: Iterable[StudentResult]) -> Iterator[str]:
    """The lines of the file, the header first. A line is a row: line ends in names are escaped, so that tools that go by lines are right too."""
    yield ",".join(COLUMNS) + "\n"
    for result in results:
        yield csv_line(cells(result))


def cells(result: StudentResult) -> tuple[str, ...]:
    """Return the cells of one submission, in the order of `COLUMNS`.

    Without a verdict, the cells of what is not known are empty. If several submissions came under
    one name, a sentence says so in the column `likely_mistake`.
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
    """What a spreadsheet shows as it is: an apostrophe before what it would compute."""
    shown = visible(text)
    # Tabs and line ends are escapes by now; but who takes the escapes back must not get a formula either.
    return "'" + shown if _FORMULA.match(text) or text[:1] in ("\t", "\r", "\n") else shown


def csv_line(row: tuple[str, ...]) -> str:
    """A row as a line of a CSV file."""
    # Where a semicolon divides cells, what stands behind one in a name would be a cell of its own: quotes hold it together.
    buffer = io.StringIO()
    csv.writer(
        buffer,
        quoting=csv.QUOTE_ALL if any(";" in cell for cell in row) else csv.QUOTE_MINIMAL,
        lineterminator="\n",
    ).writerow(row)
    return buffer.getvalue()
