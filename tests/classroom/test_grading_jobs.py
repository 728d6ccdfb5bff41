"""Tests of jobs: seeds, digests, pending jobs, executors and their replies."""

import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from distributed import LocalCluster

from attn_drill.classroom import grading_jobs
from attn_drill.classroom.grading_jobs import (
    GradingPlan,
    check_executor,
    executor_for,
    grade_jobs,
    jobs_of,
    pending_jobs,
)
from attn_drill.classroom.records import AssignedChallenge, StudentSubmission
from attn_drill.classroom.result_store import ResultStore
from attn_drill.export.feedback import with_failure, with_trouble
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.server import clients as pool_module
from attn_drill.server.messages import Grade, Refused, Reply, Request, packed, unpacked_request
from tests.support.classroom import BARE, PACKS, WRONG_SUM, answered, plan, soon, submission, task

ANA = submission("ana")


def plan_with_assignment(**changes: object) -> GradingPlan:
    """Return the plan of the tests with another setting of its assignment."""
    return replace(plan(), assignment=replace(plan().assignment, **changes))  # type: ignore[arg-type]


# A plan and a submission of the student ana, and whether the earlier result stays valid.
CHANGES: dict[str, tuple[GradingPlan, StudentSubmission, bool]] = {
    "nothing": (plan(), ANA, True),
    "source": (plan(), replace(ANA, source=WRONG_SUM), False),
    "no source any more": (plan(), replace(ANA, source=None, trouble="It is empty."), False),
    "file": (plan(), replace(ANA, file="other.py"), False),
    "seed": (replace(plan(), seed=6), ANA, False),
    "own cases": (plan_with_assignment(cases="own"), ANA, False),
    "content": (replace(plan(), content={"prefix-sum": "other"}), ANA, False),
    "time limit": (plan_with_assignment(seconds=9.0), ANA, False),
    "memory limit": (plan_with_assignment(memory_mib=99), ANA, False),
    "weights": (
        plan_with_assignment(challenges=(AssignedChallenge("prefix-sum", {"values": 1.0}, 7.0),)),
        ANA,
        True,
    ),
    "lateness": (plan_with_assignment(due=10.0, penalty=5.0), replace(ANA, submitted=11.0), True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_only_a_changed_submission_is_graded_again(tmp_path: Path, change: str) -> None:
    """Points and lateness are computed whenever a result is read, so they decide nothing."""
    store = ResultStore(tmp_path, ["prefix-sum"])
    (job,) = jobs_of(plan(), [ANA])
    store.write(with_trouble(replace(BARE, task=job.digest), ""))
    changed_plan, changed_submission, is_valid = CHANGES[change]
    pending = pending_jobs(jobs_of(changed_plan, [changed_submission]), store)
    assert (pending == []) == is_valid


@pytest.mark.parametrize("is_ungraded", [True, False])
def test_result_without_a_verdict_is_graded_again_if_the_grader_failed(
    tmp_path: Path, is_ungraded: bool
) -> None:
    """A submission that a person must settle is as it was."""
    store = ResultStore(tmp_path, ["prefix-sum"])
    jobs = jobs_of(plan(), [replace(ANA, source=None, trouble="Two files.")])
    result = replace(BARE, task=jobs[0].digest, is_ungraded=is_ungraded)
    store.write(with_failure(result, "Two files."))
    assert pending_jobs(jobs, store) == ([] if is_ungraded else jobs)


def test_own_cases_are_the_same_in_every_run() -> None:
    """By default, all students have the seed of the class."""
    class_ = [submission(name) for name in ("ana", "ben")]
    assert {job.seed for job in jobs_of(plan(seed=7), class_)} == {7}
    own = plan_with_assignment(cases="own")
    seeds = [job.seed for job in jobs_of(own, class_)]
    assert len(set(seeds)) == 2
    assert seeds == [job.seed for job in jobs_of(own, class_)]
    assert seeds != [job.seed for job in jobs_of(replace(own, seed=8), class_)]


def test_every_job_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Submissions without a text are not sent."""

    def fake_answer(folders: tuple[str, ...], request: bytes) -> bytes:
        grade = unpacked_request(request)
        assert isinstance(grade, Grade)
        return answered(grade.submission.source)

    monkeypatch.setattr(grading_jobs, "answer", fake_answer)
    class_ = [
        submission(f"s{index:03}", None if index % 10 == 3 else f"# {index}") for index in range(60)
    ]
    with ThreadPoolExecutor(3) as executor:
        answers = list(grade_jobs(plan(), jobs_of(plan(), class_), executor))
    assert sorted(job.submission.student for job, _ in answers) == [own.student for own in class_]
    for job, reply in answers:
        source = job.submission.source
        assert reply == (None if source is None else Refused(0, source))


class Executor:
    """An executor that answers only the first job."""

    def __init__(self) -> None:
        self.futures: list[Future[bytes]] = []

    def submit(self, function: object, *arguments: object) -> Future[bytes]:
        """Keep the job."""
        self.futures.append(Future())
        if len(self.futures) == 1:
            self.futures[0].set_result(packed(Refused(0, "first")))
        return self.futures[-1]


def test_waiting_jobs_are_cancelled_after_an_interrupt() -> None:
    """If the caller stops early, for example after Ctrl-C, no waiting job is started."""
    executor = Executor()
    jobs = jobs_of(plan(), [submission(f"s{index}") for index in range(4)])
    answers = grade_jobs(plan(), jobs, executor)  # type: ignore[arg-type]
    assert next(answers) == (jobs[0], Refused(0, "first"))
    answers.close()  # type: ignore[attr-defined]
    assert [future.cancelled() for future in executor.futures] == [False, True, True, True]


def test_lost_cluster_is_a_sentence_and_a_lost_machine_a_refusal() -> None:
    """A cluster that is lost cancels its jobs. A machine that is lost too often raises an error."""
    executor = Executor()
    jobs = jobs_of(plan(), [ANA, submission("ben"), submission("cleo")])
    answers = grade_jobs(plan(), jobs, executor)  # type: ignore[arg-type]
    next(answers)
    executor.futures[1].set_exception(RuntimeError("worker 3 died"))
    _, reply = next(answers)
    assert isinstance(reply, Refused)
    assert "RuntimeError: worker 3 died" in reply.sentence
    executor.futures[2].cancel()
    executor.futures[2].set_running_or_notify_cancel()
    with pytest.raises(GraderError, match=r"cluster is lost or was restarted.*--resume"):
        next(answers)


@pytest.mark.parametrize(
    "where",
    ["", "dask", "dask://host", "dask://host:port", "dask://host:123456", "ray://a:1"],
)
def test_unknown_executor_is_refused(where: str) -> None:
    """The sentence has the given value and the possible values."""
    message = f"--executor is {where!r}; it must be local or dask://HOST:PORT"
    with pytest.raises(DrillError, match=re.escape(message)):
        check_executor(where)


def test_local_executor_runs_jobs_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook may grade on: the next request starts a server again."""

    class Server:
        def __init__(self, folders: tuple[str, ...]) -> None: ...

        def ask(self, request: Request) -> Reply:
            return Refused(7, "a server answered")

        def close(self) -> None: ...

    monkeypatch.setattr(pool_module, "ServerProcess", Server)
    with executor_for("local", 2) as executor:
        assert executor.submit(sum, (1, 2)).result() == 3
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(sum, (1, 2))
    assert pool_module.pool.ask(PACKS, task()) == Refused(7, "a server answered")
    pool_module.pool.close()
    pool_module.pool.open()


def test_cluster_runs_jobs_until_it_is_lost(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It cancels its jobs if it is lost. Without workers, the sentence has the next step."""
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        dashboard_address=None,
        local_directory=str(tmp_path),
    ) as cluster:
        where = cluster.scheduler_address.replace("tcp://", "dask://")
        with executor_for(where, 1) as executor:
            assert executor.submit(sum, (1, 2)).result(60) == 3
        cluster.scale(0)
        assert soon(lambda: not cluster.scheduler.workers)
        with (
            pytest.raises(DrillError, match=r"has no workers\. Start some"),
            executor_for(where, 1),
        ):
            pass
        cluster.scale(1)
        assert soon(lambda: cluster.scheduler.workers)
        with executor_for(where, 1) as executor:
            waiting = executor.submit(time.sleep, 60)
            cluster.close()
            assert soon(waiting.cancelled)
    assert capfd.readouterr().err == ""


def test_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence has the address, the reason and the next step."""

    def refuse(*arguments: object, **more: object) -> None:
        raise OSError("nobody is there")

    monkeypatch.setattr("distributed.Client", refuse)
    with (
        pytest.raises(DrillError, match=r"answers at tcp://far:1 within 15 s: nobody is there"),
        executor_for("dask://far:1", 1),
    ):
        pass
