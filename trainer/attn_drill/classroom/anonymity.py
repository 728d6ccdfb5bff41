"""Show the work of a class without its names: ids, texts, excerpts of code, and whole results.

Nicknames, misspelt names, names of two letters, names inside a longer word (`AnaNet`) and names
that are words of Python (`Max`) stay, so a person should read a file before it leaves the course.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import keyword
import re
import secrets
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

from attn_drill.classroom.records import (
    Gradebook,
    Override,
    Student,
    StudentGrade,
    StudentResult,
    StudentSubmission,
)

HIDDEN = "…"
_UNREADABLE = "The file cannot be graded. The teacher's report gives the reason."
_HEX_DIGITS = 12  # so that hardly ever two students have the same id
_LEAST = 3  # letters of a word; shorter words are also words of code
_MOST_LINES = 7  # of an excerpt
# These words stay visible for everybody, so they tell nothing about anybody.
_PYTHON = {word.casefold() for word in (*keyword.kwlist, *dir(builtins))}
# Strings that are part of the computation: "bqhd,bkhd->bhqk", "b (h d) l -> b h l d", "-inf".
_PATTERN = re.compile(r"[-+]?inf|nan|[A-Za-z0-9 .,()]*->[A-Za-z0-9 .,()]*")

NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
Hide = Callable[[str], str]


def new_salt() -> str:
    """Return random text for `anonymous_ids`."""
    return secrets.token_hex(16)


def anonymous_ids(names: Iterable[str], salt: str) -> dict[str, str]:
    """Return the anonymous id of each student, for example "S-3f9c01ab77d2", by name.

    The salt is the secret of the class: without it, nobody can compute the id of a name.
    """
    digests = {
        name: hashlib.sha256(f"{salt} {name}".encode("utf-8", "surrogatepass")).hexdigest()
        for name in names
    }
    return {name: f"S-{digest[:_HEX_DIGITS]}" for name, digest in digests.items()}


def name_hider(students: Iterable[Student]) -> Hide:
    """Return a function that replaces the names and ids of all these students by `…`.

    It treats all texts alike: a word that is hidden only in its student's text would give the name
    away.
    """
    words: set[str] = set()
    for student in students:
        name = student.name.removesuffix(f" ({student.id})")  # which makes a name unique
        keys = (student.id, student.login, student.system_id, student.email)
        words |= {name, *keys, *re.findall(r"[^\W\d_]+", name), student.email.partition("@")[0]}
    longest_first = map(re.escape, sorted(filter(_is_telling, words), key=len, reverse=True))
    # A text without blanks may have a name like 小明 inside, so only ASCII letters end a word.
    pattern = rf"(?<![A-Za-z0-9])(?:{'|'.join(longest_first) or '(?!)'})(?![A-Za-z0-9])"
    return partial(re.compile(pattern, re.IGNORECASE).sub, HIDDEN)


def _is_telling(word: str) -> bool:
    """Return whether a word is no word or number of code: Ana, 李雷, al77, 1012."""
    least = 2 if not word.isascii() else 4 if word.isdigit() else _LEAST
    return len(word) >= least and word.casefold() not in _PYTHON


def excerpt_of(source: str, line: int | None, hide: Hide) -> str:
    """Return the first lines of the statement at a line, or "" if there is no such statement.

    Comments, strings and names are left out.
    """
    try:
        nodes = list(ast.walk(parsed(source)))  # an inner statement comes after the outer one
    except NOT_PYTHON:
        return ""
    statements = [
        node
        for node in nodes
        if isinstance(node, ast.stmt) and node.lineno <= (line or 0) <= (node.end_lineno or 0)
    ]
    if not statements:
        return ""
    text = ast.unparse(_WithoutStrings().visit(statements[-1]))
    return hide("\n".join(text.split("\n")[:_MOST_LINES]))


def parsed(source: str) -> ast.Module:
    """Return the tree of a submission, or raise one of `NOT_PYTHON`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a student's strings may have invalid escapes
        return ast.parse(source)


class _WithoutStrings(ast.NodeTransformer):
    """Replace all strings by `…`, except patterns of axes and infinities."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        is_text = isinstance(node.value, str | bytes)
        is_kept = isinstance(node.value, str) and _PATTERN.fullmatch(node.value)
        return ast.Constant(HIDDEN) if is_text and not is_kept else node


def anonymous_gradebook(gradebook: Gradebook, ids: Mapping[str, str], hide: Hide) -> Gradebook:
    """Return the gradebook with anonymous ids, sorted by id. Names in its texts become `…`."""

    def decided(override: Override | None, anonymous_id: str) -> Override | None:
        if override is None:
            return None
        return replace(override, student=anonymous_id, comment=hide(override.comment))

    rows = []
    for row in gradebook.rows:
        student = Student(ids[row.student.name], is_in_roster=row.student.is_in_roster)
        grades = {
            challenge: replace(
                grade,
                submission=_anonymous_submission(grade.submission, student.name),
                result=grade.result and _anonymous_result(grade.result, student.name, hide),
                override=decided(grade.override, student.name),
            )
            for challenge, grade in row.challenges.items()
        }
        rows.append(StudentGrade(student, grades, decided(row.override, student.name), row.total))
    rows.sort(key=lambda row: row.student.name)
    assignment = replace(gradebook.assignment, extensions={})
    return replace(gradebook, assignment=assignment, rows=tuple(rows), other_files=())


def _anonymous_submission(submission: StudentSubmission, anonymous_id: str) -> StudentSubmission:
    return replace(
        submission,
        student=anonymous_id,
        file=_file(submission.file, anonymous_id),
        trouble=submission.trouble and _UNREADABLE,
        alternatives=(),
    )


def _anonymous_result(result: StudentResult, anonymous_id: str, hide: Hide) -> StudentResult:
    file = _file(result.file, anonymous_id)
    # Without a seed nothing was run, and the reason may have a path or another name.
    was_run = result.report is not None and result.report.seed is not None
    outcomes = tuple(
        replace(outcome, message=hide(outcome.message) if was_run else _UNREADABLE)
        for outcome in result.outcomes
    )
    return replace(
        result,
        student=anonymous_id,
        id="",
        file=file,
        report=result.report and replace(result.report, file=file, stdout="", outcomes=outcomes),
        error=result.error and _UNREADABLE,
        text=hide(result.text.replace(result.file, file)) if was_run else _UNREADABLE,
        source=hide(result.source),
    )


def _file(file: str, anonymous_id: str) -> str:
    """Return a path that shows only the ending of the file."""
    return f"{anonymous_id}{PurePosixPath(file).suffix}" if file else ""
