"""Open the folder for the results of `grade`, and record everything about a grading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trainer import __version__
from trainer.app.grade_file import fresh_seed
from trainer.classroom.anonymity import new_salt
from trainer.classroom.grading_jobs import GradingPlan, Job
from trainer.classroom.result_store import ClassFile, GradedTask, ResultStore
from trainer.cli.grade_inputs import ClassInputs
from trainer.model.errors import DrillError


def check_out(out: Path, folder: Path) -> None:
    """Refuse an output folder that would become a submission of the next run.

    Args:
        out: the output folder.
        folder: the folder or zip with the submissions.

    Raises:
        DrillError: the output folder is inside the folder with the submissions.
    """
    inside, outside = out.resolve(), folder.resolve()
    if inside == outside or outside in inside.parents:
        raise DrillError(
            f"--out {out} is inside the folder with the submissions, {folder}, so its results"
            f" would look like a submission. Name a folder elsewhere, for example --out"
            f" {outside.parent / 'grades'}."
        )


def open_results(
    out: Path,
    challenges: Sequence[str],
    seed: int | None,
    *,
    per_student_seed: bool,
    resume: bool,
) -> tuple[ResultStore, ClassFile | None]:
    """Return the store for the results, and the record of an earlier grading in its folder.

    Args:
        out: the output folder.
        challenges: the ids of the challenges.
        seed: the seed from the command line, or None.
        per_student_seed: give each student different cases.
        resume: continue an earlier grading.

    Raises:
        DrillError: the folder holds an earlier grading and `resume` is False, or the earlier
            grading has other settings.
    """
    store = ResultStore(out, list(challenges))
    if out.exists() and not out.is_dir():
        raise DrillError(f"{out} is a file; results go into a folder. Name a folder with --out.")
    before = store.class_file()
    if before is None:
        return store, None
    if not resume:
        raise DrillError(
            f"{out} holds the results of an earlier grading. --resume continues it; another"
            " --out starts a new grading."
        )
    for setting, old, new in (
        ("challenges", ", ".join(before.challenges), ", ".join(challenges)),
        ("seed", str(before.seed), str(before.seed if seed is None else seed)),
        (
            "per-student seed",
            str(before.per_student_seed),
            str(per_student_seed or before.per_student_seed),
        ),
    ):
        if old != new:
            raise DrillError(
                f"{out} was started with {setting}: {old}. This command has {setting}: {new}."
                f" Use the same {setting} again, or name another --out."
            )
    return store, before


def check_same_inputs(before: ClassFile | None, *, has_roster: bool, has_times: bool) -> None:
    """Refuse to continue a grading without the roster or the times of its first run.

    Without the roster, students would lose their names and extensions. Without the times, late
    submissions would lose their penalties.

    Raises:
        DrillError: the option is missing.
    """
    if before is None:
        return
    for option, was_given, is_given in (
        ("--roster", before.has_roster, has_roster),
        ("--submitted", before.has_times, has_times),
    ):
        if was_given and not is_given:
            raise DrillError(f"The earlier run had {option}. Give the same {option} again.")


def seed_of(
    before: ClassFile | None, seed: int | None, *, per_student_seed: bool
) -> tuple[int, bool]:
    """Return the seed of the class, and whether each student gets different cases.

    A resumed grading keeps the settings of the first run.
    """
    if before is not None:
        return before.seed, before.per_student_seed
    return fresh_seed() if seed is None else seed, per_student_seed


def record_of(
    inputs: ClassInputs,
    plan: GradingPlan,
    all_jobs: Sequence[Job],
    formats: Sequence[str],
    before: ClassFile | None,
    *,
    is_anonymous: bool,
    is_released: bool,
) -> ClassFile:
    """Return everything about the grading except its results.

    Files that an earlier run wrote are written again, so that none of them becomes outdated.
    """
    if before is not None:
        formats = list(dict.fromkeys((*before.formats, *formats)))
        is_anonymous = is_anonymous or before.is_anonymous
        is_released = is_released or before.is_released
    return ClassFile(
        version=__version__,
        seed=plan.seed,
        per_student_seed=plan.per_student_seed,
        assignment=plan.assignment,
        students=inputs.collected.students,
        tasks=[GradedTask(replace(job.submission, source=None), job.digest) for job in all_jobs],
        other_files=inputs.collected.ignored,
        has_roster=inputs.has_roster,
        has_times=inputs.has_times,
        possible=dict(inputs.possible),
        formats=list(formats),
        is_anonymous=is_anonymous,
        is_released=is_released,
        salt=new_salt() if before is None else before.salt,
    )
