"""Grade a class, from its files to its tables.

`begin` reads what the grading needs, `grade_pending` runs the jobs and keeps the results, and
`write_outputs` writes the tables and pages and says which marks have changed.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
import typer

from attn_drill import __version__
from attn_drill.app.grade_file import cores, fresh_seed
from attn_drill.app.open_packs import KnownPacks, open_packs
from attn_drill.app.warn import say
from attn_drill.classroom.anonymity import new_salt
from attn_drill.classroom.assignment import (
    USUAL_FORMATS,
    check_weights,
    plain_assignment,
    read_assignment,
    with_gradescope,
    with_times,
)
from attn_drill.classroom.collect import Collected, collect, collect_single
from attn_drill.classroom.gradebook import (
    ChangedMark,
    changed_marks,
    class_gradebook,
    current_result,
    current_results,
    marks_of,
    read_overrides,
)
from attn_drill.classroom.grading_jobs import (
    GradingPlan,
    executor_for,
    grade_jobs,
    jobs_of,
    pending_jobs,
    plan_of,
)
from attn_drill.classroom.records import Assignment, Student, StudentResult
from attn_drill.classroom.result_store import (
    CLASS_FILE,
    ClassRecord,
    Job,
    ResultStore,
    SavedOptions,
    read_record,
    remove_others,
    write_atomically,
    write_record,
)
from attn_drill.classroom.roster import Roster, by_student, read_roster
from attn_drill.classroom.similarity import check_similarity
from attn_drill.export.feedback import with_failure, with_report, with_trouble
from attn_drill.export.tables import ENCODING, cell_of, csv_text
from attn_drill.export.writers import WRITERS, GradedClass
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.model.words import first_of, plural
from attn_drill.packs import pack_reader
from attn_drill.packs.pack_reader import solution
from attn_drill.packs.stub_levels import LEVELS
from attn_drill.report.class_text import CountedProgress, in_counts, points, summary
from attn_drill.report.wording import for_stream, visible
from attn_drill.server.clients import pool
from attn_drill.server.messages import Grade, Refused, Reply, Verdict, refusal

_GRADESCOPE_FILE = "submission_metadata.json"

_MOST_CHANGES = 10  # lines


@dataclass(frozen=True)
class ClassInputs:
    """The assignment, the submissions and the roster of a class."""

    assignment: Assignment
    collected: Collected
    roster: Roster | None


def read_class(
    folder: Path,
    assignment: Assignment,
    challenges: Sequence[Challenge],
    roster_file: str = "",
    *,
    single: bool = False,
) -> ClassInputs:
    """Read the submissions of a class, and say on stderr what is unclear.

    Args:
        roster_file: "" if there is no roster.
        single: the folder has the files of one student, as Gradescope unpacks them.
    """
    roster = read_roster(Path(roster_file)) if roster_file else None
    untimed: list[str] = []
    if single:
        collected = collect_single(folder, challenges)
        metadata = folder.absolute().parent / _GRADESCOPE_FILE
        if metadata.is_file():
            collected, assignment = with_gradescope(collected, assignment, metadata)
    else:
        collected = collect(folder, challenges, roster)
        if assignment.times:
            collected, untimed = with_times(collected, Path(assignment.times))
    extensions, unknown = by_student(
        assignment.extensions.items(), collected.students, "[extensions]"
    )
    # None stands for a class without a roster.
    strangers = [student.name for student in collected.students if student.is_in_roster is False]
    notes = list(collected.notes)
    for words, names in (
        ("Not graded, because nobody asked for it", collected.ignored),
        ("The roster does not have these students", strangers),
        (f"{assignment.times} names nobody of this class", untimed),
        ("[extensions] names nobody of this class", unknown),
    ):
        if names:
            notes.append(f"{words}: {first_of(names)}.")
    for note in notes:
        print(for_stream(visible(note), sys.stderr, hanging="    "), file=sys.stderr)
    return ClassInputs(replace(assignment, extensions=extensions), collected, roster)


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
    packs: KnownPacks,
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
    # A pack that this command names again stays in its place.
    packs = packs.naming(set(saved.packs) - set(map(str, packs.named)))
    if saved.assignment:
        assignment = read_assignment(Path(saved.assignment), packs.find)
    else:
        challenge = packs.find(saved.challenge)
        assignment = plain_assignment(challenge.id, challenge.title)
    formats = options.write or assignment.write
    if "similar" in formats:
        check_similarity()
    # Formats of earlier runs are written again, so that no table is outdated.
    wanted = dict.fromkeys([*(before.options.write if before else ()), *formats])
    saved = msgspec.structs.replace(saved, write=list(wanted or USUAL_FORMATS))
    _check_folders(out, Path(saved.folder), before, assignment)
    challenges = [packs.find(name) for name in assignment.challenge_ids]
    roster = saved.roster or assignment.roster
    read = read_class(Path(saved.folder), assignment, challenges, roster)
    assignment = read.assignment  # its extensions have the names of the students
    seed = before.seed if before else fresh_seed()
    plan = plan_of(assignment, challenges, packs.roots(), seed, allow_weaker=allow_weaker)
    if saved.assignment:
        due = partial(due_checks, packs=packs, seed=plan.seed)
        check_weights(assignment, due, Path(saved.assignment))
    jobs = jobs_of(plan, read.collected.submissions)
    record = _record(saved, plan, read, jobs, before)
    read_overrides(out, record)  # a fault in overrides.toml must not wait until all is graded
    write_record(out, record)
    return ClassRun(ResultStore(out, record.challenges), record, before, plan, jobs)


def _record(
    saved: SavedOptions,
    plan: GradingPlan,
    read: ClassInputs,
    jobs: Sequence[Job],
    before: ClassRecord | None,
) -> ClassRecord:
    """Return the record of a run. It has the submissions without their text."""
    without_text = [
        msgspec.structs.replace(job, submission=replace(job.submission, source=None))
        for job in jobs
    ]
    return ClassRecord(
        version=__version__,
        options=saved,
        seed=plan.seed,
        assignment=plan.assignment,
        students=read.collected.students,
        jobs=without_text,
        other_files=read.collected.ignored,
        has_roster=read.roster is not None,
        possible=dict(read.roster.possible) if read.roster else {},
        salt=before.salt if before else new_salt(),
        marks=before.marks if before else {},
    )


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
        # So the submissions are where they were in the earlier run.
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
    # An option that is not named is empty.
    named = {key: value for key, value in msgspec.structs.asdict(options).items() if value}
    return out, before, msgspec.structs.replace(old, **named)


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


def due_checks(challenge: str, packs: KnownPacks, seed: int) -> list[str]:
    """Return the names of the checks of a challenge, which its graded reference shows."""
    roots = tuple(map(str, packs.roots()))
    reference = Submission("solution.py", solution(packs.find(challenge)))
    reply = pool.ask(roots, Grade(challenge, reference, seed, is_shared=True))
    if isinstance(reply, Verdict):
        return list(reply.report.statuses())
    raise GraderError(refusal(reply))


def grade_pending(run: ClassRun, where: str, jobs: int | None) -> None:
    """Grade the submissions that have no valid result, and write each result at once.

    Ctrl-C ends the program. The results that came before are written.
    """
    whole, pending = len(run.jobs), pending_jobs(run.jobs, run.store)
    if not pending:
        print(f"All {whole} submissions already have a result.", file=sys.stderr)
        return
    done = whole - len(pending)
    verdicts: Counter[str | None] = Counter()
    try:
        with (
            executor_for(where, min(jobs or cores(), len(pending))) as executor,
            CountedProgress(whole, sys.stderr, done) as progress,
        ):
            for result in graded(run.plan, pending, executor, run.record.students):
                run.store.write(result)
                done += 1
                verdicts[result.verdict] += 1
                progress.count(in_counts(verdicts))
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
    """Yield the result of each job with its points, in the order in which the jobs finish."""
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


def write_outputs(store: ResultStore, record: ClassRecord, before: ClassRecord | None) -> int:
    """Write the tables and pages of a class, print a summary, and keep the marks.

    The tables go into the folder of the store. `before` is the record of the earlier run with its
    marks. Return the number of submissions on which the grader failed.
    """
    results, overrides = current_results(store, record), read_overrides(store.out, record)
    gradebook = class_gradebook(record, results, overrides)
    graded_class = GradedClass(gradebook, _public_texts(record), record.salt)
    kept = [store.path(result.student, result.challenge) for result in results]
    remove_others(store.out / "results", "**/*.json", kept)
    paths = [store.out / "results"]
    for name in record.options.write:
        paths += WRITERS[name](graded_class, store.out)
    text, failed = summary(results)
    typer.echo(for_stream(text, sys.stdout, hanging="    "))
    if outdated := [visible(override.student) for override in overrides if override.is_outdated]:
        typer.echo(
            f"overrides that were decided for another file: {first_of(outdated)}"
            " (their reasons to look have the points of the checks)"
        )
    record = msgspec.structs.replace(record, marks=marks_of(gradebook, record))
    if before is not None and (changes := changed_marks(before, record)):
        paths.append(_write_changes(store.out, changes))
    write_record(store.out, record)
    say(f"written: {', '.join(map(str, paths))}")
    return failed


def _public_texts(record: ClassRecord) -> dict[str, dict[str, str]]:
    """Return the right answers and the stubs of each challenge whose pack is here, by name."""
    packs = open_packs(record.options.packs)
    texts: dict[str, dict[str, str]] = {}
    for name in record.challenges:
        try:
            challenge = packs.find(name)
        except DrillError:
            continue
        paths = [challenge.solutions / "solution.py", *pack_reader.also_right(challenge)]
        stubs = {f"the stub ({level})": pack_reader.stub(challenge, level) for level in LEVELS}
        texts[name] = {path.name: pack_reader.read_text(path) for path in paths} | stubs
    return texts


def _write_changes(out: Path, changes: list[ChangedMark]) -> Path:
    """Print the first marks that changed, and write all of them as a table."""
    lines = [("student", "challenge", "before", "after", "reason")]
    for student, challenge, *marks, reason in changes:
        before, after = ("" if mark is None else points(mark) for mark in marks)
        lines.append((cell_of(student), challenge or "total", before, after, reason))
    typer.echo(f"{plural(len(changes), 'mark')} changed:")
    for student, challenge, before, after, reason in lines[1 : _MOST_CHANGES + 1]:
        typer.echo(f"  {visible(student)}, {challenge}: {before or '–'} → {after or '–'}, {reason}")
    path = out / "changed_marks.csv"
    write_atomically(path, csv_text(lines).encode(ENCODING))
    return path
