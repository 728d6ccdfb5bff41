"""Tests of jobs: their seeds and digests, the pending jobs, and the replies of an executor."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.classroom import BARE, WRONG_SUM, answered, plan, submission
from trainer.classroom import grading_jobs
from trainer.classroom.grading_jobs import (
    ExecutorLostError,
    GradingPlan,
    Stall,
    WatchedExecutor,
    grade_jobs,
    jobs_of,
    pending_jobs,
)
from trainer.classroom.records import AssignedChallenge, StudentSubmission
from trainer.classroom.result_store import ResultStore
from trainer.cli.grade import _result
from trainer.export.student_results import with_failure, with_trouble
from trainer.server.messages import Grade, Refused, packed, unpacked_request

ANA = submission("ana")
TWO_FILES = replace(ANA, source=None, trouble="Two.")


def plan_with_assignment(**changes: object) -> GradingPlan:
    """Return the plan of the tests with another setting of its assignment."""
    return replace(plan(), assignment=replace(plan().assignment, **changes))  # type: ignore[arg-type]


# A changed plan and submission of the student ana, by the changed part.
CHANGES: dict[str, tuple[GradingPlan, StudentSubmission]] = {
    "source": (plan(), replace(ANA, source=WRONG_SUM)),
    "no source any more": (plan(), replace(ANA, source=None, trouble="It is empty.")),
    "file": (plan(), replace(ANA, file="other.py")),
    "seed": (replace(plan(), seed=6), ANA),
    "per-student seed": (replace(plan(), per_student_seed=True), ANA),
    "content": (replace(plan(), content={"prefix-sum": "other"}), ANA),
    "time limit": (plan_with_assignment(seconds=9.0), ANA),
    "memory limit": (plan_with_assignment(memory_mib=99), ANA),
    "several files": (plan(), TWO_FILES),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_submission_is_graded_again(tmp_path: Path, change: str) -> None:
    """`--resume` grades a submission again if anything that decides its result changed."""
    store = ResultStore(tmp_path, ["prefix-sum"])
    job = jobs_of(plan(), [ANA])[0]
    store.write(with_trouble(replace(BARE, task=job.digest), ""))
    assert pending_jobs(jobs_of(plan(), [ANA]), store) == []
    changed_plan, changed_submission = CHANGES[change]
    assert len(pending_jobs(jobs_of(changed_plan, [changed_submission]), store)) == 1


def test_points_and_lateness_decide_no_result(tmp_path: Path) -> None:
    """They are computed again whenever a result is read, so nothing is graded again."""
    store = ResultStore(tmp_path, ["prefix-sum"])
    job = jobs_of(plan(), [ANA])[0]
    store.write(with_trouble(replace(BARE, task=job.digest), ""))
    heavy = (AssignedChallenge("prefix-sum", {"values": 1.0}, worth=7.0),)
    for changed in (
        plan_with_assignment(challenges=heavy),
        plan_with_assignment(due=10.0, penalty=5.0, title="New", shown="verdict"),
    ):
        assert pending_jobs(jobs_of(changed, [replace(ANA, submitted=11.0)]), store) == []


def test_a_student_whom_a_person_names_is_graded_again(tmp_path: Path) -> None:
    """The results of the other students stay."""
    store = ResultStore(tmp_path, ["prefix-sum"])
    jobs = jobs_of(plan(), [ANA, submission("ben")])
    for job in jobs:
        result = replace(BARE, student=job.submission.student, task=job.digest)
        store.write(with_trouble(result, ""))
    assert pending_jobs(jobs, store, {"ben"}) == jobs[1:]


def test_submission_on_which_the_grader_failed_is_graded_again(tmp_path: Path) -> None:
    """A result without a verdict is not a judgement of the submission."""
    store = ResultStore(tmp_path, ["prefix-sum"])
    jobs = jobs_of(plan(), [ANA])
    store.write(with_failure(replace(BARE, task=jobs[0].digest), "The grader broke."))
    assert pending_jobs(jobs, store) == jobs


def test_ungraded_submission_is_pending_only_after_a_change(tmp_path: Path) -> None:
    """`--resume` does not grade it again. If a file is removed, the other file is graded."""
    store = ResultStore(tmp_path, ["prefix-sum"])
    twice = submission("ana", None, trouble="2 submissions.")
    (job,) = jobs_of(plan(), [twice])
    result = _result(job, None)
    store.write(result)
    assert (result.verdict, result.score, result.error, result.is_ungraded) == (
        None,
        None,
        "2 submissions.",
        True,
    )
    assert store.read("ana", "prefix-sum") == result
    assert pending_jobs([job], store) == []
    other = jobs_of(plan(), [replace(twice, trouble="3 submissions.")])
    settled = jobs_of(plan(), [ANA])
    assert (pending_jobs(other, store), pending_jobs(settled, store)) == (other, settled)


def test_seed_of_each_student_is_the_same_in_every_run(tmp_path: Path) -> None:
    """Without `--per-student-seed`, all students have the seed of the class."""
    class_ = [submission(name) for name in ("ana", "ben")]
    assert {job.seed for job in jobs_of(plan(seed=7), class_)} == {7}
    seeds = [job.seed for job in jobs_of(plan(seed=7, per_student_seed=True), class_)]
    assert len(set(seeds)) == 2
    assert seeds == [job.seed for job in jobs_of(plan(seed=7, per_student_seed=True), class_)]
    assert seeds != [job.seed for job in jobs_of(plan(seed=8, per_student_seed=True), class_)]


def test_digest_separates_its_parts() -> None:
    """A character that moves from the end of a part to the beginning of the next changes it."""
    first, second = (
        jobs_of(plan(), [submission("ana", source, file=file)])[0].digest
        for source, file in (("x", "ya.py"), ("xy", "a.py"))
    )
    assert first != second


def test_every_job_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a few jobs are under way at a time, and unreadable submissions are not sent."""
    at_work: list[str] = []
    most = 0

    def fake_answer(folders: tuple[str, ...], request: bytes) -> bytes:
        nonlocal most
        grade = unpacked_request(request)
        assert isinstance(grade, Grade)
        source = grade.submission.source
        at_work.append(source)
        most = max(most, len(at_work))
        at_work.remove(source)
        return answered(source)

    monkeypatch.setattr(grading_jobs, "answer", fake_answer)
    class_ = [
        submission(f"s{index:03}", None if index % 10 == 3 else f"# {index}") for index in range(60)
    ]
    with ThreadPoolExecutor(8) as pool:
        answers = list(grade_jobs(plan(), jobs_of(plan(), class_), pool, 3))
    students = sorted(job.submission.student for job, _ in answers)
    assert students == [submission.student for submission in class_]
    for job, reply in answers:
        source = job.submission.source
        assert reply == (None if source is None else Refused(0, source))
    assert 1 <= most <= 3


def test_waiting_jobs_are_cancelled_after_an_interrupt() -> None:
    """If the caller stops early, for example after Ctrl-C, no waiting job is started."""

    class Idle:
        def __init__(self) -> None:
            self.futures: list[Future[bytes]] = []

        def submit(self, function: object, *arguments: object) -> Future[bytes]:
            self.futures.append(Future())
            if len(self.futures) == 1:
                self.futures[0].set_result(packed(Refused(0, "first")))
            return self.futures[-1]

    executor = Idle()
    jobs = jobs_of(plan(), [submission(f"s{index}") for index in range(9)])
    answers = grade_jobs(plan(), jobs, executor, 4)  # type: ignore[arg-type]
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert len(executor.futures) == 4
    assert all(future.cancelled() for future in executor.futures[1:])


def test_lost_machine_is_not_the_fault_of_the_submission() -> None:
    """An exception of the executor itself gives a refusal without a verdict."""
    lost: Future[bytes] = Future()
    lost.set_exception(RuntimeError("worker 3 died"))
    reply = grading_jobs._answer_of(lost)
    assert isinstance(reply, Refused)
    assert "worker 3 died" in reply.sentence


class Stuck(WatchedExecutor):
    """An executor that answers only the first job."""

    def __init__(self) -> None:
        self.futures: list[Future[bytes]] = []
        self.is_lost = False

    def submit(self, function: object, *arguments: object) -> Future[bytes]:  # type: ignore[override]
        """Keep the job."""
        self.futures.append(Future())
        if len(self.futures) == 1:
            self.futures[0].set_result(packed(Refused(0, "first")))
        return self.futures[-1]

    def obstacle(self) -> str:
        """Return a made-up obstacle."""
        if self.is_lost:
            raise ExecutorLostError("All is lost", "start it again")
        return "better times"


def test_grading_without_a_result_says_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The files are those that the executor has, and the obstacle is in its words."""
    monkeypatch.setattr(grading_jobs, "_LOOK_SECONDS", 0.001)
    jobs = jobs_of(plan(), [submission(name) for name in ("ana", "ben", "cleo", "di")])
    stalls: list[Stall] = []
    answers = grade_jobs(plan(), jobs, Stuck(), 2, lambda: len(stalls) == 3, stalls.append)
    assert next(answers)[0] == jobs[0]
    assert stalls == []
    with pytest.raises(KeyboardInterrupt):
        next(answers)
    assert {(stall.files, stall.left, stall.obstacle) for stall in stalls} == {
        (("ben.py", "cleo.py"), 3, "better times")
    }
    assert stalls[0].seconds < stalls[1].seconds < stalls[2].seconds


def test_results_that_came_before_the_loss_are_yielded() -> None:
    """An executor that is lost at once still gives the result that it has.

    Nothing is lost if this was the last result.
    """
    executor = Stuck()
    executor.is_lost = True
    last = jobs_of(plan(), [ANA])
    assert list(grade_jobs(plan(), last, executor, 2)) == [(last[0], Refused(0, "first"))]
    executor.futures.clear()
    jobs = jobs_of(plan(), [submission(name) for name in ("ana", "ben")])
    answers = grade_jobs(plan(), jobs, executor, 2)
    assert next(answers) == (jobs[0], Refused(0, "first"))
    with pytest.raises(ExecutorLostError, match="All is lost; start it again"):
        next(answers)


def test_cancelled_job_is_a_loss() -> None:
    """Nobody knows the result of a job that a restarted cluster has cancelled."""
    executor = Stuck()
    answers = grade_jobs(plan(), jobs_of(plan(), [ANA, submission("ben")]), executor, 2)
    next(answers)
    executor.futures[1].cancel()
    executor.futures[1].set_running_or_notify_cancel()
    with pytest.raises(ExecutorLostError, match="restarted"):
        next(answers)
