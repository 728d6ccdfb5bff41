"""Helpers for tests of the journal."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone, tzinfo
from pathlib import Path
from typing import Any

from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.practice.facts import (
    Attempted,
    Diagnosed,
    Fact,
    Hinted,
    Hunted,
    InterviewBegan,
    InterviewFinished,
    MistakeShown,
    Overruled,
    QuestionAnswered,
    QuestionsLeft,
    Replaced,
    Resumed,
    Revealed,
    Reviewed,
    StageAttempted,
    StageBegan,
    StageEnded,
    StageHinted,
    StageLeft,
    StageRepaired,
    StageReplaced,
    Started,
)
from attn_drill.practice.journal import Journal
from attn_drill.practice.statistics import Stats, statistics
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
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate()[0] for process in running]


READY = "print('ready', flush=True); sys.stdin.readline()\n"


TEXT = "x = 'é 注意力 🙂'\r\n\0\u2028\x85\x1b[31m\"\\u00e9\"\x7f\ufeff"

FACTS: tuple[Fact, ...] = (
    Started("gqa", 10.0, path=f"/a {TEXT}/gqa.py", level="guided"),
    Resumed("gqa", 11.0),
    Attempted("gqa", 12.0, "first", seed=(1 << 63) - 1, verdict="failed", source="x"),
    Replaced("gqa", 12.5, attempt="first"),
    Attempted(
        "gqa",
        13.25,
        "second",
        seed=0,
        verdict="not-allowed",
        source=TEXT,
        checks={"loads": "passed", "values": "failed", "masks": "skipped"},
        seconds=0.1,
        hints=2,
        solution=True,
        purpose="review",
    ),
    Diagnosed("gqa", 14.0, attempt="second", mistakes=("no-scale", "x"), line=3),
    Diagnosed("gqa", 14.5, attempt="first", mistakes=(), line=None),
    Hinted("gqa", 15.0, level=3),
    Revealed("gqa", 1e-300),
    Reviewed("question:a", 1e11, "review", rating=1, reason=TEXT),
    Overruled("question:a", 17.0, review="review", rating=4),
    Hunted("gqa", 18.0, mistakes=("a", "b"), path="/b.py"),
    InterviewBegan("", 19.0, "interview", plan={"minutes": 45.5, TEXT: [None, {"a": True}]}),
    StageBegan("gqa", 20.0, interview="interview"),
    StageAttempted(
        "gqa",
        21.0,
        interview="interview",
        seconds=0.5,
        verdict="failed",
        passed=3,
        total=5,
        failed=("values", "masks"),
        bugs_left=2,
        count=0,
    ),
    StageReplaced("gqa", 21.1, interview="interview"),
    StageRepaired("gqa", 21.2, interview="interview", bugs_left=1),
    StageHinted("gqa", 22.0, interview="interview", seconds=1.0, level=2),
    MistakeShown("gqa", 23.0, interview="interview", seconds=2.0, count=3),
    StageLeft("gqa", 24.0, interview="interview", seconds=3.0),
    StageEnded(
        "gqa", 25.0, interview="interview", code=TEXT, note=TEXT, reference_seen=True, seconds=3.5
    ),
    QuestionAnswered("follow-up:gqa:1", 26.0, interview="interview", seconds=4.0, rating=2),
    QuestionsLeft("", 27.0, interview="interview", seconds=5.0),
    InterviewFinished("", 28.0, interview="interview"),
)


def filled_journal(folder: Path) -> Journal:
    """Return a journal with facts of all kinds."""
    journal = Journal(folder)
    for fact in FACTS:
        journal.add(fact)
    assert journal.trouble is None
    return journal


UTC = timezone.utc  # noqa: UP017  # like the other zones

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC).timestamp()  # a Thursday

DAY = 86_400.0


def challenge(name: str, *builds_on: str, topic: str = "basics", minutes: int = 10) -> Challenge:
    """Return a challenge."""
    return Challenge(
        name,
        f"About {name}",
        "easy",
        minutes,
        "function",
        (name,),
        builds_on,
        ("", "", ""),
        Path("/c"),
        Path("/s"),
        topic,
    )


A, B, C, D = (
    challenge("a"),
    challenge("b", "a", topic="caches"),
    challenge("c", "a", "b", topic="caches", minutes=20),
    challenge("d", "c", "elsewhere"),
)

PACK = (A, B, C, D)

MISTAKES = {
    "a": [
        Mistake("no-scale", "", "", "It is not scaled.", ""),
        Mistake("late", "", "", "It comes late.", ""),
    ]
}


def attempt_at(
    name: str,
    days: float,
    verdict: str = "failed",
    *mistakes: str,
    seconds: float | None = None,
    purpose: str = "practice",
) -> Attempted:
    """Return an attempt that was made `days` days before now."""
    return Attempted(
        name,
        NOW - days * DAY,
        seed=1,
        verdict=verdict,  # type: ignore[arg-type]
        source="",
        seconds=seconds,
        mistakes=mistakes,
        purpose=purpose,  # type: ignore[arg-type]
    )


def review(item: str, days: float, rating: int = 3) -> Reviewed:
    """Return a review that was made `days` days before now."""
    return Reviewed(item, NOW - days * DAY, f"{item} {days}", rating=rating)


def statistics_of(
    *attempts: Attempted,
    reviews: tuple[Reviewed, ...] = (),
    starts: dict[str, list[float]] | None = None,
    zone: tzinfo | None = UTC,
) -> Stats:
    """Return the statistics for the small pack. `starts` are in days before now."""
    started = [
        Started(name, NOW - days * DAY, path="")
        for name, days_ago in (starts or {}).items()
        for days in days_ago
    ]
    facts = sorted([*started, *attempts, *reviews], key=lambda fact: fact.at)
    return statistics(facts, PACK, MISTAKES, NOW, zone=zone)
