"""Plan the grading of a class, send its submissions to grading servers, and read the replies.

An executor of `concurrent.futures` sends them: threads on this machine, or a Dask cluster.
"""

from __future__ import annotations

import hashlib
import json
import logging
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from attn_drill.classroom.records import Assignment, StudentSubmission
from attn_drill.classroom.result_store import Job, ResultStore, text_digest
from attn_drill.model.challenge import Challenge
from attn_drill.model.challenge import Submission as SubmittedFile
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.packs.pack_reader import content_digest
from attn_drill.server.clients import answer, pool
from attn_drill.server.messages import Grade, Refused, Reply, packed, unpacked_reply

_MOST_SEED = 1 << 62
_DASK = re.compile(r"dask://(\[[0-9a-fA-F:.]+\]|[^:/]+):(\d{1,5})")
_CONNECT_SECONDS = 15
_CLOSE_SECONDS = 3


@dataclass(frozen=True)
class GradingPlan:
    """The settings with which a class is graded."""

    assignment: Assignment
    packs: tuple[Path, ...]  # the folders in which challenges are looked up
    content: Mapping[str, str]  # the digest of each challenge, by id
    seed: int  # of the class
    allow_weaker: bool = False  # grade on machines with weaker isolation, too


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
    jobs = []
    for submission in sorted(submissions, key=lambda each: order.index(each.challenge)):
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
        jobs.append(Job(submission, seed, digest, text_digest(submission.source)))
    return jobs


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

    The reply is None if there is no text to grade. Raise GraderError if the cluster is lost.
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
            job = under_way.pop(future)
            if future.cancelled():
                raise GraderError(
                    "The cluster is lost or was restarted. Start its scheduler and workers again,"
                    " then run the same command with --resume."
                )
            error = future.exception()
            if error is None:
                yield job, unpacked_reply(future.result())
            else:
                # For example, a machine was lost too often. The submission is not to blame.
                reason = f"{type(error).__name__}: {str(error)[:300]}"
                yield job, Refused(0, f"The submission could not be graded: {reason}.")
    finally:
        for future in under_way:
            future.cancel()


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


def check_executor(where: str) -> None:
    """Raise DrillError if a value of `--executor` is neither `local` nor `dask://HOST:PORT`."""
    if where != "local" and _DASK.fullmatch(where) is None:
        raise DrillError(f"--executor is {where!r}; it must be local or dask://HOST:PORT.")


@contextmanager
def executor_for(where: str, jobs: int) -> Iterator[Executor]:
    """Yield the executor for a value of `--executor`, or raise DrillError.

    Here, each thread waits for its own grading server. A cluster grades as many jobs at a time as
    its workers have threads.
    """
    if match := _DASK.fullmatch(where):
        with _dask(f"tcp://{match[1]}:{match[2]}") as cluster:
            yield cluster
        return
    executor = ThreadPoolExecutor(jobs)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        # Also end the servers that are grading: after Ctrl-C nobody waits for a submission that
        # hangs.
        pool.close()
        executor.shutdown(wait=True)
        pool.open()  # a notebook may grade on in this process


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client  # noqa: PLC0415  # a separate extra
    except ImportError:
        raise DrillError(
            "Grading on a cluster needs Dask. Install it here and on the workers: pip install"
            " 'attn-drill[cluster]'."
        ) from None
    # A lost connection would fill the terminal with tracebacks, and `grade_jobs` says it in a
    # sentence.
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise DrillError(
            f"No Dask scheduler answers at {address} within {_CONNECT_SECONDS} s: {error}. Start"
            " one with `dask scheduler`."
        ) from None
    try:
        if not client.nthreads():  # type: ignore[no-untyped-call]
            raise DrillError(
                f"The Dask scheduler at {address} has no workers. Start some: `dask worker"
                f" {address.removeprefix('tcp://')}`."
            )
        yield client.get_executor(pure=False)  # type: ignore[no-untyped-call]
    finally:
        with suppress(Exception):  # a scheduler that is lost does not answer
            client.close(timeout=_CLOSE_SECONDS)  # type: ignore[no-untyped-call]
