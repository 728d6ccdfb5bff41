"""Plan the grading of a class, send its submissions to grading servers, and read the results."""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path

from trainer.classroom.records import Assignment, StudentResult, StudentSubmission
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
        *(
            submission.file,
            *submission.unsettled,
            str(_is_late(plan, submission)),
            repr(_weights(plan, submission.challenge)),
        ),
    )
    digest = hashlib.sha256()
    for part in decisive:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(encoded)}:".encode() + encoded)
    return Job(submission, seed, digest.hexdigest())


def _weights(plan: GradingPlan, challenge: str) -> list[tuple[str, float]]:
    assigned = next(
        assigned for assigned in plan.assignment.challenges if assigned.challenge == challenge
    )
    return sorted(assigned.weights.items())


def _is_late(plan: GradingPlan, submission: StudentSubmission) -> bool:
    return (
        plan.assignment.due is not None
        and submission.modified is not None
        and submission.modified > plan.assignment.due
    )


def _seed_of(plan: GradingPlan, submission: StudentSubmission) -> int:
    """Return the seed of the class, or a seed computed from the class seed and the student."""
    if not plan.per_student_seed:
        return plan.seed
    return random.Random(f"{plan.seed} {submission.student}").randrange(_MOST_SEED)


def pending_jobs(jobs: Sequence[Job], store: ResultStore) -> list[Job]:
    """Return the jobs that have no valid result.

    A result is valid if nothing that decides it has changed since. A result is never valid if the
    grader failed. The result of an unsettled submission is valid until the files change.
    """
    pending = []
    for job in jobs:
        result = store.read(job.submission.student, job.submission.challenge)
        if (
            result is None
            or result.task != job.digest
            or (result.verdict is None and not result.unsettled)
        ):
            pending.append(job)
    return pending


def is_late(plan: GradingPlan, job: Job) -> bool:
    """Return whether the submission came after the due time of the assignment."""
    return _is_late(plan, job.submission)


def grade_jobs(
    plan: GradingPlan,
    jobs: Sequence[Job],
    executor: Executor,
    at_once: int,
    interrupted: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Job, Reply | None]]:
    """Yield each job with its reply, in the order in which the jobs finish.

    The reply is None if the submission could not be read. Unreadable submissions are not sent.

    Args:
        plan: how the class is graded.
        jobs: the jobs to grade.
        executor: calls `pool.answer` with bytes. Any executor of `concurrent.futures` works.
        at_once: how many jobs the executor has at a time. A small number loses little work when
            the grading is interrupted.
        interrupted: return whether the user wants to stop. Called several times a second.

    Raises:
        KeyboardInterrupt: `interrupted` returned True.
    """
    packs = tuple(str(folder) for folder in plan.packs)
    waiting = deque(jobs)
    under_way: dict[Future[bytes], Job] = {}
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
            for done in wait(under_way, _LOOK_SECONDS, FIRST_COMPLETED).done:
                yield under_way.pop(done), _answer_of(done)
        if interrupted():  # the signal came during the last jobs
            raise KeyboardInterrupt
    finally:
        for future in under_way:
            future.cancel()


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
        isolation="weaker" if plan.allow_weaker else "full",
        seconds=plan.assignment.seconds,
        memory_mib=plan.assignment.memory_mib,
    )


def results_of(store: ResultStore, jobs: Sequence[Job]) -> Iterator[StudentResult]:
    """Yield the valid results of these jobs, sorted by student and challenge.

    Only one result at a time is in memory, because a whole class may not fit.
    """
    for job in sorted(
        jobs,
        key=lambda job: (
            job.submission.student.casefold(),
            job.submission.student,
            job.submission.challenge,
        ),
    ):
        result = store.read(job.submission.student, job.submission.challenge)
        if result is not None and result.task == job.digest:
            yield result
