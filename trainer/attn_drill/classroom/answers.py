"""Choose the file that answers each challenge, from all files of one student.

An answer is a file that defines a name that the challenge asks for. If that does not decide,
nothing is graded, and a person must settle it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from attn_drill.classroom.handed_in import NOTEBOOK, PYTHON, ZIP, HandedIn, inside
from attn_drill.classroom.lms_names import LmsName
from attn_drill.classroom.records import StudentSubmission
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.model.listing import first_of
from attn_drill.practice.learner_files import decode_source
from attn_drill.practice.notebook_file import defined_names, python_of, undefined

ANSWERS = (PYTHON, NOTEBOOK, ZIP)
_MOST_NAMED = 5  # files in one sentence
_MOST_READ = 30  # files of one student in which the answers are looked for
# Canvas numbers a later upload of the same file name: `gqa-2.py`.
_NUMBERED = re.compile(r"(.+)-[0-9]{1,18}(\.[^.]+)", re.DOTALL)


@dataclass
class Upload:
    """A file or a folder at the top of a class, with all files in it."""

    place: str  # the path in messages; that of a folder ends in a slash
    name: str  # without the slash
    files: list[HandedIn]
    lms: LmsName = field(default_factory=LmsName)  # the parts of the name

    @property
    def is_folder(self) -> bool:
        return self.place.endswith("/")

    @property
    def is_answer(self) -> bool:
        """True for a file that may be an answer or hold it."""
        return not self.is_folder and self.name.lower().endswith(ANSWERS)


class _Content(NamedTuple):
    """The source of a file and the names that it defines, or the reason why it is no answer."""

    source: str = ""  # of a notebook, only the part with the names that are asked for
    defines: frozenset[str] = frozenset()
    is_broken: bool = False  # Python cannot read the source
    problem: str = ""


@dataclass(frozen=True)
class _File:
    """A file of one student."""

    file: HandedIn
    name: str  # the student's own path
    upload: Upload
    challenges: Sequence[Challenge]

    @property
    def path(self) -> str:
        return self.file.path

    @cached_property
    def own_name(self) -> str:
        """The student's own path without Canvas' number of the upload."""
        top, slash, rest = self.name.partition("/")  # a zip may have a number, too
        numbered = _NUMBERED.fullmatch(top) if self.upload.lms.upload else None
        is_challenge = stem(top) in {stem(each.file_name) for each in self.challenges}
        if numbered is None or is_challenge:  # `step-1.py` may be the name of a challenge
            return self.name
        return numbered[1] + numbered[2] + slash + rest

    @cached_property
    def content(self) -> _Content:
        if not self.file.problem and self.file.suffix not in (PYTHON, NOTEBOOK):
            return _Content(problem=f"{self.path} is neither a Python file nor a notebook.")
        wanted = dict.fromkeys(name for each in self.challenges for name in each.entry)
        try:
            source = decode_source(self.file.read(), self.path, "The upload may have failed.")
            if self.file.suffix == NOTEBOOK:
                source = python_of(source, self.path, wanted)
        except DrillError as error:
            return _Content(problem=str(error))
        names, is_readable = defined_names(source)
        problem = f"{self.path} is not valid Python."
        if is_readable:
            problem = undefined(self.path, wanted, names) if names.isdisjoint(wanted) else ""
        return _Content(source, frozenset(names), not is_readable, problem)

    def fits(self, challenge: Challenge) -> tuple[int, bool, bool, int]:
        """Return how well the file fits a challenge. Of two files, the greater counts."""
        return (
            len(self.content.defines.intersection(challenge.entry)),
            self.has_name_of(challenge),
            self.file.suffix == PYTHON,
            -self.name.count("/"),
        )

    def has_name_of(self, challenge: Challenge) -> bool:
        return stem(self.own_name) == stem(challenge.file_name)


def stem(path: str) -> str:
    """Return the name of a file in small letters, without its suffix, with underscores.

    >>> stem("hw/KV-cache.py")
    'kv_cache'
    """
    name = path.rpartition("/")[2].lower().replace("-", "_")
    return os.path.splitext(name)[0]


def submissions_of(
    student: str, uploads: Sequence[Upload], challenges: Sequence[Challenge], ignored: list[str]
) -> list[StudentSubmission]:
    """Return a student's submission for each challenge.

    Add the paths of the files that are no answer, and that no reason names, to `ignored`.
    """
    files = _files(uploads, challenges)
    newest: dict[str, tuple[str, int]] = {}
    for file in files:
        order = file.upload.lms.order
        newest[file.own_name] = max(newest.get(file.own_name, order), order)
    # A later upload replaces a file of the same name.
    latest = [file for file in files if file.upload.lms.order == newest[file.own_name]]
    python = [file for file in latest if file.file.suffix in (PYTHON, NOTEBOOK)]
    python = sorted(python, key=lambda file: file.name.count("/"))[:_MOST_READ]
    candidates = {challenge.id: _candidates(python, challenge) for challenge in challenges}
    named = {file.path for fitting in candidates.values() for file in fitting}
    # A Python file, if there is one, may be the missing answer.
    unfit = [file for file in (*python, *latest) if file.path not in named]
    submissions: list[StudentSubmission] = []
    for challenge in challenges:
        submission = StudentSubmission(student, challenge.id, uploads[0].place, None)
        if fitting := candidates[challenge.id]:
            submissions.append(_with_answer(submission, challenge, fitting))
        elif unfit:
            path, problem = unfit[0].path, unfit[0].content.problem
            trouble = f"{problem} Look at it, or ask for {challenge.file_name}."
            submissions.append(replace(submission, file=path, trouble=trouble))
        else:
            entry = " or ".join(challenge.entry)
            trouble = f"There is no {challenge.file_name}, and no other file defines {entry}."
            submissions.append(replace(submission, trouble=trouble, is_missing=bool(named)))
    named |= {submission.file for submission in submissions}
    current = {file.path for file in latest}
    others = [
        file.path if file.path in current else f"{file.path} (an older upload)"
        for file in files
        if file.path not in named
    ]
    if others:
        ignored.append(first_of(others, _MOST_NAMED))
    return submissions


def _files(uploads: Sequence[Upload], challenges: Sequence[Challenge]) -> list[_File]:
    """Return all files of a student, with the files in each zip."""
    # Blackboard's receipts do not count if there is anything else.
    without_receipts = [upload for upload in uploads if not upload.lms.is_receipt]
    files: list[_File] = []
    for upload in without_receipts or uploads:
        for file in upload.files:
            name = upload.lms.file or file.path.removeprefix(upload.place) or upload.name
            in_file = inside(file) if file.suffix == ZIP and not file.problem else [file]
            files += [
                _File(each, name + each.path.removeprefix(file.path), upload, challenges)
                for each in in_file
            ]
    return files


def _candidates(files: Sequence[_File], challenge: Challenge) -> list[_File]:
    """Return the files of the last attempt that may answer a challenge.

    If no file defines the answer, a file with the name of the challenge counts: then its student
    reads that the class has another name. A file that Python cannot read counts if it is the only
    file.
    """
    defining = [file for file in files if file.content.defines.intersection(challenge.entry)]
    named = [file for file in files if file.has_name_of(challenge) and file.content.source]
    broken = [file for file in files if file.content.is_broken and len(files) == 1]
    fitting = defining or named or broken
    last = max((file.upload.lms.attempt for file in fitting), default="")
    return [file for file in fitting if file.upload.lms.attempt == last]


def _with_answer(
    submission: StudentSubmission, challenge: Challenge, candidates: Sequence[_File]
) -> StudentSubmission:
    """Return the submission with the best of the files, or the reason why none is the best."""
    best = max(file.fits(challenge) for file in candidates)
    answers = [file for file in candidates if file.fits(challenge) == best]
    # Two files or folders of one name have no order in time.
    places = {file.upload.place for file in candidates if not file.upload.lms.system}
    rivals = candidates if len(places) > 1 else answers
    if len({file.content.source for file in rivals}) > 1:
        paths = [file.path for file in rivals]
        trouble = (
            f"There are {len(paths)} answers to {challenge.id}: {first_of(paths, _MOST_NAMED)}."
            " Remove or rename all but one, then grade again with --resume."
        )
        return replace(submission, file=paths[0], trouble=trouble)
    answer, lms = answers[0], answers[0].upload.lms
    return replace(
        submission,
        file=answer.path,
        source=answer.content.source,
        alternatives=tuple(file.path for file in candidates if file is not answer),
        submitted=answer.file.modified if lms.system == "moodle" else lms.submitted,
        is_marked_late=lms.is_marked_late,
        has_late_marks=lms.system == "canvas",
    )
