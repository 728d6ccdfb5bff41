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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

from attn_drill.classroom.records import Gradebook, Override, Student, StudentGrade, StudentResult

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

    The ids stay the same when students are added. The salt is the secret of the class: without it,
    nobody can compute the id of a name.
    """
    digests = {
        name: hashlib.sha256(f"{salt} {name}".encode("utf-8", "surrogatepass")).hexdigest()
        for name in names
    }
    return {name: f"S-{digest[:_HEX_DIGITS]}" for name, digest in digests.items()}


def name_hider(students: Iterable[Student]) -> Hide:
    """Return a function that replaces the names and ids of all these students by `…`.

    The function treats the text of every student alike: if a word were hidden only in the text of
    the student who has this name, it would give the name away.
    """
    words: set[str] = set()
    for student in students:
        name = student.name.removesuffix(f" ({student.id})")  # which makes a name unique
        keys = (student.id, student.login, student.system_id, student.email)
        words |= {name, *keys, *re.findall(r"[^\W\d_]+", name), student.email.partition("@")[0]}
    telling = [word for word in words if _is_telling(word)]
    longest_first = map(re.escape, sorted(telling, key=len, reverse=True))
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
    """Return the gradebook with anonymous ids, sorted by id."""
    rows = [_anonymous_row(row, ids[row.student.name], hide) for row in gradebook.rows]
    rows.sort(key=lambda row: row.student.name)
    assignment = replace(gradebook.assignment, extensions={})
    return replace(gradebook, assignment=assignment, rows=tuple(rows), other_files=())


def _anonymous_row(row: StudentGrade, anonymous_id: str, hide: Hide) -> StudentGrade:
    def decided(override: Override | None) -> Override | None:
        if override is None:
            return None
        return replace(override, student=anonymous_id, comment=hide(override.comment))

    grades = {
        challenge: replace(
            grade,
            file=_file(grade.file, anonymous_id),
            override=decided(grade.override),
            error=grade.error and _UNREADABLE,
            alternatives=(),
        )
        for challenge, grade in row.challenges.items()
    }
    student = Student(anonymous_id, is_in_roster=row.student.is_in_roster)
    return StudentGrade(student, grades, decided(row.override), row.total)


def anonymous_results(
    results: Iterable[StudentResult], ids: Mapping[str, str], hide: Hide
) -> Iterator[StudentResult]:
    """Yield the results with anonymous ids, sorted by id. Names in their texts become `…`."""
    for result in sorted(results, key=lambda result: ids[result.student]):
        file = _file(result.file, ids[result.student])
        # Without a seed nothing was run, and the reason may have a path or another name.
        was_run = result.report is not None and result.report.seed is not None
        text = hide(result.text.replace(result.file, file)) if was_run else _UNREADABLE
        outcomes = tuple(
            replace(outcome, message=hide(outcome.message) if was_run else _UNREADABLE)
            for outcome in result.outcomes
        )
        report = result.report and replace(result.report, file=file, stdout="", outcomes=outcomes)
        about = replace(result, student=ids[result.student], id="", file=file, report=report)
        error = result.error and _UNREADABLE
        yield replace(about, error=error, text=text, source=hide(result.source))


def _file(file: str, anonymous_id: str) -> str:
    """Return a path that shows only the ending of the file."""
    return f"{anonymous_id}{PurePosixPath(file).suffix}" if file else ""
