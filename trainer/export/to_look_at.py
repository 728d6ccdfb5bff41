"""List everything in a gradebook that a person should look at, by reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trainer.classroom.records import ChallengeGrade, Gradebook, StudentGrade
from trainer.export.grade_words import override_words

NO_ROSTER = (
    "The students who handed in nothing are not known, because there is no roster. Add"
    " --roster FILE to see them."
)
NOBODY_MISSING = (
    "Nobody is missing: every student of the roster has a readable file for every challenge."
)


@dataclass(frozen=True)
class Noted:
    """A submission, a student or a file to look at.

    Attributes:
        student: the name of the student, or "" for a file that belongs to nobody.
        challenge: the id of the challenge, or "" if the note is not about a submission.
        reason: the reason, or "" if the heading says everything.
    """

    student: str
    challenge: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Look:
    """All notes of the same kind.

    Attributes:
        heading: the reason to look in a few words.
        advice: an explanation, and the next step.
        notes: the notes, sorted by student.
    """

    heading: str
    advice: str
    notes: tuple[Noted, ...]


def to_look_at(gradebook: Gradebook) -> tuple[Look, ...]:
    """Return everything to look at, the most urgent first."""
    looks = [
        Look(
            "Names that clash",
            "A person must decide whose file it is. Rename the file, then grade again with"
            " --resume.",
            (*_clashes(gradebook),),
        ),
        Look(
            "Not graded",
            "A person must settle which file counts, or ask for another file. Then grade again"
            " with --resume.",
            (*_not_graded(gradebook),),
        ),
        Look(
            "The grader failed",
            "The submission is not to blame. Grade again with --resume.",
            (*_failed(gradebook),),
        ),
        Look(
            "Nothing for a challenge",
            "These students handed in files for other challenges only, so they have 0 points here.",
            (*_missing(gradebook),),
        ),
        Look(
            "Imports of modules that do not exist here",
            "These files did not load, so they have 0 points. If students may use the package,"
            " install it and grade again with --regrade. If the module is the student's own file,"
            " ask for one file with all code.",
            (*_with_missing_modules(gradebook),),
        ),
        Look(
            "Files that belong to nobody",
            "They were graded, but fit no student of the roster. Put the id, the user name, the"
            " e-mail address or the name of one student into the file's name, then grade again"
            " with --resume.",
            (*_of_nobody(gradebook),),
        ),
        Look(
            "Handed in nothing",
            "The roster has these students, and no file belongs to them.",
            (*_absent(gradebook),),
        ),
        Look(
            "No submission for a challenge",
            "These students have a submission for another challenge, but not for this one. They"
            " have no total.",
            (*_incomplete(gradebook),),
        ),
        Look(
            "Late, but the time is unknown",
            "No penalty is taken. Give the times with --submitted FILE.",
            (*_late_at_unknown_time(gradebook),),
        ),
        Look(
            "Time unknown",
            "Nobody knows whether these submissions are late, so no penalty is taken. Give the"
            " times with --submitted FILE.",
            (*_at_unknown_time(gradebook),),
        ),
        Look(
            "Other files with an answer",
            "Another file of the student was graded. If one of these should count, remove the"
            " graded file, then grade again with --resume.",
            (*_alternatives(gradebook),),
        ),
        Look("Overrides", "A person decided these points.", (*_overrides(gradebook),)),
        Look(
            "Other files",
            "These files and folders are not part of a submission and were not graded.",
            tuple(Noted("", reason=words) for words in gradebook.other_files),
        ),
    ]
    listed = {note.student for look in looks for note in look.notes}
    others = (
        Noted(row.student.name, reason=words)
        for row in gradebook.rows
        if row.student.name not in listed
        for words in row.look
    )
    looks.append(Look("Other reasons", "A person should look at these students.", (*others,)))
    return tuple(look for look in looks if look.notes)


def missing_words(gradebook: Gradebook) -> str:
    """Return a sentence about students who are missing, or "" if the notes name them.

    Without a roster, nobody knows who is missing.
    """
    if not gradebook.has_roster:
        return NO_ROSTER
    expected = [row for row in gradebook.rows if row.student.is_in_roster is not False]
    is_complete = all(
        assigned.challenge in row.challenges and not row.challenges[assigned.challenge].error
        for row in expected
        for assigned in gradebook.assignment.challenges
    )
    return NOBODY_MISSING if expected and is_complete else ""


def _grades(gradebook: Gradebook) -> Iterator[tuple[StudentGrade, ChallengeGrade]]:
    for row in gradebook.rows:
        for grade in row.challenges.values():
            yield row, grade


def _clashes(gradebook: Gradebook) -> Iterator[Noted]:
    for row in gradebook.rows:
        for sentence in row.student.notes:
            yield Noted(row.student.name, reason=sentence)


def _not_graded(gradebook: Gradebook) -> Iterator[Noted]:
    for row, grade in _grades(gradebook):
        if grade.is_ungraded:
            yield Noted(row.student.name, grade.challenge, grade.error)


def _failed(gradebook: Gradebook) -> Iterator[Noted]:
    for row, grade in _grades(gradebook):
        if grade.verdict is None and not grade.is_ungraded:
            yield Noted(row.student.name, grade.challenge, grade.error or "no reason is known")


def _missing(gradebook: Gradebook) -> Iterator[Noted]:
    for row, grade in _grades(gradebook):
        if grade.verdict is not None and grade.error:
            yield Noted(row.student.name, grade.challenge, grade.error)


def _with_missing_modules(gradebook: Gradebook) -> Iterator[Noted]:
    for row, grade in _grades(gradebook):
        if grade.missing_module:
            yield Noted(row.student.name, grade.challenge, grade.missing_module)


def _of_nobody(gradebook: Gradebook) -> Iterator[Noted]:
    for row in gradebook.rows:
        if row.student.is_in_roster is False:
            yield Noted(row.student.name, reason=", ".join(row.files))


def _absent(gradebook: Gradebook) -> Iterator[Noted]:
    if gradebook.has_roster:
        for row in gradebook.rows:
            if not row.challenges:
                yield Noted(row.student.name)


def _incomplete(gradebook: Gradebook) -> Iterator[Noted]:
    for row in gradebook.rows:
        for assigned in gradebook.assignment.challenges:
            if row.challenges and assigned.challenge not in row.challenges:
                yield Noted(row.student.name, reason=assigned.challenge)


def _late_at_unknown_time(gradebook: Gradebook) -> Iterator[Noted]:
    for row, grade in _grades(gradebook):
        if grade.lateness.is_late and grade.lateness.days is None:
            extended = "the student has an extension" if grade.lateness.is_extended else ""
            yield Noted(row.student.name, grade.challenge, extended)


def _at_unknown_time(gradebook: Gradebook) -> Iterator[Noted]:
    """Yield the submissions without a time, or a single note if no submission has a time."""
    graded = [(row, grade) for row, grade in _grades(gradebook) if grade.file]
    unknown = [(row, grade) for row, grade in graded if grade.has_unknown_time]
    if unknown and all(grade.lateness.submitted is None for _, grade in graded):
        yield Noted("", reason="No submission of the class has a time.")
        return
    for row, grade in unknown:
        yield Noted(row.student.name, grade.challenge)


def _alternatives(gradebook: Gradebook) -> Iterator[Noted]:
    for row, grade in _grades(gradebook):
        if grade.alternatives:
            yield Noted(row.student.name, grade.challenge, ", ".join(grade.alternatives))


def _overrides(gradebook: Gradebook) -> Iterator[Noted]:
    for row in gradebook.rows:
        for override in row.overrides:
            of_challenge = f"{override.challenge}, " if override.challenge else ""
            yield Noted(row.student.name, reason=f"{of_challenge}{override_words(override)}")
