"""Tests of journals and exports of versions 1 to 4: nothing of them gets lost."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from attn_drill.practice._old_journal import KINDS
from attn_drill.practice.facts import (
    INTERVIEW_EVENTS,
    Attempted,
    Diagnosed,
    Hinted,
    Hunted,
    InterviewBegan,
    InterviewEvent,
    InterviewFinished,
    MistakeShown,
    QuestionAnswered,
    QuestionsLeft,
    Replaced,
    Resumed,
    Revealed,
    StageAttempted,
    StageBegan,
    StageEnded,
    StageHinted,
    StageLeft,
    Started,
)
from attn_drill.practice.journal import VERSION, Journal, read_export
from attn_drill.practice.progress import (
    ChallengeProgress,
    SinceStart,
    counted_attempts,
    last_started,
    path_of,
    progress_of,
    rated_reviews,
    since_start,
)
from tests.support.journal import (
    FIRST_ROWS,
    READY,
    ROOT,
    Open,
    first_version,
    fourth_version,
    query,
    run_together,
    script,
)

LINES = ROOT / "tests" / "practice" / "journal_4.jsonl"
T = 1_790_000_000.0


def test_every_value_of_version_4_is_kept(opened: Open, home: Path) -> None:
    """Each row is one fact with the same id and values. Old tables are gone, a copy is kept."""
    fourth_version(home)
    path = home / "journal.sqlite3"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        rows = {
            row["id"]: {"table": table, **dict(row)}
            for table in KINDS
            for row in connection.execute(f"SELECT * FROM {table}")
        }
    assert {row["table"] for row in rows.values()} == set(KINDS), "a row in each table"
    assert opened().facts() != []
    new = {str(row[0]): (row[2], str(row[4])) for row in query(path, "SELECT * FROM fact")}
    assert new.keys() == rows.keys()
    for row_id, row in rows.items():
        kind, data = new[row_id]
        if (table := row.pop("table")) != "interview_events":
            assert kind == KINDS[table]
        if table == "interview_events":
            assert kind in ("stage-began", "stage-attempted", "stage-left")
            del row["kind"]
            row |= json.loads(row.pop("data"))
            assert row.pop("stage") == 0, "the first problem of the plan is sdpa"
            row["subject"] = "sdpa"
        for column, value in row.items():
            is_json = column in ("checks", "mistakes", "plan")
            assert (json.loads(value) if is_json else value) in json.loads(data).values(), column
    tables = {name for (name,) in query(path, "SELECT name FROM sqlite_master")}
    assert tables.isdisjoint(KINDS)
    assert query(path, "PRAGMA user_version") == [(VERSION,)]
    copy = home / "journal.version-4.sqlite3"
    assert query(copy, "PRAGMA user_version") == [(4,)]
    assert query(copy, "SELECT COUNT(*) FROM attempts") == [(7,)]


def test_questions_have_the_answers_of_version_4(opened: Open, home: Path) -> None:
    """The answers are those that version 4 gave for this file."""
    fourth_version(home)
    journal = opened()
    facts = journal.facts()
    assert len(facts) == 30
    assert progress_of(facts) == {
        "sdpa": ChallengeProgress("started", 1, 0),
        "rope": ChallengeProgress("started", 0, 0),
        "gqa": ChallengeProgress("passed", 2, 2),
        "mha": ChallengeProgress("started", 1, 0),
    }
    assert {name: since_start(journal.facts(subject=name)) for name in ("gqa", "mha", "mqa")} == {
        "gqa": SinceStart(T, T + 600, 600.25, 2, 1, True, 2, False),
        "mha": SinceStart(T + 1000, T + 1100, 100.0, 1, 1, False, 0, True),
        "mqa": SinceStart(),
    }
    assert path_of(journal.facts(subject="rope")) == Path("/home/ann/\\udcff/rope.py")
    assert last_started(facts) == "rope"
    assert [fact.level for fact in journal.facts(Started)] == [
        "guided",
        "standard",
        "standard",
        "blank",
    ]
    assert [fact.at for fact in journal.facts(Resumed)] == [T + 2000]
    hunt = journal.last(Hunted, subject="gqa")
    assert hunt is not None
    assert (hunt.mistakes, hunt.path) == (("no-scale", "repeat"), "/home/ann/gqa_hunt.py")
    attempts = counted_attempts(facts)
    assert [(attempt.verdict, attempt.purpose, attempt.solution) for attempt in attempts] == [
        ("failed", "practice", False),
        ("passed", "practice", False),
        ("timeout", "review", True),
        ("failed", "hunt", False),
        ("passed", "hunt", False),
        ("failed", "interview", False),
    ]
    assert attempts[0].source == '"""Attention."""\nx = \'é 注意力 🙂\'  # it\'s\n'
    assert attempts[0].checks == {"loads": "passed", "values": "failed"}
    assert attempts[0].mistakes == ("no-scale", "mask-after")
    assert [fact.line for fact in journal.facts(Diagnosed)] == [12, None]
    assert len(journal.facts(Replaced)) == len(journal.facts(Revealed)) == 1
    assert [(review.item, review.rating, review.reason) for review in rated_reviews(facts)] == [
        ("challenge:gqa", 3, "10 of 20 min, 2 hints, 2 failed attempts"),
        ("challenge:mha", 1, "given up"),
        ("question:sqrt", 3, "right"),
        ("line:gqa:no-scale", 1, "wrong"),
        ("follow-up:gqa:1", 4, "own rating"),
    ]
    interview = journal.last(InterviewBegan)
    assert interview is not None
    assert (interview.at, interview.plan["folder"]) == (T + 5000, "/home/ann/interview-2026-09-21")
    about = {"subject": "sdpa", "interview": interview.id}
    assert [msgspec.structs.replace(fact, id="") for fact in journal.facts(*INTERVIEW_EVENTS)] == [
        StageBegan(**about, at=T + 5001, id=""),
        StageAttempted(
            **about,
            at=T + 5100,
            id="",
            seconds=99.0,
            verdict="failed",
            passed=1,
            total=2,
            failed=("values",),
            count=2,
        ),
        StageLeft(**about, at=T + 5100, id="", seconds=99.5),
    ]


RESULT = {"verdict": "failed", "passed": 1, "total": 2, "failed": ("values",)}
# The old kind, the old values that are gone, and the new kind with the values that stay.
OLD_EVENTS: tuple[tuple[str, dict[str, Any], type[InterviewEvent] | None, dict[str, Any]], ...] = (
    ("begun", {"stage": 1}, StageBegan, {"seconds": 0.0}),
    (
        "attempt",
        {"stage": 1},
        StageAttempted,
        {"seconds": 7.5, **RESULT, "bugs_left": 3, "count": 0},
    ),
    ("hint", {"stage": 1}, StageHinted, {"seconds": 8.0, "level": 2}),
    ("why", {"stage": 1}, MistakeShown, {"seconds": 8.5, "count": 2}),
    ("left", {"stage": 1, "seconds": None}, StageLeft, {}),
    (
        "ended",
        {"stage": 1},
        StageEnded,
        {"seconds": 9.0, "code": None, "note": "gone", "reference_seen": True},
    ),
    ("answer", {"item": "follow-up:gqa:1"}, QuestionAnswered, {"seconds": 20.0, "rating": 3}),
    ("left", {}, QuestionsLeft, {"seconds": 21.0}),
    ("finished", {}, InterviewFinished, {}),
    ("of a later version", {"stage": 1}, None, {}),
    ("hint", {"stage": 5, "seconds": 8.0, "level": 2}, None, {}),
    ("hint", {"stage": 1, "seconds": 8.0}, None, {}),
)


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(("kind", "gone", "new_kind", "kept"), OLD_EVENTS)
def test_event_of_an_old_interview_is_a_fact_of_its_kind(
    opened: Open,
    home: Path,
    version: int,
    kind: str,
    gone: dict[str, Any],
    new_kind: type[InterviewEvent] | None,
    kept: dict[str, Any],
) -> None:
    """The problem is named by its place in the plan. An event that nobody can read is kept."""
    values = {**gone, **kept}
    subject = "gqa" if "stage" in gone else gone.get("item", "")
    events = [new_kind(subject, 2.0, "e", interview="i", **kept)] if new_kind else []
    stages = [{"challenge": "sdpa"}, {"challenge": "gqa"}]
    home.mkdir()
    with contextlib.closing(sqlite3.connect(home / "journal.sqlite3")) as connection, connection:
        if version == 4:
            connection.execute("CREATE TABLE interviews (id, at, plan)")
            connection.execute("CREATE TABLE interview_events (id, interview, at, kind, data)")
            connection.execute(
                "INSERT INTO interviews VALUES ('i', 1.0, ?)", [json.dumps({"stages": stages})]
            )
            connection.execute(
                "INSERT INTO interview_events VALUES ('e', 'i', 2.0, ?, ?)",
                [kind, json.dumps(values)],
            )
        else:
            connection.execute("CREATE TABLE fact (id PRIMARY KEY, at, kind, subject, data)")
            began = {"kind": "interview", "subject": "", "at": 1.0, "id": "i"}
            event = {"kind": "event", "subject": "i", "at": 2.0, "id": "e"}
            for row in (
                {**began, "plan": {"stages": stages}},
                {**event, "event": kind, "data": values},
            ):
                connection.execute(
                    "INSERT INTO fact VALUES (:id, :at, :kind, :subject, :data)",
                    {**row, "data": json.dumps(row)},
                )
        connection.execute(f"PRAGMA user_version = {version}")
    assert opened().facts()[1:] == events
    assert query(home / "journal.sqlite3", "SELECT COUNT(*) FROM fact") == [(2,)]


@pytest.mark.parametrize(("version", "missing"), [(3, ["resumed"]), (2, ["resumed", "replaced"])])
def test_versions_with_fewer_tables_are_kept(
    opened: Open, home: Path, version: int, missing: list[str]
) -> None:
    """Version 3 is that of attn-drill 0.2.0."""
    fourth_version(home)
    with contextlib.closing(sqlite3.connect(home / "journal.sqlite3")) as connection:
        for table in missing:
            connection.execute(f"DROP TABLE {table}")
        connection.execute(f"PRAGMA user_version = {version}")
    journal = opened()
    assert len(journal.facts()) == 30 - len(missing)
    assert journal.trouble is None
    assert (home / f"journal.version-{version}.sqlite3").exists()


def test_version_1_is_kept(opened: Open, home: Path) -> None:
    """New values have defaults, and rows of different tables have different ids."""
    first_version(home / "journal.sqlite3")
    journal = opened()
    assert [(fact.subject, fact.path, fact.at) for fact in journal.facts(Started)] == FIRST_ROWS[
        "started"
    ]
    assert {fact.level for fact in journal.facts(Started)} == {"standard"}
    attempts = journal.facts(Attempted)
    assert [
        (fact.challenge, fact.at, fact.seed, fact.verdict, fact.source) for fact in attempts
    ] == [(*row[:4], row[6]) for row in FIRST_ROWS["attempts"]]
    assert {(fact.seconds, fact.hints, fact.purpose) for fact in attempts} == {
        (None, 0, "practice")
    }
    assert [(fact.subject, fact.level, fact.at) for fact in journal.facts(Hinted)] == FIRST_ROWS[
        "hints"
    ]
    assert [(fact.subject, fact.at) for fact in journal.facts(Revealed)] == FIRST_ROWS["solutions"]
    assert journal.trouble is None


def test_old_copies_and_exports_have_the_same_ids(opened: Open, home: Path, tmp_path: Path) -> None:
    """An export in JSON lines, an old journal and the copy before the migration add nothing."""
    fourth_version(home)
    fourth_version(tmp_path / "other")
    journal = opened()
    journal.facts()
    copy = home / "journal.version-4.sqlite3"
    for path in (LINES, tmp_path / "other" / "journal.sqlite3", copy):
        rows = read_export(path)
        assert len(rows) == 30
        assert journal.add_rows(rows) == 0
    with contextlib.closing(Journal(tmp_path / "new")) as new:
        assert new.add_rows(read_export(LINES)) == 30
        assert {fact.id: fact for fact in new.facts()} == {
            fact.id: fact for fact in journal.facts()
        }


def test_row_of_version_1_has_one_id_in_all_versions(
    opened: Open, home: Path, tmp_path: Path
) -> None:
    """Version 4 gave the rows of version 1 these ids, each unique in its table only."""
    first_version(home / "journal.sqlite3")
    export = tmp_path / "export.jsonl"
    export.write_text(
        '{"attn-drill": "journal", "version": 4}\n'
        '{"table": "started", "id": "1-1-1.000000", "challenge": "gqa", "at": 1.0, '
        '"path": "/a/gqa.py", "level": "standard"}\n'
        '{"table": "hints", "id": "1-1-3.000000", "challenge": "gqa", "at": 3.0, "level": 1}\n'
    )
    assert opened().add_rows(read_export(export)) == 0


def test_copy_of_an_old_journal_is_never_replaced(opened: Open, home: Path) -> None:
    """An older attn-drill may have gone on with the copy."""
    fourth_version(home)
    copy = home / "journal.version-4.sqlite3"
    copy.write_text("mine")
    assert len(opened().facts()) == 30
    assert copy.read_text() == "mine"


COUNT = """
import sqlite3
connect, count = sqlite3.connect, 0
def traced(statement):
    global count
    count += 1
    if str(count) == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
def connect_and_trace(*arguments, **options):
    connection = connect(*arguments, **options)
    connection.set_trace_callback(traced)
    return connection
sqlite3.connect = connect_and_trace
j.facts()
print(count)
"""


def test_kill_at_any_moment_leaves_a_complete_journal(
    opened: Open, home: Path, tmp_path: Path
) -> None:
    """The file has the old version or the new version, and the next process goes on.

    The process is killed before a statement: at the begin, in the copy, among the inserts, among
    the dropped tables, and before and after the end of the transaction.
    """
    fourth_version(tmp_path / "counted")
    done = subprocess.run(
        script(COUNT, tmp_path / "counted", 0), cwd=ROOT, capture_output=True, text=True, check=True
    )
    count = int(done.stdout)
    assert count > 60
    versions = []
    for number in (2, 5, count // 2, count - 10, count - 3, count - 2, count - 1):
        folder = home / str(number)
        fourth_version(folder)
        killed = subprocess.run(script(COUNT, folder, number), cwd=ROOT, check=False)
        assert killed.returncode == -signal.SIGKILL
        path = folder / "journal.sqlite3"
        assert query(path, "PRAGMA integrity_check") == [("ok",)]
        ((version,),) = query(path, "PRAGMA user_version")
        versions.append(version)
        table = "fact" if version == VERSION else "attempts"
        assert query(path, f"SELECT COUNT(*) FROM {table}") == [(30 if table == "fact" else 7,)]
        with contextlib.closing(Journal(folder)) as journal:
            assert len(journal.facts()) == 30
            assert journal.trouble is None
        assert query(folder / "journal.version-4.sqlite3", "PRAGMA user_version") == [(4,)]
        assert not [name for name in os.listdir(folder) if name.endswith(".part")]
    assert set(versions) == {4, VERSION}


def test_only_one_of_five_processes_migrates(opened: Open, home: Path) -> None:
    """The other processes use the migrated journal."""
    many = [("gqa", float(at), 7, "failed", 3, 14, "x" * 500) for at in range(2000)]
    first_version(home / "journal.sqlite3", {"attempts": many})
    text = f"{READY}j.add(facts.Hinted('gqa', 1.0, level=1)); print(j.trouble)"
    assert run_together([script(text, home) for _ in range(5)]) == ["None\n"] * 5
    assert progress_of(opened().facts())["gqa"] == ChallengeProgress("started", 2000, 5)


def test_value_that_was_edited_by_hand_stops_no_migration(opened: Open, home: Path) -> None:
    """The other facts can be read, and the edited row is kept."""
    fourth_version(home)
    with contextlib.closing(sqlite3.connect(home / "journal.sqlite3")) as connection, connection:
        connection.execute("UPDATE attempts SET checks = '{' WHERE purpose = 'interview'")
    journal = opened()
    assert len(journal.facts()) == 29
    assert query(journal.path, "SELECT COUNT(*) FROM fact") == [(30,)]
