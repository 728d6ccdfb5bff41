"""Plan the grading of a class, send its submissions to grading servers, and read the results."""

from __future__ import annotations

import hashlib
import random
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path

from trainer.classroom.records import Assignment, StudentSubmission
from trainer.classroom.result_store import ResultStore
from trainer.model.challenge import Challenge
from trainer.model.submission import Submission as SubmittedFile
from trainer.packs.digest import content_digest
from trainer.server.messages import Grade, Refused, Reply, packed, unpacked_reply
from trainer.server.pool import answer

_MOST_SEED = 1 << 62
_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class GradingPlan:
    """The settings with which a class is graded.

    Attributes:
        assignment: the assignment of the class.
        challenges: the challenges of the assignment, by id.
        packs: the folders in which challenges are looked up.
        content: the digest of each challenge, by id.
        seed: the seed of the class.
        per_student_seed: True if each student gets different cases.
        allow_weaker: True if submissions are graded on machines with weaker isolation, too.
    """

    assignment: Assignment
    challenges: Mapping[str, Challenge]
    packs: tuple[Path, ...]
    content: Mapping[str, str]
    seed: int
    per_student_seed: bool = False
    allow_weaker: bool = False


@dataclass(frozen=True)
class Job:
    """A submission, the seed of its cases, and the digest of everything that decides its result."""

    submission: StudentSubmission
    seed: int
    digest: str


def plan_of(
    assignment: Assignment,
    challenges: Sequence[Challenge],
    packs: Sequence[Path],
    seed: int,
    *,
    per_student_seed: bool = False,
    allow_weaker: bool = False,
) -> GradingPlan:
    """Return a plan for these challenges, with the digests that their files have now."""
    by_id = {challenge.id: challenge for challenge in challenges}
    return GradingPlan(
        assignment,
        by_id,
        tuple(packs),
        {name: content_digest(challenge) for name, challenge in by_id.items()},
        seed,
        per_student_seed,
        allow_weaker,
    )


def jobs_of(plan: GradingPlan, submissions: Sequence[StudentSubmission]) -> list[Job]:
    """Return one job for each submission.

    Jobs of the same challenge are next to each other, because they share prepared cases.
    """
    order = list(plan.challenges)
    by_challenge = sorted(submissions, key=lambda submission: order.index(submission.challenge))
    return [_job(plan, submission) for submission in by_challenge]


def _job(plan: GradingPlan, submission: StudentSubmission) -> Job:
    seed = _seed_of(plan, submission)
    decisive = (
        *(
            submission.challenge,
            plan.content[submission.challenge],
            str(seed),
            str(plan.assignment.seconds),
            str(plan.assignment.memory_mib),
        ),
        *(
            "refused" if submission.source is None else "source",
            submission.trouble if submission.source is None else submission.source,
        ),
        submission.file,
    )
    digest = hashlib.sha256()
    for part in decisive:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(encoded)}:".encode() + encoded)
    return Job(submission, seed, digest.hexdigest())


def _seed_of(plan: GradingPlan, submission: StudentSubmission) -> int:
    """Return the seed of the class, or a seed computed from the class seed and the student."""
    if not plan.per_student_seed:
        return plan.seed
    return random.Random(f"{plan.seed} {submission.student}").randrange(_MOST_SEED)


def pending_jobs(jobs: Sequence[Job], store: ResultStore, again: Collection[str] = ()) -> list[Job]:
    """Return the jobs that have no valid result.

    A result is valid if nothing that decides it has changed since. A result is never valid if the
    grader failed. The result of a submission that a person must settle is
    valid until the files change. Points
    and lateness are computed from a result whenever it is read, so they decide nothing.

    Args:
        jobs: the jobs of the class.
        store: the results.
        again: the names of students whose jobs are pending in any case.
    """
    pending = []
    for job in jobs:
        if job.submission.student in again:
            pending.append(job)
            continue
        result = store.read(job.submission.student, job.submission.challenge)
        if (
            result is None
            or result.task != job.digest
            or (result.verdict is None and not result.is_ungraded)
        ):
            pending.append(job)
    return pending


@dataclass(frozen=True)
class Stall:
    """A grading to which no new result comes.

    Attributes:
        seconds: the time since the last result.
        files: the files that the executor has, the oldest first.
        left: how many submissions have no result yet.
        obstacle: the thing that the submissions wait for, or "" if they are being graded.
    """

    seconds: float
    files: tuple[str, ...]
    left: int
    obstacle: str = ""


class ExecutorLostError(Exception):
    """Raised if an executor will give no more results.

    Attributes:
        loss: a sentence about the loss, without its full stop.
        remedy: the next step for the user, as an imperative.
    """

    def __init__(self, loss: str, remedy: str) -> None:
        super().__init__(f"{loss}; {remedy}")
        self.loss, self.remedy = loss, remedy


class WatchedExecutor(Executor):
    """An executor that can say what its submissions wait for."""

    def obstacle(self) -> str:
        """Return the thing that the submissions wait for, or "" if they are being graded.

        `grade_jobs` calls this several times a second.

        Raises:
            ExecutorLostError: no more results will come.
        """
        raise NotImplementedError


def grade_jobs(
    plan: GradingPlan,
    jobs: Sequence[Job],
    executor: Executor,
    at_once: int,
    interrupted: Callable[[], bool] = lambda: False,
    on_stall: Callable[[Stall], None] = lambda stall: None,
) -> Iterator[tuple[Job, Reply | None]]:
    """Yield each job with its reply, in the order in which the jobs finish.

    The reply is None if the submission could not be read. Unreadable submissions are not sent.

    Args:
        plan: how the class is graded.
        jobs: the jobs to grade.
        executor: calls `pool.answer` with bytes. Any executor of `concurrent.futures` works.
            A `WatchedExecutor` also says what it waits for.
        at_once: how many jobs the executor has at a time. A small number loses little work when
            the grading is interrupted.
        interrupted: return whether the user wants to stop. Called several times a second.
        on_stall: called several times a second while no result comes.

    Raises:
        KeyboardInterrupt: `interrupted` returned True.
        ExecutorLostError: the executor will give no more results. All results that came before
            were yielded.
    """
    packs = tuple(str(folder) for folder in plan.packs)
    waiting = deque(jobs)
    under_way: dict[Future[bytes], Job] = {}
    last_result = time.monotonic()
    try:
        while waiting or under_way:
            if interrupted():
                raise KeyboardInterrupt
            while waiting and len(under_way) < at_once:
                job = waiting.popleft()
                if job.submission.source is None:
                    yield job, None
                    continue
                request = packed(_request(plan, job, job.submission.source))
                under_way[executor.submit(answer, packs, request)] = job
            finished = wait(under_way, _LOOK_SECONDS, FIRST_COMPLETED).done
            answered = [future for future in finished if not future.cancelled()]
            for done in answered:
                yield under_way.pop(done), _answer_of(done)
                last_result = time.monotonic()
            if waiting or under_way:
                obstacle = _obstacle_of(executor, is_cancelled=len(answered) < len(finished))
                if not answered:
                    files = tuple(job.submission.file for job in under_way.values())
                    left = len(waiting) + len(under_way)
                    on_stall(Stall(time.monotonic() - last_result, files, left, obstacle))
        if interrupted():  # the signal came during the last jobs
            raise KeyboardInterrupt
    finally:
        for future in under_way:
            future.cancel()


def _obstacle_of(executor: Executor, *, is_cancelled: bool) -> str:
    """Return the thing that the executor waits for, or "".

    Args:
        executor: the executor of the jobs.
        is_cancelled: True if a job was cancelled by the executor itself. A cluster does this to all
            its jobs if the connection is lost or somebody restarts the cluster.

    Raises:
        ExecutorLostError: no more results will come.
    """
    obstacle = executor.obstacle() if isinstance(executor, WatchedExecutor) else ""
    if is_cancelled:
        raise ExecutorLostError(
            "The cluster was restarted, or cancelled its submissions", "check the cluster"
        )
    return obstacle


def _answer_of(done: Future[bytes]) -> Reply:
    """Return the reply that a job produced.

    If the executor raised an exception, for example because a machine was lost too often, the
    reply is a refusal: the submission is not to blame.
    """
    if (error := done.exception()) is not None:
        reason = f"{type(error).__name__}: {str(error)[:300]}"
        sentence = f"The submission could not be graded: {reason}."
        return Refused(0, sentence)
    return unpacked_reply(done.result())


def _request(plan: GradingPlan, job: Job, source: str) -> Grade:
    return Grade(
        challenge=job.submission.challenge,
        submission=SubmittedFile(job.submission.file, source),
        seed=job.seed,
        is_shared=not plan.per_student_seed,
        content=plan.content[job.submission.challenge],
        needs_isolation=not plan.allow_weaker,
        seconds=plan.assignment.seconds,
        memory_mib=plan.assignment.memory_mib,
        is_for_points=True,
    )
