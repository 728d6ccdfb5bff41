"""The journal goes out as JSON lines and comes in again: nothing lost, nothing twice, all or nothing."""

import contextlib
import io
import itertools
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.test_cli import drill
from trainer.model.attempt import Attempt
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.practice import exchange
from trainer.practice.exchange import read, save, written
from trainer.practice.journal import Journal
from trainer.practice.journal_schema import COLUMNS, VERSION

HEADER = b'{"attn-drill": "journal", "version": 3}\n'
HINT = b'{"table": "hints", "id": "a", "challenge": "gqa", "at": 1.5, "level": 2}\n'
TEXTS = (
    "",
    "x = 1\n",
    "a\0b",
    "\r\n\u2028\x85\x1b[31m",
    "é 注意力 🙂",
    '"\\u00e9"',
    "\x7f\ufeff\uffff",
)


def filled(folder: Path, seed: int = 0) -> Journal:
    """A journal with rows of every table, and text and numbers of every kind."""
    draw = random.Random(seed)
    journal = Journal(folder)
    for number in range(4):
        at = draw.uniform(0, 2e9)
        text = draw.choice(TEXTS)
        journal.record_start("gqa", Path(f"/{text.replace('/', '')}"), at, "guided")
        first = journal.record_attempt(
            Attempt(
                "gqa",
                at,
                draw.getrandbits(63),
                "failed",
                number,
                14,
                TEXTS[number],
                {"loads": "passed"},
                draw.random() / 3,
                number,
                True,
                "review",
            )
        )
        journal.record_attempt(Attempt("mha", at + 1, 0, "passed", 14, 14, TEXTS[-number]))
        journal.record_diagnosis(first, ["no-scale", "x"], 3 if number else None)
        journal.record_replaced(first, at + 2)
        journal.record_hint("gqa", 3, at + 0.1)
        journal.record_solution("gqa", 1e-300 * number)
        journal.overrule(journal.record_review("question:a", at, 1 + number, text), at, 4)
        journal.record_hunt("gqa", at, [text], Path("/x"))
        journal.record_event(
            journal.record_interview(at, {"minutes": 45.5, text: [None, float("nan")]}),
            at,
            "answer",
            {"right": True},
        )
    assert journal.trouble is None
    return journal


def everything(journal: Journal) -> bytes:
    """The export."""
    return b"".join(written(journal.rows()))


def taken(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    """The rows of an export."""
    return read(io.BytesIO(data), "it")


def test_every_table_goes_out() -> None:
    """The test's journal has rows in each table that there is, so that the tests below speak of all."""
    with contextlib.closing(filled(Path(os.environ["ATTN_DRILL_HOME"]))) as journal:
        assert {table for table, _ in journal.rows()} == set(COLUMNS)


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
    from tests.test_journal import FIRST_ROWS, first_version

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


def test_a_row_that_was_edited(home: Path) -> None:
    """The same id with other content: none of the file's rows is added, and the sentence names row and column."""
    with contextlib.closing(filled(home)) as journal:
        before = everything(journal)
        table, row = journal.rows()[0]
        with pytest.raises(
            DrillError, match=f"{row['id']}.*with another challenge, at.*Nothing was added"
        ):
            journal.add_rows(
                [*taken(HEADER + HINT), (table, {**row, "challenge": "mha", "at": 5.0})]
            )
        assert everything(journal) == before
        assert journal.add_rows(taken(HEADER + HINT)) == 1, "the journal can still be used"


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


# The files


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


# The commands


@pytest.fixture
def there(home: Path) -> bytes:
    """A home with a full journal; its export."""
    with contextlib.closing(filled(home)) as journal:
        return everything(journal)


def test_export_and_import_by_command(there: bytes, tmp_path: Path) -> None:
    """To stdout and to a file the same; into another home all rows are new, a second time none."""
    count = there.count(b"\n") - 1
    for arguments in ([], ["-"]):
        assert drill("export", *arguments, cwd=tmp_path).stdout.encode() == there
    done = drill("export", "my journal.jsonl", cwd=tmp_path)
    assert (
        done.stdout
        == f"my journal.jsonl has the journal's {count} rows. `attn-drill import 'my journal.jsonl'` reads it, on any machine.\n"
    )
    assert (tmp_path / "my journal.jsonl").read_bytes() == there
    other = str(tmp_path / "other")
    assert (
        drill("import", "my journal.jsonl", cwd=tmp_path, ATTN_DRILL_HOME=other).stdout
        == f"{count} rows were new, 0 were there already.\n"
    )
    assert (
        drill("import", "my journal.jsonl", cwd=tmp_path, ATTN_DRILL_HOME=other).stdout
        == f"0 rows were new, {count} were there already.\n"
    )
    assert (
        drill(
            "export", cwd=tmp_path, ATTN_DRILL_HOME=other, PYTHONIOENCODING="ascii", LC_ALL="C"
        ).stdout.encode()
        == there
    )


def test_import_from_stdin(there: bytes, tmp_path: Path) -> None:
    """`-` reads a pipe."""
    done = subprocess.run(
        [sys.executable, "-m", "trainer", "import", "-"],
        input=there,
        env={
            **os.environ,
            "PYTHONPATH": str(pack_reader.TRAINER.parent),
            "ATTN_DRILL_HOME": str(tmp_path / "other"),
        },
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout.split()[0]) == (0, str(there.count(b"\n") - 1).encode())


def test_export_leaves_a_file_alone(there: bytes, tmp_path: Path) -> None:
    """Exit code 2 and a sentence; --force replaces it, but never the journal itself."""
    (tmp_path / "a").write_text("mine")
    assert "--force" in drill("export", "a", cwd=tmp_path, code=2).stderr
    assert (tmp_path / "a").read_text() == "mine"
    drill("export", "a", "--force", cwd=tmp_path)
    assert (tmp_path / "a").read_bytes() == there
    assert (
        "the journal itself"
        in drill("export", "home/journal.sqlite3", "--force", cwd=tmp_path, code=2).stderr
    )
    assert drill("export", cwd=tmp_path).stdout.encode() == there


def test_import_is_all_or_nothing(there: bytes, tmp_path: Path) -> None:
    """One broken line at the end of a good file: exit code 2, one sentence with its number, and no row of the others is there."""
    (tmp_path / "cut").write_bytes(there[:-20])
    other = str(tmp_path / "other")
    done = drill("import", "cut", cwd=tmp_path, code=2, ATTN_DRILL_HOME=other)
    number = there.count(b"\n")
    assert done.stderr.startswith(f"attn-drill: cut, line {number}: ")
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert not (tmp_path / "other").exists(), "the journal was not even touched"


def test_no_such_file(tmp_path: Path) -> None:
    """A name that is none, and a folder: a sentence each."""
    assert "absent cannot be read" in drill("import", "absent", cwd=tmp_path, code=2).stderr
    assert ". cannot be read" in drill("import", ".", cwd=tmp_path, code=2).stderr


def test_an_empty_journal(tmp_path: Path, home: Path) -> None:
    """It is exported as a header alone, which can be imported; asking makes no journal."""
    assert drill("export", cwd=tmp_path).stdout.encode() == HEADER
    assert not home.exists()
    (tmp_path / "a").write_bytes(HEADER)
    assert drill("import", "a", cwd=tmp_path).stdout == "0 rows were new, 0 were there already.\n"


def test_a_journal_that_cannot_be_used(there: bytes, tmp_path: Path) -> None:
    """It is neither exported as an empty one nor told as imported."""
    (tmp_path / "other" / "journal.sqlite3").mkdir(parents=True)
    (tmp_path / "a").write_bytes(there)
    for command in (["export"], ["export", "b"], ["import", "a"]):
        done = drill(*command, cwd=tmp_path, code=2, ATTN_DRILL_HOME=str(tmp_path / "other"))
        assert "cannot be used" in done.stderr
        assert done.stdout == ""
    assert not (tmp_path / "b").exists()


def test_a_broken_journal_is_not_exported_as_an_empty_one(home: Path, tmp_path: Path) -> None:
    """It is set aside, as ever, and the exit code says that nothing came out."""
    home.mkdir()
    (home / "journal.sqlite3").write_bytes(b"no journal at all" * 100)
    assert "journal.broken-1.sqlite3" in drill("export", "a", cwd=tmp_path, code=2).stderr
    assert not (tmp_path / "a").exists()
