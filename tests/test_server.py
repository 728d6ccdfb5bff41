"""The grading server: its replies, requests that supersede others, and an end without leftovers."""

import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import forked
from trainer.model.case import Case
from trainer.model.report import Outcome, Report, Slice
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.report.wording import plain_inputs, small_tensors
from trainer.server.messages import (
    CheckItems,
    Grade,
    GradeReference,
    Prepare,
    Ready,
    Refused,
    Reply,
    Request,
    Traced,
    TraceLines,
    Verdict,
    packed,
    read_message,
    unpacked_reply,
    unpacked_request,
    write_message,
)

ROOT = pack_reader.built_in_pack()
GQA = pack_reader.find_challenge(ROOT, "gqa")
RIGHT = pack_reader.solution(GQA)
WRONG = RIGHT.replace("scores = scores / math.sqrt(self.head_dim)", "")


class Process:
    """A grading process, spoken to over its pipes."""

    def __init__(self, *roots: Path) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "trainer.server.server", *map(str, roots or [ROOT])],
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
        pack_reader.find_challenge(ROOT, challenge).file_name if challenge != "gqqa" else "gqa.py"
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
        challenge = pack_reader.find_challenge(ROOT, name)
        file = (
            sorted((ROOT / "tests" / "by_hand" / challenge.folder.name).glob("*.py"))[0]
            if (ROOT / "tests" / "by_hand").exists()
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


def test_reports_travel_whole() -> None:
    """NaN, infinities and small matrices come over; large tensors do not, and what is shown of a report is the same."""
    import torch

    inputs = {"mask": torch.tensor([[1.0, 0.0]]), "x": torch.zeros(2, 3, 4), "n": 3, "pair": (1, 2)}
    case = Case("a", inputs, {"out": "L"}, {"L": 2}, constants=frozenset({"x"}))
    report = Report(
        "c", "f.py", 1 << 62, "failed", (Outcome("values", "failed", "m", "a", 1),), (case,)
    )
    numbers = Slice((0,), (math.nan, math.inf), (1.0, -math.inf), (True, False))
    from trainer.model.report import Mismatch

    outcome = Outcome("values", "failed", mismatch=Mismatch("out", "value", first=numbers))
    answer = unpacked_reply(packed(Verdict(1, Report("c", "f", 1, "failed", (outcome,)))))
    assert isinstance(answer, Verdict)
    found = answer.report.outcomes[0].mismatch
    assert found is not None
    assert found.first is not None
    assert math.isnan(found.first.actual[0])
    assert found.first.actual[1] == math.inf
    other = unpacked_reply(packed(Verdict(1, report)))
    assert isinstance(other, Verdict)
    (came,) = other.report.cases
    assert came.inputs["x"] is None
    assert small_tensors(came) == small_tensors(case)
    assert plain_inputs(came) == plain_inputs(case) == "n=3, pair=(1, 2)"
    assert other.report.seed == 1 << 62


def test_requests_travel_whole() -> None:
    """A request is read as it was sent, whatever its text holds."""
    odd = Submission("ü.py", "x = '\\udc80\n\0'")
    for request in (
        Grade("gqa", odd, 7, id=1, is_early_wanted=True, isolation="full", content="0"),
        GradeReference("a", 3),
        TraceLines("a", Submission("b", ""), 0, id=2),
        CheckItems("a", (("mistake", "no-scale"),), (1, 2)),
        Prepare("a"),
    ):
        assert unpacked_request(packed(request)) == request
