"""A class's grading: results on disk, what is left to do, stations that are lost, the seam to executors."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.classroom import BARE, WRONG_SUM, answered, plan, submission
from trainer.classroom import grading_jobs
from trainer.classroom.grading_jobs import (
    GradingPlan,
    graded,
    jobs_of,
    left_to_do,
    results_of,
)
from trainer.classroom.records import StudentSubmission
from trainer.classroom.result_store import (
    ResultStore,
)
from trainer.cli.grade import _result
from trainer.export.student_results import with_failure, with_trouble
from trainer.server.messages import (
    Grade,
    Refused,
    packed,
    unpacked_request,
)

CHANGES: list[
    tuple[str, Callable[[GradingPlan, StudentSubmission], tuple[GradingPlan, StudentSubmission]]]
] = [
    ("source", lambda plan, one: (plan, replace(one, source=WRONG_SUM))),
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


def test_a_machine_that_is_lost_is_no_fault_of_the_submission() -> None:
    """What an executor itself raises is told, without a verdict."""
    lost: Future[bytes] = Future()
    lost.set_exception(RuntimeError("worker 3 died"))
    found = grading_jobs._answer_of(lost)
    assert isinstance(found, Refused)
    assert "worker 3 died" in found.sentence
