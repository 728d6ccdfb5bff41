"""Plant one or two known mistakes in a reference, for the learner to find and repair.

Nothing in the handed-out text may show where the mistakes are. So these parts are removed:

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
import time
import tokenize
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import (
    fit_together,
    patch,
    patch_all,
    read_mistakes,
    statements_of,
)
from attn_drill.practice.facts import Hunted
from attn_drill.practice.journal import Journal
from attn_drill.practice.learner_files import write_afresh

_TWO = 1 / 3  # the share of hunts with two mistakes
_MOST_CHOICES = 60  # of several mistakes, until no mistake hides another


@dataclass(frozen=True)
class Change:
    """A block of lines that differs between two texts. Either block of lines may be empty.

    `first` and `first_now` are the line numbers of the block in the two texts, from 1.
    """

    first: int
    was: tuple[str, ...]
    first_now: int
    now: tuple[str, ...]


@dataclass(frozen=True)
class BrokenReference:
    """A reference with mistakes and without comments."""

    source: str
    # The line numbers that are wrong, from 1. If lines are missing, the numbers of the lines
    # before and after the gap.
    changed: tuple[int, ...]
    missing: bool


def fair_mistakes(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Return the mistakes that a person would write; all mistakes if each one is contrived."""
    return [mistake for mistake in mistakes if not mistake.contrived] or list(mistakes)


def choose_mistakes(
    mistakes: Sequence[Mistake], source: str, last: Collection[str], rng: Random
) -> tuple[Mistake, ...]:
    """Choose one mistake, or in a third of the hunts two mistakes in different statements.

    Return them in the order of their lines. The mistakes of the last hunt, with the ids `last`, are
    not chosen again if there is another choice.
    """
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
) -> Iterator[tuple[Mistake, ...]]:
    """Yield choices of `count` mistakes, no two in one statement, in a random order.

    The mistakes of a choice are in the order of their lines. A choice may still have a mistake
    that hides another. The mistakes with the ids `last` come only if there is no other choice.
    """
    pool = [mistake for mistake in fair_mistakes(mistakes) if source.count(mistake.was) == 1]
    places = {mistake.id: statements_of(source, mistake) for mistake in pool}
    for _ in range(_MOST_CHOICES):
        chosen: list[Mistake] = []
        taken: set[int] = set()
        for mistake in sorted(rng.sample(pool, len(pool)), key=lambda mistake: mistake.id in last):
            if len(chosen) == count:
                break
            if not taken & places[mistake.id]:
                chosen.append(mistake)
                taken |= places[mistake.id]
        if len(chosen) == count and fit_together(source, chosen):
            yield tuple(sorted(chosen, key=lambda mistake: source.index(mistake.was)))


def strip_comments(source: str) -> str:
    """Remove comments, lines of spaces, and gaps that the formatter would close."""
    lines, protected = _lines_without_comments(source)
    stripped: list[str] = []
    gap = 0
    for line_number, line_before in enumerate(source.splitlines(), start=1):
        line = lines[line_number - 1]
        if not line and line_number not in protected:
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
    return [
        line if line_number in protected else line.rstrip()
        for line_number, line in enumerate(lines, start=1)
    ], protected


def changes(before: Sequence[str], after: Sequence[str]) -> Iterator[Change]:
    """Yield the blocks of lines that differ between two texts, in order. Ignore empty lines."""
    for kind, start, stop, start_now, stop_now in difflib.SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        was, now = tuple(before[start:stop]), tuple(after[start_now:stop_now])
        if kind != "equal" and any(line.strip() for line in (*was, *now)):
            yield Change(start + 1, was, start_now + 1, now)


def plant_mistakes(source: str, mistakes: Sequence[Mistake], where: str) -> BrokenReference:
    """Return the reference with these mistakes and without comments.

    Raises:
        PackError: If a mistake does not fit the reference. The message has the file `where`.
    """
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


def file_name(challenge: Challenge) -> str:
    """Return the name of the file to repair."""
    return f"{challenge.folder.name}_hunt.py"


def hunt_file_text(
    challenge: Challenge, mistakes: Sequence[Mistake], *, with_commands: bool = True
) -> str:
    """Return the text of the file to repair: the instructions, then the broken reference.

    An interview has keys in place of the commands that grade the file and that give up.
    """
    text = plant_mistakes(
        pack_reader.solution(challenge), mistakes, str(challenge.solutions / "mistakes.toml")
    ).source
    many, it = in_words(len(mistakes))
    commands = (
        f"    attn-drill check {challenge.id} {file_name(challenge)}    grades it",
        f"    attn-drill hunt {challenge.id} --reveal    gives up and shows what was wrong",
        "",
    )
    header = [
        f'"""Bug hunt: the reference of {challenge.id} with {many} in it. Find and repair {it}.',
        "",
        *(commands if with_commands else ()),
        *(
            line.replace("\\", "\\\\").replace('"""', r"\"\"\"")
            for line in first_paragraph(text).splitlines()
        ),
        '"""',
    ]
    return "\n".join(header) + "\n" + without_docstring(text)


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


def in_words(count: int) -> tuple[str, str]:
    """Return the number of mistakes in words, and the pronoun for them."""
    words = ("one mistake", "two mistakes", "three mistakes", "four mistakes", "five mistakes")
    return words[count - 1], "it" if count == 1 else "them"


def first_paragraph(source: str) -> str:
    """Return the first paragraph of a module's docstring."""
    return (ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0].strip()


def mistakes_by_ids(challenge: Challenge, ids: Sequence[str]) -> tuple[Mistake, ...] | None:
    """Return the mistakes with these ids, or None if the pack no longer has all of them."""
    by_id = {mistake.id: mistake for mistake in read_mistakes(challenge)}
    if all(mistake_id in by_id for mistake_id in ids):
        return tuple(by_id[mistake_id] for mistake_id in ids)
    return None


def reference_changes(source: str, mistake: Mistake, where: str) -> tuple[Change, ...]:
    """Return the lines of the reference that a mistake changes, without comments.

    `Change.first` is the line number in the reference. An error message has the file `where`.
    """
    before, _ = _lines_without_comments(source)
    after, _ = _lines_without_comments(patch(source, mistake, where))
    return tuple(changes(before, after))


def write_hunt(
    challenge: Challenge, mistakes: Sequence[Mistake], folder: Path, journal: Journal
) -> tuple[Path, Path | None]:
    """Write the reference with mistakes into a folder, and record the hunt.

    Return the path of the file, and the new name of the old file if it has the learner's work.
    """
    path = folder / file_name(challenge)
    last = journal.last(Hunted, subject=challenge.id)
    old_file = write_afresh(path, hunt_file_text(challenge, mistakes))
    if old_file and last and _is_untouched(challenge, old_file, last.mistakes):
        with contextlib.suppress(OSError):
            old_file.unlink()
            old_file = None
    ids = tuple(mistake.id for mistake in mistakes)
    journal.add(Hunted(challenge.id, time.time(), mistakes=ids, path=str(path.resolve())))
    return path, old_file


def _is_untouched(challenge: Challenge, path: Path, ids: Sequence[str]) -> bool:
    """Return whether a file is still the file that was handed out."""
    mistakes = mistakes_by_ids(challenge, ids)
    try:
        return (
            mistakes is not None
            and path.read_bytes() == hunt_file_text(challenge, mistakes).encode()
        )
    except OSError:
        return False
