"""What `grade` writes beside the results: tables and reports in the formats that were asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import typer

from trainer import __version__
from trainer.classroom.records import Assignment, StudentResult, StudentSubmission
from trainer.classroom.result_store import ClassFile, ResultStore, safe_name, write_whole
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.packs import pack_reader

FORMATS = ("csv", "html", "junit", "gradescope", "github")
Results = Callable[[], Iterable[StudentResult]]


def check_formats(text: str) -> tuple[str, ...]:
    """The formats that were asked for.

    Raises:
        DrillError: if one is unknown.
    """
    wanted = tuple(dict.fromkeys(one.strip().lower() for one in text.split(",") if one.strip()))
    if unknown := [one for one in wanted if one not in FORMATS]:
        raise DrillError(f"--format names {', '.join(unknown)}; there are {', '.join(FORMATS)}.")
    return wanted


def check_out(
    out: Path,
    asked: Assignment,
    seed: int | None,
    *,
    per_student_seed: bool,
    resume: bool,
    fresh: Callable[[], int],
) -> tuple[ResultStore, ClassFile]:
    """The folder for the results, and how they are made: as before where a grading is resumed.

    Raises:
        DrillError: where another grading's results lie there, or this one was begun otherwise.
    """
    challenges = [one.challenge for one in asked.asked]
    kept = ResultStore(out, challenges)
    if out.exists() and not out.is_dir():
        raise DrillError(f"{out} is a file; results go into a folder. Name one with --out.")
    before = kept.class_file()
    if before is not None:
        if not resume:
            raise DrillError(
                f"{out} holds the results of an earlier grading. --resume goes on with it; another --out begins anew."
            )
        for what, was, now in (
            ("challenges", ", ".join(before.challenges), ", ".join(challenges)),
            ("the seed", str(before.seed), str(before.seed if seed is None else seed)),
            (
                "a seed a student",
                str(before.per_student_seed),
                str(per_student_seed or before.per_student_seed),
            ),
        ):
            if was != now:
                raise DrillError(
                    f"{out} was begun with {what}: {was}; now it is {now}. Resume it as it was begun, or name another --out."
                )
    record = ClassFile(
        title=asked.title,
        challenges=challenges,
        seed=before.seed if before is not None else fresh() if seed is None else seed,
        per_student_seed=before.per_student_seed if before is not None else per_student_seed,
        seconds=asked.seconds,
        memory_mib=asked.memory_mib,
        version=__version__,
    )
    return kept, record


def write_outputs(
    kept: ResultStore, results: Results, assignment: Assignment, wanted: Sequence[str]
) -> int:
    """Write the tables and say what came of the class; how many could not be graded."""
    from trainer.report.class_progress import columns, summary

    written = []
    for name in wanted:
        written.append(_WRITERS[name](kept, results, assignment))
    text, failed = summary(results(), columns(sys.stdout))
    typer.echo(text)
    typer.echo(f"written: {', '.join([str(kept.out / 'results'), *(str(one) for one in written)])}")
    return failed


def _csv(kept: ResultStore, results: Results, assignment: Assignment) -> Path:
    from trainer.export.gradebook import grades_csv

    return _written(kept.out / "grades.csv", [grades_csv(results())])


def _html(kept: ResultStore, results: Results, assignment: Assignment) -> Path:
    from trainer.export.class_page import class_html

    return _written(kept.out / "report.html", class_html(results, assignment))


def _junit(kept: ResultStore, results: Results, assignment: Assignment) -> Path:
    from trainer.export.junit import junit_xml

    return _written(kept.out / "junit.xml", [junit_xml(results())])


def _gradescope(kept: ResultStore, results: Results, assignment: Assignment) -> Path:
    from trainer.export.gradescope import gradescope_object

    for student, some in _by_student(results):
        _written(
            kept.out / "gradescope" / safe_name(student) / "results.json",
            [json.dumps(gradescope_object(some, assignment), indent=1)],
        )
    return kept.out / "gradescope"


def _github(kept: ResultStore, results: Results, assignment: Assignment) -> Path:
    from trainer.export.github_classroom import github_classroom_object

    for student, some in _by_student(results):
        _written(
            kept.out / "github" / f"{safe_name(student)}.json",
            [json.dumps(github_classroom_object(some, assignment), indent=1)],
        )
    return kept.out / "github"


_WRITERS = {
    "csv": _csv,
    "html": _html,
    "junit": _junit,
    "gradescope": _gradescope,
    "github": _github,
}


def _by_student(results: Results) -> Iterator[tuple[str, list[StudentResult]]]:
    for student, some in groupby(results(), lambda one: one.student):
        yield student, list(some)


def _written(path: Path, parts: Iterable[str]) -> Path:
    write_whole(path, "".join(parts).encode("utf-8"))
    return path


def show_similar(
    challenges: Sequence[Challenge], submissions: Sequence[StudentSubmission], out: Path
) -> None:
    """Write and show which submissions are strikingly alike."""
    from trainer.classroom.similarity import similar_pairs
    from trainer.export.similar_pairs import similarity_csv, similarity_text
    from trainer.packs.stub_levels import LEVELS

    found = []
    for challenge in challenges:
        sources = {
            one.student: one.source
            for one in submissions
            if one.challenge == challenge.id and one.source is not None
        }
        known = [
            pack_reader.solution(challenge),
            *(pack_reader.stub(challenge, level) for level in LEVELS),
            *(pack_reader.read_text(path) for path in pack_reader.also_right(challenge)),
        ]
        found.append((challenge.id, similar_pairs(sources, known)))
    typer.echo(similarity_text(found))
    typer.echo(f"written: {_written(out / 'similar.csv', [similarity_csv(found)])}")
