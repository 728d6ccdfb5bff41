"""Export the journal as JSON lines and read exports.

The file has a header line, then one line for each row. An export can be read on any machine, any
number of times. The lines are ASCII only, so that neither a terminal nor a locale changes a byte.
All lines are validated before any row is used.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
from msgspec import Meta

from trainer.model.errors import DrillError
from trainer.practice.journal_schema import COLUMNS, FIRST_EXPORT, VERSION

MOST_BYTES = 1 << 30
_KIND = "journal"
_MOST_HEADER_BYTES = 1000
# The year 5138. A review is due at most 100 years later, and datetime ends with the year 9999.
_MOST_SECONDS = 1e11

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Whole = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Time = Annotated[float, Meta(ge=0, le=_MOST_SECONDS)]

# The type of each column, by the column's name. A column that is not listed holds text.
# `level` is the number of a hint in the table `hints`, and the name of a stub level in `started`.
_NUMBERS: dict[str, Any] = {
    "at": Time,
    "seed": Whole,
    "checks_passed": Count,
    "checks_total": Count,
    "seconds": Time | None,
    "hints": Count,
    "solution": Annotated[int, Meta(ge=0, le=1)],
    "line": Count | None,
    "rating": Annotated[int, Meta(ge=1, le=4)],
    "hints.level": Count,
}
# Columns whose text is JSON, with the type of the JSON value.
_JSON: dict[str, Any] = {
    "checks": dict[str, str],
    "mistakes": list[str],
    "plan": dict[str, Any],
    "data": dict[str, Any],
}


def _type(table: str, column: str) -> Any:
    return _NUMBERS.get(f"{table}.{column}", _NUMBERS.get(column, str))


_SHAPES = {
    table: msgspec.defstruct(
        table, [(column, _type(table, column)) for column in columns], forbid_unknown_fields=True
    )
    for table, columns in COLUMNS.items()
}


def export_lines(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[bytes]:
    """Yield the lines of an export, each with its line end.

    Args:
        rows: The rows of the journal, each with the name of its table.

    Raises:
        DrillError: If this program cannot have written a row. The message names the row.
    """
    yield _line({"attn-drill": _KIND, "version": VERSION})
    for table, row in rows:
        try:
            _validated(table, row)
        except ValueError as error:
            raise DrillError(
                f"The row {row['id']!r} of {table} in the journal cannot be exported: {error}. "
                "Repair or delete it with sqlite3."
            ) from None
        yield _line({"table": table, **row})


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False, separators=(", ", ": ")).encode("ascii") + b"\n"


def save_export(path: Path, lines: Iterable[bytes], *, overwrite: bool = False) -> None:
    """Write a file completely, or leave the folder unchanged.

    Args:
        path: The file to write.
        lines: The content.
        overwrite: If true, replace a file that exists.

    Raises:
        DrillError: If the file exists and `overwrite` is false, or if it cannot be written.
    """
    if overwrite and os.path.islink(path):
        path = Path(os.path.realpath(path))  # replace the link's target, not the link
    if os.path.exists(path) and not os.path.isfile(path):
        raise DrillError(
            f"{path} is not a regular file. Name a new file, or leave FILE out to write to stdout."
        )
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        try:
            with part.open("xb") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            if overwrite:
                os.replace(part, path)
            else:
                _put(part, path)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError:
        raise DrillError(
            f"{path} already exists and is left unchanged. "
            "Name another file, or add --force to replace it."
        ) from None
    except OSError as error:
        raise DrillError(
            f"{path} cannot be written: {error.strerror or error}. "
            "Nothing was written. Name a file in another folder."
        ) from None


def _put(part: Path, path: Path) -> None:
    """Give a written file its final name, or raise FileExistsError if the name is taken."""
    try:
        os.link(part, path)  # unlike a rename, a link never replaces a file
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise FileExistsError from None
        os.rename(part, path)


def read_export(stream: BinaryIO, name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the rows of an export, each with the name of its table.

    Args:
        stream: The bytes of the export.
        name: The name of the export in error messages.

    Raises:
        DrillError: If a line is wrong. The message names the line and the next step.
    """
    size = _read_header(stream, name)
    rows: list[tuple[str, dict[str, Any]]] = []
    line_number = 1
    while line := stream.readline(MOST_BYTES - size + 1):
        size += len(line)
        line_number += 1
        if size > MOST_BYTES:
            raise DrillError(
                f"{name} has more than {MOST_BYTES:,} bytes, but no journal is so large. "
                "Nothing was imported. Is it the right file?"
            )
        if not line.strip():
            continue
        try:
            rows.append(_read_row(line))
        except ValueError as error:
            raise DrillError(
                f"{name}, line {line_number}: {error}. Nothing was imported. "
                "If the file was cut off or edited, export it again; else delete this line."
            ) from None
    return rows


def _read_header(stream: BinaryIO, name: str) -> int:
    """Read the first line and return its length in bytes."""
    line = stream.readline(_MOST_HEADER_BYTES)
    try:
        header = _object(line.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        header = {}
    version = header.get("version")
    if header.get("attn-drill") != _KIND or type(version) is not int or version < 1:
        raise DrillError(
            f"{name}, line 1: this is not an exported journal. "
            "Name a file that `attn-drill export FILE` wrote. Nothing was imported."
        )
    if version > VERSION:
        raise DrillError(
            f"{name}, line 1: the export has version {version}, but this attn-drill reads "
            f"versions up to {VERSION}. Upgrade attn-drill, then import it. "
            "Nothing was imported."
        )
    if version < FIRST_EXPORT:
        raise DrillError(
            f"{name}, line 1: there is no export version {version}; "
            f"the first is version {FIRST_EXPORT}. Export it again. Nothing was imported."
        )
    return len(line)


def _read_row(line: bytes) -> tuple[str, dict[str, Any]]:
    row = _object(line)
    if "attn-drill" in row:
        raise ValueError("a second header; import one export at a time")
    table = row.pop("table", None)
    if not isinstance(table, str) or table not in COLUMNS:
        raise ValueError(
            f"`table` is {json.dumps(table)[:80]}; it must be one of {', '.join(COLUMNS)}"
        )
    return table, _validated(table, row)


def _object(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line, or raise ValueError."""
    try:
        content = json.loads(line.decode("utf-8"), object_pairs_hook=_once)
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("not a row: the JSON is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError("not a JSON object")
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dict, or raise ValueError if a key occurs twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key occurs twice")
    return content


def _validated(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with every column of its table, or raise ValueError with the reason."""
    shape = msgspec.convert(row, _SHAPES[table])
    values = {column: getattr(shape, column) for column in COLUMNS[table]}
    for column, value in values.items():
        if isinstance(value, str) and not _is_storable(value):
            raise ValueError(f"`{column}` has half of a surrogate pair, so it is not text")
        if column in _JSON:
            try:
                # The journal reads the text with json too, which accepts NaN.
                msgspec.convert(json.loads(value), _JSON[column])
            except (ValueError, RecursionError) as error:
                raise ValueError(f"`{column}` is not the expected JSON: {error}") from None
    return values


def _is_storable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
