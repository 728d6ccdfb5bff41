"""The grading server: its replies, requests that supersede others, and an end without leftovers."""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import forked
from tests.support.classroom import PACKS, WRONG_SUM, task
from tests.support.copies import REFERENCE
from tests.support.paths import TINY_PACK
from tests.support.sandbox import needs_kernel
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.packs.known_packs import Places, find
from trainer.server.messages import (
    Grade,
    GradeReference,
    IsolationNeed,
    Prepare,
    Ready,
    Refused,
    Reply,
    Request,
    Traced,
    TraceLines,
    Verdict,
    read_message,
    unpacked_reply,
    write_message,
)
from trainer.server.process import ServerProcess
from trainer.session.model import SessionRequest


@pytest.fixture(scope="module")
def station() -> Iterator[ServerProcess]:
    """One for the tests of this file."""
    made = ServerProcess(PACKS)
    yield made
    made.close()


def test_a_station_grades(station: ServerProcess) -> None:
    """Right and wrong, one after the other, with where and why."""
    found = station.ask(task())
    assert isinstance(found, Verdict)
    assert found.report.verdict == "passed"
    found = station.ask(task(WRONG_SUM))
    assert isinstance(found, Verdict)
    assert (found.report.verdict, found.report.seed) == ("failed", 5)
    assert found.report.diagnosis is not None


def test_a_station_says_what_a_right_answer_gets(station: ServerProcess) -> None:
    """All checks and cases that are due, passed."""
    found = station.ask(GradeReference("prefix-sum", 5))
    assert isinstance(found, Verdict)
    assert {one.status for one in found.report.outcomes} == {"passed"}


@pytest.mark.parametrize(
    ("change", "says", "for_all"),
    [
        pytest.param(
            {"content": "0" * 64},
            "not the same here .* as where the grading was started",
            True,
            id="another version",
        ),
        pytest.param(
            {"challenge": "nothing"},
            "No challenge is called 'nothing'",
            False,
            id="no such challenge",
        ),
    ],
)
def test_a_station_refuses(
    station: ServerProcess, change: dict[str, object], says: str, for_all: bool
) -> None:
    """In one sentence, and goes on."""
    found = station.ask(task(**change))
    assert isinstance(found, Refused)
    assert found.is_for_all is for_all
    assert re.search(says, found.sentence)
    assert isinstance(station.ask(task()), Verdict)


def test_weaker_isolation_is_refused_unless_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a submission could do what it may not, nothing is graded, and the sentence names what."""
    monkeypatch.setenv("ATTN_DRILL_ISOLATION", "limits")
    weak = ServerProcess(PACKS)
    try:
        found = weak.ask(task())
        assert isinstance(found, Refused)
        assert found.is_for_all
        assert "open a network socket" in found.sentence
        assert "--allow-weaker-isolation" in found.sentence
        accepted = weak.ask(task(isolation="weaker"))
        assert isinstance(accepted, Verdict)
        assert accepted.report.verdict == "passed"
    finally:
        weak.close()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that this process and its workers import from."""
    folder = tmp_path / "lib" / "site-packages"
    (folder / "neighbour").mkdir(parents=True)
    (folder / "neighbour" / "module.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def copied(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a reference that names do not tell, in a folder that commands import from."""
    folder = site / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(BUILT_IN), str(site)]))
    return Path(shutil.copy(REFERENCE, folder / "hidden_by_nobody"))


def a_request(isolation: IsolationNeed) -> Grade:
    """Return a request to grade the reference of the tiny pack."""
    challenge = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
    submission = Submission("p.py", pack_reader.solution(challenge))
    return Grade(challenge.id, submission, 3, isolation=isolation, seconds=60.0)


@needs_kernel
def test_a_class_is_not_graded_beside_a_copy(copied: Path) -> None:
    """Nor where weaker isolation is accepted: this can be put right. The user's own file is graded."""
    station = ServerProcess((str(TINY_PACK),))
    try:
        needs: tuple[IsolationNeed, ...] = ("full", "weaker")
        for isolation in needs:
            answer = station.ask(a_request(isolation))
            assert isinstance(answer, Refused)
            assert answer.is_for_all
            assert str(copied) in answer.sentence
            assert "Remove it" in answer.sentence
        assert isinstance(station.ask(a_request("own")), Verdict)
    finally:
        station.close()


@pytest.mark.thorough
def test_a_session_grades_from_any_pack() -> None:
    """Its grading process looks in all packs that it is given; by default it is given the built-in one."""
    assert SessionRequest(find(Places(), "gqa"), Path("gqa.py"), "", 0.0, 1.0).packs == (BUILT_IN,)
    process = Process(BUILT_IN, TINY_PACK)
    try:
        assert isinstance(process.reply(), Ready)
        process.send(Prepare("prefix-sum"))
        source = pack_reader.solution(pack_reader.find_challenge(TINY_PACK, "prefix-sum"))
        process.send(Grade("prefix-sum", Submission("prefix_sum.py", source)))
        answer = process.reply()
        assert isinstance(answer, Verdict)
        assert answer.report.verdict == "passed"
    finally:
        process.close()


BUILT_IN = pack_reader.built_in_pack()


GQA = pack_reader.find_challenge(BUILT_IN, "gqa")


RIGHT = pack_reader.solution(GQA)


WRONG = RIGHT.replace("scores = scores / math.sqrt(self.head_dim)", "")


class Process:
    """A grading process, spoken to over its pipes."""

    def __init__(self, *roots: Path) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "trainer.server.server", *map(str, roots or [BUILT_IN])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=pack_reader.TRAINER.parent,
        )
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        self._to, self._from = self.popen.stdin.fileno(), self.popen.stdout.fileno()

    def send(self, request: Request) -> None:
        """Send a request."""
        write_message(self._to, request)

    def reply(self) -> Reply:
        """Return the next reply."""
        assert select.select([self._from], [], [], 120)[0]
        body = read_message(self._from)
        assert body is not None
        return unpacked_reply(body)

    def family(self) -> list[int]:
        """All processes below it: the fork server and its workers."""
        found, waiting = [], [self.popen.pid]
        while waiting:
            pid = waiting.pop()
            try:
                children = [
                    int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                ]
            except OSError:
                children = []
            found += children
            waiting += children
        return found

    def close(self) -> None:
        """End it."""
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        if not self.popen.stdin.closed:
            self.popen.stdin.close()
        self.popen.wait(30)
        self.popen.stdout.close()


def grade_of(challenge: str, source: str, **more: Any) -> Grade:
    """Return the request of a session that saves this text."""
    name = (
        pack_reader.find_challenge(BUILT_IN, challenge).file_name
        if challenge != "gqqa"
        else "gqa.py"
    )
    return Grade(challenge, Submission(name, source), is_early_wanted=True, **more)


@pytest.fixture
def process() -> Iterator[Process]:
    """One that has said that it is ready."""
    made = Process()
    assert isinstance(made.reply(), Ready)
    yield made
    made.close()


def soon(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether it comes to hold; a busy machine is no reason to fail."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def lives(pid: int) -> bool:
    """Whether there is such a process, and no zombie."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_verdicts_come_in_two_steps(process: Process) -> None:
    """A pass at once; a failure before where and why are known, and again with them; every grading has a seed of its own unless one is given."""
    process.send(Prepare("gqa"))
    seeds = set()
    for number in (1, 2):
        process.send(grade_of("gqa", RIGHT, id=number))
        answer = process.reply()
        assert isinstance(answer, Verdict)
        assert (answer.id, answer.is_final, answer.report.verdict) == (number, True, "passed")
        seeds.add(answer.report.seed)
    assert len(seeds) == 2
    process.send(grade_of("gqa", WRONG, id=3, seed=5))
    early, late = process.reply(), process.reply()
    assert isinstance(early, Verdict)
    assert isinstance(late, Verdict)
    assert (early.is_final, early.report.diagnosis, early.report.verdict, early.report.seed) == (
        False,
        None,
        "failed",
        5,
    )
    assert late.is_final
    assert late.report.diagnosis is not None
    assert [one.id for one in late.report.diagnosis.mistakes] == ["no-scale"]
    process.send(TraceLines("gqa", Submission("gqa.py", WRONG), 5, id=3))
    traced = process.reply()
    assert isinstance(traced, Traced)
    assert any(row.milestone == "k" for row in traced.trace.rows)


def test_the_same_verdict_as_a_check(process: Process) -> None:
    """On one seed a session says what `check` says, of challenge after challenge."""
    import json

    for name in ("gqa", "sdpa", "attention-cost"):
        challenge = pack_reader.find_challenge(BUILT_IN, name)
        file = (
            sorted((BUILT_IN / "tests" / "by_hand" / challenge.folder.name).glob("*.py"))[0]
            if (BUILT_IN / "tests" / "by_hand").exists()
            else None
        )
        source = file.read_text() if file is not None else pack_reader.stub(challenge)
        process.send(grade_of(name, source, id=1, seed=11))
        while not (isinstance(answer := process.reply(), Verdict) and answer.is_final):
            pass
        (path := Path(os.environ["ATTN_DRILL_HOME"]).parent / challenge.file_name).write_text(
            source
        )
        done = forked.run(
            ["check", name, str(path), "--seed", "11", "--json"],
            pack_reader.TRAINER.parent,
            os.environ,
        )
        whole = json.loads(done.stdout)
        assert answer.report.verdict == whole["verdict"]
        assert [(one.check, one.status, one.message) for one in answer.report.outcomes] == [
            (one["name"], one["status"], one["message"]) for one in whole["checks"]
        ]


def test_an_order_supersedes_what_is_under_way(process: Process) -> None:
    """An endless answer, or the search for where and why, is left for the next order; its verdict does not come any more."""
    process.send(grade_of("gqa", "while True: pass\n", id=1))
    time.sleep(0.5)
    process.send(grade_of("gqa", WRONG, id=2))
    early = process.reply()
    assert isinstance(early, Verdict)
    assert (early.id, early.is_final) == (2, False)
    process.send(grade_of("gqa", RIGHT, id=3))
    answers = [process.reply()]
    while not (isinstance(answers[-1], Verdict) and answers[-1].id == 3):
        answers.append(process.reply())
    assert all(isinstance(one, Verdict) and one.id in (2, 3) for one in answers)
    assert soon(lambda: len(process.family()) <= 2), "the fork server and one worker in waiting"


def test_what_cannot_be_done_is_said(process: Process) -> None:
    """No such challenge: a sentence, and the next order is carried out."""
    process.send(grade_of("gqqa", RIGHT, id=1))
    answer = process.reply()
    assert isinstance(answer, Refused)
    assert "Did you mean gqa" in answer.sentence
    process.send(TraceLines("gqa", Submission("gqa.py", "raise ValueError"), 1, id=2))
    answer = process.reply()
    assert isinstance(answer, Refused)
    process.send(grade_of("gqa", RIGHT, id=3))
    answer = process.reply()
    assert isinstance(answer, Verdict)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize("how", ["end of orders", "end of orders in a run", "SIGKILL in a run"])
def test_nothing_is_left_behind(how: str) -> None:
    """Whichever way it ends, its fork server and workers end with it."""
    process = Process()
    assert isinstance(process.reply(), Ready)
    process.send(Prepare("gqa"))
    if "in a run" in how:
        process.send(grade_of("gqa", "while True: pass\n", id=1))
    assert soon(lambda: len(process.family()) >= 2), "the fork server and a worker"
    family = process.family()
    if "SIGKILL" in how:
        os.kill(process.popen.pid, signal.SIGKILL)
    process.close()
    assert soon(lambda: not any(map(lives, family)))
