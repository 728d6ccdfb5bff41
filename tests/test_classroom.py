"""A class's grading: results on disk, what is left to do, stations that are lost, the seam to executors."""

import errno
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.support.grading import report_of
from tests.support.paths import TINY_PACK
from trainer.classroom import executors, grading_jobs
from trainer.classroom.assignment import plain_assignment
from trainer.classroom.executors import executor_for
from trainer.classroom.grading_jobs import (
    GradingPlan,
    graded,
    jobs_of,
    left_to_do,
    plan_of,
    results_of,
)
from trainer.classroom.records import StudentResult, StudentSubmission
from trainer.classroom.result_store import (
    CLASS_FILE,
    ClassFile,
    ResultStore,
    safe_name,
    write_whole,
)
from trainer.classroom.result_store import packed as packed_result
from trainer.classroom.result_store import unpacked as unpacked_result
from trainer.cli.grade import _grade_all, _noted_interrupts, _result
from trainer.export.student_results import excerpt_of, with_failure, with_report, with_trouble
from trainer.model.errors import DrillError, GraderError
from trainer.model.submission import Submission as SubmittedFile
from trainer.packs import pack_reader
from trainer.packs.digest import content_digest
from trainer.server import pool as pool_module
from trainer.server.messages import (
    Grade,
    GradeReference,
    Refused,
    Reply,
    Request,
    Verdict,
    packed,
    unpacked_reply,
    unpacked_request,
)
from trainer.server.pool import answer, pool
from trainer.server.process import ServerLostError, ServerProcess

TINY = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
RIGHT = pack_reader.solution(TINY)
WRONG = "import torch\ndef prefix_sum(x, reverse=False):\n    return x.cumsum(-1) * 2\n"
BARE = StudentResult(student="ana", challenge="prefix-sum", file="ana.py", score=0.0, task="t")


def plan(seed: int = 5, **more: bool) -> GradingPlan:
    """How the tests' classes are graded."""
    return plan_of(plain_assignment("prefix-sum"), [TINY], [TINY_PACK], seed, **more)


def submission(student: str, source: str | None = RIGHT, **more: object) -> StudentSubmission:
    """One file of a student."""
    return replace(StudentSubmission(student, "prefix-sum", f"{student}.py", source), **more)  # type: ignore[arg-type]


PACKS = (str(TINY_PACK),)


def task(source: str = RIGHT, **more: object) -> Grade:
    """Return a request to grade a student's file."""
    made = Grade(
        "prefix-sum",
        SubmittedFile("ana.py", source),
        5,
        is_shared=True,
        content=content_digest(TINY),
        isolation="full",
        seconds=20.0,
        memory_mib=1024,
    )
    return msgspec.structs.replace(made, **more)


@pytest.fixture(scope="module")
def station() -> Iterator[ServerProcess]:
    """One for the tests of this file."""
    made = ServerProcess(PACKS)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        pytest.param("ana", "ana", id="plain"),
        pytest.param("Ana López", "Ana López", id="a space and an accent"),
        pytest.param("漢字 😀", "漢字 😀", id="other scripts"),
        pytest.param("O'Brien", "O'Brien", id="a quote"),
    ],
)
def test_ordinary_names_are_kept(name: str, kept: str) -> None:
    """A result is found under the student's own name wherever file systems take it."""
    assert safe_name(name) == kept


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../../etc/passwd",
        "a/b",
        "a\\b",
        "new\nline",
        'quote"',
        "CON",
        "lpt1.x",
        "x" * 300,
        " ana",
        "ana.",
        "\u202egnp",
        "a\0b",
        "😀" * 80,
    ],
)
def test_other_names_become_safe_ones(name: str) -> None:
    """One component, short enough, no control characters, and no two names the same."""
    made = safe_name(name)
    assert made not in ("", ".", "..")
    assert not set(made) & set('/\\\n\0\u202e"')
    assert len(made.encode()) <= 130
    assert made != safe_name(name + "_")
    assert made.split(".")[0].lower() not in ("con", "lpt1")


def test_a_result_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no room, the old file stays, nothing else is left, and the sentence says what to do."""
    path = tmp_path / "results" / "ana.json"
    write_whole(path, b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(GraderError, match=r"ana\.json cannot be written: No space left.*--resume"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in path.parent.iterdir()] == ["ana.json"]


def test_a_result_of_somebody_else_is_none(tmp_path: Path) -> None:
    """A file that was renamed, cut off or is no result is graded again, not believed."""
    kept = ResultStore(tmp_path, ["prefix-sum"])
    result = with_trouble(BARE, "It is empty.")
    kept.write(result)
    assert kept.read("ana", "prefix-sum") == result
    path = kept.path("ana", "prefix-sum")
    path.rename(kept.path("ben", "prefix-sum"))
    assert kept.read("ben", "prefix-sum") is None
    path.write_bytes(packed_result(result)[:100])
    assert kept.read("ana", "prefix-sum") is None
    path.write_text("[" * 100_000)
    assert kept.read("ana", "prefix-sum") is None


def test_several_challenges_have_a_folder_each(tmp_path: Path) -> None:
    """One student's results do not take each other's place."""
    kept = ResultStore(tmp_path, ["a", "b"])
    assert kept.path("ana", "a") != kept.path("ana", "b")


def test_a_record_that_cannot_be_read_is_no_fresh_start(tmp_path: Path) -> None:
    """Nothing is written over what may be somebody's grades."""
    (tmp_path / CLASS_FILE).write_text("{}")
    with pytest.raises(DrillError, match="cannot be read"):
        ResultStore(tmp_path, ["a"]).class_file()
    (tmp_path / CLASS_FILE).write_text(
        json.dumps(
            {
                "schema": "attn-drill.class/9",
                "title": "",
                "challenges": [],
                "seed": 1,
                "per_student_seed": False,
                "seconds": 1,
                "memory_mib": 1,
                "version": "",
            }
        )
    )
    with pytest.raises(DrillError, match=r"schema attn-drill\.class/9"):
        ResultStore(tmp_path, ["a"]).class_file()


def test_the_record_comes_back(tmp_path: Path) -> None:
    """What a resumed grading has to hold to."""
    record = ClassFile(
        title="t",
        challenges=["a"],
        seed=7,
        per_student_seed=True,
        seconds=3.0,
        memory_mib=99,
        version="1",
    )
    ResultStore(tmp_path, ["a"]).begin(record)
    assert ResultStore(tmp_path, ["a"]).class_file() == record


CHANGES: list[
    tuple[str, Callable[[GradingPlan, StudentSubmission], tuple[GradingPlan, StudentSubmission]]]
] = [
    ("source", lambda plan, one: (plan, replace(one, source=WRONG))),
    (
        "no source any more",
        lambda plan, one: (plan, replace(one, source=None, trouble="It is empty.")),
    ),
    ("file", lambda plan, one: (plan, replace(one, file="other.py"))),
    ("seed", lambda plan, one: (replace(plan, seed=6), one)),
    ("a seed a student", lambda plan, one: (replace(plan, per_student_seed=True), one)),
    ("content", lambda plan, one: (replace(plan, content={"prefix-sum": "other"}), one)),
    (
        "time limit",
        lambda plan, one: (replace(plan, assignment=replace(plan.assignment, seconds=9.0)), one),
    ),
    (
        "memory limit",
        lambda plan, one: (replace(plan, assignment=replace(plan.assignment, memory_mib=99)), one),
    ),
    (
        "weights",
        lambda plan, one: (
            replace(
                plan,
                assignment=replace(
                    plan.assignment,
                    asked=(replace(plan.assignment.asked[0], weights={"values": 1.0}),),
                ),
            ),
            one,
        ),
    ),
    (
        "several files",
        lambda plan, one: (
            plan,
            replace(one, source=None, trouble="Two.", unsettled=("ana.py", "ana/x.py")),
        ),
    ),
    (
        "late now",
        lambda plan, one: (
            replace(plan, assignment=replace(plan.assignment, due=10.0)),
            replace(one, modified=11.0),
        ),
    ),
]


@pytest.mark.parametrize(
    "change", [change for _, change in CHANGES], ids=[name for name, _ in CHANGES]
)
def test_what_decides_a_result_has_it_graded_again(
    tmp_path: Path,
    change: Callable[[GradingPlan, StudentSubmission], tuple[GradingPlan, StudentSubmission]],
) -> None:
    """`--resume` leaves alone what is as it was, and nothing else."""
    kept, before, one = ResultStore(tmp_path, ["prefix-sum"]), plan(), submission("ana")
    job = jobs_of(before, [one])[0]
    kept.write(with_trouble(replace(BARE, task=job.digest), ""))
    assert left_to_do(jobs_of(before, [one]), kept) == []
    assert (
        len(left_to_do(jobs_of(*(lambda both: (both[0], [both[1]]))(change(before, one))), kept))
        == 1
    )


def test_what_the_grader_failed_on_is_tried_again(tmp_path: Path) -> None:
    """A result without a verdict says nothing of the submission."""
    kept, one = ResultStore(tmp_path, ["prefix-sum"]), submission("ana")
    jobs = jobs_of(plan(), [one])
    kept.write(with_failure(replace(BARE, task=jobs[0].digest), "The grader broke."))
    assert left_to_do(jobs, kept) == jobs


def test_what_a_person_has_to_settle_is_kept_until_the_files_change(tmp_path: Path) -> None:
    """`--resume` leaves it alone; once one file is gone, the other is graded."""
    kept = ResultStore(tmp_path, ["prefix-sum"])
    twice = submission("ana", None, trouble="2 submissions.", unsettled=("ana.py", "ana/x.py"))
    (job,) = jobs_of(plan(), [twice])
    result = _result(plan(), job, None)
    kept.write(result)
    assert (result.verdict, result.score, result.error, result.unsettled) == (
        None,
        None,
        "2 submissions.",
        ("ana.py", "ana/x.py"),
    )
    assert kept.read("ana", "prefix-sum") == result
    assert left_to_do([job], kept) == []
    other = jobs_of(plan(), [replace(twice, unsettled=("ana.py", "Ana/x.py"))])
    settled = jobs_of(plan(), [submission("ana")])
    assert (left_to_do(other, kept), left_to_do(settled, kept)) == (other, settled)


def test_seeds(tmp_path: Path) -> None:
    """One for the class, or one for each student that comes again the next time."""
    class_ = [submission(name) for name in ("ana", "ben")]
    assert {job.seed for job in jobs_of(plan(seed=7), class_)} == {7}
    own = [job.seed for job in jobs_of(plan(seed=7, per_student_seed=True), class_)]
    assert len(set(own)) == 2
    assert own == [job.seed for job in jobs_of(plan(seed=7, per_student_seed=True), class_)]
    assert own != [job.seed for job in jobs_of(plan(seed=8, per_student_seed=True), class_)]


def test_a_digest_has_no_seams() -> None:
    """What ends one part and begins the next is told apart."""
    one, other = (
        jobs_of(plan(), [submission("ana", source, file=file)])[0].digest
        for source, file in (("x", "ya.py"), ("xy", "a.py"))
    )
    assert one != other


def test_results_come_sorted_and_without_strangers(tmp_path: Path) -> None:
    """Only what belongs to the class as it is now, by student."""
    kept = ResultStore(tmp_path, ["prefix-sum"])
    jobs = jobs_of(plan(), [submission(name) for name in ("ben", "Ana", "cleo")])
    for job in jobs:
        result = replace(BARE, student=job.submission.student, task=job.digest)
        kept.write(with_trouble(result, ""))
    kept.write(with_trouble(replace(BARE, student="zoe"), ""))
    assert [one.student for one in results_of(kept, jobs)] == ["Ana", "ben", "cleo"]
    stale = [replace(jobs[0], digest="other"), *jobs[1:]]
    assert len(list(results_of(kept, stale))) == 2


def answered(source: str) -> bytes:
    """What a stand-in for a station says: the file's own text as its refusal."""
    return packed(Refused(0, source))


def test_every_job_is_answered_once_and_few_are_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order in which they are done; what cannot be read is not sent."""
    at_work: list[str] = []
    most = 0

    def stand_in(folders: tuple[str, ...], request: bytes) -> bytes:
        nonlocal most
        asked = unpacked_request(request)
        assert isinstance(asked, Grade)
        source = asked.submission.source
        at_work.append(source)
        most = max(most, len(at_work))
        at_work.remove(source)
        return answered(source)

    monkeypatch.setattr(grading_jobs, "answer", stand_in)
    class_ = [
        submission(f"s{number:03}", None if number % 10 == 3 else f"# {number}")
        for number in range(60)
    ]
    with ThreadPoolExecutor(8) as pool:
        told = list(graded(plan(), jobs_of(plan(), class_), pool, 3))
    assert sorted(job.submission.student for job, _ in told) == [one.student for one in class_]
    assert all(
        found is None
        if job.submission.source is None
        else found == Refused(0, job.submission.source)
        for job, found in told
    )
    assert 1 <= most <= 3


def test_what_is_left_is_cancelled_when_nobody_asks_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After Ctrl-C nothing is begun."""

    class Never:
        def __init__(self) -> None:
            self.made: list[Future[bytes]] = []

        def submit(self, function: object, *arguments: object) -> Future[bytes]:
            self.made.append(Future())
            if len(self.made) == 1:
                self.made[0].set_result(packed(Refused(0, "first")))
            return self.made[-1]

    executor = Never()
    told = graded(
        plan(), jobs_of(plan(), [submission(f"s{number}") for number in range(9)]), executor, 4
    )  # type: ignore[arg-type]
    next(told)
    told.close()  # type: ignore[attr-defined]
    assert len(executor.made) == 4
    assert all(one.cancelled() for one in executor.made[1:])


def test_an_interrupt_waits_for_a_moment_in_which_nothing_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while a job is handed over: that is finished, what hangs is not waited for, and the signal is Python's own again."""
    handed_over: list[Future[bytes]] = []

    class Slow:
        def submit(self, function: object, *arguments: object) -> Future[bytes]:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)  # Python gets the signal in here
            handed_over.append(Future())
            return handed_over[-1]

    monkeypatch.setattr(executors, "executor_for", lambda where, jobs: nullcontext((Slow(), 1)))
    usual = signal.getsignal(signal.SIGINT)
    class_ = jobs_of(plan(), [submission("ana"), submission("ben")])
    assert _grade_all(
        plan(), class_, ResultStore(tmp_path, ["prefix-sum"]), "local", 1, resume=False
    )
    assert [one.cancelled() for one in handed_over] == [True]
    assert signal.getsignal(signal.SIGINT) is usual


def test_an_interrupt_during_the_last_submission_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its result is written, and the command ends all the same."""

    class Last:
        def submit(self, function: object, *arguments: object) -> Future[bytes]:
            done: Future[bytes] = Future()
            done.set_result(answered("no grader"))
            signal.raise_signal(signal.SIGINT)
            return done

    monkeypatch.setattr(executors, "executor_for", lambda where, jobs: nullcontext((Last(), 1)))
    kept = ResultStore(tmp_path, ["prefix-sum"])
    assert _grade_all(plan(), jobs_of(plan(), [submission("ana")]), kept, "local", 1, resume=False)
    assert kept.read("ana", "prefix-sum") is not None


def test_a_second_interrupt_is_raised_at_once() -> None:
    """Whatever is under way: somebody presses Ctrl-C again because nothing has happened."""
    with _noted_interrupts() as interrupted:
        os.kill(os.getpid(), signal.SIGINT)
        assert soon(interrupted)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_machine_that_is_lost_is_no_fault_of_the_submission() -> None:
    """What an executor itself raises is told, without a verdict."""
    lost: Future[bytes] = Future()
    lost.set_exception(RuntimeError("worker 3 died"))
    found = grading_jobs._answer_of(lost)
    assert isinstance(found, Refused)
    assert "worker 3 died" in found.sentence


def test_a_station_grades(station: ServerProcess) -> None:
    """Right and wrong, one after the other, with where and why."""
    found = station.ask(task())
    assert isinstance(found, Verdict)
    assert found.report.verdict == "passed"
    found = station.ask(task(WRONG))
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


def family_of(pid: int) -> list[int]:
    """All processes below one."""
    from trainer.sandbox.isolation import descendants

    return list(descendants(pid))


def soon(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    """Whether it comes true before long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_a_station_ends_with_whoever_asks_it() -> None:
    """In the middle of a submission that hangs, and with all below it."""
    made = ServerProcess(PACKS)
    pid = made.pid
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(made.ask, task("while True: pass\n", seconds=600.0))
        assert soon(lambda: len(family_of(pid)) >= 2), "the fork server and a worker"
        family = family_of(pid)
        made.close()
        with pytest.raises(ServerLostError):
            waiting.result()
    assert soon(lambda: not any(Path(f"/proc/{one}").exists() for one in [pid, *family]))


def test_a_lost_station_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grading process that dies costs a submission nothing but time; one that dies twice is told, and the next one is graded."""
    pool.open()
    made: list[ServerProcess] = []

    class Counted(ServerProcess):
        def __init__(self, folders: tuple[str, ...]) -> None:
            super().__init__(folders)
            made.append(self)

        def ask(self, request: Request) -> Reply:
            if len(made) in dying:
                os.kill(self.pid, signal.SIGKILL)
            return super().ask(request)

    monkeypatch.setattr(pool_module, "ServerProcess", Counted)
    try:
        dying = {1}
        found = unpacked_reply(answer(PACKS, packed(task())))
        assert isinstance(found, Verdict)
        assert len(made) == 2
        assert isinstance(unpacked_reply(answer(PACKS, packed(task()))), Verdict)
        assert len(made) == 2, "it is kept for the next"
        dying = {2, 3}
        found = unpacked_reply(answer(PACKS, packed(task())))
        assert isinstance(found, Refused)
        assert "ended the grading process 2 times" in found.sentence
        assert not found.is_for_all
    finally:
        pool.close()
    assert soon(lambda: all(not Path(f"/proc/{one.pid}").exists() for one in made))
    assert "ended" in unpacked_reply(answer(PACKS, packed(task()))).sentence, (
        "no station is started after the end"
    )  # type: ignore[union-attr]
    pool.open()


@pytest.mark.parametrize(
    "where",
    [
        "",
        "dask",
        "dask://",
        "dask://host",
        "dask://host:port",
        "dask://host:123456",
        "ray://a:1",
        "dask://a/b:80",
    ],
)
def test_an_executor_that_is_none(where: str) -> None:
    """One sentence with what was said and what can be said."""
    with pytest.raises(DrillError, match="local or dask://HOST:PORT"), executor_for(where, 1):
        pass


def test_content_is_told_apart(tmp_path: Path) -> None:
    """Any file of a challenge, on either side, changes its digest; its place does not."""
    import shutil

    copied = Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))
    same = pack_reader.find_in([copied], "prefix-sum")
    assert content_digest(same) == content_digest(TINY)
    (same.solutions / "mistakes.toml").write_text(
        (same.solutions / "mistakes.toml").read_text() + "\n"
    )
    assert content_digest(same) != content_digest(TINY)
    with pytest.raises(DrillError, match="No challenge is called 'other'"):
        pack_reader.find_in([copied], "other")


def test_kept_report(grader: object) -> None:
    """The object of `check --json`, whose it is, the text without the mistake, and the lines around the fault."""
    from trainer.grading.grader import Grader

    assert isinstance(grader, Grader)
    report = report_of(grader, TINY, WRONG, "ana.py", 5, diagnosed=True)
    result = with_report(replace(BARE, score=12.5), report, WRONG)
    text = packed_result(result)
    assert json.loads(text)["schema"] == "attn-drill.report/1"
    assert (result.student, result.verdict, result.score) == ("ana", "failed", 12.5)
    read = unpacked_result(text)
    assert packed_result(read) == text
    assert read.report is not None
    assert read.report.first_failure().message == report.first_failure().message
    assert result.text.startswith("FAILED  prefix-sum")
    assert "LIKELY" not in result.text
    assert result.excerpt is not None
    assert result.excerpt.marked == 3
    assert text.isascii()


@pytest.mark.parametrize(("line", "first", "count"), [(1, 1, 3), (3, 1, 5), (6, 4, 3)])
def test_excerpts_stay_within_the_file(line: int, first: int, count: int) -> None:
    """Two lines before and after, where there are so many."""
    found = excerpt_of("a\nb\nc\nd\ne\nf", line)
    assert found is not None
    assert (found.first, len(found.lines), found.lines[line - first]) == (
        first,
        count,
        "abcdef"[line - 1],
    )


@pytest.mark.parametrize("line", [None, 0, -1, 7])
def test_no_excerpt_of_a_line_that_is_not_there(line: int | None) -> None:
    """A worker tells the line, and may tell any."""
    assert excerpt_of("a\nb", line) is None
