"""Tests of `attn-drill stats`."""

import contextlib
import json
import time
from datetime import date, timedelta
from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.practice.facts import Attempted, Diagnosed, Reviewed, Started
from attn_drill.practice.journal import Journal
from attn_drill.report.results_text import EMPTY
from tests.support.cli import drill

PASSED = pack_reader.read_pack(pack_reader.built_in_pack())[0]


@pytest.fixture
def used_home(home: Path) -> Path:
    """Return a home in which the first challenge was passed today, after a known mistake."""
    with contextlib.closing(Journal(home)) as journal:
        now = time.time()
        journal.add(Started(PASSED.id, now - 2, path="/x"))
        first = journal.add(
            Attempted(PASSED.id, now - 1, seed=1, verdict="failed", source="", seconds=60.0)
        )
        mistakes = (read_mistakes(PASSED)[0].id,)
        journal.add(Diagnosed(PASSED.id, now, attempt=first, mistakes=mistakes, line=3))
        journal.add(Attempted(PASSED.id, now, seed=1, verdict="passed", source="", seconds=90.0))
        journal.add(Reviewed(f"challenge:{PASSED.id}", now, rating=3, reason=""))
        assert journal.trouble is None
    return home


def test_stats_of_an_empty_journal(tmp_path: Path, home: Path) -> None:
    """The text says what to do, and no file is created. JSON is an object with zeros."""
    assert drill("stats", cwd=tmp_path).stdout == EMPTY + "\n"
    values = json.loads(drill("stats", "--json", cwd=tmp_path).stdout)
    assert (values["attempts"], values["passed"], values["mistakes"]) == (0, 0, [])
    assert values["challenges"] == len(pack_reader.read_pack(pack_reader.built_in_pack()))
    assert not home.exists()


@pytest.mark.thorough
@pytest.mark.usefixtures("used_home")
def test_stats_fit_the_terminal_and_its_encoding(tmp_path: Path) -> None:
    """The mistake is described in words of the pack. `--json` prints only JSON."""
    for columns, encoding in ((80, "utf-8"), (50, "utf-8"), (50, "ascii")):
        text = drill("stats", cwd=tmp_path, COLUMNS=str(columns), PYTHONIOENCODING=encoding).stdout
        assert max(map(len, text.splitlines())) <= columns
        assert "1 day in a row" in " ".join(text.split())
        assert PASSED.id in text
        assert text.isascii() == (encoding == "ascii")
    values = json.loads(drill("stats", "--json", cwd=tmp_path).stdout)
    assert values["mistakes"][0]["says"] == read_mistakes(PASSED)[0].says
    assert values["par"] == [{"challenge": None, "shares": [90.0 / (60 * PASSED.minutes)]}]
    assert values["next_due"]["item"] == f"challenge:{PASSED.id}"
    assert all(topic["title"] != topic["name"] for topic in values["topics"]), (
        "titles come from the question bank"
    )


@pytest.mark.thorough
def test_days_are_counted_in_the_local_time_zone(tmp_path: Path, home: Path) -> None:
    """A moment can belong to different days in two time zones."""
    with contextlib.closing(Journal(home)) as journal:
        journal.add(Attempted(PASSED.id, time.time() - 3600, seed=1, verdict="failed", source=""))
    days = set()
    for zone in ("XXX-14", "XXX+12"):
        weeks = json.loads(drill("stats", "--json", cwd=tmp_path, TZ=zone).stdout)["weeks"]
        days |= {
            date.fromisoformat(week["monday"]) + timedelta(days=weekday)
            for week in weeks
            for weekday, count in enumerate(week["attempts"])
            if count
        }
    assert len(days) == 2


def test_broken_journal_is_reported(home: Path, tmp_path: Path) -> None:
    """The exit code is still 0."""
    home.mkdir()
    (home / "journal.sqlite3").write_bytes(b"no journal at all" * 100)
    done = drill("stats", cwd=tmp_path)
    assert "journal.broken-1.sqlite3" in done.stderr
    assert done.stdout == EMPTY + "\n"
