"""List everything about a class that a person should look at, by reason."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attn_drill.classroom.gradebook import total
from attn_drill.classroom.records import (
    ChallengeGrade,
    Gradebook,
    Override,
    StudentGrade,
    StudentResult,
)
from attn_drill.export._grade_words import late_words, override_words
from attn_drill.report.class_text import VERDICTS

_LONGEST = 160  # characters of a message
_ALMOST_THE_NAME = re.compile(r"the file defines no (\w+);.* Rename (\w+)\.")


class Kind(NamedTuple):
    """A kind of reasons to look."""

    heading: str  # of the list of these reasons
    advice: str  # an explanation, and the next step
    label: str = ""  # before the text of a reason outside of this list


_AGAIN = "Then grade again with `class grade --resume`."
# The most urgent first.
KINDS = {
    "clash": Kind(
        "Names that clash", f"A person must decide whose file it is. Rename the file. {_AGAIN}"
    ),
    "ungraded": Kind(
        "Not graded",
        f"A person must settle which file counts, or ask for another file. {_AGAIN}",
        "not graded: ",
    ),
    "failed": Kind(
        "The grader failed",
        "The submission is not to blame. Grade it again with `class grade --resume`.",
        "not graded: ",
    ),
    "near": Kind(
        "Near misses",
        "One small slip costs these answers most of their points. Look at the file, and decide"
        " whether to change the points with `class override`.",
        "near miss: ",
    ),
    "missing": Kind(
        "Nothing for a challenge",
        "These students handed in files, but none for this challenge, so they have 0 points here.",
    ),
    "zero": Kind(
        "0 points",
        "The reason is the first check that failed, or the penalty. If students may use a module"
        f" that is missing here, install it and remove their results. {_AGAIN}",
        "0 points: ",
    ),
    "nobody": Kind(
        "Files that belong to nobody",
        "They were graded, but fit no student of the roster. Put the id, the user name, the e-mail"
        f" address or the name of one student into the file's name. {_AGAIN}",
        "the roster does not have this student: ",
    ),
    "absent": Kind(
        "Handed in nothing",
        "The roster has these students, and no file belongs to them.",
        "handed in nothing",
    ),
    "time": Kind(
        "Time unknown",
        "No penalty is taken. Name a file of times in the assignment, with the key `times`.",
        "the time is unknown, so no penalty is taken",
    ),
    "answers": Kind(
        "Other files with an answer",
        "Another file of the student was graded. If one of these should count, remove the graded"
        f" file. {_AGAIN}",
        "other files with an answer: ",
    ),
    "override": Kind("Overrides", "A person decided these points.", "override: "),
    "files": Kind(
        "Other files",
        "These files and folders are not part of a submission and were not graded.",
    ),
}


@dataclass(frozen=True)
class Reason:
    """A reason to look at a submission, a student or a file."""

    kind: str  # a key of `KINDS`
    student: str  # "" for a file that belongs to nobody
    challenge: str  # "" if the reason is not about a submission
    text: str  # the details, or ""


def notes_of(gradebook: Gradebook) -> list[Reason]:
    """Return all notes in the order of the students."""
    submitted = [
        grade
        for row in gradebook.rows
        for grade in row.challenges.values()
        if grade.submission.file
    ]
    has_no_times = all(grade.lateness.submitted is None for grade in submitted)
    notes: list[Reason] = []
    for row in gradebook.rows:
        name = row.student.name
        notes += [Reason(kind, name, "", text) for kind, text in _about_student(row, gradebook)]
        for challenge, grade in row.challenges.items():
            notes += [
                Reason(kind, name, challenge, text)
                for kind, text in _about_grade(grade)
                if not (kind == "time" and has_no_times and not text)
            ]
    if has_no_times and any(grade.has_unknown_time for grade in submitted):
        notes.append(Reason("time", "", "", "No submission of the class has a time."))
    return notes + [Reason("files", "", "", file) for file in gradebook.other_files]


def by_kind(notes: Sequence[Reason]) -> list[tuple[Kind, list[Reason]]]:
    """Return the notes of each kind that has some, the most urgent kind first."""
    groups = [(row, [note for note in notes if note.kind == kind]) for kind, row in KINDS.items()]
    return [(row, group) for row, group in groups if group]


def _about_student(row: StudentGrade, gradebook: Gradebook) -> Iterator[tuple[str, str]]:
    for sentence in row.student.notes:
        yield "clash", sentence
    if row.student.is_in_roster is False:
        yield "nobody", ", ".join(row.files)
    if gradebook.has_roster and not any(row.files):
        yield "absent", ""
    if row.override is not None:
        points = total(
            {n: grade.points for n, grade in row.challenges.items()}, gradebook.assignment
        )
        yield "override", _decided(row.override, points)


def _about_grade(grade: ChallengeGrade) -> Iterator[tuple[str, str]]:
    """Yield the notes about a submission. A person has already looked at one with an override."""
    if grade.override is not None:
        yield "override", _decided(grade.override, grade.score)
    result, submission = grade.result, grade.submission
    if grade.override is not None or result is None:
        return
    if result.is_ungraded:
        yield "ungraded", result.error or ""
    elif result.verdict is None:
        yield "failed", result.error or "no reason is known"
    elif submission.trouble:
        yield "missing", submission.trouble
    elif words := near_miss(result):
        yield "near", words
    elif grade.points == 0 and grade.score and grade.lateness.is_late:
        yield "zero", f"late: {late_words(grade.lateness)}"
    elif grade.points == 0:
        failure = result.report and result.report.first_failure()
        words = f"{failure.check}: {failure.message}" if failure else VERDICTS[result.verdict][1]
        yield "zero", _shortened(words)
    if grade.has_unknown_time or (grade.lateness.is_late and grade.lateness.days is None):
        yield "time", " (late by its name)" if grade.lateness.is_late else ""
    if submission.alternatives:
        yield "answers", ", ".join(submission.alternatives)


def _decided(override: Override, from_checks: float | None) -> str:
    """Return a decision. If it was made for another file, also the points of the checks."""
    words = override_words(override)
    if not override.is_outdated:
        return words
    words = words if words.endswith((".", "!", "?")) else f"{words}."
    now = "no points" if from_checks is None else f"{from_checks:g} points"
    return f"{words} It was decided for another file; the checks give the present file {now}."


def near_miss(result: StudentResult) -> str:
    """Return the small slip that costs an answer its points, or ""."""
    failure = None if result.report is None else result.report.first_failure()
    if failure is None or result.verdict not in ("error", "failed", "timeout"):
        return ""
    if result.verdict == "timeout":
        return VERDICTS["timeout"][1]
    if match := _ALMOST_THE_NAME.match(failure.message):
        return f"the file defines {match[2]} instead of {match[1]}"
    is_stub = "NotImplementedError" in failure.message
    if result.verdict == "failed" or is_stub or not failure.frames:
        return ""
    line = failure.frames[-1].line
    if "SyntaxError: expected ':'" in failure.message:
        return f"a colon is missing at line {line}"
    is_last = not "".join(result.source.split("\n")[line:]).strip()
    return f"the error is in the last line: {_shortened(failure.message)}" if is_last else ""


def _shortened(message: str) -> str:
    return textwrap.shorten(message, _LONGEST, placeholder=" …")
