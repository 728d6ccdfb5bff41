"""Write the tables and reports of `grade` in the requested formats."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import typer

from trainer import __version__
from trainer.classroom.records import Assignment, StudentResult, StudentSubmission
from trainer.classroom.result_store import ClassFile, ResultStore, safe_name, write_atomically
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.packs import pack_reader

FORMATS = ("csv", "html", "junit", "gradescope", "github")
Results = Callable[[], Iterable[StudentResult]]


def parse_formats(text: str) -> tuple[str, ...]:
    """Return the formats of the option `--format`.

    Raises:
        DrillError: a format is unknown.
    """
    names = (name.strip().lower() for name in text.split(","))
    wanted = tuple(dict.fromkeys(name for name in names if name))
    if unknown := [name for name in wanted if name not in FORMATS]:
        raise DrillError(
            f"--format names {', '.join(unknown)}; the formats are {', '.join(FORMATS)}."
        )
    return wanted


def open_results(
    out: Path,
    assignment: Assignment,
    seed: int | None,
    *,
    per_student_seed: bool,
    resume: bool,
    fresh: Callable[[], int],
) -> tuple[ResultStore, ClassFile]:
    """Return the store for the results and the settings of the grading.

    A resumed grading keeps the settings of the first run.

    Args:
        out: the folder for the results.
        assignment: the assignment of the class.
        seed: the seed from the command line, or None.
        per_student_seed: give each student different cases.
        resume: continue an earlier grading.
        fresh: return a new seed.

    Raises:
        DrillError: the folder holds an earlier grading and `resume` is False, or the earlier
            grading has other settings.
    """
    challenges = [assigned.challenge for assigned in assignment.challenges]
    store = ResultStore(out, challenges)
    if out.exists() and not out.is_dir():
        raise DrillError(f"{out} is a file; results go into a folder. Name a folder with --out.")
    before = store.class_file()
    if before is not None:
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
    record = ClassFile(
        title=assignment.title,
        challenges=challenges,
        seed=before.seed if before is not None else fresh() if seed is None else seed,
        per_student_seed=before.per_student_seed if before is not None else per_student_seed,
        seconds=assignment.seconds,
        memory_mib=assignment.memory_mib,
        version=__version__,
    )
    return store, record


def write_outputs(
    store: ResultStore, results: Results, assignment: Assignment, wanted: Sequence[str]
) -> int:
    """Write the tables and print a summary of the class.

    Args:
        store: the store of the results. The tables go into its folder.
        results: return the results of the class, sorted by student.
        assignment: the assignment of the class.
        wanted: the requested formats.

    Returns:
        The number of submissions that could not be graded.
    """
    from trainer.report.class_progress import columns, summary

    paths = [store.out / "results"]
    for name in wanted:
        paths.append(_WRITERS[name](store, results, assignment))
    text, failed = summary(results(), columns(sys.stdout))
    typer.echo(text)
    typer.echo(f"written: {', '.join(map(str, paths))}")
    return failed


def _csv(store: ResultStore, results: Results, assignment: Assignment) -> Path:
    from trainer.export.gradebook import grades_csv

    return _write(store.out / "grades.csv", [grades_csv(results())])


def _html(store: ResultStore, results: Results, assignment: Assignment) -> Path:
    from trainer.export.class_page import class_html

    return _write(store.out / "report.html", class_html(results, assignment))


def _junit(store: ResultStore, results: Results, assignment: Assignment) -> Path:
    from trainer.export.junit import junit_xml

    return _write(store.out / "junit.xml", [junit_xml(results())])


def _gradescope(store: ResultStore, results: Results, assignment: Assignment) -> Path:
    from trainer.export.gradescope import gradescope_object

    for student, student_results in _by_student(results):
        _write(
            store.out / "gradescope" / safe_name(student) / "results.json",
            [json.dumps(gradescope_object(student_results, assignment), indent=1)],
        )
    return store.out / "gradescope"


def _github(store: ResultStore, results: Results, assignment: Assignment) -> Path:
    from trainer.export.github_classroom import github_classroom_object

    for student, student_results in _by_student(results):
        _write(
            store.out / "github" / f"{safe_name(student)}.json",
            [json.dumps(github_classroom_object(student_results, assignment), indent=1)],
        )
    return store.out / "github"


_WRITERS = {
    "csv": _csv,
    "html": _html,
    "junit": _junit,
    "gradescope": _gradescope,
    "github": _github,
}


def _by_student(results: Results) -> Iterator[tuple[str, list[StudentResult]]]:
    for student, group in groupby(results(), lambda result: result.student):
        yield student, list(group)


def _write(path: Path, parts: Iterable[str]) -> Path:
    write_atomically(path, "".join(parts).encode("utf-8"))
    return path


def show_similar(
    challenges: Sequence[Challenge], submissions: Sequence[StudentSubmission], out: Path
) -> None:
    """Write and print the pairs of submissions that are strikingly similar."""
    from trainer.classroom.similarity import similar_pairs
    from trainer.export.similar_pairs import similarity_csv, similarity_text
    from trainer.packs.stub_levels import LEVELS

    pairs_by_challenge = []
    for challenge in challenges:
        sources = {
            submission.student: submission.source
            for submission in submissions
            if submission.challenge == challenge.id and submission.source is not None
        }
        known = [
            pack_reader.solution(challenge),
            *(pack_reader.stub(challenge, level) for level in LEVELS),
            *(pack_reader.read_text(path) for path in pack_reader.also_right(challenge)),
        ]
        pairs_by_challenge.append((challenge.id, similar_pairs(sources, known)))
    typer.echo(similarity_text(pairs_by_challenge))
    typer.echo(f"written: {_write(out / 'similar.csv', [similarity_csv(pairs_by_challenge)])}")
