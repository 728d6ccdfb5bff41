"""`attn-drill grade DIR`: grade the submissions of a class.

Each submission is isolated from the grader and from the other submissions.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.cli.parameters import complete_id
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError, GraderError
from trainer.report.visible import visible

if TYPE_CHECKING:
    from types import FrameType

    from trainer.classroom.grading_jobs import GradingPlan, Job
    from trainer.classroom.records import Assignment, StudentResult, StudentSubmission
    from trainer.classroom.result_store import ResultStore
    from trainer.server.messages import Reply

_MOST_JOBS = 512
_MOST_SENTENCES = 5  # about names that several submissions have


def grade(
    context: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A folder of submissions, or a learning management system's zip."
        ),
    ],
    challenge_id: Annotated[
        str | None,
        typer.Option(
            "--challenge",
            metavar="ID",
            help="The challenge, e.g. gqa.",
            autocompletion=complete_id,
        ),
    ] = None,
    assignment: Annotated[
        Path | None,
        typer.Option("--assignment", help="An assignment.toml, instead of --challenge."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder for results and tables.")] = Path(
        "grades"
    ),
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", help="Submissions at a time on this machine; one for each core by default."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue: grade new and changed submissions.")
    ] = False,
    executor: Annotated[
        str, typer.Option("--executor", help="local, or dask://HOST:PORT.")
    ] = "local",
    formats: Annotated[
        str, typer.Option("--format", help="Any of csv,html,junit,gradescope,github.")
    ] = "csv,html",
    seed: Annotated[
        int | None, typer.Option("--seed", help="The seed of the class; a fresh seed by default.")
    ] = None,
    per_student_seed: Annotated[
        bool, typer.Option("--per-student-seed", help="Different cases for each student.")
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit", metavar="S", help="CPU seconds for each submission; 10 by default."
        ),
    ] = None,
    memory_limit: Annotated[
        int | None,
        typer.Option(
            "--memory-limit", metavar="MIB", help="Memory beyond torch's own; 2048 by default."
        ),
    ] = None,
    similar: Annotated[
        bool,
        typer.Option("--similar", help="List pairs of similar submissions: a hint, not a verdict."),
    ] = False,
    single: Annotated[bool, typer.Option("--single", help="DIR is one student's work.")] = False,
    allow_weaker: Annotated[
        bool,
        typer.Option(
            "--allow-weaker-isolation",
            help="Grade even if submissions are not fully isolated here.",
        ),
    ] = False,
) -> None:
    """Grade a class's submissions."""
    from trainer.app.grade_file import check_seed, cores, fresh_seed
    from trainer.classroom.executors import check_executor
    from trainer.classroom.similarity import check_similarity
    from trainer.cli.grade_outputs import open_results, parse_formats, show_similar, write_outputs

    wanted = parse_formats(formats)
    known_packs: KnownPacks = context.obj
    settings = _assignment(challenge_id, assignment, time_limit, memory_limit, known_packs)
    challenges = [known_packs.find(assigned.challenge) for assigned in settings.challenges]
    jobs = cores() if jobs is None else jobs
    if not 1 <= jobs <= _MOST_JOBS:
        raise DrillError(f"--jobs is {jobs}; it must be 1 to {_MOST_JOBS}.")
    if seed is not None:
        check_seed(seed)
    check_executor(executor)
    if similar:
        check_similarity()
    store, record = open_results(
        out, settings, seed, per_student_seed=per_student_seed, resume=resume, fresh=fresh_seed
    )
    submissions = _submissions(folder, challenges, single=single)
    store.write_class_file(record)

    from trainer.classroom.grading_jobs import jobs_of, plan_of, results_of

    plan = plan_of(
        settings,
        challenges,
        known_packs.roots(),
        record.seed,
        per_student_seed=record.per_student_seed,
        allow_weaker=allow_weaker,
    )
    all_jobs = jobs_of(plan, submissions)
    interrupted = _grade_all(plan, all_jobs, store, executor, jobs, resume=resume)
    if interrupted:
        done = sum(1 for _ in results_of(store, all_jobs))
        print(
            f"Interrupted: {done} of {len(all_jobs)} have a result in {store.out / 'results'}. To"
            " continue, run the same command with --resume.",
            file=sys.stderr,
        )
        raise typer.Exit(130)
    failed = write_outputs(store, lambda: results_of(store, all_jobs), plan.assignment, wanted)
    if similar:
        show_similar(challenges, submissions, out)
    if failed:
        raise GraderError(
            f"{failed} could not be graded because the grader failed: `error` in"
            f" {store.out / 'results'} gives the reason. --resume tries them again."
        )


def _assignment(
    challenge_id: str | None,
    file: Path | None,
    time_limit: float | None,
    memory_limit: int | None,
    known_packs: KnownPacks,
) -> Assignment:
    from dataclasses import replace

    from trainer.app.grade_file import check_limits
    from trainer.classroom.assignment import plain_assignment, read_assignment

    if (challenge_id is None) == (file is None):
        raise DrillError(
            "Name the challenge with --challenge ID, or an assignment with --assignment FILE, for"
            " several challenges or for weights. Give one of the two options."
        )
    if file is not None:
        assignment = read_assignment(file, known_packs.find)
    else:
        challenge = known_packs.find(str(challenge_id))
        assignment = replace(plain_assignment(challenge.id), title=challenge.title)
    seconds, memory_mib = (
        assignment.seconds if time_limit is None else time_limit,
        assignment.memory_mib if memory_limit is None else memory_limit,
    )
    check_limits(seconds, memory_mib)
    return replace(assignment, seconds=seconds, memory_mib=memory_mib)


def _submissions(
    folder: Path, challenges: Sequence[Challenge], *, single: bool
) -> list[StudentSubmission]:
    from trainer.classroom import collect
    from trainer.report.class_progress import columns, in_columns

    collected = (
        collect.collect_single(folder, challenges)
        if single
        else collect.collect(folder, challenges)
    )
    if collected.ignored:
        more = len(collected.ignored) - 5
        names = ", ".join(collected.ignored[:5]) + (f" and {more} more" if more > 0 else "")
        print(f"Ignored, because these are not submissions: {visible(names)}", file=sys.stderr)
    for note in (*collected.notes, *_to_settle(collected.submissions)):
        print(in_columns(visible(note), columns(sys.stderr)), file=sys.stderr)
    return collected.submissions


def _to_settle(submissions: Sequence[StudentSubmission]) -> list[str]:
    """Return a sentence for each student with several submissions, from which a person chooses."""
    unsettled = {
        submission.student: submission.trouble for submission in submissions if submission.unsettled
    }
    sentences = list(unsettled.values())
    if len(sentences) <= _MOST_SENTENCES:
        return sentences
    more = len(sentences) - _MOST_SENTENCES
    return [*sentences[:_MOST_SENTENCES], f"The report lists more names of this kind: {more}."]


def _grade_all(
    plan: GradingPlan,
    all_jobs: Sequence[Job],
    store: ResultStore,
    where: str,
    jobs: int,
    *,
    resume: bool,
) -> bool:
    """Grade the pending jobs and write each result at once. Return True after an interrupt."""
    from trainer.classroom.executors import executor_for
    from trainer.classroom.grading_jobs import grade_jobs, pending_jobs
    from trainer.report.class_progress import ClassProgress

    pending = pending_jobs(all_jobs, store) if resume else list(all_jobs)
    if not pending:
        print(f"All {len(all_jobs)} submissions already have a result.", file=sys.stderr)
        return False
    with executor_for(where, min(jobs, len(pending))) as (executor, at_once):
        try:
            with (
                ClassProgress(len(all_jobs), len(all_jobs) - len(pending), sys.stderr) as progress,
                _deferred_interrupts() as interrupted,
            ):
                for job, reply in grade_jobs(plan, pending, executor, at_once, interrupted):
                    result = _result(plan, job, reply)
                    store.write(result)
                    progress.advance(result)
        except KeyboardInterrupt:
            return True
    return False


@contextmanager
def _deferred_interrupts() -> Iterator[Callable[[], bool]]:
    """Defer SIGINT: record the signal and let the loop poll for it.

    An exception in the middle of other code could leave a lock held, and a thread would wait for
    the lock forever. A second SIGINT raises KeyboardInterrupt at once.

    Yields:
        A function that returns whether a signal came.
    """
    previous = signal.getsignal(signal.SIGINT)
    received: list[int] = []

    def record(signal_number: int, frame: FrameType | None) -> None:
        if received:
            signal.default_int_handler(signal_number, frame)
        received.append(signal_number)

    # The handler was not installed from Python, or the signal is ignored. Then change nothing.
    if previous is None or previous is signal.SIG_IGN:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, record)
    try:
        yield lambda: bool(received)
    finally:
        signal.signal(signal.SIGINT, previous)


def _result(plan: GradingPlan, job: Job, reply: Reply | None) -> StudentResult:
    """Return the result of a job.

    Args:
        plan: how the class is graded.
        job: the submission.
        reply: the reply of the grading server, or None if the file could not be read.

    Raises:
        GraderError: the server refuses every submission.
    """
    from trainer.classroom.assignment import score
    from trainer.classroom.grading_jobs import is_late
    from trainer.classroom.records import StudentResult
    from trainer.export.student_results import with_failure, with_report, with_trouble
    from trainer.server.messages import Refused, Verdict

    submission = job.submission
    result = StudentResult(
        student=submission.student,
        challenge=submission.challenge,
        file=submission.file,
        task=job.digest,
    )
    if submission.unsettled:
        return replace(
            with_failure(result, submission.trouble), unsettled=tuple(submission.unsettled)
        )
    result = replace(result, score=0.0, late=is_late(plan, job))
    if reply is None:
        return with_trouble(result, submission.trouble)
    if isinstance(reply, Refused) and reply.is_for_all:
        raise GraderError(reply.sentence)
    if not isinstance(reply, Verdict):
        sentence = reply.sentence if isinstance(reply, Refused) else "The grader gave no verdict."
        return with_failure(result, sentence)
    report = reply.report
    assigned = next(
        assigned
        for assigned in plan.assignment.challenges
        if assigned.challenge == result.challenge
    )
    points = score(report.statuses(), assigned, report.verdict)
    return with_report(replace(result, score=points), report, submission.source or "")
