"""The journal as JSON lines: a header, then one line a row. What is written here can be read again, on any machine, any number of times.

ASCII only, so that neither a terminal nor a locale changes a byte. A line is validated in full before a row of any line is used.
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
_MOST_SECONDS = 1e11  # the year 5138; some hundred years more, and no calendar has the day on which a review is due

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Whole = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Time = Annotated[float, Meta(ge=0, le=_MOST_SECONDS)]

# What a column holds, by its name. Whatever is not here is text; `level` is a hint's number in one table and a stub's in another.
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
# Text that is JSON itself, and of what.
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


def written(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[bytes]:
    """The lines of an export, each with its end.

    Raises:
        DrillError: where a row is not what this program writes, naming it.
    """
    yield _line({"attn-drill": _KIND, "version": VERSION})
    for table, row in rows:
        try:
            _validated(table, row)
        except ValueError as error:
            raise DrillError(
                f"The row {row['id']!r} of {table} in the journal cannot be exported: {error}. Mend or delete it with sqlite3."
            ) from None
        yield _line({"table": table, **row})


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False, separators=(", ", ": ")).encode("ascii") + b"\n"


def save(path: Path, lines: Iterable[bytes], *, over: bool = False) -> None:
    """Write a file whole or not at all; one that is there already is replaced only with `over`.

    Raises:
        DrillError: where it may not or cannot be written.
    """
    if over and os.path.islink(path):
        path = Path(os.path.realpath(path))  # what the link leads to is replaced, not the link
    if os.path.exists(path) and not os.path.isfile(path):
        raise DrillError(
            f"{path} is no regular file. Name a file that is not there yet, or leave FILE out for stdout."
        )
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        try:
            with part.open("xb") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            if over:
                os.replace(part, path)
            else:
                _put(part, path)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError:
        raise DrillError(
            f"{path} is there already and is left as it is. Name another file, or add --force to replace it."
        ) from None
    except OSError as error:
        raise DrillError(
            f"{path} cannot be written: {error.strerror or error}. Nothing was written; name a file elsewhere."
        ) from None


def _put(part: Path, path: Path) -> None:
    """Give a written file its name, unless something has that name."""
    try:
        os.link(part, path)  # unlike a rename it never replaces
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise FileExistsError from None
        os.rename(part, path)


def read(stream: BinaryIO, name: str) -> list[tuple[str, dict[str, Any]]]:
    """The rows of an export.

    Args:
        stream: its bytes.
        name: what sentences call it.

    Raises:
        DrillError: naming the line that is wrong, and what to do.
    """
    size = _read_header(stream, name)
    rows: list[tuple[str, dict[str, Any]]] = []
    number = 1
    while line := stream.readline(MOST_BYTES - size + 1):
        size += len(line)
        number += 1
        if size > MOST_BYTES:
            raise DrillError(
                f"{name} has more than {MOST_BYTES:,} bytes, which is more than a journal comes to. Nothing was imported; is it the right file?"
            )
        if not line.strip():
            continue
        try:
            rows.append(_read_row(line))
        except ValueError as error:
            raise DrillError(
                f"{name}, line {number}: {error}. Nothing was imported. If the file was cut off or edited, export it again; else take this line out."
            ) from None
    return rows


def _read_header(stream: BinaryIO, name: str) -> int:
    """Read the first line; how many bytes it has."""
    line = stream.readline(_MOST_HEADER_BYTES)
    try:
        header = _object(line.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        header = {}
    version = header.get("version")
    if header.get("attn-drill") != _KIND or type(version) is not int or version < 1:
        raise DrillError(
            f"{name}, line 1: this is no journal that was exported. Name a file that `attn-drill export FILE` wrote. Nothing was imported."
        )
    if version > VERSION:
        raise DrillError(
            f"{name}, line 1: the export is of version {version}, this attn-drill knows version {VERSION}. Upgrade attn-drill, then import it. "
            "Nothing was imported."
        )
    if version < FIRST_EXPORT:
        raise DrillError(
            f"{name}, line 1: there is no export of version {version}; the first is of version {FIRST_EXPORT}. Export it again. Nothing was imported."
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
    """The JSON object of a line, or ValueError."""
    try:
        found = json.loads(line.decode("utf-8"), object_pairs_hook=_once)
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is no UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("no row: it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _validated(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with every column as the table has it, or ValueError in words."""
    shape = msgspec.convert(row, _SHAPES[table])
    found = {column: getattr(shape, column) for column in COLUMNS[table]}
    for column, value in found.items():
        if isinstance(value, str) and not _is_storable(value):
            raise ValueError(f"`{column}` has half of a surrogate pair, which is no text")
        if column in _JSON:
            try:
                msgspec.convert(
                    json.loads(value), _JSON[column]
                )  # json, as the journal reads it: it knows NaN
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"`{column}` is not the JSON text that belongs there: {error}"
                ) from None
    return found


def _is_storable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
