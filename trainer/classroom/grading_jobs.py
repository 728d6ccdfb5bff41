"""Plan the grading of a class, send its submissions to grading servers, and read the replies."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass
from pathlib import Path

from trainer.classroom.records import Assignment, StudentSubmission
from trainer.classroom.result_store import Job, ResultStore, text_digest
from trainer.model.challenge import Challenge
from trainer.model.errors import GraderError
from trainer.model.submission import Submission as SubmittedFile
from trainer.packs.digest import content_digest
from trainer.server.messages import Grade, Refused, Reply, packed, unpacked_reply
from trainer.server.pool import answer

_MOST_SEED = 1 << 62


@dataclass(frozen=True)
class GradingPlan:
    """The settings with which a class is graded.

    Attributes:
        packs: the folders in which challenges are looked up.
        content: the digest of each challenge, by id.
        seed: the seed of the class.
        allow_weaker: True if submissions are graded on machines with weaker isolation, too.
    """

    assignment: Assignment
    packs: tuple[Path, ...]
    content: Mapping[str, str]
    seed: int
    allow_weaker: bool = False


def plan_of(
    assignment: Assignment,
    challenges: Sequence[Challenge],
    packs: Sequence[Path],
    seed: int,
    *,
    allow_weaker: bool = False,
) -> GradingPlan:
    """Return a plan for these challenges, with the digests that their files have now.

    The seed of the assignment counts before another seed.
    """
    seed = seed if assignment.seed is None else assignment.seed
    content = {challenge.id: content_digest(challenge) for challenge in challenges}
    return GradingPlan(assignment, tuple(packs), content, seed, allow_weaker)


def jobs_of(plan: GradingPlan, submissions: Sequence[StudentSubmission]) -> list[Job]:
    """Return one job for each submission.

    Jobs of the same challenge are next to each other, because they share prepared cases.
    """
    order = plan.assignment.challenge_ids
    by_challenge = sorted(submissions, key=lambda submission: order.index(submission.challenge))
    return [_job(plan, submission) for submission in by_challenge]


def _job(plan: GradingPlan, submission: StudentSubmission) -> Job:
    seed = plan.seed
    if plan.assignment.cases == "own":
        seed = random.Random(f"{plan.seed} {submission.student}").randrange(_MOST_SEED)
    decisive = (
        submission.challenge,
        plan.content[submission.challenge],
        seed,
        plan.assignment.seconds,
        plan.assignment.memory_mib,
        submission.file,
        submission.source,
        submission.trouble if submission.source is None else "",
    )
    digest = hashlib.sha256(json.dumps(decisive).encode()).hexdigest()
    return Job(submission, seed, digest, text_digest(submission.source))


def pending_jobs(jobs: Sequence[Job], store: ResultStore) -> list[Job]:
    """Return the jobs that have no valid result, or on which the grader failed."""
    return [
        job
        for job in jobs
        if (result := store.read(job)) is None
        or (result.verdict is None and not result.is_ungraded)
    ]


def grade_jobs(
    plan: GradingPlan, jobs: Sequence[Job], executor: Executor
) -> Iterator[tuple[Job, Reply | None]]:
    """Yield each job with its reply, in the order in which the jobs finish.

    The reply is None if there is no text to grade. Such submissions are not sent.

    Raises:
        GraderError: the executor cancelled a job, as a cluster does that is lost.
    """
    packs = tuple(str(folder) for folder in plan.packs)
    under_way: dict[Future[bytes], Job] = {}
    try:
        for job in jobs:
            if job.submission.source is None:
                yield job, None
                continue
            request = packed(_request(plan, job, job.submission.source))
            under_way[executor.submit(answer, packs, request)] = job
        for future in as_completed(list(under_way)):
            yield under_way.pop(future), _reply_of(future)
    finally:
        for future in under_way:
            future.cancel()


def _reply_of(future: Future[bytes]) -> Reply:
    """Return the reply that a job produced."""
    if future.cancelled():
        raise GraderError(
            "The cluster is lost or was restarted. Start its scheduler and workers again, then run"
            " the same command with --resume."
        )
    # For example, a machine was lost too often. The submission is not to blame.
    if (error := future.exception()) is not None:
        reason = f"{type(error).__name__}: {str(error)[:300]}"
        return Refused(0, f"The submission could not be graded: {reason}.")
    return unpacked_reply(future.result())


def _request(plan: GradingPlan, job: Job, source: str) -> Grade:
    return Grade(
        challenge=job.submission.challenge,
        submission=SubmittedFile(job.submission.file, source),
        seed=job.seed,
        is_shared=plan.assignment.cases == "same",
        content=plan.content[job.submission.challenge],
        needs_isolation=not plan.allow_weaker,
        seconds=plan.assignment.seconds,
        memory_mib=plan.assignment.memory_mib,
        is_for_points=True,
    )
