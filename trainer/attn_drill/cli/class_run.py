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

from attn_drill import __version__
from attn_drill.app.grade_file import cores, fresh_seed
from attn_drill.app.open_packs import KnownPacks
from attn_drill.classroom.anonymity import new_salt
from attn_drill.classroom.assignment import (
    USUAL_FORMATS,
    check_weights,
    plain_assignment,
    read_assignment,
)
from attn_drill.classroom.gradebook import current_result
from attn_drill.classroom.grading_jobs import (
    GradingPlan,
    executor_for,
    grade_jobs,
    jobs_of,
    pending_jobs,
    plan_of,
)
from attn_drill.classroom.overrides import read_overrides
from attn_drill.classroom.records import Assignment, Format, Student, StudentResult
from attn_drill.classroom.result_store import (
    CLASS_FILE,
    ClassRecord,
    Job,
    ResultStore,
    SavedOptions,
    read_record,
    write_record,
)
from attn_drill.classroom.similarity import check_similarity
from attn_drill.cli.grade_inputs import read_class
from attn_drill.export.student_results import with_failure, with_report, with_trouble
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.model.submission import Submission
from attn_drill.packs.pack_reader import solution
from attn_drill.report.class_progress import ClassProgress
from attn_drill.server.messages import Grade, Refused, Reply, Verdict, refusal
from attn_drill.server.pool import pool


@dataclass(frozen=True)
class ClassRun:
    """A grading that can start. `before` is the record of the earlier run, or None."""

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
    allow_weaker: bool = False,
) -> ClassRun:
    """Read everything that the grading needs, and write `class.json`.

    Args:
        options: the options of this command. With `resume`, the folder may be that of the results.
        resume: take everything that the options lack from the earlier run.
        allow_weaker: grade although submissions are isolated less well.
    """
    out, before, saved = _resumed(options, out, resume=resume)
    check_one_of(saved.challenge, saved.assignment)
    known_packs = known_packs.naming(set(saved.packs) - set(map(str, known_packs.named)))
    assignment = _assignment(saved, known_packs)
    saved = _with_formats(saved, before, options.write or assignment.write)
    _check_folders(out, Path(saved.folder), before, assignment)
    challenges = [known_packs.find(name) for name in assignment.challenge_ids]
    roster = saved.roster or assignment.roster
    read = read_class(
        Path(saved.folder),
        assignment,
        challenges,
        roster_file=Path(roster) if roster else None,
        submitted_file=Path(assignment.times) if assignment.times else None,
        single=False,
    )
    seed = fresh_seed() if before is None else before.seed
    assignment = read.assignment  # its extensions have the names of the students
    plan = plan_of(assignment, challenges, known_packs.roots(), seed, allow_weaker=allow_weaker)
    if saved.assignment:
        check_weights(
            assignment,
            lambda challenge: due_checks(challenge, known_packs, plan.seed),
            Path(saved.assignment),
        )
    jobs = jobs_of(plan, read.collected.submissions)
    record = ClassRecord(
        version=__version__,
        options=saved,
        seed=plan.seed,
        assignment=assignment,
        students=read.collected.students,
        jobs=[
            msgspec.structs.replace(job, submission=replace(job.submission, source=None))
            for job in jobs
        ],
        other_files=read.collected.ignored,
        has_roster=read.roster is not None,
        possible=dict(read.roster.possible) if read.roster else {},
        salt=before.salt if before else new_salt(),
        marks=before.marks if before else {},
    )
    read_overrides(out, record)  # a fault in overrides.toml must not wait until all is graded
    write_record(out, record)
    return ClassRun(ResultStore(out, record.challenges), record, before, plan, jobs)


def check_one_of(challenge: str, assignment: str) -> None:
    """Raise DrillError unless exactly one of two options names the challenges."""
    if bool(challenge) == bool(assignment):
        raise DrillError(
            "Name the challenge with --challenge ID, or an assignment with --assignment FILE, for"
            " several challenges or for weights. Give one of the two options."
        )


def _resumed(
    options: SavedOptions, out: Path | None, *, resume: bool
) -> tuple[Path, ClassRecord | None, SavedOptions]:
    """Return the folder for the results, the record of an earlier run, and the options of both.

    The options of this command count before those of the earlier run.
    """
    if resume and (Path(options.folder) / CLASS_FILE).is_file():
        out = Path(os.path.relpath(options.folder))
        options = msgspec.structs.replace(options, folder="")
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
    if before is None:
        return out, None, options
    old = before.options
    if options.challenge or options.assignment:
        old = msgspec.structs.replace(old, challenge="", assignment="")
    named = {key: value for key, value in msgspec.structs.asdict(options).items() if value}
    return out, before, msgspec.structs.replace(old, **named)


def _with_formats(
    saved: SavedOptions, before: ClassRecord | None, formats: Sequence[Format]
) -> SavedOptions:
    """Add the formats of earlier runs, so that no table is outdated, or the usual formats."""
    earlier = () if before is None else before.options.write
    if "similar" in formats:
        check_similarity()
    wanted = dict.fromkeys((*earlier, *formats))
    return msgspec.structs.replace(saved, write=list(wanted or USUAL_FORMATS))


def _assignment(saved: SavedOptions, known_packs: KnownPacks) -> Assignment:
    if saved.assignment:
        return read_assignment(Path(saved.assignment), known_packs.find)
    challenge = known_packs.find(saved.challenge)
    return plain_assignment(challenge.id, challenge.title)


def _check_folders(
    out: Path, folder: Path, before: ClassRecord | None, assignment: Assignment
) -> None:
    """Refuse results among the submissions, and results of other challenges."""
    if out.resolve().is_relative_to(folder.resolve()):
        raise DrillError(
            f"--out {out} is inside the folder with the submissions, {folder}, so its results"
            " would look like a submission. Name a folder elsewhere."
        )
    if before is not None and before.challenges != assignment.challenge_ids:
        raise DrillError(
            f"{out} was started with challenges: {', '.join(before.challenges)}. This command has"
            f" challenges: {', '.join(assignment.challenge_ids)}. Name another --out."
        )


def due_checks(challenge: str, known_packs: KnownPacks, seed: int) -> list[str]:
    """Return the names of the checks of a challenge, which its graded reference shows.

    Raises:
        GraderError: the reference cannot be graded here.
    """
    packs = tuple(map(str, known_packs.roots()))
    source = solution(known_packs.find(challenge))
    request = Grade(challenge, Submission("solution.py", source), seed, is_shared=True)
    reply = pool.ask(packs, request)
    if isinstance(reply, Verdict):
        return list(reply.report.statuses())
    raise GraderError(refusal(reply))


def grade_pending(run: ClassRun, where: str, jobs: int | None) -> None:
    """Grade the submissions that have no valid result, and write each result at once.

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
    """Return the result of a job, without points and lateness."""
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
