"""`attn-drill grade DIR`: a class's submissions, each shut off from the grader and from the others."""

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
_MOST_SAID = 5  # sentences about names that came several times


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
            help="What was asked, e.g. gqa.",
            autocompletion=complete_id,
        ),
    ] = None,
    assignment: Annotated[
        Path | None,
        typer.Option("--assignment", help="An assignment.toml, in the place of --challenge."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="Where results and tables are written.")
    ] = Path("grades"),
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", help="How many at a time on this machine; by default one a core."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on: grade what has no result yet or was changed.")
    ] = False,
    executor: Annotated[
        str, typer.Option("--executor", help="local, or dask://HOST:PORT.")
    ] = "local",
    formats: Annotated[
        str, typer.Option("--format", help="Any of csv,html,junit,gradescope,github.")
    ] = "csv,html",
    seed: Annotated[
        int | None, typer.Option("--seed", help="The class's cases; a fresh seed by default.")
    ] = None,
    per_student_seed: Annotated[
        bool, typer.Option("--per-student-seed", help="Other cases for every student.")
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
        typer.Option(
            "--similar", help="List pairs that are strikingly alike: a hint to look, no verdict."
        ),
    ] = False,
    single: Annotated[bool, typer.Option("--single", help="DIR is one student's work.")] = False,
    allow_weaker: Annotated[
        bool,
        typer.Option(
            "--allow-weaker-isolation", help="Grade though a submission is not fully shut off here."
        ),
    ] = False,
) -> None:
    """Grade a class's submissions."""
    from trainer.app.grade_file import check_seed, cores, fresh_seed
    from trainer.classroom.executors import check_executor
    from trainer.classroom.similarity import check_similarity
    from trainer.cli.grade_outputs import check_formats, check_out, show_similar, write_outputs

    wanted = check_formats(formats)
    known_packs: KnownPacks = context.obj
    asked = _assignment(challenge_id, assignment, time_limit, memory_limit, known_packs)
    challenges = [known_packs.find(one.challenge) for one in asked.asked]
    jobs = cores() if jobs is None else jobs
    if not 1 <= jobs <= _MOST_JOBS:
        raise DrillError(f"--jobs is {jobs}; it must be 1 to {_MOST_JOBS}.")
    if seed is not None:
        check_seed(seed)
    check_executor(executor)
    if similar:
        check_similarity()
    kept, record = check_out(
        out, asked, seed, per_student_seed=per_student_seed, resume=resume, fresh=fresh_seed
    )
    submissions = _submissions(folder, challenges, single=single)
    kept.begin(record)

    from trainer.classroom.grading_jobs import jobs_of, plan_of, results_of

    plan = plan_of(
        asked,
        challenges,
        known_packs.roots(),
        record.seed,
        per_student_seed=record.per_student_seed,
        weaker=allow_weaker,
    )
    all_jobs = jobs_of(plan, submissions)
    interrupted = _grade_all(plan, all_jobs, kept, executor, jobs, resume=resume)
    if interrupted:
        done = sum(1 for _ in results_of(kept, all_jobs))
        print(
            f"Interrupted: {done} of {len(all_jobs)} have a result in {kept.out / 'results'}. The same command with --resume goes on.",
            file=sys.stderr,
        )
        raise typer.Exit(130)
    failed = write_outputs(kept, lambda: results_of(kept, all_jobs), plan.assignment, wanted)
    if similar:
        show_similar(challenges, submissions, out)
    if failed:
        raise GraderError(
            f"{failed} could not be graded, through no fault of theirs: `error` in {kept.out / 'results'} says why. --resume tries them again."
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
            "Say what was asked: --challenge ID, or --assignment FILE for several and for weights. One of them, not both."
        )
    if file is not None:
        asked = read_assignment(file, known_packs.find)
    else:
        challenge = known_packs.find(str(challenge_id))
        asked = replace(plain_assignment(challenge.id), title=challenge.title)
    seconds, memory_mib = (
        asked.seconds if time_limit is None else time_limit,
        asked.memory_mib if memory_limit is None else memory_limit,
    )
    check_limits(seconds, memory_mib)
    return replace(asked, seconds=seconds, memory_mib=memory_mib)


def _submissions(
    folder: Path, challenges: Sequence[Challenge], *, single: bool
) -> list[StudentSubmission]:
    from trainer.classroom import collect
    from trainer.report.class_progress import columns, in_columns

    found = (
        collect.collect_single(folder, challenges)
        if single
        else collect.collect(folder, challenges)
    )
    if found.ignored:
        named = ", ".join(found.ignored[:5]) + (
            f" and {len(found.ignored) - 5} more" if len(found.ignored) > 5 else ""
        )
        print(f"Not graded, no submission: {visible(named)}", file=sys.stderr)
    for note in (*found.notes, *_to_settle(found.submissions)):
        print(in_columns(visible(note), columns(sys.stderr)), file=sys.stderr)
    return found.submissions


def _to_settle(submissions: Sequence[StudentSubmission]) -> list[str]:
    """Return a sentence for each student of whom a person has to say which file counts."""
    said = list({made.student: made.trouble for made in submissions if made.unsettled}.values())
    if len(said) <= _MOST_SAID:
        return said
    more = len(said) - _MOST_SAID
    return [*said[:_MOST_SAID], f"{more} more of such names are in the report."]


def _grade_all(
    plan: GradingPlan,
    all_jobs: Sequence[Job],
    kept: ResultStore,
    where: str,
    jobs: int,
    *,
    resume: bool,
) -> bool:
    """Grade what is left, write every result as it comes; whether it was interrupted."""
    from trainer.classroom.executors import executor_for
    from trainer.classroom.grading_jobs import graded, left_to_do
    from trainer.report.class_progress import ClassProgress

    left = left_to_do(all_jobs, kept) if resume else list(all_jobs)
    if not left:
        print(f"All {len(all_jobs)} have their results already.", file=sys.stderr)
        return False
    with executor_for(where, min(jobs, len(left))) as (executor, at_once):
        try:
            with (
                ClassProgress(len(all_jobs), len(all_jobs) - len(left), sys.stderr) as progress,
                _noted_interrupts() as interrupted,
            ):
                for job, answer in graded(plan, left, executor, at_once, interrupted):
                    result = _result(plan, job, answer)
                    kept.write(result)
                    progress.advance(result)
        except KeyboardInterrupt:
            return True
    return False


@contextmanager
def _noted_interrupts() -> Iterator[Callable[[], bool]]:
    """Ctrl-C is noted, and told to who asks: raised in the middle of whatever runs, it may leave a lock held that a thread waits for ever after.

    A second one is raised.
    """
    usual = signal.getsignal(signal.SIGINT)
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if noted:
            signal.default_int_handler(number, frame)
        noted.append(number)

    if usual is None or usual is signal.SIG_IGN:  # nobody asks Python, or nobody is to be asked
        yield lambda: False
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(noted)
    finally:
        signal.signal(signal.SIGINT, usual)


def _result(plan: GradingPlan, job: Job, reply: Reply | None) -> StudentResult:
    """Return the result of a reply; without a reply the file could not be read.

    Raises:
        GraderError: if no submission would be graded here.
    """
    from trainer.classroom.assignment import score
    from trainer.classroom.grading_jobs import is_late
    from trainer.classroom.records import StudentResult
    from trainer.export.student_results import with_failure, with_report, with_trouble
    from trainer.server.messages import Refused, Verdict

    handed_in = job.submission
    result = StudentResult(
        student=handed_in.student,
        challenge=handed_in.challenge,
        file=handed_in.file,
        task=job.digest,
    )
    if handed_in.unsettled:
        return replace(
            with_failure(result, handed_in.trouble), unsettled=tuple(handed_in.unsettled)
        )
    result = replace(result, score=0.0, late=is_late(plan, job))
    if reply is None:
        return with_trouble(result, handed_in.trouble)
    if isinstance(reply, Refused) and reply.is_for_all:
        raise GraderError(reply.sentence)
    if not isinstance(reply, Verdict):
        sentence = reply.sentence if isinstance(reply, Refused) else "The grader gave no verdict."
        return with_failure(result, sentence)
    report = reply.report
    asked = next(asked for asked in plan.assignment.asked if asked.challenge == result.challenge)
    points = score(report.statuses(), asked, report.verdict)
    return with_report(replace(result, score=points), report, handed_in.source or "")
