"""Plant known mistakes in a reference, to find and repair, or leave gaps in it, to fill.

Nothing in a handed-out text may show where the mistakes are. So these parts are removed:

- all comments of the file. A comment next to a wrong line would show the right code. A function
  without comments among functions with comments would show where the mistake is.
- the spaces and empty lines that a removed line leaves behind.
- all paragraphs of the module's docstring except the first. The formulas are below the first.

The docstrings of classes and functions stay: they state the task (shapes, types).
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import io
import operator
import re
import time
import tokenize
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from random import Random

from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import fit_together, patch, patch_all, read_mistakes, statements_of
from attn_drill.practice.facts import Hunted
from attn_drill.practice.journal import Journal
from attn_drill.practice.learner_files import write_afresh

_TWO = 1 / 3  # the share of hunts with two mistakes
_MOST_CHOICES = 10  # of several mistakes, until one fits
# The longest text that is shown whole, so that it fits a small terminal.
_MOST_LINES = 26
FEWEST, MOST = 3, 5  # gaps
_LONGEST = 60  # characters of an expression that a learner can write from memory
# Other places that are hidden because they show the answer of a gap.
_MOST_HIDDEN = 3
# Smaller expressions, such as names and numbers, say too little about the learner.
_WORTH_ASKING = (ast.Call, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript)
# The names of variables and of attributes of `self`, but not of functions and of keywords.
_NAME = re.compile(r"(?<![\w.])(?:self\.\w+|[A-Za-z_]\w*(?![\w(=]))")


@dataclass(frozen=True)
class Change:
    """A block of lines that differs between two texts. Either block of lines may be empty."""

    first: int  # the number of the block's first line, from 1
    was: tuple[str, ...]
    first_now: int
    now: tuple[str, ...]


def strip_comments(source: str) -> str:
    """Remove comments, lines of spaces, and gaps that the formatter would close."""
    lines, protected = _lines_without_comments(source)
    stripped: list[str] = []
    gap = 0
    for number, line_before in enumerate(source.splitlines(), start=1):
        line = lines[number - 1]
        if not line and number not in protected:
            gap += not line_before  # the line of a comment leaves no gap
            continue
        most = 1 if line.startswith((" ", ")")) else 2
        if not stripped or stripped[-1].endswith(":"):
            most = 0
        stripped += [""] * min(gap, most) + [line]
        gap = 0
    return "\n".join(stripped) + "\n"


def _lines_without_comments(source: str) -> tuple[list[str], set[int]]:
    """Return lines without comments, and the line numbers of strings of several lines."""
    lines = source.splitlines()
    protected: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        (row, column), (last, _) = token.start, token.end
        if token.type == tokenize.COMMENT:
            lines[row - 1] = lines[row - 1][:column]
        elif last > row and token.type not in (tokenize.NEWLINE, tokenize.NL):
            protected |= set(range(row, last + 1))
    for number, line in enumerate(lines, start=1):
        lines[number - 1] = line if number in protected else line.rstrip()
    return lines, protected


def changes(before: Sequence[str], after: Sequence[str]) -> Iterator[Change]:
    """Yield the blocks of lines that differ between two texts, in order. Ignore empty lines."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, stop, start_now, stop_now in matcher.get_opcodes():
        was, now = tuple(before[start:stop]), tuple(after[start_now:stop_now])
        if kind != "equal" and any(line.strip() for line in (*was, *now)):
            yield Change(start + 1, was, start_now + 1, now)


def reference_changes(source: str, mistake: Mistake, where: str) -> tuple[Change, ...]:
    """Return the lines of the reference that a mistake changes, without comments."""
    before, _ = _lines_without_comments(source)
    after, _ = _lines_without_comments(patch(source, mistake, where))
    return tuple(changes(before, after))


def first_paragraph(source: str) -> str:
    """Return the first paragraph of a module's docstring."""
    return (ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0].strip()


def without_docstring(source: str) -> str:
    """Return a text without the module's docstring, with an empty line at its beginning."""
    lines = source.splitlines()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return source
    if ast.get_docstring(tree) is not None:
        lines = lines[tree.body[0].end_lineno :]
    return "\n".join([*(["", ""] if lines and lines[0] else []), *lines]) + "\n"


def excerpt(source: str, lines: Collection[int]) -> list[int]:
    """Return the line numbers to show, 0 for an empty line: the functions with these lines."""
    # If the code is short, or a line is in no function, all code from the first function or that
    # line is shown.
    defined = [
        node for node in ast.parse(source).body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    first = min([*lines, _lines_of(defined[0]).start if defined else 1])
    whole = list(range(first, len(source.splitlines()) + 1))
    if len(whole) <= _MOST_LINES:
        return whole
    shown: list[int] = []
    for node in defined:
        is_class = isinstance(node, ast.ClassDef)
        members = node.body if is_class else [node]
        parts = [_lines_of(part) for part in members if isinstance(part, ast.FunctionDef)]
        wanted = [part for part in parts if set(part) & set(lines)]
        if is_class and wanted:  # the head of a class stands above its methods
            has_docstring = ast.get_docstring(node) is not None
            end = (node.body[0].end_lineno or 0) if has_docstring else node.lineno
            wanted = [range(_lines_of(node).start, end + 1), *wanted]
        for part in wanted:
            shown += [*part, 0]
    return shown[:-1] if set(lines) <= set(shown) else whole


def _lines_of(node: ast.ClassDef | ast.FunctionDef) -> range:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return range(first, (node.end_lineno or node.lineno) + 1)


@dataclass(frozen=True)
class BrokenReference:
    """A reference with mistakes and without comments."""

    source: str
    changed: tuple[int, ...]  # the numbers of the wrong lines, or of those next to a missing line
    missing: bool


def plant_mistakes(source: str, mistakes: Sequence[Mistake], where: str) -> BrokenReference:
    """Return the reference with these mistakes and without comments. Messages name `where`."""
    text = strip_comments(patch_all(source, mistakes, where))
    lines = text.splitlines()
    nonempty = [number for number, line in enumerate(lines, start=1) if line.strip()]
    wrong: set[int] = set()
    missing = False
    for change in changes(strip_comments(source).splitlines(), lines):
        first, end = change.first_now, change.first_now + len(change.now)
        block = [number for number in nonempty if first <= number < end]
        if not block:
            missing = True
            above = [number for number in nonempty if number < first]
            below = [number for number in nonempty if number >= first]
            block = [*above[-1:], *below[:1]]
        wrong.update(block)
    return BrokenReference(text, tuple(sorted(wrong)), missing)


def fair_mistakes(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Return the mistakes that a person would write; all mistakes if each one is contrived."""
    return [mistake for mistake in mistakes if not mistake.contrived] or list(mistakes)


def choose_mistakes(
    mistakes: Sequence[Mistake], source: str, last: Collection[str], rng: Random
) -> tuple[Mistake, ...]:
    """Choose one mistake, or in a third of the hunts two, other than `last` if possible."""
    chosen = tuple(mistakes[:1])
    for count in (2, 1) if rng.random() < _TWO else (1,):
        for chosen in choose_several(mistakes, source, count, last, rng):
            if {mistake.id for mistake in chosen} != set(last):
                return chosen
    return chosen


def choose_several(
    mistakes: Sequence[Mistake],
    source: str,
    count: int,
    last: Collection[str],
    rng: Random,
    may_join: Callable[[Sequence[Mistake]], bool] = lambda chosen: True,
) -> Iterator[tuple[Mistake, ...]]:
    """Yield choices of `count` mistakes in the order of their lines, no two in one statement.

    Args:
        last: the ids of mistakes that come only if there are no others.
        may_join: whether the last of these mistakes fits to those before it: it may hide another.
    """
    pool = [mistake for mistake in fair_mistakes(mistakes) if source.count(mistake.was) == 1]
    places = {mistake.id: statements_of(source, mistake) for mistake in pool}
    for _ in range(_MOST_CHOICES):
        chosen: list[Mistake] = []
        taken: set[int] = set()
        for mistake in sorted(rng.sample(pool, len(pool)), key=lambda mistake: mistake.id in last):
            if len(chosen) == count:
                break
            if not taken & places[mistake.id] and may_join((*chosen, mistake)):
                chosen.append(mistake)
                taken |= places[mistake.id]
        if len(chosen) == count and fit_together(source, chosen):
            yield tuple(sorted(chosen, key=lambda mistake: source.index(mistake.was)))


def file_name(challenge: Challenge) -> str:
    """Return the name of the file to repair."""
    return f"{challenge.folder.name}_hunt.py"


def hunt_file_text(
    challenge: Challenge, mistakes: Sequence[Mistake], *, with_commands: bool = True
) -> str:
    """Return the text of the file to repair: the instructions, then the broken reference.

    An interview has keys in place of the commands that grade the file and that give up.
    """
    where = str(challenge.solutions / "mistakes.toml")
    text = plant_mistakes(pack_reader.solution(challenge), mistakes, where).source
    many, it = in_words(len(mistakes))
    task = first_paragraph(text).replace("\\", "\\\\").replace('"""', r"\"\"\"")
    lines = [
        f'"""Bug hunt: the reference of {challenge.id} with {many} in it. Find and repair {it}.',
        "",
    ]
    if with_commands:
        lines += [
            f"    attn-drill check {challenge.id} {file_name(challenge)}    grades it",
            f"    attn-drill hunt {challenge.id} --reveal    gives up and shows what was wrong",
            "",
        ]
    return "\n".join([*lines, task, '"""', without_docstring(text)])


def in_words(count: int) -> tuple[str, str]:
    """Return the number of mistakes in words, and the pronoun for them."""
    words = ("one mistake", "two mistakes", "three mistakes", "four mistakes", "five mistakes")
    return words[count - 1], "it" if count == 1 else "them"


def mistakes_by_ids(challenge: Challenge, ids: Sequence[str]) -> tuple[Mistake, ...] | None:
    """Return the mistakes with these ids, or None if the pack no longer has all of them."""
    by_id = {mistake.id: mistake for mistake in read_mistakes(challenge)}
    if all(mistake_id in by_id for mistake_id in ids):
        return tuple(by_id[mistake_id] for mistake_id in ids)
    return None


def write_hunt(
    challenge: Challenge, mistakes: Sequence[Mistake], folder: Path, journal: Journal
) -> tuple[Path, Path | None]:
    """Write the reference with mistakes into a folder, and record the hunt.

    Return the path of the file, and the new path of the old file if it has the learner's work.
    """
    path = folder / file_name(challenge)
    last = journal.last(Hunted, subject=challenge.id)
    old_file = write_afresh(path, hunt_file_text(challenge, mistakes))
    handed_out = mistakes_by_ids(challenge, last.mistakes) if old_file and last else None
    if old_file and handed_out is not None:
        with contextlib.suppress(OSError):
            if old_file.read_bytes() == hunt_file_text(challenge, handed_out).encode():
                old_file.unlink()
                old_file = None
    ids = tuple(mistake.id for mistake in mistakes)
    journal.add(Hunted(challenge.id, time.time(), mistakes=ids, path=str(path.resolve())))
    return path, old_file


@dataclass(frozen=True)
class Gap:
    """An expression of a reference on one line."""

    right: str  # the code of the reference
    line: int  # from 1
    start: int  # the first byte of the expression in the line
    end: int  # the byte after the expression

    def filled(self, source: str, code: str) -> str:
        lines = source.split("\n")
        line = lines[self.line - 1].encode()
        lines[self.line - 1] = (line[: self.start] + code.encode() + line[self.end :]).decode()
        return "\n".join(lines)


@dataclass(frozen=True)
class GapExercise:
    """A reference with gaps, called `____1`, `____2` and so on.

    A gap `____` hides code that is like the answer of another gap.
    """

    code: str  # the functions and methods with gaps, without comments
    source: str  # the whole reference
    gaps: tuple[Gap, ...]  # in the order of the code


def gap_exercise(source: str, mistakes: Sequence[Mistake], rng: Random) -> GapExercise | None:
    """Return a reference with gaps where known mistakes are; None if it has too few places."""
    places = list(_places(source))
    count = rng.randint(FEWEST, MOST)
    chosen: list[Gap] = []
    hidden: list[Gap] = []
    fair = fair_mistakes(mistakes)
    for mistake in rng.sample(fair, len(fair)):
        if len(chosen) == count:
            break
        gap = _changed(places, source, mistake)
        if gap is None:
            continue
        # These places would show the answer.
        pattern = _pattern(gap.right)
        alike = [place for place in places if place != gap and _pattern(place.right) == pattern]
        lines = [place.line for place in (gap, *alike, *chosen, *hidden)]  # no line has two gaps
        if len(alike) <= _MOST_HIDDEN and len(set(lines)) == len(lines):
            chosen.append(gap)
            hidden += alike
    if len(chosen) < FEWEST:
        return None
    chosen.sort(key=lambda gap: gap.line)
    text = source
    for number, gap in enumerate(chosen, start=1):
        text = gap.filled(text, f"____{number}")
    for gap in hidden:
        text = gap.filled(text, "____")
    stripped = strip_comments(text)
    rows = ["", *stripped.splitlines()]
    with_gaps = [number for number, row in enumerate(rows) if "____" in row]
    code = "\n".join(rows[number] for number in excerpt(stripped, with_gaps))
    return GapExercise(code.strip("\n"), source, tuple(chosen))


def typed_expression(text: str) -> str | None:
    """Return the expression that a learner typed, or the value of a statement; None if none.

    >>> typed_expression("scores = q @ k")
    '(q @ k)'
    """
    try:
        with warnings.catch_warnings():  # Python warns of odd code such as `1()`
            warnings.simplefilter("ignore")
            (statement,) = ast.parse(text.strip().strip("`").strip()).body
        if isinstance(statement, ast.Assign | ast.Expr | ast.Return) and statement.value:
            # In one line and in parentheses, it cannot end the expression around it.
            return f"({ast.unparse(statement.value)})"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return None


def rating(right: int, count: int) -> int:
    """Return 3 (good), 2 (hard) or 1 (again), never 4 (easy).

    >>> [rating(right, 4) for right in (4, 3, 2, 0)]
    [3, 2, 1, 1]
    """
    return max(1, 3 - (count - right))


def _places(source: str) -> Iterator[Gap]:
    """Yield the expressions that may become gaps or show the answer of a gap."""
    tree = ast.parse(source)
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        is_refusal = isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)
        if isinstance(node, ast.FunctionDef):
            skipped |= set(ast.walk(node.args))  # the stub shows them
        # A refusal says little about the learner. Python 3.11 does not know the positions in an
        # f-string.
        elif is_refusal or isinstance(node, ast.JoinedStr):
            skipped |= set(ast.walk(node))
    for node in ast.walk(tree):
        if node in skipped or not isinstance(node, _WORTH_ASKING):
            continue
        is_target = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
        if node.lineno == node.end_lineno and not is_target:
            right = ast.get_source_segment(source, node) or ""
            yield Gap(right, node.lineno, node.col_offset, node.end_col_offset or 0)


def _changed(places: Sequence[Gap], source: str, mistake: Mistake) -> Gap | None:
    """Return the smallest expression that contains the change of a mistake."""
    changes = reference_changes(source, mistake, "mistakes.toml")
    if len(changes) != 1 or len(changes[0].was) != 1:
        return None
    line, was = changes[0].first, changes[0].was[0].encode()
    now = "\n".join(changes[0].now).encode()
    start = _common_start(was, now)
    end = len(was) - _common_start(was[start:][::-1], now[start:][::-1])
    gaps = [place for place in places if place.line == line and len(place.right) <= _LONGEST]
    around = [gap for gap in gaps if gap.start <= start and end <= gap.end]
    if around:
        return min(around, key=lambda gap: gap.end - gap.start)
    # For example, the line is missing. Then the longest expression of the line is the gap.
    return max(gaps, key=lambda gap: gap.end - gap.start, default=None)


def _common_start(first: bytes, second: bytes) -> int:
    """Return the number of equal bytes at the beginning."""
    return sum(takewhile(bool, map(operator.eq, first, second)))


def _pattern(code: str) -> str:
    """Return code without the names of its variables."""
    # Without names, `a * b` would be like any product.
    return _NAME.sub("_", code) if set("([") & set(code) else code
