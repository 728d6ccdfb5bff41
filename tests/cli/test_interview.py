"""Tests of `attn-drill interview`."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from attn_drill.exercises.interview import plan_from, state_of
from attn_drill.packs import pack_reader
from attn_drill.practice.facts import InterviewBegan
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import counted_attempts, rated_reviews
from attn_drill.session import SessionResult
from attn_drill.session.interviews import recorded_events
from tests.support import forked
from tests.support.session import CHALLENGES, read_until, terminal


def drill(
    *arguments: str, cwd: Path, code: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `attn-drill interview` in a folder, with pipes for its input and output."""
    done = forked.run(["interview", *arguments], cwd, {**os.environ, **environment})
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture
def left_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that there is a terminal and a learner who leaves the first problem at once."""
    monkeypatch.setattr("attn_drill.cli._practise.can_draw_screen", lambda: True)
    left = SessionResult("quit", False, 5.0, 0)
    monkeypatch.setattr("attn_drill.session.interviews.run_session", lambda given, journal: left)


@pytest.mark.parametrize("arguments", [[], ["--fresh"], ["--resume"]], ids=str)
def test_interview_needs_a_terminal(arguments: list[str], tmp_path: Path) -> None:
    """Without a terminal, there is one sentence, exit code 2, and no file."""
    done = drill(*arguments, cwd=tmp_path, code=2)
    assert "An interview needs a terminal" in done.stderr
    assert (done.stdout, len(done.stderr.splitlines())) == ("", 1)
    assert not list(tmp_path.glob("interview-*"))


@pytest.mark.sampled(4)
@pytest.mark.usefixtures("left_at_once")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--minutes", "4"], "4 is not in the range 5<=x<=240"),
        (["--minutes", "0"], "0 is not in the range"),
        (["--topic", "postions"], "Did you mean positions"),
        (["--dir", "file/stubs"], "Choose another folder with --dir"),
        (["--dir", "."], "already exists"),
        (["--debug", "--bugs", "6"], "6 is not in the range 1<=x<=5"),
        (["--debug", "--topic", "heads"], "No challenge of the topic heads has a debugging round"),
        (["--resume"], "No interview is under way"),
        (["--sheet"], "no finished interview"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input(arguments: list[str], says: str, tmp_path: Path) -> None:
    """Exit with 2, print one sentence, and write no file."""
    (tmp_path / "file").write_text("")
    (tmp_path / "score-sheet.html").write_text("")
    assert says in drill(*arguments, cwd=tmp_path, code=2).stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"file", "score-sheet.html", "home"}


@pytest.mark.thorough
@pytest.mark.usefixtures("left_at_once")
def test_debugging_round_begins_with_a_file_with_bugs(tmp_path: Path, home: Path) -> None:
    """The plan has the bugs and the continuation; the file has no command in it."""
    drill("--bugs", "2", "--minutes", "30", cwd=tmp_path)
    entry = Journal(home).last(InterviewBegan)
    plan = plan_from(entry.plan)
    assert [stage.role for stage in plan.stages] == ["debugging", "follow-up", "second follow-up"]
    assert [len(stage.bugs) for stage in plan.stages] == [2, 0, 0]
    (path,) = tmp_path.glob("interview-*/*.py")
    assert "with two mistakes in it" in path.read_text()


@pytest.mark.usefixtures("left_at_once")
def test_one_interview_at_a_time(tmp_path: Path) -> None:
    """A second interview needs --resume or --fresh. A fresh interview gets a separate folder."""
    assert "The interview waits" in drill("--minutes", "30", cwd=tmp_path).stdout
    refused = drill(cwd=tmp_path, code=2).stderr
    assert "--resume" in refused
    assert "--fresh" in refused
    assert "no finished interview" in drill("--sheet", cwd=tmp_path, code=2).stderr
    drill("--fresh", cwd=tmp_path)
    assert len(list(tmp_path.glob("interview-*/*.py"))) == 2
    assert len(list(tmp_path.glob("interview-*"))) == 2


@pytest.mark.usefixtures("left_at_once")
def test_interview_works_without_a_journal(tmp_path: Path) -> None:
    """If the learner leaves, the interview is over."""
    (tmp_path / "file").write_text("")
    done = drill("--minutes", "5", cwd=tmp_path, ATTN_DRILL_HOME=str(tmp_path / "file" / "home"))
    assert "the journal cannot keep it" in done.stdout


@pytest.mark.thorough  # tests/session has a test of each of these screens
def test_whole_interview_in_a_terminal(tmp_path: Path, home: Path) -> None:
    """Solve, be killed, resume, hand in, rate an answer, read the sheet and print it again."""
    (tmp_path / "here").mkdir()
    file = tmp_path / "here" / "sdpa.py"
    command = ["-m", "attn_drill", "interview"]
    start = [*command, "--minutes", "20", "--topic", "sdpa", "--dir", "here"]
    with terminal(start, tmp_path) as (pid, end):
        drawn = read_until(end, lambda seen: "start the clock" in seen)
        assert "20:00 of 20:00 min are left" in drawn
        os.write(end, b"\r")
        file.write_text(pack_reader.solution(CHALLENGES["sdpa"]))
        read_until(end, lambda seen: "PASSED" in seen)
        os.kill(pid, signal.SIGKILL)
    with terminal([*command, "--resume"], tmp_path) as (pid, end):
        drawn = read_until(end, lambda seen: "start the clock" in seen)
        assert re.search(r"19:\d\d of 20:00 min are left", drawn)
        os.write(end, b"q")
        read_until(end, lambda seen: "The interview waits" in seen)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with terminal([*command, "--resume"], tmp_path) as (pid, end):
        read_until(end, lambda seen: "start the clock" in seen)
        os.write(end, b"\r")
        read_until(end, lambda seen: "1 of 1 · 1" in seen)
        os.write(end, b"n")
        read_until(end, lambda seen: "Hand in sdpa.py" in seen)
        os.write(end, b"\r")
        read_until(end, lambda seen: "Question 1 of 2" in seen)
        os.write(end, b"\r3")
        read_until(end, lambda seen: "2 of 2" in seen)
        os.write(end, b"\x03")
        read_until(end, lambda seen: "The interview waits" in seen)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    with terminal([*command, "--resume"], tmp_path) as (pid, end):
        read_until(end, lambda seen: "Question 2 of 2" in seen)
        os.write(end, b"\r")
        read_until(end, lambda seen: "again" in seen)
        os.write(end, b"2")
        read_until(end, lambda seen: "1 of 1 problem solved" in seen)
        os.write(end, b"q")
        drawn = read_until(end, lambda seen: "next to the reference" in seen)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert "PASSED" in (tmp_path / "here" / "score-sheet.html").read_text()
    again = drill("--sheet", cwd=tmp_path).stdout
    assert again.startswith("1 of 1 problem solved")
    assert "Score: 100 of 100 points" in again
    assert "Your own ratings: 1 good, 1 hard. They give no points." in again
    assert "PASSED" in again
    journal = Journal(home)
    entry = journal.last(InterviewBegan)
    plan = plan_from(entry.plan)
    assert plan is not None
    stage = state_of(plan, recorded_events(journal, entry.id)).stages[0]
    assert stage.result.verdict == "passed"
    assert {attempt.purpose for attempt in counted_attempts(journal.facts())} == {"interview"}
    reviews = [(review.item, review.rating) for review in rated_reviews(journal.facts())]
    assert reviews == [("challenge:sdpa", 4), ("follow-up:sdpa:1", 3), ("follow-up:sdpa:2", 2)]
