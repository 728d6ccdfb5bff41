"""Tests of the journal: no entry gets lost, and a broken file never stops the program."""

import os
import signal
import subprocess
import time
from pathlib import Path

from attn_drill.practice.facts import Attempted, Hinted, Resumed, Started
from attn_drill.practice.journal import Journal, home
from attn_drill.practice.progress import path_of
from tests.support.journal import (
    FACTS,
    READY,
    ROOT,
    Open,
    attempt,
    filled_journal,
    query,
    run_together,
    script,
)


def test_question_creates_no_journal(opened: Open) -> None:
    """All facts are missing, and nothing is wrong."""
    journal = opened()
    assert journal.facts() == []
    assert journal.last(Started) is None
    assert journal.trouble is None
    assert not journal.path.exists()


def test_facts_are_selected_by_kind_and_subject(home: Path) -> None:
    """Several kinds can be asked for together."""
    journal = filled_journal(home)
    journal.add(Hinted("mha", 1.0, "other", level=1))
    assert [fact.id for fact in journal.facts(Hinted, subject="mha")] == ["other"]
    assert len(journal.facts(Hinted)) == 2
    assert len(journal.facts(Hinted, Started)) == 3
    assert journal.facts(subject="nobody") == []
    assert len(journal.facts()) == len(FACTS) + 1
    journal.close()


def test_facts_are_in_order_of_time(opened: Open) -> None:
    """Of two facts at the same time, the one that was recorded later comes later."""
    journal = opened()
    for challenge, at in (("mha", 3.0), ("gqa", 2.0), ("sdpa", 3.0)):
        journal.add(Started(challenge, at, path=""))
    assert [fact.subject for fact in opened().facts(Started)] == ["gqa", "mha", "sdpa"]
    journal.add(Resumed("gqa", 4.0))
    last = journal.last(Started, Resumed)
    assert last is not None
    assert (last.subject, type(last)) == ("gqa", Resumed)


def test_fact_that_this_version_does_not_know_is_skipped(home: Path) -> None:
    """A later version wrote another kind, or a value or a field that is new; or a hand did it."""
    journal = filled_journal(home)
    known = '{"kind": "hinted", "subject": "gqa", "at": 1.0, "id": "%s", "level": %s}'
    journal.add_rows(
        [
            ("1", 1.0, "daydreamed", "gqa", '{"kind": "daydreamed", "id": "1"}'),
            ("2", 1.0, "hinted", "gqa", known % ("2", '"all"')),
            ("3", 1.0, "hinted", "gqa", "no JSON"),
            ("4", 1.0, "hinted", "gqa", known.replace("1.0", "1e15") % ("4", "1")),
            ("5", 1.0, "hinted", "gqa", known % ("5", '1, "clouds": 3')),
        ]
    )
    new = {fact.id for fact in journal.facts()} - {fact.id for fact in FACTS}
    assert new == {"5"}, "a new field of a known kind is ignored"
    assert journal.trouble is None
    journal.close()


def test_any_text_can_be_recorded(opened: Open) -> None:
    """A lone surrogate, as in a file name that is not UTF-8, becomes a question mark."""
    journal = opened()
    journal.add(attempt(source="\ud800"))
    journal.add(Started("gqa", 1.0, path=os.fsdecode(b"/a/\xff/gqa.py")))
    assert journal.trouble is None
    assert [fact.source for fact in journal.facts(Attempted)] == ["?"]
    assert path_of(journal.facts()) == Path("/a/?/gqa.py")


def test_four_processes_write_at_once(opened: Open, home: Path) -> None:
    """No entry is lost, from the first entry on."""
    text = f"""{READY}
for i in range(30): j.add(facts.Hinted('gqa', i, level=1))
print(j.trouble)"""
    assert run_together([script(text, home) for _ in range(4)]) == ["None\n"] * 4
    assert len(opened().facts(Hinted)) == 120


def test_kill_loses_no_recorded_entry(home: Path) -> None:
    """kill -9 may come at any moment: all reported entries are there, and the file is intact."""
    text = """
n = int(sys.argv[2])
while True:
    n += 1
    j.add(facts.Hinted('gqa', n, level=1))
    print(n, flush=True)
"""
    written = 0
    for delay in (0.0, 0.003, 0.01, 0.02, 0.05):
        process = subprocess.Popen(
            script(text, home, written), stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        lines += process.stdout.readlines()
        process.wait()
        process.stdout.close()
        written = max(int(line) for line in lines if line.strip().isdigit())
        assert query(home / "journal.sqlite3", "PRAGMA integrity_check") == [("ok",)]
        ((last,),) = query(home / "journal.sqlite3", "SELECT MAX(at) FROM fact")
        assert isinstance(last, float)
        assert written <= last <= written + 1
        written = int(last)


def test_kill_during_an_import_adds_no_fact(home: Path) -> None:
    """All rows are added in one transaction."""
    text = """
j.facts()
def rows():
    for n in range(1000):
        if n == 500: os.kill(os.getpid(), signal.SIGKILL)
        yield str(n), 1.0, 'hinted', 'gqa', '{}'
j.add_rows(rows())
"""
    filled_journal(home).close()
    done = subprocess.run(script(text, home), cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert query(home / "journal.sqlite3", "SELECT COUNT(*) FROM fact") == [(len(FACTS),)]


def test_full_disk_is_reported_and_loses_no_entry(opened: Open, home: Path) -> None:
    """Everything else goes on. Later, when there is space again, entries are recorded again."""
    text = """
import resource
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
for n in range(200):
    j.add(facts.Attempted('gqa', float(n), seed=1, verdict='failed', source='x' * 3000))
    if j.trouble: break
print(n, j.trouble)
"""
    for limit in (0, 5000, 200_000):
        done = subprocess.run(
            script(text, home, limit), cwd=ROOT, capture_output=True, text=True, check=True
        )
        count, _, trouble = done.stdout.strip().partition(" ")
        sentences = ("progress is not kept", "this entry was not kept")
        assert any(sentence in trouble for sentence in sentences), done.stdout
        assert int(count) < 199
        if limit == 200_000:
            assert query(home / "journal.sqlite3", "SELECT COUNT(*) FROM fact") == [(int(count),)]
    assert int(count) > 0
    journal = opened()
    journal.add(attempt())
    assert journal.trouble is None
    assert len(journal.facts()) == int(count) + 1


def test_row_with_a_known_id_is_not_added(home: Path) -> None:
    """The first values stay: a fact never changes."""
    journal = filled_journal(home)
    before = journal.facts()
    edited = ("first", 1.0, "hinted", "gqa", '{"kind": "hinted"}')
    assert journal.add_rows([edited]) == 0
    assert journal.facts() == before
    assert Journal(home).facts() == before
    journal.close()


def test_home_is_taken_from_the_environment() -> None:
    """ATTN_DRILL_HOME wins over the platform folder.

    `~name` without such a user is a plain folder name.
    """
    assert home({"ATTN_DRILL_HOME": "/x/y"}) == Path("/x/y")
    assert home({"ATTN_DRILL_HOME": "~/y"}) == Path.home() / "y"
    assert home({"ATTN_DRILL_HOME": "~nobody-of-this-name/y"}) == Path("~nobody-of-this-name/y")
    assert home({}).name == "attn-drill"
