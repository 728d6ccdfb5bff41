"""The journal goes out as JSON lines and comes in again: nothing lost, nothing twice, all or nothing."""

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

from tests.support.exchange import HEADER, HINT, everything, filled, taken
from tests.support.journal import FIRST_ROWS, first_version
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.practice import exchange
from trainer.practice.exchange import save
from trainer.practice.journal import Journal
from trainer.practice.journal_schema import COLUMNS, VERSION


def test_lines(home: Path) -> None:
    """A header, then a row a line with its table and all its columns, in ASCII."""
    with contextlib.closing(filled(home)) as journal:
        lines = everything(journal).decode("ascii").split("\n")
        rows = journal.rows()
    assert json.loads(lines[0]) == {"attn-drill": "journal", "version": VERSION}
    assert lines[-1] == ""
    assert [json.loads(line) for line in lines[1:-1]] == [
        {"table": table, **row} for table, row in rows
    ]
    assert all(tuple(row) == COLUMNS[table] for table, row in rows)


def test_into_an_empty_journal_and_out_again(home: Path, tmp_path: Path) -> None:
    """The same bytes, and everything that is asked of the journal has the same answer."""
    with (
        contextlib.closing(filled(home)) as one,
        contextlib.closing(Journal(tmp_path / "other")) as other,
    ):
        rows = taken(everything(one))
        assert other.add_rows(rows) == len(rows) > 30
        assert everything(other) == everything(one)
        assert other.rows() == one.rows()
        assert other.attempts() == one.attempts()
        assert other.reviews() == one.reviews()
        last = one.last_interview()
        assert last is not None
        assert other.events(last[0]) == one.events(last[0]) != []
        assert other.last_seed("gqa") == one.last_seed("gqa")


def test_ones_own_export_adds_nothing(home: Path) -> None:
    """Once or many times."""
    with contextlib.closing(filled(home)) as journal:
        data = everything(journal)
        for _ in range(2):
            assert journal.add_rows(taken(data)) == 0
            assert everything(journal) == data


def test_put_together_both_ways_round(tmp_path: Path) -> None:
    """Two journals with a part in common: whichever comes first, the same rows are there, each once."""
    exports = [
        everything(journal) for seed in (1, 2) for journal in [filled(tmp_path / str(seed), seed)]
    ]
    common = everything(filled(tmp_path / "common", 3))
    found = set()
    for number, order in enumerate(itertools.permutations((0, 1))):
        with contextlib.closing(Journal(tmp_path / f"both {number}")) as journal:
            for which in order:
                journal.add_rows(taken(exports[which] + common[len(HEADER) :]))
            lines = everything(journal).splitlines()
        assert len(lines) == len(set(lines))
        found.add(frozenset(lines))
    assert found == {frozenset((exports[0] + exports[1] + common).splitlines())}


def test_from_a_migrated_journal(home: Path, tmp_path: Path) -> None:
    """What version 1 knew goes out and in as well."""
    first_version(home / "journal.sqlite3")
    with (
        contextlib.closing(Journal(home)) as one,
        contextlib.closing(Journal(tmp_path / "other")) as other,
    ):
        assert other.add_rows(taken(everything(one))) == sum(
            len(rows) for rows in FIRST_ROWS.values()
        )
        assert everything(other) == everything(one)


def changed(**columns: object) -> bytes:
    """The line of a hint with other columns; `...` leaves one out."""
    row = {**json.loads(HINT), **columns}
    return (
        json.dumps({name: value for name, value in row.items() if value is not ...}).encode()
        + b"\n"
    )


def of(table: str, **columns: object) -> bytes:
    """A line of another table, right but for these columns."""
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
    "no JSON": (b"{", "no JSON"),
    "cut off": (HINT[:40], "no JSON"),
    "no object": (b"[1]", "no JSON object"),
    "no UTF-8": (b'{"table": "\xff"}', "no UTF-8"),
    "deep": (b'{"table":' + b"[" * 100_000, "line 3"),
    "a key twice": (HINT.replace(b'"level"', b'"level": 1, "level"'), "twice"),
    "another header": (HEADER, "second header"),
    "no table": (changed(table=...), "`table` is null"),
    "an unknown table": (changed(table="grades"), '"grades"; it must be one of started'),
    "a table that is no name": (changed(table={"a": 1}), "must be one of"),
    "SQL for a table": (changed(table="hints; DROP TABLE hints"), "must be one of"),
    "no id": (changed(id=...), "`id`"),
    "null for an id": (changed(id=None), "`str`, got `null`"),
    "a column too many": (changed(source="x"), "`source`"),
    "a number for text": (changed(challenge=5), "`str`, got `int`"),
    "text for a number": (changed(level="2"), "`int`, got `str`"),
    "true for a number": (changed(level=True), "`int`, got `bool`"),
    "a fraction": (changed(level=1.5), "`int`, got `float`"),
    "below zero": (changed(level=-1), ">= 0"),
    "more than SQLite holds": (changed(level=1 << 63), "level"),
    "a huge number": (HINT.replace(b"1.5", b"1" * 5000), "line 3"),
    "not a number": (HINT.replace(b"1.5", b"NaN"), "at"),
    "infinite": (HINT.replace(b"1.5", b"1e999"), "at"),
    "minus infinity": (HINT.replace(b"1.5", b"-Infinity"), "at"),
    "after all calendars": (changed(at=1e12), "at"),
    "before 1970": (changed(at=-1.0), "at"),
    "half a surrogate pair": (HINT.replace(b"gqa", b"\\ud800"), "surrogate"),
    "a rating that is none": (of("reviews", rating=5), "rating"),
    "an overrule that is none": (of("overrules", rating=0), "rating"),
    "infinite seconds": (
        of("attempts", seconds=None).replace(b'"seconds": null', b'"seconds": Infinity'),
        "seconds",
    ),
    "null for a seed": (of("attempts", seed=None), "seed"),
    "checks that are no JSON": (of("attempts", checks="{"), "`checks`"),
    "checks of numbers": (of("attempts", checks='{"loads": 1}'), "`checks`"),
    "mistakes that are no list": (of("diagnoses", mistakes="{}"), "`mistakes`"),
    "a plan that is no object": (of("interviews", plan="[]"), "`plan`"),
    "data that are too deep": (of("interview_events", data="[" * 100_000), "`data`"),
}


@pytest.mark.parametrize(("line", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_broken_line_is_refused(line: bytes, words: str) -> None:
    """The sentence names the line and what is wrong with it, and what to do; a right line before it does not help."""
    with pytest.raises(DrillError, match="line 3: ") as caught:
        taken(HEADER + HINT + line.rstrip(b"\n") + b"\n" + HINT)
    assert words in str(caught.value)
    assert "Nothing was imported" in str(caught.value)
    assert "export it again" in str(caught.value)


ACCEPTED = {
    "as it is": (HINT, 1),
    "without an end": (HINT.rstrip(), 1),
    "with the ends of lines of Windows": (HINT.replace(b"\n", b"\r\n"), 1),
    "with empty lines": (b"\n" + HINT + b" \n\n", 1),
    "a whole number for a time": (changed(at=1), 1),
    "other spaces and another order": (
        b'{"id":"a","level":2,\t"at":15e-1 ,"challenge":"gqa","table":"hints"}',
        1,
    ),
    "in UTF-8": (HINT.replace(b"gqa", "注意力🙂".encode()), 1),
    "the same line twice": (HINT + HINT, 2),
    "the last second": (changed(at=1e11), 1),
    "every table": (b"".join(of(table) for table in COLUMNS), len(COLUMNS)),
    "nothing": (b"", 0),
}


@pytest.mark.parametrize(("lines", "count"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_is_right_is_taken(lines: bytes, count: int, home: Path) -> None:
    """However it is written; a row that stands twice is added once; a mark of UTF-8 before the header does no harm."""
    for before in (b"", b"\xef\xbb\xbf"):
        assert len(taken(before + HEADER + lines)) == count
    with contextlib.closing(Journal(home)) as journal:
        assert journal.add_rows(taken(HEADER + lines)) == min(
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
def test_what_is_no_export(data: bytes) -> None:
    """It is said of the first line, whatever follows."""
    with pytest.raises(
        DrillError,
        match=r"it, line 1: this is no journal that was exported\..*Nothing was imported",
    ):
        taken(data)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (VERSION + 1, "Upgrade attn-drill"),
        (10**30, "Upgrade"),
        (1, "there is no export of version 1"),
    ],
)
def test_another_version(version: int, words: str) -> None:
    """A newer one asks for a newer attn-drill; an older one there is not."""
    with pytest.raises(DrillError, match=f"line 1: .*version {version}.*") as caught:
        taken(HEADER.replace(b"3", str(version).encode()) + b"whatever is new\n")
    assert words in str(caught.value)


def test_export_of_version_2_is_imported() -> None:
    """An export that was made before replaced attempts were noted is as good as ever."""
    assert taken(HEADER.replace(b"3", b"2") + HINT) == taken(HEADER + HINT)


def test_more_than_a_journal_comes_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is on all bytes, in many lines or in one, and what is just as long passes."""
    monkeypatch.setattr(exchange, "MOST_BYTES", len(HEADER) + 3 * len(HINT))
    assert len(taken(HEADER + HINT * 3)) == 3
    for lines in (HINT * 4, HINT * 3 + b"\n", b" " * 10_000):
        with pytest.raises(DrillError, match=r"more than .* bytes"):
            taken(HEADER + lines)


def test_a_row_that_no_program_wrote_is_not_exported(home: Path) -> None:
    """Somebody's own hand in the file: the sentence names the row, and nothing is written that could not be read again."""
    with contextlib.closing(filled(home)) as journal:
        path = journal.path
    for value in ("'soon'", "9e999", "x'00ff'"):
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"UPDATE hints SET at = {value} WHERE rowid = 2")
            ((name,),) = connection.execute("SELECT id FROM hints WHERE rowid = 2").fetchall()
        with (
            contextlib.closing(Journal(home)) as journal,
            pytest.raises(DrillError, match=f"row '{name}' of hints"),
        ):
            everything(journal)


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """Not a byte of it changes without `over`, with it every byte; nothing else is left in the folder."""
    folder = tmp_path / "out"
    folder.mkdir()
    save(folder / "a", [b"one\n", b"two\n"])
    assert (folder / "a").read_bytes() == b"one\ntwo\n"
    with pytest.raises(DrillError, match=r"is there already.*--force"):
        save(folder / "a", [b"three"])
    assert (folder / "a").read_bytes() == b"one\ntwo\n"
    save(folder / "a", [b"three"], over=True)
    assert (folder / "a").read_bytes() == b"three"
    assert [one.name for one in folder.iterdir()] == ["a"]


def test_links(tmp_path: Path) -> None:
    """A link counts as there, also one that leads nowhere; with `over` what it leads to is replaced, and the link stays."""
    (tmp_path / "real").write_bytes(b"old")
    for name, target in (("link", "real"), ("nowhere", "absent")):
        (tmp_path / name).symlink_to(target)
        with pytest.raises(DrillError, match="is there already"):
            save(tmp_path / name, [b"new"])
        save(tmp_path / name, [b"new"], over=True)
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / target).read_bytes() == b"new"


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written all the same, and what is there is left alone all the same."""

    def no_link(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(exchange.os, "link", no_link)
    save(tmp_path / "a", [b"one"])
    with pytest.raises(DrillError, match="is there already"):
        save(tmp_path / "a", [b"two"])
    assert (tmp_path / "a").read_bytes() == b"one"


PLACES: dict[str, Callable[[Path], Path]] = {
    "a folder": lambda folder: folder,
    "no such folder": lambda folder: folder / "absent" / "a",
    "under a file": lambda folder: folder / "file" / "a",
    "a pipe": lambda folder: (
        folder / "pipe"
    ),  # and no device of the machine, which a fault would replace
    "a name too long": lambda folder: folder / ("x" * 300),
}


@pytest.mark.parametrize("over", [False, True])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_where_nothing_can_be_written(
    tmp_path: Path, place: Callable[[Path], Path], over: bool
) -> None:
    """A sentence, and nothing has changed."""
    (tmp_path / "file").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DrillError):
        save(place(tmp_path), [b"one"], over=over)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "pipe").is_fifo()


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """The old file is still whole, and no part of the new one is left."""
    (tmp_path / "a").write_bytes(b"old")
    script = """
import resource, sys
from pathlib import Path
from trainer.model.errors import DrillError
from trainer.practice.exchange import save
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
for over in (False, True):
    try:
        save(Path(sys.argv[1]) / ("a" if over else "b"), [b"x" * 1000] * 20, over=over)
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
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("a", b"old")]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 5000


KILLED = """
import os, signal, sys
from pathlib import Path
from trainer.practice.exchange import save
from trainer.practice.journal import Journal
class Row(dict):
    def __getitem__(self, name):
        if name == "level" and self["id"] == "500":
            os.kill(os.getpid(), signal.SIGKILL)
        return dict.__getitem__(self, name)
rows = [("hints", Row(id=str(number), challenge="gqa", at=1.0, level=1)) for number in range(1000)]
if sys.argv[1] == "import":
    Journal(Path("home")).add_rows(rows)
save(Path("out"), (str(row["level"]).encode() * 1000 for _, row in rows))
"""


@pytest.mark.parametrize("command", ["import", "export"])
def test_a_kill_in_the_middle(command: str, home: Path, tmp_path: Path) -> None:
    """Half an import is none, and half a file has no name."""
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
