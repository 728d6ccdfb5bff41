"""`attn-drill class grade DIR`: grade the submissions of a class.

Each submission is isolated from the grader and from the other submissions.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.cli.parameters import complete_id
from trainer.model.errors import DrillError, GraderError

if TYPE_CHECKING:
    from types import FrameType

    from trainer.classroom.grading_jobs import GradingPlan, Job
    from trainer.classroom.records import Student, StudentResult
    from trainer.classroom.result_store import ClassFile, ResultStore
    from trainer.server.messages import Reply

_MOST_JOBS = 512


def grade(
    context: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A folder of submissions, or a learning management system's zip.",
            show_default=False,
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
    regrade: Annotated[
        list[str] | None,
        typer.Option(
            "--regrade",
            metavar="STUDENT",
            help="Like --resume, and grade this student again; may be given several times.",
        ),
    ] = None,
    roster: Annotated[
        Path | None,
        typer.Option(
            "--roster", metavar="FILE", help="The class: a CSV with id, name, email, or an export."
        ),
    ] = None,
    submitted: Annotated[
        Path | None,
        typer.Option(
            "--submitted", metavar="FILE", help="The times: a CSV with student, submitted."
        ),
    ] = None,
    executor: Annotated[
        str, typer.Option("--executor", help="local, or dask://HOST:PORT.")
    ] = "local",
    formats: Annotated[
        str,
        typer.Option(
            "--format",
            help="Any of csv, html, canvas, moodle, blackboard, junit, gradescope, github.",
        ),
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
    anonymous: Annotated[
        bool,
        typer.Option("--anonymous", help="Also write files without names, for markers."),
    ] = False,
    release: Annotated[
        bool, typer.Option("--release", help="Also write a page of feedback for each student.")
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
    from trainer.app.grade_file import check_seed, cores
    from trainer.classroom.assignment import check_due
    from trainer.classroom.class_results import follow_renamed
    from trainer.classroom.executors import check_executor
    from trainer.classroom.grading_jobs import jobs_of, plan_of
    from trainer.cli.grade_inputs import assignment_of, check_weights_of, read_class
    from trainer.cli.grade_outputs import (
        known_overrides,
        parse_formats,
        write_outputs,
    )
    from trainer.cli.grade_record import (
        check_out,
        check_same_inputs,
        open_results,
        record_of,
        seed_of,
    )

    wanted = parse_formats(f"{formats},similar" if similar else formats)
    known_packs: KnownPacks = context.obj
    settings = assignment_of(challenge_id, assignment, time_limit, memory_limit, known_packs)
    challenges = [known_packs.find(assigned.challenge) for assigned in settings.challenges]
    jobs = cores() if jobs is None else jobs
    if not 1 <= jobs <= _MOST_JOBS:
        raise DrillError(f"--jobs is {jobs}; it must be 1 to {_MOST_JOBS}.")
    if seed is not None:
        check_seed(seed)
    check_executor(executor)
    resume = resume or bool(regrade)
    if not single:
        check_out(out, folder)
    store, before = open_results(
        out, settings.challenge_ids, seed, per_student_seed=per_student_seed, resume=resume
    )
    check_same_inputs(before, has_roster=roster is not None, has_times=submitted is not None)
    inputs = read_class(
        folder,
        settings,
        challenges,
        roster_file=roster,
        submitted_file=submitted,
        single=single,
    )
    class_seed, is_per_student = seed_of(before, seed, per_student_seed=per_student_seed)
    if assignment is not None:
        check_due(inputs.assignment, assignment)
        check_weights_of(settings, assignment, known_packs.roots(), class_seed)
    plan = plan_of(
        inputs.assignment,
        challenges,
        known_packs.roots(),
        class_seed,
        per_student_seed=is_per_student,
        allow_weaker=allow_weaker,
    )
    all_jobs = jobs_of(plan, inputs.collected.submissions)
    record = record_of(
        inputs, plan, all_jobs, wanted, before, is_anonymous=anonymous, is_released=release
    )
    again = _names(regrade or (), record)
    known_overrides(store, record)  # a fault in the file must not wait until all is graded
    if before is not None:
        follow_renamed(store, before, record)
    store.write_class_file(record)
    interrupted = _grade_all(
        plan, all_jobs, store, executor, jobs, resume=resume, again=again, students=record.students
    )
    if interrupted:
        _say_interrupted(store, record)
        raise typer.Exit(130)
    failed = write_outputs(store, record, known_packs.roots())
    if failed:
        raise GraderError(
            f"{failed} could not be graded because the grader failed: `error` in"
            f" {store.out / 'results'} gives the reason. --resume tries them again."
        )


def _names(students: Collection[str], record: ClassFile) -> frozenset[str]:
    """Return the names of the students whom `--regrade` names.

    Raises:
        DrillError: nobody or several students are called like this.
    """
    from trainer.classroom.students import StudentIndex

    index = StudentIndex(record.students, record.salt)
    return frozenset(index.find(words).name for words in students)


def _say_interrupted(store: ResultStore, record: ClassFile) -> None:
    from trainer.classroom.class_results import results_of

    done = sum(1 for _ in results_of(store, record))
    print(
        f"Interrupted: {done} of {len(record.tasks)} have a result in {store.out / 'results'}. To"
        " continue, run the same command with --resume.",
        file=sys.stderr,
    )


def _grade_all(
    plan: GradingPlan,
    all_jobs: Sequence[Job],
    store: ResultStore,
    where: str,
    jobs: int,
    *,
    resume: bool,
    again: Collection[str] = (),
    students: Sequence[Student] = (),
) -> bool:
    """Grade the pending jobs and write each result at once. Return True after an interrupt.

    Args:
        plan: how the class is graded.
        all_jobs: the submissions of the class.
        store: the results.
        where: the executor.
        jobs: how many submissions are graded at a time on this machine.
        resume: keep the results of an earlier run.
        again: the names of students who are graded again in any case.
        students: the students of the class.

    Raises:
        GraderError: the executor was lost. The results that came before are written.
    """
    from trainer.classroom.class_results import current_result
    from trainer.classroom.executors import executor_for
    from trainer.classroom.grading_jobs import ExecutorLostError, grade_jobs, pending_jobs
    from trainer.classroom.records import Student
    from trainer.report.class_progress import ClassProgress

    by_name = {student.name: student for student in students}
    pending = pending_jobs(all_jobs, store, again) if resume else list(all_jobs)
    if not pending:
        print(f"All {len(all_jobs)} submissions already have a result.", file=sys.stderr)
        return False
    kept = len(all_jobs) - len(pending)
    with executor_for(where, min(jobs, len(pending))) as (executor, at_once):
        try:
            with (
                ClassProgress(len(all_jobs), len(all_jobs) - len(pending), sys.stderr) as progress,
                _deferred_interrupts() as interrupted,
            ):
                for job, reply in grade_jobs(
                    plan, pending, executor, at_once, interrupted, progress.show_stall
                ):
                    student = by_name.get(job.submission.student, Student(job.submission.student))
                    result = _result(job, reply)
                    result = current_result(result, job.submission, student, plan.assignment)
                    store.write(result)
                    progress.count(result)
                    kept += 1
        except KeyboardInterrupt:
            return True
        except ExecutorLostError as error:
            raise GraderError(
                f"{error.loss}; {kept} of {len(all_jobs)} have a result in {store.out / 'results'},"
                f" so {error.remedy} and run the same command with --resume."
            ) from None
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


def _result(job: Job, reply: Reply | None) -> StudentResult:
    """Return the result of a job, without points and lateness.

    Args:
        job: the submission.
        reply: the reply of the grading server, or None if the file could not be read.

    Raises:
        GraderError: the server refuses every submission.
    """
    from trainer.classroom.records import StudentResult
    from trainer.export.student_results import with_failure, with_report, with_trouble
    from trainer.server.messages import Refused, Verdict, refusal

    submission = job.submission
    result = StudentResult(
        student=submission.student,
        challenge=submission.challenge,
        file=submission.file,
        task=job.digest,
    )
    if submission.is_ungraded:
        return replace(with_failure(result, submission.trouble), is_ungraded=True)
    if reply is None:
        return with_trouble(result, submission.trouble)
    if isinstance(reply, Refused) and reply.is_for_all:
        raise GraderError(reply.sentence)
    if not isinstance(reply, Verdict):
        return with_failure(result, refusal(reply))
    return with_report(result, reply.report, submission.source or "")
