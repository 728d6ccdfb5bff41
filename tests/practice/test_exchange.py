"""Tests of the export and import of the journal. Nothing gets lost, duplicated or half imported."""

import contextlib
import itertools
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.exchange import HEADER, HINT, exported, filled_journal, read_rows
from tests.support.journal import FIRST_ROWS, first_version
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.practice import exchange
from trainer.practice.exchange import save_export
from trainer.practice.journal import Journal
from trainer.practice.journal_schema import COLUMNS, VERSION


def test_export_has_a_header_and_a_line_for_each_row(home: Path) -> None:
    """A line has the table and all its columns, in ASCII."""
    with contextlib.closing(filled_journal(home)) as journal:
        lines = exported(journal).decode("ascii").split("\n")
        rows = journal.rows()
    assert json.loads(lines[0]) == {"attn-drill": "journal", "version": VERSION}
    assert lines[-1] == ""
    assert [json.loads(line) for line in lines[1:-1]] == [
        {"table": table, **row} for table, row in rows
    ]
    assert all(tuple(row) == COLUMNS[table] for table, row in rows)


def test_import_into_an_empty_journal_keeps_everything(home: Path, tmp_path: Path) -> None:
    """The second export has the same bytes, and all queries have the same results."""
    with (
        contextlib.closing(filled_journal(home)) as journal,
        contextlib.closing(Journal(tmp_path / "other")) as other,
    ):
        rows = read_rows(exported(journal))
        assert other.add_rows(rows) == len(rows) > 30
        assert exported(other) == exported(journal)
        assert other.rows() == journal.rows()
        assert other.attempts() == journal.attempts()
        assert other.reviews() == journal.reviews()
        last = journal.last_interview()
        assert last is not None
        assert other.events(last[0]) == journal.events(last[0]) != []
        assert other.last_seed("gqa") == journal.last_seed("gqa")


def test_import_of_the_own_export_adds_nothing(home: Path) -> None:
    """The result is the same if the export is imported several times."""
    with contextlib.closing(filled_journal(home)) as journal:
        data = exported(journal)
        for _ in range(2):
            assert journal.add_rows(read_rows(data)) == 0
            assert exported(journal) == data


def test_order_of_two_imports_does_not_matter(tmp_path: Path) -> None:
    """Two exports with common rows give the same rows in either order, each row once."""
    exports = [exported(filled_journal(tmp_path / str(seed), seed)) for seed in (1, 2)]
    common = exported(filled_journal(tmp_path / "common", 3))
    results = set()
    for order in itertools.permutations((0, 1)):
        with contextlib.closing(Journal(tmp_path / f"first {order[0]}")) as journal:
            for export_index in order:
                journal.add_rows(read_rows(exports[export_index] + common[len(HEADER) :]))
            lines = exported(journal).splitlines()
        assert len(lines) == len(set(lines))
        results.add(frozenset(lines))
    assert results == {frozenset((exports[0] + exports[1] + common).splitlines())}


def test_migrated_journal_is_exported_completely(home: Path, tmp_path: Path) -> None:
    """The rows of version 1 are exported and imported too."""
    first_version(home / "journal.sqlite3")
    with (
        contextlib.closing(Journal(home)) as journal,
        contextlib.closing(Journal(tmp_path / "other")) as other,
    ):
        assert other.add_rows(read_rows(exported(journal))) == sum(
            len(rows) for rows in FIRST_ROWS.values()
        )
        assert exported(other) == exported(journal)


def changed_hint(**columns: object) -> bytes:
    """Return the line of a hint with other columns. Leave out columns with the value `...`."""
    row = {**json.loads(HINT), **columns}
    return (
        json.dumps({name: value for name, value in row.items() if value is not ...}).encode()
        + b"\n"
    )


def line_of(table: str, **columns: object) -> bytes:
    """Return a valid line of another table with these columns."""
    usual: dict[str, object] = {
        **{
            "at": 1.0,
            "seed": 1,
            "checks": "{}",
            "checks_passed": 0,
            "checks_total": 1,
            "seconds": None,
            "hints": 0,
            "solution": 0,
        },
        **{"mistakes": "[]", "line": None, "rating": 3, "plan": "{}", "data": "{}"},
        **({"level": 1} if table == "hints" else {}),
    }
    return (
        json.dumps(
            {"table": table, **{name: usual.get(name, "x") for name in COLUMNS[table]}, **columns}
        ).encode()
        + b"\n"
    )


REFUSED = {
    "not JSON": (b"{", "not JSON"),
    "cut off": (HINT[:40], "not JSON"),
    "no object": (b"[1]", "not a JSON object"),
    "not UTF-8": (b'{"table": "\xff"}', "not UTF-8"),
    "deep": (b'{"table":' + b"[" * 100_000, "line 3"),
    "a key twice": (HINT.replace(b'"level"', b'"level": 1, "level"'), "twice"),
    "another header": (HEADER, "second header"),
    "no table": (changed_hint(table=...), "`table` is null"),
    "an unknown table": (changed_hint(table="grades"), '"grades"; it must be one of started'),
    "a table that is an object": (changed_hint(table={"a": 1}), "must be one of"),
    "SQL for a table": (changed_hint(table="hints; DROP TABLE hints"), "must be one of"),
    "no id": (changed_hint(id=...), "`id`"),
    "null for an id": (changed_hint(id=None), "`str`, got `null`"),
    "a column too many": (changed_hint(source="x"), "`source`"),
    "a number for text": (changed_hint(challenge=5), "`str`, got `int`"),
    "text for a number": (changed_hint(level="2"), "`int`, got `str`"),
    "true for a number": (changed_hint(level=True), "`int`, got `bool`"),
    "a fraction": (changed_hint(level=1.5), "`int`, got `float`"),
    "below zero": (changed_hint(level=-1), ">= 0"),
    "more than SQLite holds": (changed_hint(level=1 << 63), "level"),
    "a huge number": (HINT.replace(b"1.5", b"1" * 5000), "line 3"),
    "not a number": (HINT.replace(b"1.5", b"NaN"), "at"),
    "infinite": (HINT.replace(b"1.5", b"1e999"), "at"),
    "minus infinity": (HINT.replace(b"1.5", b"-Infinity"), "at"),
    "after all calendars": (changed_hint(at=1e12), "at"),
    "before 1970": (changed_hint(at=-1.0), "at"),
    "half a surrogate pair": (HINT.replace(b"gqa", b"\\ud800"), "surrogate"),
    "an invalid rating": (line_of("reviews", rating=5), "rating"),
    "an invalid overrule": (line_of("overrules", rating=0), "rating"),
    "infinite seconds": (
        line_of("attempts", seconds=None).replace(b'"seconds": null', b'"seconds": Infinity'),
        "seconds",
    ),
    "null for a seed": (line_of("attempts", seed=None), "seed"),
    "checks that are not JSON": (line_of("attempts", checks="{"), "`checks`"),
    "checks of numbers": (line_of("attempts", checks='{"loads": 1}'), "`checks`"),
    "mistakes that are not a list": (line_of("diagnoses", mistakes="{}"), "`mistakes`"),
    "a plan that is not an object": (line_of("interviews", plan="[]"), "`plan`"),
    "data that are too deep": (line_of("interview_events", data="[" * 100_000), "`data`"),
}


@pytest.mark.parametrize(("line", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_broken_line_is_refused(line: bytes, words: str) -> None:
    """The message names the line, the problem and the next step.

    Valid lines are not imported either.
    """
    with pytest.raises(DrillError, match="line 3: ") as caught:
        read_rows(HEADER + HINT + line.rstrip(b"\n") + b"\n" + HINT)
    assert words in str(caught.value)
    assert "Nothing was imported" in str(caught.value)
    assert "export it again" in str(caught.value)


ACCEPTED = {
    "unchanged": (HINT, 1),
    "without a line end": (HINT.rstrip(), 1),
    "with Windows line ends": (HINT.replace(b"\n", b"\r\n"), 1),
    "with empty lines": (b"\n" + HINT + b" \n\n", 1),
    "a whole number for a time": (changed_hint(at=1), 1),
    "other spaces and another order": (
        b'{"id":"a","level":2,\t"at":15e-1 ,"challenge":"gqa","table":"hints"}',
        1,
    ),
    "in UTF-8": (HINT.replace(b"gqa", "注意力🙂".encode()), 1),
    "the same line twice": (HINT + HINT, 2),
    "the last second": (changed_hint(at=1e11), 1),
    "every table": (b"".join(line_of(table) for table in COLUMNS), len(COLUMNS)),
    "nothing": (b"", 0),
}


@pytest.mark.parametrize(("lines", "count"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_valid_lines_are_imported(lines: bytes, count: int, home: Path) -> None:
    """The spelling of the JSON does not matter.

    A repeated row is added once. A byte order mark is ignored.
    """
    for before in (b"", b"\xef\xbb\xbf"):
        assert len(read_rows(before + HEADER + lines)) == count
    with contextlib.closing(Journal(home)) as journal:
        assert journal.add_rows(read_rows(HEADER + lines)) == min(
            count, len(set(lines.split(b"\n")) - {b"", b" "})
        )


NO_EXPORT = {
    "empty": b"",
    "text": b"Dear journal,\n",
    "a row first": HINT + HEADER,
    "JSON": b'{"version": 2}\n',
    "an array": b"[]\n",
    "no version": b'{"attn-drill": "journal"}\n',
    "a version in words": b'{"attn-drill": "journal", "version": "2"}\n',
    "true for a version": b'{"attn-drill": "journal", "version": true}\n',
    "a version below one": b'{"attn-drill": "journal", "version": 0}\n',
    "a database": b"SQLite format 3\0" + bytes(5000),
    "UTF-16": HEADER.decode().encode("utf-16"),
    "one long line": b'{"attn-drill": "' + b"x" * 100_000,
}


@pytest.mark.parametrize("data", NO_EXPORT.values(), ids=NO_EXPORT.keys())
def test_other_files_are_refused(data: bytes) -> None:
    """The message names the first line, whatever the rest of the file is."""
    with pytest.raises(
        DrillError,
        match=r"it, line 1: this is not an exported journal\..*Nothing was imported",
    ):
        read_rows(data)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (VERSION + 1, "Upgrade attn-drill"),
        (10**30, "Upgrade"),
        (1, "there is no export version 1"),
    ],
)
def test_exports_of_other_versions_are_refused(version: int, words: str) -> None:
    """A newer version needs a newer attn-drill. Version 1 has no exports."""
    with pytest.raises(DrillError, match=f"line 1: .*version {version}.*") as caught:
        read_rows(HEADER.replace(b"4", str(version).encode()) + b"something new\n")
    assert words in str(caught.value)


@pytest.mark.parametrize("version", [b"2", b"3"])
def test_exports_of_earlier_versions_are_imported(version: bytes) -> None:
    """Version 2 has no table for replaced attempts, and version 3 none for resumed starts."""
    assert read_rows(HEADER.replace(b"4", version) + HINT) == read_rows(HEADER + HINT)


def test_too_large_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit counts the bytes of all lines together. A file of exactly this size is imported."""
    monkeypatch.setattr(exchange, "MOST_BYTES", len(HEADER) + 3 * len(HINT))
    assert len(read_rows(HEADER + HINT * 3)) == 3
    for lines in (HINT * 4, HINT * 3 + b"\n", b" " * 10_000):
        with pytest.raises(DrillError, match=r"more than .* bytes"):
            read_rows(HEADER + lines)


def test_row_that_was_edited_by_hand_is_not_exported(home: Path) -> None:
    """The message names the row. An export never contains rows that cannot be read again."""
    with contextlib.closing(filled_journal(home)) as journal:
        path = journal.path
    for value in ("'soon'", "9e999", "x'00ff'"):
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"UPDATE hints SET at = {value} WHERE rowid = 2")
            ((name,),) = connection.execute("SELECT id FROM hints WHERE rowid = 2").fetchall()
        with (
            contextlib.closing(Journal(home)) as journal,
            pytest.raises(DrillError, match=f"row '{name}' of hints"),
        ):
            exported(journal)


def test_existing_file_is_replaced_only_with_overwrite(tmp_path: Path) -> None:
    """The folder has no other files afterwards."""
    folder = tmp_path / "out"
    folder.mkdir()
    save_export(folder / "a", [b"one\n", b"two\n"])
    assert (folder / "a").read_bytes() == b"one\ntwo\n"
    with pytest.raises(DrillError, match=r"already exists.*--force"):
        save_export(folder / "a", [b"three"])
    assert (folder / "a").read_bytes() == b"one\ntwo\n"
    save_export(folder / "a", [b"three"], overwrite=True)
    assert (folder / "a").read_bytes() == b"three"
    assert [path.name for path in folder.iterdir()] == ["a"]


def test_link_counts_as_an_existing_file(tmp_path: Path) -> None:
    """A broken link counts too. With `overwrite`, the target is replaced and the link stays."""
    (tmp_path / "real").write_bytes(b"old")
    for name, target in (("link", "real"), ("nowhere", "absent")):
        (tmp_path / name).symlink_to(target)
        with pytest.raises(DrillError, match="already exists"):
            save_export(tmp_path / name, [b"new"])
        save_export(tmp_path / name, [b"new"], overwrite=True)
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / target).read_bytes() == b"new"


def test_save_works_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An existing file is left unchanged there too."""

    def no_link(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(exchange.os, "link", no_link)
    save_export(tmp_path / "a", [b"one"])
    with pytest.raises(DrillError, match="already exists"):
        save_export(tmp_path / "a", [b"two"])
    assert (tmp_path / "a").read_bytes() == b"one"


PLACES: dict[str, Callable[[Path], Path]] = {
    "a folder": lambda folder: folder,
    "no such folder": lambda folder: folder / "absent" / "a",
    "under a file": lambda folder: folder / "file" / "a",
    # A pipe instead of a real device, because a bug would replace the device.
    "a pipe": lambda folder: folder / "pipe",
    "a name too long": lambda folder: folder / ("x" * 300),
}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_save_that_fails_changes_nothing(
    tmp_path: Path, place: Callable[[Path], Path], overwrite: bool
) -> None:
    """All files of the folder are unchanged after the error."""
    (tmp_path / "file").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DrillError):
        save_export(place(tmp_path), [b"one"], overwrite=overwrite)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "pipe").is_fifo()


def test_full_disk_leaves_the_old_file_unchanged(tmp_path: Path) -> None:
    """No part of the new file is left."""
    (tmp_path / "a").write_bytes(b"old")
    script = """
import resource, sys
from pathlib import Path
from trainer.model.errors import DrillError
from trainer.practice.exchange import save_export
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
for overwrite in (False, True):
    path = Path(sys.argv[1]) / ("a" if overwrite else "b")
    try:
        save_export(path, [b"x" * 1000] * 20, overwrite=overwrite)
    except DrillError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=pack_reader.TRAINER.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("cannot be written") == 2
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 5000


KILLED = """
import os, signal, sys
from pathlib import Path
from trainer.practice.exchange import save_export
from trainer.practice.journal import Journal
class Row(dict):
    def __getitem__(self, name):
        if name == "level" and self["id"] == "500":
            os.kill(os.getpid(), signal.SIGKILL)
        return dict.__getitem__(self, name)
rows = [("hints", Row(id=str(index), challenge="gqa", at=1.0, level=1)) for index in range(1000)]
if sys.argv[1] == "import":
    Journal(Path("home")).add_rows(rows)
save_export(Path("out"), (str(row["level"]).encode() * 1000 for _, row in rows))
"""


@pytest.mark.parametrize("command", ["import", "export"])
def test_kill_leaves_no_partial_import_or_export(command: str, home: Path, tmp_path: Path) -> None:
    """A killed import adds no row, and a killed export leaves no file of the given name."""
    with contextlib.closing(Journal(home)) as journal:
        journal.record_hint("mha", 1, 1.0)
    environment = {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, command], cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == -signal.SIGKILL
    with contextlib.closing(Journal(home)) as journal:
        assert journal.progress().keys() == {"mha"}
        assert journal.trouble is None
    assert not (tmp_path / "out").exists()
