"""Leave gaps in a reference where learners make mistakes, and judge what fills them.

The functions are pure: the caller passes the random number generator. The known mistakes of a
challenge show which expressions matter, and which answers are certainly wrong. An answer that is
neither the text of the reference nor a known mistake stays undecided, because it may be right.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from trainer.hunt.planted_mistakes import fair_mistakes, strip_comments
from trainer.model.challenge import Challenge, Mistake
from trainer.packs import pack_reader
from trainer.packs.mistakes import patch, read_mistakes
from trainer.quiz.same_code import parsed, same_code
from trainer.quiz.syntax_paths import (
    SyntaxPath,
    changed_expression,
    is_common,
    node_at,
    shows_same,
    statement_path,
    without_names,
)

FEWEST, MOST = 3, 5
_LONGEST = 60  # characters of an expression that a learner can write from memory
_LONGEST_ANSWER = 400
_MOST_HIDDEN = 3  # other places that are hidden because they show the answer of a gap

Verdict = Literal["right", "wrong", "undecided", "not understood"]


@dataclass(frozen=True)
class Gap:
    """A gap in a reference.

    Attributes:
        name: The name of the gap in the code, for example `____1`.
        right: The code of the reference.
        line: The line with the gap, without indentation.
        whole: The statement of the reference with the gap, or "" if it is a block.
        mistakes: Code that is a known mistake, each with a sentence about it.
    """

    name: str
    right: str
    line: str
    whole: str
    mistakes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class GapExercise:
    """A reference with gaps.

    Attributes:
        code: The functions and methods with gaps, without comments. A gap without a number hides
            the answer of another gap.
        gaps: The gaps in the order of the code.
    """

    code: str
    gaps: tuple[Gap, ...]

    @property
    def hides_more(self) -> bool:
        """True if the code has gaps without a number."""
        return self.code.count("____") > len(self.gaps)


@dataclass(frozen=True)
class JudgedGap:
    """The judgement of an answer.

    Attributes:
        verdict: The verdict. "undecided" means that only the learner can tell.
        message: A sentence about the answer, or "".
    """

    verdict: Verdict
    message: str = ""


@dataclass(frozen=True)
class _Candidate:
    """An expression that may become a gap.

    Attributes:
        path: The path of the expression in the tree of the reference.
        hidden: The paths of other expressions that show the same code.
        mistakes: Code that is a known mistake, each with a sentence about it.
        weight: The likelihood of this place, relative to other places.
    """

    path: SyntaxPath
    hidden: tuple[SyntaxPath, ...]
    mistakes: tuple[tuple[str, str], ...]
    weight: float

    def statements(self, tree: ast.Module) -> set[SyntaxPath]:
        """Return the paths of the statements that have a gap or a hidden expression."""
        return {statement_path(tree, path) for path in (self.path, *self.hidden)}


def draw_gaps(challenge: Challenge, rng: Random) -> GapExercise | None:
    """Return the reference of a challenge with gaps, or None if it has too few places for gaps.

    Raises:
        PackError: If the files of the challenge cannot be read.
    """
    return gaps_in(pack_reader.solution(challenge), read_mistakes(challenge), rng)


def gaps_in(source: str, mistakes: Sequence[Mistake], rng: Random) -> GapExercise | None:
    """Return a reference with gaps, or None if it has too few places for gaps.

    Args:
        source: The text of the reference.
        mistakes: Its known mistakes.
        rng: The random number generator.

    Raises:
        PackError: If a mistake does not fit the reference.
    """
    text = strip_comments(source)
    tree = ast.parse(text)
    chosen = _chosen(tree, _candidates(text, tree, source, mistakes), rng)
    if len(chosen) < FEWEST:
        return None
    names = {candidate.path: f"____{number}" for number, candidate in enumerate(chosen, start=1)}
    names |= {path: "____" for candidate in chosen for path in candidate.hidden}
    lines = _with_gaps(text, tree, names)
    gaps = tuple(_gap(text, tree, lines, candidate, names[candidate.path]) for candidate in chosen)
    shown = [lines[number - 1] if number else "" for number in _shown(tree, names)]
    return GapExercise("\n".join(shown).strip("\n"), gaps)


def rating(right: int, count: int) -> int:
    """Return the rating of an exercise: 3 (good), 2 (hard) or 1 (again), never 4 (easy)."""
    wrong = count - right
    return 3 if wrong == 0 else 2 if wrong == 1 else 1


def judge_gap(gap: Gap, given: str) -> JudgedGap:
    """Return whether an answer is certainly right or certainly wrong.

    The code of the reference is right, and a known mistake is wrong. Both may be written in the
    other ways that `same_code` knows. `?` means "not known" and is wrong.

    Args:
        gap: The gap.
        given: The text that the learner typed: the expression, or its whole statement.
    """
    text = given.strip().strip("`").strip()
    if text == "?":
        return JudgedGap("wrong")
    value = _value(text)
    if value is None:
        return JudgedGap("not understood", "Type the Python code that stands in the gap.")
    if same_code(value, gap.right) or same_code(text, gap.whole):
        return JudgedGap("right")
    for code, says in gap.mistakes:
        if same_code(value, code):
            return JudgedGap("wrong", says)
    return JudgedGap("undecided")


def _value(text: str) -> str | None:
    """Return the code of an expression or of an assigned value, or None for other text."""
    if not text or len(text) > _LONGEST_ANSWER:
        return None
    try:
        body = parsed(text).body
        if len(body) != 1 or not isinstance(body[0], ast.Assign | ast.Expr | ast.Return):
            return None
        return None if body[0].value is None else ast.unparse(body[0].value)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _candidates(
    text: str, tree: ast.Module, source: str, mistakes: Sequence[Mistake]
) -> list[_Candidate]:
    """Return the expressions that single mistakes change. Mistakes that nobody makes choose none.

    All mistakes are wrong answers.
    """
    fair = {mistake.id for mistake in fair_mistakes(mistakes, source)}
    places: Counter[SyntaxPath] = Counter()
    changes: list[tuple[SyntaxPath, ast.Module | None, str]] = []
    for mistake in mistakes:
        wrong = ast.parse(patch(source, mistake, f"mistake {mistake.id!r}"))
        found = changed_expression(text, tree, wrong)
        if found is not None:
            path, expression = found
            changes.append((path, None if expression is None else wrong, mistake.says))
            places[path] += mistake.id in fair
    candidates = []
    unnamed = without_names(tree)
    for path, count in (+places).items():
        hidden = shows_same(tree, unnamed, path)
        if hidden is None or len(hidden) > _MOST_HIDDEN or not _fits(text, node_at(tree, path)):
            continue
        inside = tuple(
            (ast.unparse(node_at(wrong, path)), says)
            for changed, wrong, says in changes
            if wrong is not None and changed[: len(path)] == path
        )
        weight = count * _telling(tree, path)
        candidates.append(_Candidate(path, tuple(hidden), inside, weight))
    return candidates


def _telling(tree: ast.Module, path: SyntaxPath) -> float:
    """Return how much an expression tells about the learner: names and refusals tell little."""
    statement = node_at(tree, statement_path(tree, path))
    if isinstance(statement, ast.If) and isinstance(statement.body[0], ast.Raise):
        return 0.25
    node = node_at(tree, path)
    return 0.05 if is_common(node) and not _is_number(node) else 1.0


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant | ast.UnaryOp)


def _fits(text: str, node: ast.AST) -> bool:
    """Return whether an expression is on a line, and short enough to write from memory."""
    segment = ast.get_source_segment(text, node) or ""
    return 0 < len(segment) <= _LONGEST and "\n" not in segment


def _chosen(tree: ast.Module, candidates: Sequence[_Candidate], rng: Random) -> list[_Candidate]:
    """Choose gaps in different statements, in the order of the code.

    A place with many known mistakes is more likely.
    """
    count = rng.randint(FEWEST, MOST)
    drawn = [(rng.random() ** (1 / candidate.weight), candidate) for candidate in candidates]
    chosen: list[_Candidate] = []
    used: set[SyntaxPath] = set()
    for _, candidate in sorted(drawn, key=lambda pair: -pair[0]):
        statements = candidate.statements(tree)
        if len(chosen) < count and not used & statements:
            chosen.append(candidate)
            used |= statements
    return sorted(chosen, key=lambda candidate: _position(node_at(tree, candidate.path)))


def _position(node: ast.AST) -> tuple[int, int, int]:
    """Return the line number of an expression, its first byte in the line, and the byte after."""
    assert isinstance(node, ast.expr)
    return node.lineno, node.col_offset, node.end_col_offset or node.col_offset


def _with_gaps(text: str, tree: ast.Module, names: Mapping[SyntaxPath, str]) -> list[str]:
    """Return the lines of a text in which these expressions are replaced by names of gaps."""
    lines = [line.encode() for line in text.splitlines()]
    places = [(*_position(node_at(tree, path)), name) for path, name in names.items()]
    for line_number, first, end, name in sorted(places, reverse=True):
        line = lines[line_number - 1]
        lines[line_number - 1] = line[:first] + name.encode() + line[end:]
    return [line.decode() for line in lines]


def _gap(
    text: str, tree: ast.Module, lines: Sequence[str], candidate: _Candidate, name: str
) -> Gap:
    node = node_at(tree, candidate.path)
    statement = node_at(tree, statement_path(tree, candidate.path))
    is_block = hasattr(statement, "body")
    return Gap(
        name,
        ast.get_source_segment(text, node) or "",
        lines[_position(node)[0] - 1].strip(),
        "" if is_block else ast.unparse(statement),
        candidate.mistakes,
    )


def _shown(tree: ast.Module, paths: Collection[SyntaxPath]) -> Iterator[int]:
    """Yield the line numbers of the functions and methods with gaps, and of their classes' heads.

    0 is an empty line.
    """
    for index in sorted({path[0][1] or 0 for path in paths}):
        node = tree.body[index]
        if not isinstance(node, ast.ClassDef):
            yield from (*_lines_of(node), 0)
            continue
        has_docstring = ast.get_docstring(node) is not None
        yield from range(
            _lines_of(node).start,
            ((node.body[0].end_lineno or 0) if has_docstring else node.lineno) + 1,
        )
        inside = {path[1][1] or 0 for path in paths if path[0][1] == index}
        for member in sorted(inside):
            yield from (0, *_lines_of(node.body[member]))
        yield 0


def _lines_of(node: ast.stmt) -> range:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (node.end_lineno or node.lineno) + 1)
