"""Show the work of a class without its names: ids, texts, excerpts of code, and whole results.

Nicknames, misspelt names and names of two letters inside a sentence are not recognised, so a
person should read a file before it leaves the course.
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
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from trainer.classroom.records import Gradebook, Override, Student, StudentGrade, StudentResult
from trainer.model.checks import CHECK_ORDER

HIDDEN = "…"
_UNREADABLE = "The file cannot be graded. The teacher's report gives the reason."
_HEX_DIGITS = 12  # so that hardly ever two students have the same id
_LEAST = 3  # letters of a word; shorter words are also words of code
_MOST_LINES = 7  # of an excerpt
# Words of Python, of the checks and of common tensor code, which are names of people, too. They
# stay visible for everybody, so they tell nothing about anybody.
_ORDINARY = frozenset(
    word.casefold()
    for text in (
        *keyword.kwlist,
        *dir(builtins),
        *CHECK_ORDER,
        "case dim head key long mask query value",
    )
    for word in re.findall(r"[^\W_]+", text)
)
_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+")  # of `LeeAttention2`
# Strings that are part of the computation: "bqhd,bkhd->bhqk", "b (h d) l -> b h l d", "-inf".
_PATTERN = re.compile(r"[-+]?inf|nan|[A-Za-z0-9 .,()]*->[A-Za-z0-9 .,()]*")

Hide = Callable[[str], str]


def new_salt() -> str:
    """Return random text for `anonymous_ids`."""
    return secrets.token_hex(16)


def anonymous_ids(names: Iterable[str], salt: str) -> dict[str, str]:
    """Return the anonymous id of each student, for example "S-3f9c01ab77d2", by name.

    The ids stay the same when students are added.

    Args:
        names: the names of the students.
        salt: the secret of the class. Without it, nobody can compute the id of a name.
    """

    def digest(name: str) -> str:
        text = f"{salt} {name}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(text).hexdigest()[:_HEX_DIGITS]

    return {name: f"S-{digest(name)}" for name in names}


def name_hider(students: Iterable[Student]) -> Hide:
    """Return a function that replaces the names and ids of all these students by `…`.

    The function treats the text of every student alike: if a word were hidden only in the text of
    the student who has this name, it would give the name away.
    """
    words: set[str] = set()
    phrases: set[str] = set()
    for student in students:
        name = student.name.removesuffix(f" ({student.id})")  # which makes a name unique
        parts = [word.casefold() for word in _WORD.findall(name)]
        keys = (student.id, student.login, student.system_id, student.email.partition("@")[0])
        words.update(parts, (word.casefold() for key in keys for word in _WORD.findall(key)))
        for start in range(len(parts) if len(parts) > 1 else 0):
            turned = parts[start:] + parts[:start]
            words.add("".join(turned))  # "leeana", as Canvas writes it
            if min(map(len, parts)) < _LEAST:  # of all other names, each word is hidden
                phrases.add(r"[\W_]{0,3}".join(turned))
    words = {word for word in words - _ORDINARY if _is_telling(word)}
    # In a text without blanks, only a search inside the words finds a name like 小明.
    inside = [word for word in words if not word.isascii()]
    alternation = "|".join(
        [*map(re.escape, inside), *(rf"(?<![^\W_]){phrase}(?![^\W_])" for phrase in phrases)]
    )
    odd_names = re.compile(alternation or r"(?!)", re.IGNORECASE)

    def hidden_word(match: re.Match[str]) -> str:
        return HIDDEN if match[0].casefold() in words else _PART.sub(hidden_part, match[0])

    def hidden_part(match: re.Match[str]) -> str:
        return HIDDEN if match[0].casefold() in words else match[0]

    return lambda text: _WORD.sub(hidden_word, odd_names.sub(HIDDEN, text))


def _is_telling(word: str) -> bool:
    """Return whether a word is long enough to be no word of code: Ana, 李雷, al77, 1012."""
    return len(word) >= (2 if not word.isascii() else _LEAST if word.isalpha() else 4)


@dataclass(frozen=True)
class Excerpt:
    """A few lines of a submission, without comments and strings.

    Attributes:
        lines: the lines.
        marked: the index of the line that the report is about.
    """

    lines: tuple[str, ...]
    marked: int


def excerpt_of(source: str, line: int | None, hide: Hide) -> Excerpt | None:
    """Return the statement at a line with its neighbours, or None if there is no such statement.

    Args:
        source: the text of a submission.
        line: the number of a line, from 1.
        hide: a function from `name_hider`.
    """
    tree = _parsed(source)
    body, index = (None, 0) if tree is None or line is None else _statement_at(tree, line)
    if body is None:
        return None
    before, statement, after = (
        [] if node is None else ast.unparse(_WithoutStrings().visit(node)).split("\n")
        for node in (_neighbour(body, index - 1), body[index], _neighbour(body, index + 1))
    )
    lines = [*before[-2:], *statement, *after[:2]]
    marked = len(before[-2:])
    return Excerpt(tuple(map(hide, lines[:_MOST_LINES])), marked)


def _parsed(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a student's strings may have invalid escapes
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _statement_at(tree: ast.AST, line: int) -> tuple[list[ast.stmt] | None, int]:
    """Return the innermost list of statements with a statement at this line, and its index."""
    found: tuple[list[ast.stmt] | None, int] = None, 0
    for node in ast.walk(tree):  # an inner list comes after the outer list
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            for index, statement in enumerate(statements if isinstance(statements, list) else ()):
                if statement.lineno <= line <= (statement.end_lineno or 0):
                    found = statements, index
    return found


def _neighbour(body: list[ast.stmt], index: int) -> ast.stmt | None:
    """Return a simple statement of a list, or None."""
    if not 0 <= index < len(body):
        return None
    match body[index]:
        case ast.Expr(value=ast.Constant()):  # a docstring
            return None
        case statement:
            return None if hasattr(statement, "body") else statement


class _WithoutStrings(ast.NodeTransformer):
    """Replace all strings by `…`, except patterns of axes and infinities."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        is_text = isinstance(node.value, str | bytes)
        is_kept = isinstance(node.value, str) and _PATTERN.fullmatch(node.value)
        return ast.Constant(HIDDEN) if is_text and not is_kept else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        return ast.Constant(HIDDEN)


def anonymous_gradebook(gradebook: Gradebook, ids: Mapping[str, str], hide: Hide) -> Gradebook:
    """Return the gradebook with anonymous ids, sorted by id."""
    rows = sorted(
        (_anonymous_row(row, ids[row.student.name], hide) for row in gradebook.rows),
        key=lambda row: row.student.name,
    )
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
            missing_module="",
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
        anonymous_id = ids[result.student]
        file = _file(result.file, anonymous_id)
        hidden = replace(result, student=anonymous_id, id="", file=file, source=hide(result.source))
        report = result.report
        if report is None:
            yield replace(hidden, error=_UNREADABLE, text="")
            continue
        # Without a seed nothing was run, and the message has a path.
        outcomes = tuple(
            replace(outcome, message=_UNREADABLE if report.seed is None else hide(outcome.message))
            for outcome in report.outcomes
        )
        text = hide(result.text.replace(result.file, file))
        text = _UNREADABLE if report.seed is None else text
        report = replace(report, file=file, stdout="", outcomes=outcomes)
        yield replace(hidden, report=report, text=text)


def _file(file: str, anonymous_id: str) -> str:
    """Return a path that shows only the ending of the file."""
    return f"{anonymous_id}{PurePosixPath(file).suffix}" if file else ""
