"""Journals of old versions, and helpers that use a journal in other processes."""

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attn_drill.practice.facts import Attempted
from attn_drill.practice.journal import Journal
from tests.support.paths import ROOT

ROOT = ROOT


Open = Callable[[], Journal]

# The tables of version 1, as released.
FIRST_VERSION = """
    CREATE TABLE started (challenge TEXT NOT NULL, path TEXT NOT NULL, at REAL NOT NULL);
    CREATE TABLE attempts (
        challenge TEXT NOT NULL, at REAL NOT NULL, seed INTEGER NOT NULL, verdict TEXT NOT NULL,
        checks_passed INTEGER NOT NULL, checks_total INTEGER NOT NULL, source TEXT NOT NULL
    );
    CREATE TABLE hints (challenge TEXT NOT NULL, level INTEGER NOT NULL, at REAL NOT NULL);
    CREATE TABLE solutions (challenge TEXT NOT NULL, at REAL NOT NULL);
    CREATE INDEX attempts_by_challenge ON attempts (challenge, at);
    PRAGMA user_version = 1;
"""

FIRST_ROWS = {
    "started": [("gqa", "/a/gqa.py", 1.0), ("mha", "/a/mha.py", 2.5)],
    "attempts": [
        ("gqa", 3.0, 7, "failed", 3, 14, "one\n"),
        ("gqa", 4.0, 8, "passed", 14, 14, "two\n"),
        ("mha", 4.0, 9, "timeout", 0, 0, "é\0🙂"),
    ],
    # The first hint was shown in the same moment as the first attempt.
    "hints": [("gqa", 1, 3.0), ("gqa", 2, 3.5)],
    "solutions": [("gqa", 5.0)],
}


def attempt(verdict: str = "failed", when: float = 2.0, **more: object) -> Attempted:
    """Return an attempt at gqa."""
    columns: dict[str, Any] = {"seed": 7, "verdict": verdict, "source": "source", **more}
    return Attempted("gqa", when, **columns)


def first_version(path: Path, rows: dict[str, list[tuple[object, ...]]] = FIRST_ROWS) -> None:  # type: ignore[assignment]
    """Write a journal of version 1."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(FIRST_VERSION)
        for table, table_rows in rows.items():
            connection.executemany(
                f"INSERT INTO {table} VALUES ({', '.join('?' * len(table_rows[0]))})", table_rows
            )


def fourth_version(folder: Path) -> None:
    """Write the journal of version 4 that this version 4 itself once wrote, in WAL mode."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (ROOT / "tests" / "practice" / "journal_4.sql").read_text()
    with contextlib.closing(sqlite3.connect(folder / "journal.sqlite3")) as connection:
        connection.executescript(text)
        connection.execute("PRAGMA journal_mode = WAL")


def query(path: Path, statement: str) -> list[tuple[object, ...]]:
    """Return the result of a query, without the code of the journal."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def script(text: str, *arguments: object) -> list[str]:
    """Return the command that runs a Python script.

    The script has the journal in `j`, and the arguments from the second on in `sys.argv`.
    """
    head = (
        "import os, signal, sys; from pathlib import Path; "
        "from attn_drill.practice import facts, journal; "
        "j = journal.Journal(Path(sys.argv[1]))\n"
    )
    return [sys.executable, "-c", head + text, *map(str, arguments)]


def run_together(commands: list[list[str]]) -> list[str]:
    """Run scripts that print `ready` and wait for a line. Send the line to all at once.

    Return the output of each script after that: stdout and stderr.
    """
    running = [
        subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for command in commands
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate()[0] for process in running]


READY = "print('ready', flush=True); sys.stdin.readline()\n"
