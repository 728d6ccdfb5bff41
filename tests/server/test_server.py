"""Tests of the grading server: replies, superseded requests, refusals, and its end."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attn_drill.model.challenge import Submission
from attn_drill.packs import pack_reader
from attn_drill.packs.catalogue import KnownPacks
from attn_drill.server import clients as process_module
from attn_drill.server.clients import ServerProcess
from attn_drill.server.messages import (
    Grade,
    Hello,
    Prepare,
    Ready,
    Refused,
    Reply,
    Request,
    Taught,
    Teach,
    Traced,
    TraceLines,
    Verdict,
    read_message,
    unpacked_reply,
    write_message,
)
from attn_drill.session import SessionRequest
from tests.support import forked
from tests.support.classroom import PACKS, WRONG_SUM, soon, task
from tests.support.paths import ROOT, TESTS, TINY_PACK

BUILT_IN = pack_reader.built_in_pack()
GQA = pack_reader.find_challenge(BUILT_IN, "gqa")
RIGHT = pack_reader.solution(GQA)
WRONG = RIGHT.replace("scores = scores / math.sqrt(self.head_dim)", "")


class Process:
    """A grading server with access to each single reply."""

    def __init__(self, *roots: Path) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        self.popen = process_module.start(self._errors)
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        self._to, self._from = self.popen.stdin.fileno(), self.popen.stdout.fileno()
        packs = tuple(map(str, roots or [BUILT_IN]))
        self.send(Hello(packs, dict(os.environ), tuple(sys.path)))

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
        """Return all child processes: the fork server and its workers."""
        found, waiting = [], [self.popen.pid]
        while waiting:
            pid = waiting.pop()
            try:
                text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
            except OSError:
                text = ""
            children = [int(child) for child in text.split()]
            found += children
            waiting += children
        return found

    def close(self) -> None:
        """End the process."""
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        if not self.popen.stdin.closed:
            self.popen.stdin.close()
        self.popen.wait(30)
        self.popen.stdout.close()
        self._errors.close()


def grade_of(challenge: str, source: str, **more: Any) -> Grade:
    """Return the request that a session sends when the learner saves this text."""
    submission = Submission("answer.py", source)
    return Grade(challenge, submission, is_early_wanted=True, **more)


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@pytest.fixture
def process() -> Iterator[Process]:
    """Start a server that is ready."""
    started = Process()
    assert isinstance(started.reply(), Ready)
    yield started
    started.close()


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """Start a server of the tiny pack for all tests of this file."""
    started = ServerProcess(PACKS)
    yield started
    started.close()


@pytest.mark.thorough
def test_failure_is_reported_before_and_after_its_diagnosis(process: Process) -> None:
    """A pass has a single verdict. Every grading has a fresh seed unless the request has a seed."""
    process.send(Prepare("gqa"))
    seeds = set()
    for request_id in (1, 2):
        process.send(grade_of("gqa", RIGHT, id=request_id))
        reply = process.reply()
        assert isinstance(reply, Verdict)
        assert (reply.id, reply.is_final, reply.report.verdict) == (request_id, True, "passed")
        seeds.add(reply.report.seed)
    assert len(seeds) == 2
    process.send(grade_of("gqa", WRONG, id=3, seed=5))
    early, late = process.reply(), process.reply()
    assert isinstance(early, Verdict)
    assert isinstance(late, Verdict)
    assert not early.is_final
    assert early.report.diagnosis is None
    assert (early.report.verdict, early.report.seed) == ("failed", 5)
    assert late.is_final
    assert late.report.diagnosis is not None
    assert [mistake.id for mistake in late.report.diagnosis.mistakes] == ["no-scale"]
    process.send(TraceLines("gqa", Submission("gqa.py", WRONG), 5, id=3))
    traced = process.reply()
    assert isinstance(traced, Traced)
    assert any(row.milestone == "k" for row in traced.trace.rows)


@pytest.mark.thorough
def test_verdict_equals_that_of_the_check_command(process: Process) -> None:
    """With the same seed, the server and `check` give the same outcomes for several challenges."""
    for name in ("sdpa", "attention-cost"):
        challenge = pack_reader.find_challenge(BUILT_IN, name)
        file = sorted((TESTS / "by_hand" / challenge.folder.name).glob("*.py"))[0]
        source = file.read_text()
        process.send(grade_of(name, source, id=1, seed=11))
        while not (isinstance(reply := process.reply(), Verdict) and reply.is_final):
            pass
        path = Path(os.environ["ATTN_DRILL_HOME"]).parent / challenge.file_name
        path.write_text(source)
        done = forked.run(
            ["check", name, str(path), "--seed", "11", "--json"],
            ROOT,
            os.environ,
        )
        report = json.loads(done.stdout)
        assert reply.report.verdict == report["verdict"]
        assert [
            (outcome.check, outcome.status, outcome.message) for outcome in reply.report.outcomes
        ] == [(check["name"], check["status"], check["message"]) for check in report["checks"]]


def test_new_request_supersedes_the_request_in_progress(process: Process) -> None:
    """An endless submission, and then a diagnosis, is dropped for the next request."""
    process.send(grade_of("gqa", "while True: pass\n", id=1))
    time.sleep(0.5)
    process.send(grade_of("gqa", WRONG, id=2))
    early = process.reply()
    assert isinstance(early, Verdict)
    assert (early.id, early.is_final) == (2, False)
    process.send(grade_of("gqa", RIGHT, id=3))
    replies = [process.reply()]
    while not (isinstance(replies[-1], Verdict) and replies[-1].id == 3):
        replies.append(process.reply())
    assert all(isinstance(reply, Verdict) and reply.id in (2, 3) for reply in replies)
    assert soon(lambda: len(process.family()) <= 2), "the fork server and a ready worker"


@pytest.mark.thorough
def test_save_supersedes_the_lesson_about_the_save_before(process: Process) -> None:
    """The next verdict does not wait for the measurement."""
    process.send(grade_of("gqa", RIGHT, id=1))
    assert isinstance(process.reply(), Verdict)
    process.send(Teach("gqa", Submission("answer.py", RIGHT), 1, id=1))
    process.send(grade_of("gqa", f"{RIGHT}\n", id=2))
    reply = process.reply()
    assert isinstance(reply, Verdict)
    assert (reply.id, reply.report.verdict) == (2, "passed")


@pytest.mark.thorough
def test_invalid_request_is_refused_with_a_sentence(process: Process) -> None:
    """An unknown challenge or a file that cannot be traced is refused. Then the server goes on."""
    process.send(grade_of("gqqa", RIGHT, id=1))
    reply = process.reply()
    assert isinstance(reply, Refused)
    assert "Did you mean gqa" in reply.sentence
    process.send(TraceLines("gqa", Submission("gqa.py", "raise ValueError"), 1, id=2))
    reply = process.reply()
    assert isinstance(reply, Refused)
    process.send(grade_of("gqa", RIGHT, id=3))
    reply = process.reply()
    assert isinstance(reply, Verdict)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.usefixtures("new_servers")
@pytest.mark.parametrize(
    "end",
    [
        pytest.param("stdin closed", marks=pytest.mark.thorough),
        "stdin closed in a run",
        "SIGKILL in a run",
    ],
)
def test_all_child_processes_end_with_the_server(end: str) -> None:
    """The fork server and the workers end, too, no matter how the server ends."""
    process = Process()
    assert isinstance(process.reply(), Ready)
    process.send(Prepare("gqa"))
    if "in a run" in end:
        process.send(grade_of("gqa", "while True: pass\n", id=1))
    assert soon(lambda: len(process.family()) >= 2), "the fork server and a worker"
    family = process.family()
    if "SIGKILL" in end:
        os.kill(process.popen.pid, signal.SIGKILL)
    process.close()
    assert soon(lambda: not any(map(is_alive, family)))


def test_right_and_wrong_submissions_are_graded(server: ServerProcess) -> None:
    """The verdict of a wrong submission has a diagnosis."""
    reply = server.ask(task())
    assert isinstance(reply, Verdict)
    assert reply.report.verdict == "passed"
    reply = server.ask(task(WRONG_SUM))
    assert isinstance(reply, Verdict)
    assert (reply.report.verdict, reply.report.seed) == ("failed", 5)
    assert reply.report.diagnosis is not None


def test_lesson_is_about_a_submission_that_passes(server: ServerProcess) -> None:
    """A submission that was not graded last is graded first. A failing submission has no lesson."""
    last = task()
    passed = server.ask(last)
    assert isinstance(passed, Verdict)
    other = Submission("sum.py", f"# another text\n{last.submission.source}")
    for submission in (last.submission, other):
        taught = server.ask(Teach(last.challenge, submission, 5, id=4))
        assert isinstance(taught, Taught)
        assert (taught.id, taught.lesson.is_measured) == (4, True)
        assert [answer.name for answer in taught.lesson.others][:1] == ["reference"]
    refused = server.ask(Teach(last.challenge, task(WRONG_SUM).submission, 5, id=5))
    assert isinstance(refused, Refused)
    assert (refused.id, refused.is_for_all) == (5, False)
    assert refused.sentence == "There is no lesson: the file does not pass any more."


@pytest.mark.parametrize(
    ("change", "says", "for_all"),
    [
        pytest.param(
            {"content": "0" * 64},
            "prefix-sum differs between this machine .* and the machine that started the grading",
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
def test_refusal_is_a_sentence(
    server: ServerProcess, change: dict[str, object], says: str, for_all: bool
) -> None:
    """After a refusal, the server grades the next submission."""
    reply = server.ask(task(**change))
    assert isinstance(reply, Refused)
    assert reply.is_for_all is for_all
    assert re.search(says, reply.sentence)
    assert isinstance(server.ask(task()), Verdict)


def test_weaker_isolation_is_refused_unless_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal names the forbidden actions that are possible on this machine."""
    monkeypatch.setenv("ATTN_DRILL_ISOLATION", "limits")
    weak = ServerProcess(PACKS)
    try:
        reply = weak.ask(task())
        assert isinstance(reply, Refused)
        assert reply.is_for_all
        assert "open a network socket" in reply.sentence
        assert "--allow-weaker-isolation" in reply.sentence
        accepted = weak.ask(task(needs_isolation=False))
        assert isinstance(accepted, Verdict)
        assert accepted.report.verdict == "passed"
    finally:
        weak.close()


@pytest.mark.thorough
def test_a_pass_imports_no_diagnosis() -> None:
    """A new process grades a right answer, then a wrong answer, which the diagnosis explains."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from attn_drill.grading.grader import Grader\n"
        "from attn_drill.model.challenge import Submission\n"
        "from attn_drill.server.messages import Grade\n"
        "from attn_drill.server._server import GradingServer\n"
        "pack = Path(sys.argv[1])\n"
        "with Grader([pack]) as grader:\n"
        "    server = GradingServer(grader, [pack])\n"
        "    for source in sys.argv[2:]:\n"
        "        list(server.replies(Grade('prefix-sum', Submission('a.py', source), 5)))\n"
        "        print(sum(name.startswith('attn_drill.diagnosis') for name in sys.modules))\n"
    )
    right = pack_reader.solution(pack_reader.find_challenge(TINY_PACK, "prefix-sum"))
    done = subprocess.run(
        [sys.executable, "-c", code, str(TINY_PACK), right, WRONG_SUM],
        cwd=BUILT_IN,
        capture_output=True,
        text=True,
        check=True,
    )
    after_right, after_wrong = map(int, done.stdout.split())
    assert after_right == 0
    assert after_wrong > 5


@pytest.mark.thorough
def test_challenges_of_all_packs_are_graded() -> None:
    """The server looks up a challenge in all packs. A session has the built-in pack by default."""
    request = SessionRequest(KnownPacks().find("gqa"), Path("gqa.py"), "", 0.0, 1.0)
    assert request.packs == (BUILT_IN,)
    process = Process(BUILT_IN, TINY_PACK)
    try:
        assert isinstance(process.reply(), Ready)
        process.send(Prepare("prefix-sum"))
        source = pack_reader.solution(pack_reader.find_challenge(TINY_PACK, "prefix-sum"))
        process.send(Grade("prefix-sum", Submission("prefix_sum.py", source)))
        reply = process.reply()
        assert isinstance(reply, Verdict)
        assert reply.report.verdict == "passed"
    finally:
        process.close()
