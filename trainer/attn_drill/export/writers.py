"""Write the results of a class in all formats: one function for each format, in `WRITERS`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from attn_drill.classroom.anonymity import anonymous_gradebook, anonymous_ids, name_hider
from attn_drill.classroom.records import Gradebook, StudentResult, System
from attn_drill.classroom.result_store import remove_others, safe_name, write_atomically
from attn_drill.classroom.similarity import same_text, similar_pairs
from attn_drill.export._class_page import class_html
from attn_drill.export._grade_words import notes_of
from attn_drill.export.feedback import feedback_html, feedback_path, feedback_zip, gradescope_object
from attn_drill.export.tables import (
    ENCODING,
    cell_of,
    csv_text,
    grades_by_challenge_csv,
    grades_csv,
    lms_table,
)
from attn_drill.report.class_text import VERDICTS, messages
from attn_drill.report.wording import visible

_KINDS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def junit_xml(results: Iterable[StudentResult]) -> str:
    """Return the text of the file.

    XML has no control characters, not even as references. They become escapes like `\\x1b`.
    """
    root = ElementTree.Element("testsuites", name="attn-drill")
    seconds = 0.0
    for result in results:
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=visible(f"{result.student}: {result.challenge}"),
            file=visible(result.file),
        )
        _add_cases(suite, result)
        _add_counts(suite, result.seconds)
        if result.text:
            printed = ElementTree.SubElement(suite, "system-out")
            printed.text = visible(result.text, lines=True)
        seconds += result.seconds
    _add_counts(root, seconds)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_counts(element: ElementTree.Element, seconds: float) -> None:
    element.set("tests", str(len(list(element.iter("testcase")))))
    for count, tag in _KINDS.items():
        element.set(count, str(len(list(element.iter(tag)))))
    element.set("time", f"{seconds:.3f}")


def _add_cases(suite: ElementTree.Element, result: StudentResult) -> None:
    def add(name: str, tag: str, message: str) -> None:
        case = ElementTree.SubElement(suite, "testcase", classname=result.challenge, name=name)
        if tag:
            first = visible(message.partition("\n")[0])
            ElementTree.SubElement(case, tag, message=first).text = visible(message, lines=True)

    if result.verdict is None:
        add("grading", "error", result.error or "the grader failed")
        return
    statuses = result.statuses()
    tags = {"failed": "failure", "skipped": "skipped", "passed": ""}
    for name, status in statuses.items():
        add(name, tags[status], messages(result, name) or "incomplete")
    if result.verdict != "passed" and "failed" not in statuses.values():
        # A submission that did not pass must have a failure, even if no check failed.
        add("verdict", "failure", VERDICTS[result.verdict][1])


@dataclass(frozen=True)
class GradedClass:
    """Everything that the formats show."""

    gradebook: Gradebook
    # The texts that everybody can read, by challenge and by name: right answers, and stubs.
    answers: Mapping[str, Mapping[str, str]]
    salt: str  # the secret of the anonymous ids

    def sources(self, challenge: str) -> dict[str, str]:
        """Return the text of each student's file for a challenge."""
        return {
            result.student: result.source
            for result in self.gradebook.results
            if result.challenge == challenge and result.source
        }


Writer = Callable[[GradedClass, Path], list[Path]]  # writes into a folder, returns what it wrote


def write_tables(graded: GradedClass, out: Path) -> list[Path]:
    """Write the tables that every class has, and return their paths."""
    notes = notes_of(graded.gradebook)
    return [
        _table(out / "grades.csv", grades_csv(graded.gradebook, notes)),
        _table(out / "grades_by_challenge.csv", grades_by_challenge_csv(graded.gradebook.results)),
    ]


def write_pages(graded: GradedClass, out: Path) -> list[Path]:
    """Write the page for the teacher, and its first half as a page for the class."""
    same_texts = [
        (challenge, group)
        for challenge in graded.gradebook.assignment.challenge_ids
        for group in same_text(graded.sources(challenge), graded.answers.get(challenge, {}))
    ]
    page = class_html(graded.gradebook, "teacher", same_texts)
    for_class = class_html(graded.gradebook, "class")
    return [_write(out / "report.html", page), _write(out / "class.html", for_class)]


def write_import_file(system: System, graded: GradedClass, out: Path) -> list[Path]:
    """Write the import file of a system, and print what a person must know about it."""
    table = lms_table(graded.gradebook, system)
    for note in table.notes:
        print(f"{system}.csv: {visible(note)}", file=sys.stderr)
    return [_table(out / f"{system}.csv", table.text)] if table.text else []


def write_gradescope(graded: GradedClass, out: Path) -> list[Path]:
    """Write a `results.json` of Gradescope for each student."""
    assignment = graded.gradebook.assignment
    written = [
        _write(
            out / "gradescope" / safe_name(grade.student.name) / "results.json",
            [json.dumps(gradescope_object(grade, assignment), indent=1)],
        )
        for grade in graded.gradebook.rows
        if grade.results
    ]
    remove_others(out / "gradescope", "*/results.json", written)
    return [out / "gradescope"]


def write_junit(graded: GradedClass, out: Path) -> list[Path]:
    """Write the results in the format of JUnit, which forges show."""
    return [_write(out / "junit.xml", [junit_xml(graded.gradebook.results)])]


def write_feedback(graded: GradedClass, out: Path) -> list[Path]:
    """Write a page of feedback for each student who handed in something or has an override."""
    pages = {
        feedback_path(grade.student): "".join(feedback_html(grade, graded.gradebook.assignment))
        for grade in graded.gradebook.rows
        if grade.results or grade.overrides
    }
    written = [_write(out / "feedback" / path, [page]) for path, page in pages.items()]
    remove_others(out / "feedback", "**/*.html", written)
    archive = feedback_zip((path, page.encode()) for path, page in pages.items())
    write_atomically(out / "feedback.zip", archive)
    return [out / "feedback", out / "feedback.zip"]


def write_markers(graded: GradedClass, out: Path) -> list[Path]:
    """Write the page and the table without names, and the names that belong to the ids."""
    students = [row.student for row in graded.gradebook.rows]
    ids = anonymous_ids((student.name for student in students), graded.salt)
    hide = name_hider(students)
    gradebook = anonymous_gradebook(graded.gradebook, ids, hide)
    names = [("anonymous_id", "student", "id")]
    names += [(ids[each.name], cell_of(each.name), cell_of(each.id)) for each in students]
    return [
        _write(out / "markers" / "report.html", class_html(gradebook, "markers")),
        _table(out / "markers" / "grades.csv", grades_csv(gradebook)),
        _table(out / "anonymous_ids.csv", csv_text(names)),
    ]


def write_similar(graded: GradedClass, out: Path) -> list[Path]:
    """Write the pairs of files that share much of their code."""
    rows = [("challenge", "student", "other", "share")]
    for challenge in graded.gradebook.assignment.challenge_ids:
        public = graded.answers.get(challenge, {}).values()
        rows += [
            (challenge, cell_of(pair.student), cell_of(pair.other), f"{pair.share:.2f}")
            for pair in similar_pairs(graded.sources(challenge), public)
        ]
    return [_table(out / "similar.csv", csv_text(rows))]


WRITERS: Mapping[str, Writer] = {
    "csv": write_tables,
    "html": write_pages,
    "canvas": partial(write_import_file, "canvas"),
    "moodle": partial(write_import_file, "moodle"),
    "blackboard": partial(write_import_file, "blackboard"),
    "gradescope": write_gradescope,
    "junit": write_junit,
    "feedback": write_feedback,
    "markers": write_markers,
    "similar": write_similar,
}


def _write(path: Path, parts: Iterable[str], encoding: str = "utf-8") -> Path:
    write_atomically(path, "".join(parts).encode(encoding))
    return path


_table = partial(_write, encoding=ENCODING)
