"""Read and write `overrides.toml`: the points that a person decided.

A person may edit the file too. Everything that the person wrote stays, also comments.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from trainer.classroom.records import Override
from trainer.classroom.result_store import write_atomically
from trainer.model.errors import DrillError
from trainer.packs.toml_lines import KeyPath, line_of, spans
from trainer.packs.toml_table import TomlFile, TomlTable, as_toml, read_toml_file, suggested

OVERRIDES_FILE = "overrides.toml"
_TABLE = "override"
_KEYS = ("student", "challenge", "points", "comment")
_HEAD = """\
# Points that a person decided. You may edit this file; grade reads it with --resume.
# The points replace the total of a student, or the points of one challenge if `challenge` is
# given. If several entries have the same student and challenge, the last one counts.
"""


def read_overrides(path: Path, challenges: Collection[str] | None = None) -> list[Override]:
    """Return the overrides of a file, in its order.

    Of several entries for the same student and challenge, only the last is returned. A missing
    file gives an empty list.

    Args:
        path: the file.
        challenges: the ids of the challenges that an entry may name; None for any id.

    Raises:
        DrillError: one sentence that names the file, the line and the key.
    """
    try:
        file = read_toml_file(path)
    except FileNotFoundError:
        return []
    effective: dict[tuple[str, str], Override] = {}
    for override in _entries(file, challenges):
        key = (override.student, override.challenge)
        effective.pop(key, None)  # so that the entry moves to its new place in the order
        effective[key] = override
    return list(effective.values())


def add_override(path: Path, override: Override) -> None:
    """Append an override to the file, or begin the file.

    Raises:
        DrillError: the points are not 0 to 100, or the file holds an error. It is unchanged then.
        GraderError: the file cannot be written.
    """
    if not 0 <= override.points <= 100:
        raise DrillError(f"The points are {override.points:g}; they must be 0 to 100.")
    read_overrides(path)  # a person must repair a file with an error first
    text = _text(path) or _HEAD
    block = ["", f"[[{_TABLE}]]", f"student = {as_toml(override.student)}"]
    if override.challenge:
        block.append(f"challenge = {as_toml(override.challenge)}")
    block.append(f"points = {as_toml(override.points)}")
    if override.comment:
        block.append(f"comment = {as_toml(override.comment)}")
    line_end = "\r\n" if "\r\n" in text else "\n"
    if not text.endswith("\n"):
        text += line_end
    _write(path, text + "".join(line + line_end for line in block))


def remove_override(path: Path, student: str, challenge: str) -> bool:
    """Remove all overrides of a student and challenge. Return False if there was none.

    Only the lines from the header to the last key are removed, and an empty line above them.

    Args:
        path: the file.
        student: the name of the student.
        challenge: the id of the challenge, or "" for the total.

    Raises:
        DrillError: the file holds an error. It is unchanged then.
        GraderError: the file cannot be written.
    """
    try:
        file = read_toml_file(path)
    except FileNotFoundError:
        return False
    found = spans(file.text)
    # Compare names in the form of the file, because TOML cannot represent every name.
    wanted = tuple(map(as_toml, (student, challenge)))
    indices = [
        index
        for index, entry in enumerate(_entries(file))
        if (as_toml(entry.student), as_toml(entry.challenge)) == wanted
    ]
    lines = _text(path).split("\n")
    for index in reversed(indices):
        span = found[(_TABLE, index)]
        first = span.first - 1
        if first and not lines[first - 1].strip():
            first -= 1
        del lines[first : span.last]
    if indices:
        _write(path, "\n".join(lines))
    return bool(indices)


def _entries(file: TomlFile, challenges: Collection[str] | None = None) -> list[Override]:
    """Return all overrides of a file."""
    table = file.table()
    table.refuse_unknown(
        (_TABLE,), dict.fromkeys(_KEYS, f"It belongs below a header [[{_TABLE}]].")
    )
    entries = [_entry(entry, challenges) for entry in table.tables(_TABLE)]
    # Below `override = []`, no entry could be added.
    if _TABLE in table.values and not _first_line(file, (_TABLE,)).startswith("[["):
        raise table.error(_TABLE, f"Write each entry below a header [[{_TABLE}]] of its own.")
    return entries


def _first_line(file: TomlFile, place: KeyPath) -> str:
    return file.text.split("\n")[(line_of(file.text, place) or 1) - 1].lstrip()


def _entry(table: TomlTable, challenges: Collection[str] | None) -> Override:
    table.refuse_unknown(_KEYS)
    for key in ("student", "points"):
        if key not in table.values:
            raise table.error(key, f"The entry has no `{key}`. Add it below [[{_TABLE}]].")
    student, challenge = table.text("student"), table.text("challenge")
    if not student.strip():
        raise table.error("student", '`student` is empty. Write a name: student = "Ana Lee".')
    if challenge and challenges is not None and challenge not in challenges:
        raise table.error(
            "challenge",
            f"`challenge` is {as_toml(challenge)}, which the assignment does not have."
            f" {suggested(challenge, challenges, 'challenges')}",
        )
    points = table.number("points")
    if not 0 <= points <= 100:
        raise table.error("points", f"`points` is {points:g}; it must be 0 to 100.")
    return Override(student, challenge, points, table.text("comment"))


def _text(path: Path) -> str:
    """Return the text of the file with a byte order mark, if it has one; "" without a file."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""


def _write(path: Path, text: str) -> None:
    write_atomically(path, text.encode("utf-8"))
