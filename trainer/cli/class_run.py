"""Begin or resume the grading of a class, and grade what has no result yet."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import typer

from trainer import __version__
from trainer.app.grade_file import cores, fresh_seed
from trainer.app.open_packs import KnownPacks
from trainer.classroom.anonymity import new_salt
from trainer.classroom.assignment import (
    USUAL_FORMATS,
    ClassSettings,
    check_weights,
    plain_assignment,
    read_assignment,
)
from trainer.classroom.class_record import (
    CLASS_FILE,
    ClassRecord,
    SavedOptions,
    Task,
    read_record,
    write_record,
)
from trainer.classroom.class_results import current_result, decisions, text_digest
from trainer.classroom.executors import executor_for
from trainer.classroom.grading_jobs import (
    GradingPlan,
    Job,
    grade_jobs,
    jobs_of,
    pending_jobs,
    plan_of,
)
from trainer.classroom.records import Student, StudentResult
from trainer.classroom.result_store import ResultStore
from trainer.classroom.similarity import check_similarity
from trainer.cli.grade_inputs import read_class
from trainer.export.student_results import with_failure, with_report, with_trouble
from trainer.model.errors import DrillError, GraderError
from trainer.report.class_progress import ClassProgress
from trainer.server.messages import GradeReference, Refused, Reply, Verdict, refusal
from trainer.server.pool import pool


@dataclass(frozen=True)
class ClassRun:
    """A grading that can start.

    Attributes:
        store: the results.
        record: everything else about the grading.
        before: the record of the earlier run, or None.
        plan: how the class is graded.
        jobs: one for each submission.
    """

    store: ResultStore
    record: ClassRecord
    before: ClassRecord | None
    plan: GradingPlan
    jobs: Sequence[Job]


def begin(
    options: SavedOptions,
    out: Path | None,
    known_packs: KnownPacks,
    *,
    resume: bool = False,
    is_local: bool = False,
    allow_weaker: bool = False,
) -> ClassRun:
    """Read everything that the grading needs, and write `class.json`.

    Args:
        options: the options of this command. With `resume`, the folder may be that of the results.
        out: the folder for the results, or None.
        known_packs: the packs of this command.
        resume: take everything that the options lack from the earlier run.
        is_local: True if a grading server of this machine will be needed. It gets ready meanwhile.
        allow_weaker: grade although submissions are isolated less well.

    Raises:
        DrillError: an option or a file has a fault.
    """
    out, before = _out(options, out, resume=resume)
    saved = options if before is None else _resumed(options, before)
    check_one_of(saved.challenge, saved.assignment)
    known_packs = known_packs.naming(set(saved.packs) - set(map(str, known_packs.named)))
    settings = _settings(saved, known_packs)
    saved = _with_formats(saved, before, settings)
    if is_local and before is None:
        pool.warm(tuple(map(str, known_packs.roots())))
    _check_folders(out, Path(saved.folder), before, settings)
    roster = saved.roster or settings.roster
    read = read_class(
        Path(saved.folder),
        settings.assignment,
        [known_packs.find(name) for name in settings.assignment.challenge_ids],
        roster_file=Path(roster) if roster else None,
        submitted_file=settings.times,
        single=False,
    )
    plan = _plan(settings, saved, before, known_packs, allow_weaker=allow_weaker)
    jobs = jobs_of(plan, read.collected.submissions)
    record = ClassRecord(
        version=__version__,
        options=saved,
        seed=plan.seed,
        assignment=read.assignment,
        students=read.collected.students,
        tasks=[_task(job) for job in jobs],
        other_files=read.collected.ignored,
        has_roster=read.roster is not None,
        possible=dict(read.roster.possible) if read.roster else {},
        salt=before.salt if before else new_salt(),
        marks=before.marks if before else {},
    )
    store = ResultStore(out, record.challenges)
    decisions(store, record)  # a fault in overrides.toml must not wait until all is graded
    write_record(out, record)
    return ClassRun(store, record, before, plan, jobs)


def _task(job: Job) -> Task:
    submission = job.submission
    return Task(replace(submission, source=None), job.digest, text_digest(submission.source))


def _plan(
    settings: ClassSettings,
    saved: SavedOptions,
    before: ClassRecord | None,
    known_packs: KnownPacks,
    *,
    allow_weaker: bool,
) -> GradingPlan:
    """Return the plan of the grading. A resumed grading keeps its seed.

    Raises:
        DrillError: the assignment has a weight for a check that its challenge does not have.
    """
    seed = fresh_seed() if before is None else before.seed
    seed = seed if settings.seed is None else settings.seed
    if saved.assignment:
        check_weights(
            settings.assignment,
            lambda challenge: due_checks(challenge, known_packs, seed),
            Path(saved.assignment),
        )
    return plan_of(
        settings.assignment,
        [known_packs.find(name) for name in settings.assignment.challenge_ids],
        known_packs.roots(),
        seed,
        has_own_cases=settings.has_own_cases,
        allow_weaker=allow_weaker,
    )


def check_one_of(challenge: str, assignment: str) -> None:
    """Raise DrillError unless exactly one of two options names the challenges."""
    if bool(challenge) == bool(assignment):
        raise DrillError(
            "Name the challenge with --challenge ID, or an assignment with --assignment FILE, for"
            " several challenges or for weights. Give one of the two options."
        )


def _out(
    options: SavedOptions, out: Path | None, *, resume: bool
) -> tuple[Path, ClassRecord | None]:
    """Return the folder for the results, and the record of an earlier run in it.

    Raises:
        DrillError: there is an earlier run but no `resume`, or `resume` but nothing to resume.
    """
    if resume and (Path(options.folder) / CLASS_FILE).is_file():
        out = Path(os.path.relpath(options.folder))
    out = out or Path("grades")
    before = read_record(out)
    if before is not None and not resume:
        raise DrillError(
            f"{out} holds the results of an earlier grading. `attn-drill class grade --resume"
            f" {shlex.quote(str(out))}` continues it; another --out starts a new grading."
        )
    if before is None and resume and not (options.challenge or options.assignment):
        raise DrillError(
            f"{options.folder} has no {CLASS_FILE} of an earlier grading. Name the folder of its"
            " --out."
        )
    return out, before


def _resumed(options: SavedOptions, before: ClassRecord) -> SavedOptions:
    """Return the options of this command, and those of the earlier run where it has none."""
    old = before.options
    is_named = options.challenge or options.assignment
    is_out = (Path(options.folder) / CLASS_FILE).is_file()
    return SavedOptions(
        folder=old.folder if is_out else options.folder,
        assignment=options.assignment if is_named else old.assignment,
        challenge=options.challenge if is_named else old.challenge,
        roster=options.roster or old.roster,
        packs=list(dict.fromkeys((*options.packs, *old.packs))),
        write=options.write,
    )


def _with_formats(
    saved: SavedOptions, before: ClassRecord | None, settings: ClassSettings
) -> SavedOptions:
    """Add the formats of earlier runs, so that no table is outdated, or the usual formats."""
    earlier = before.options.write if before else ()
    wanted = dict.fromkeys((*earlier, *(saved.write or settings.write)))
    if "similar" in wanted:
        check_similarity()
    return msgspec.structs.replace(saved, write=list(wanted or USUAL_FORMATS))


def _settings(saved: SavedOptions, known_packs: KnownPacks) -> ClassSettings:
    """Return the assignment, and how the class is graded.

    Raises:
        DrillError: the file of the assignment has a fault, or a challenge is unknown.
    """
    if saved.assignment:
        return read_assignment(Path(saved.assignment), known_packs.find)
    challenge = known_packs.find(saved.challenge)
    return ClassSettings(plain_assignment(challenge.id, challenge.title))


def _check_folders(
    out: Path, folder: Path, before: ClassRecord | None, settings: ClassSettings
) -> None:
    """Refuse results among the submissions, and results of other challenges.

    Raises:
        DrillError: one sentence with the next step.
    """
    inside, outside = out.resolve(), folder.resolve()
    if inside == outside or outside in inside.parents:
        raise DrillError(
            f"--out {out} is inside the folder with the submissions, {folder}, so its results"
            f" would look like a submission. Name a folder elsewhere, for example --out"
            f" {outside.parent / 'grades'}."
        )
    challenges = settings.assignment.challenge_ids
    if before is not None and before.challenges != challenges:
        raise DrillError(
            f"{out} was started with challenges: {', '.join(before.challenges)}. This command has"
            f" challenges: {', '.join(challenges)}. Name another --out."
        )


def due_checks(challenge: str, known_packs: KnownPacks, seed: int) -> list[str]:
    """Return the names of the checks of a challenge, which its graded reference shows.

    Raises:
        GraderError: the reference cannot be graded here.
    """
    packs = tuple(map(str, known_packs.roots()))
    reply = pool.ask(packs, GradeReference(challenge, seed))
    if isinstance(reply, Verdict):
        return list(reply.report.statuses())
    raise GraderError(refusal(reply))


def grade_pending(run: ClassRun, where: str, jobs: int | None) -> None:
    """Grade the submissions that have no valid result, and write each result at once.

    Args:
        run: the grading.
        where: the value of `--executor`.
        jobs: how many are graded at a time on this machine; None for one for each core.

    Raises:
        typer.Exit: Ctrl-C was pressed. The results that came before are written.
        GraderError: the machine isolates nothing, or the cluster was lost.
    """
    whole, pending = len(run.jobs), pending_jobs(run.jobs, run.store)
    if not pending:
        print(f"All {whole} submissions already have a result.", file=sys.stderr)
        return
    done = whole - len(pending)
    try:
        with (
            executor_for(where, min(jobs or cores(), len(pending))) as executor,
            ClassProgress(whole, done, sys.stderr) as progress,
        ):
            for result in graded(run.plan, pending, executor, run.record.students):
                run.store.write(result)
                done += 1
                progress.count(result)
    except KeyboardInterrupt:
        out = shlex.quote(str(run.store.out))
        print(
            f"Interrupted: {done} of {whole} have a result in {run.store.out / 'results'}. To"
            f" continue: attn-drill class grade --resume {out}",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None


def graded(
    plan: GradingPlan, jobs: Sequence[Job], executor: Executor, students: Sequence[Student]
) -> Iterator[StudentResult]:
    """Yield the result of each job with its points, in the order in which the jobs finish.

    Raises:
        GraderError: the server refuses every submission, or the cluster was lost.
    """
    by_name = {student.name: student for student in students}
    for job, reply in grade_jobs(plan, jobs, executor):
        student = by_name[job.submission.student]
        result = _result(job, reply)
        yield current_result(result, job.submission, student, plan.assignment)


def _result(job: Job, reply: Reply | None) -> StudentResult:
    """Return the result of a job, without points and lateness.

    Args:
        job: the submission.
        reply: the reply of the grading server, or None if there was no text to grade.
    """
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
