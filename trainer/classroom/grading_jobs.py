"""A class's submissions through stations: what is to be graded, what is done already, results as they come."""

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
    """How a class is graded. `packs`: where challenges are looked for; `content`: digest of each challenge."""

    assignment: Assignment
    challenges: Mapping[str, Challenge]
    packs: tuple[Path, ...]
    content: Mapping[str, str]
    seed: int
    per_student_seed: bool = False
    weaker: bool = False


@dataclass(frozen=True)
class Job:
    """One submission, the seed of its cases, and the digest of all that decides its result."""

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
    weaker: bool = False,
) -> GradingPlan:
    """A plan for these challenges as they are now."""
    named = {one.id: one for one in challenges}
    return GradingPlan(
        assignment,
        named,
        tuple(packs),
        {name: content_digest(one) for name, one in named.items()},
        seed,
        per_student_seed,
        weaker,
    )


def jobs_of(plan: GradingPlan, submissions: Sequence[StudentSubmission]) -> list[Job]:
    """A job a submission, those of one challenge together: they share its exam."""
    order = list(plan.challenges)
    return [
        _job(plan, one) for one in sorted(submissions, key=lambda one: order.index(one.challenge))
    ]


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
    return sorted(
        next(one.weights for one in plan.assignment.asked if one.challenge == challenge).items()
    )


def _is_late(plan: GradingPlan, submission: StudentSubmission) -> bool:
    return (
        plan.assignment.due is not None
        and submission.modified is not None
        and submission.modified > plan.assignment.due
    )


def _seed_of(plan: GradingPlan, submission: StudentSubmission) -> int:
    """The class's seed, or one that follows from it and the student."""
    if not plan.per_student_seed:
        return plan.seed
    return random.Random(f"{plan.seed} {submission.student}").randrange(_MOST_SEED)


def left_to_do(jobs: Sequence[Job], kept: ResultStore) -> list[Job]:
    """Return the jobs without a result that still holds.

    A result holds if nothing decisive has changed since, unless it says only that the grader
    failed. That a person has to settle something holds until the files change.
    """
    left = []
    for job in jobs:
        found = kept.read(job.submission.student, job.submission.challenge)
        if (
            found is None
            or found.task != job.digest
            or (found.verdict is None and not found.unsettled)
        ):
            left.append(job)
    return left


def is_late(plan: GradingPlan, job: Job) -> bool:
    """Whether it came after the assignment's due time."""
    return _is_late(plan, job.submission)


def graded(
    plan: GradingPlan,
    jobs: Sequence[Job],
    executor: Executor,
    at_once: int,
    interrupted: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Job, Reply | None]]:
    """The answer to each job, in the order in which they come; None for a submission that cannot be read and was not tried.

    Args:
        executor: calls `pool.answer` with bytes; anything that speaks `concurrent.futures` will do.
        at_once: how many are handed to it at a time, so that little is lost when the grading is interrupted.
        interrupted: whether the user has asked for an end; is looked at several times a second.

    Raises:
        KeyboardInterrupt: once `interrupted` says so.
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
        if interrupted():  # during the last ones
            raise KeyboardInterrupt
    finally:
        for one in under_way:
            one.cancel()


def _answer_of(done: Future[bytes]) -> Reply:
    """What came of it; a machine that was lost too often is a fault of the grading, not of the submission."""
    if (error := done.exception()) is not None:
        sentence = f"It could not be graded: {type(error).__name__}: {str(error)[:300]}."
        return Refused(0, sentence)
    return unpacked_reply(done.result())


def _request(plan: GradingPlan, job: Job, source: str) -> Grade:
    return Grade(
        challenge=job.submission.challenge,
        submission=SubmittedFile(job.submission.file, source),
        seed=job.seed,
        is_shared=not plan.per_student_seed,
        content=plan.content[job.submission.challenge],
        isolation="weaker" if plan.weaker else "full",
        seconds=plan.assignment.seconds,
        memory_mib=plan.assignment.memory_mib,
    )


def results_of(kept: ResultStore, jobs: Sequence[Job]) -> Iterator[StudentResult]:
    """The results that are there, sorted by student and challenge. One at a time: a class's worth need not fit into memory."""
    for job in sorted(
        jobs,
        key=lambda job: (
            job.submission.student.casefold(),
            job.submission.student,
            job.submission.challenge,
        ),
    ):
        found = kept.read(job.submission.student, job.submission.challenge)
        if found is not None and found.task == job.digest:
            yield found
