"""Write the tables and reports of `grade` in the requested formats."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import typer

from trainer.app.warn import say
from trainer.classroom.class_results import (
    class_gradebook,
    results_of,
    rewrite_changed,
    with_full_name,
)
from trainer.classroom.overrides import OVERRIDES_FILE, read_overrides
from trainer.classroom.records import (
    Assignment,
    Gradebook,
    Override,
    StudentGrade,
    StudentResult,
    StudentSubmission,
)
from trainer.classroom.result_store import (
    ClassFile,
    ResultStore,
    remove_others,
    safe_name,
    write_atomically,
)
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.model.listing import first_of
from trainer.packs import pack_reader
from trainer.report.visible import visible

if TYPE_CHECKING:
    from trainer.export.lms_tables import LmsTable

FORMATS = ("csv", "html", "canvas", "moodle", "blackboard", "junit", "gradescope", "github")
_MOST_NAMED = 5  # students in one sentence


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


def write_outputs(store: ResultStore, record: ClassFile) -> int:
    """Write the tables and pages of a class and print a summary.

    Args:
        store: the store of the results. The tables go into its folder.
        record: everything else about the grading.

    Returns:
        The number of submissions that could not be graded.

    Raises:
        DrillError: overrides.toml has a fault.
    """
    from trainer.report.class_progress import summary
    from trainer.report.wording import for_stream

    rewrite_changed(store, record)
    graded = _GradedClass(store, record)
    paths = [store.out / "results"]
    for name in record.formats:
        paths += _WRITERS[name](graded)
    if record.is_anonymous:
        paths += _for_markers(graded)
    if record.is_released:
        paths += _feedback(graded)
    text, failed = summary(graded.results())
    typer.echo(for_stream(text, sys.stdout, hanging="    "))
    if record.has_roster:
        present = {task.submission.student for task in record.tasks}
        roster = [student.name for student in record.students if student.is_in_roster]
        missing = sum(name not in present for name in roster)
        typer.echo(f"{missing} of the {len(roster)} students of the roster handed in nothing")
    say(f"written: {', '.join(map(str, paths))}")
    return failed


def known_overrides(store: ResultStore, record: ClassFile) -> list[Override]:
    """Return the decisions in `overrides.toml`, with the names of their students.

    Raises:
        DrillError: the file has a fault, or names a student or a challenge that does not exist.
    """
    path = store.out / OVERRIDES_FILE
    overrides = read_overrides(path, record.challenges)
    found: list[Override] = []
    for override in overrides:
        try:
            found.append(with_full_name(override, record))
        except DrillError as error:
            raise DrillError(
                f"{path}: {error} If the student has left the class, remove the entry."
            ) from None
    return found


class _GradedClass:
    """The results and the grades of a class.

    Attributes:
        out: the folder for the tables and pages.
        record: everything about the grading except its results.
        gradebook: the grades.
    """

    def __init__(self, store: ResultStore, record: ClassFile) -> None:
        self._store = store
        self.out = store.out
        self.record = record
        self.gradebook = class_gradebook(store, record, known_overrides(store, record))

    @property
    def assignment(self) -> Assignment:
        return self.record.assignment

    def grades(self) -> dict[str, StudentGrade]:
        """Return the grades of each student by name."""
        return {grade.student.name: grade for grade in self.gradebook.rows}

    def results(self, record: ClassFile | None = None) -> Iterator[StudentResult]:
        """Yield the results, one at a time, because a whole class may not fit into memory."""
        return results_of(self._store, record or self.record)

    def by_student(self) -> Iterator[tuple[str, list[StudentResult]]]:
        """Yield the results of each student together."""
        for student, group in groupby(self.results(), lambda result: result.student):
            yield student, list(group)


def _csv(graded: _GradedClass) -> list[Path]:
    from trainer.export.grade_tables import grades_by_challenge_csv, grades_csv

    return [
        _table(graded.out / "grades.csv", grades_csv(graded.gradebook)),
        _table(graded.out / "grades_by_challenge.csv", grades_by_challenge_csv(graded.results())),
    ]


def _html(graded: _GradedClass) -> list[Path]:
    from trainer.export.class_page import class_html

    return [_write(graded.out / "report.html", class_html(graded.results, graded.gradebook))]


def _canvas(graded: _GradedClass) -> list[Path]:
    from trainer.export.lms_tables import canvas_csv

    return _lms_table(graded, "canvas", canvas_csv)


def _moodle(graded: _GradedClass) -> list[Path]:
    from trainer.export.lms_tables import moodle_csv

    return _lms_table(graded, "moodle", moodle_csv)


def _blackboard(graded: _GradedClass) -> list[Path]:
    from trainer.export.lms_tables import blackboard_csv

    return _lms_table(graded, "blackboard", blackboard_csv)


def _lms_table(
    graded: _GradedClass, system: str, make: Callable[[Gradebook], LmsTable]
) -> list[Path]:
    """Write the import file of a system. Name the students whom the system cannot identify."""
    table = make(graded.gradebook)
    strangers = {
        row.student.name for row in graded.gradebook.rows if row.student.is_in_roster is False
    }
    title = system.capitalize()
    for names, reason in (
        ([name for name in table.left_out if name in strangers], "the roster does not have them."),
        (
            [name for name in table.left_out if name not in strangers],
            f"nobody knows who they are in {title}. Give {title}'s own export with --roster.",
        ),
    ):
        if names:
            listed = visible(first_of(names, _MOST_NAMED))
            print(f"{system}.csv lacks {listed}, because {reason}", file=sys.stderr)
    for note in table.notes:
        print(f"{system}.csv: {visible(note)}", file=sys.stderr)
    return [_table(graded.out / f"{system}.csv", table.text)]


def _junit(graded: _GradedClass) -> list[Path]:
    from trainer.export.junit import junit_xml

    return [_write(graded.out / "junit.xml", [junit_xml(graded.results())])]


def _gradescope(graded: _GradedClass) -> list[Path]:
    from trainer.export.gradescope import gradescope_object

    grades = graded.grades()
    written = [
        _write(
            graded.out / "gradescope" / safe_name(student) / "results.json",
            [json.dumps(gradescope_object(results, graded.assignment, grades[student]), indent=1)],
        )
        for student, results in graded.by_student()
    ]
    remove_others(graded.out / "gradescope", "*/results.json", written)
    return [graded.out / "gradescope"]


def _github(graded: _GradedClass) -> list[Path]:
    from trainer.export.github_classroom import github_classroom_object

    grades = graded.grades()
    written = [
        _write(
            graded.out / "github" / f"{safe_name(student)}.json",
            [
                json.dumps(
                    github_classroom_object(results, graded.assignment, grades[student]), indent=1
                )
            ],
        )
        for student, results in graded.by_student()
    ]
    remove_others(graded.out / "github", "*.json", written)
    return [graded.out / "github"]


_WRITERS: dict[str, Callable[[_GradedClass], list[Path]]] = {
    "csv": _csv,
    "html": _html,
    "canvas": _canvas,
    "moodle": _moodle,
    "blackboard": _blackboard,
    "junit": _junit,
    "gradescope": _gradescope,
    "github": _github,
}
assert tuple(_WRITERS) == FORMATS


def _for_markers(graded: _GradedClass) -> list[Path]:
    """Write the page and the table without names, and the names that belong to the ids."""
    from trainer.classroom.anonymous import anonymous_ids
    from trainer.classroom.hidden_names import HiddenNames
    from trainer.export.class_page import class_html
    from trainer.export.grade_tables import grades_csv
    from trainer.export.marker_files import (
        anonymous_gradebook,
        anonymous_ids_csv,
        anonymous_results,
    )

    record = graded.record
    ids = anonymous_ids((student.name for student in record.students), record.salt)
    by_id = msgspec.structs.replace(
        record, students=sorted(record.students, key=lambda student: ids[student.name])
    )
    names = HiddenNames(record.students, ((own.student, own.text) for own in graded.results()))
    gradebook = anonymous_gradebook(graded.gradebook, ids, names)
    folder = graded.out / "markers"
    page = class_html(
        lambda: anonymous_results(graded.results(by_id), ids, names), gradebook, for_markers=True
    )
    return [
        _write(folder / "report.html", page),
        _table(folder / "grades.csv", grades_csv(gradebook)),
        _table(graded.out / "anonymous_ids.csv", anonymous_ids_csv(ids, record.students)),
    ]


def _feedback(graded: _GradedClass) -> list[Path]:
    """Write a page of feedback for each student who handed in something or has an override."""
    from trainer.export.feedback_files import feedback_path, feedback_zip
    from trainer.export.feedback_page import feedback_html

    results = graded.by_student()
    waiting = next(results, None)
    files: list[tuple[str, bytes]] = []
    for grade in graded.gradebook.rows:
        own: list[StudentResult] = []
        if waiting is not None and waiting[0] == grade.student.name:
            own, waiting = waiting[1], next(results, None)
        if own or grade.overrides:
            path = feedback_path(grade.student)
            page = "".join(feedback_html(grade, own, graded.assignment)).encode()
            write_atomically(graded.out / "feedback" / path, page)
            files.append((path, page))
    remove_others(
        graded.out / "feedback", "**/*.html", [graded.out / "feedback" / path for path, _ in files]
    )
    write_atomically(graded.out / "feedback.zip", feedback_zip(files))
    return [graded.out / "feedback", graded.out / "feedback.zip"]


def _write(path: Path, parts: Iterable[str]) -> Path:
    write_atomically(path, "".join(parts).encode("utf-8"))
    return path


def _table(path: Path, text: str) -> Path:
    from trainer.export.grade_tables import ENCODING

    write_atomically(path, text.encode(ENCODING))
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
    typer.echo(f"written: {_table(out / 'similar.csv', similarity_csv(pairs_by_challenge))}")
