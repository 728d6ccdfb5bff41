"""Bug hunts: a reference with one or two of its known mistakes in it, for the learner to find and repair.

Nothing in the handed-out text may tell where they are. So all comments go, of the whole file: one beside a wrong line would tell what is right there,
and a function without any among others that have some would tell as much. So do the spaces and empty lines that a taken-out line leaves behind, and
of the module's docstring all but its first paragraph, for below it stand the formulas. The docstrings of classes and functions say what
is asked (shapes, types) and stay.
"""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from trainer.model.challenge import Challenge, Mistake
from trainer.model.errors import PackError
from trainer.packs import pack_reader
from trainer.packs.mistakes import lines_of, patch, patch_all, read_mistakes

_TWO = 1 / 3  # the share of hunts with two mistakes
_CONSTANT_TEST = re.compile(r"\b(if|while) (True|False)\b")  # who reads the file sees it at once


@dataclass(frozen=True)
class Change:
    """Lines of a text and what stands in another in their place; either may be none. `first`, `first_now`: their first line's number, from 1."""

    first: int
    was: tuple[str, ...]
    first_now: int
    now: tuple[str, ...]


@dataclass(frozen=True)
class Broken:
    """A reference with mistakes in it, without comments.

    source    the text
    changed   the numbers of its lines, from 1, that are wrong; where lines are missing, those before and after the gap
    missing   whether lines are missing somewhere
    """

    source: str
    changed: tuple[int, ...]
    missing: bool


def fair(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """The mistakes that have to be looked for: not those that put `if False:` in place of a condition."""
    return [one for one in mistakes if not _CONSTANT_TEST.search(one.now)]


def choose(
    mistakes: Sequence[Mistake], source: str, last: Collection[str], rng: Random
) -> tuple[Mistake, ...]:
    """One mistake of the reference or, in a third of the hunts, two on different lines; in the order of their places.

    Args:
        mistakes: those of the challenge, at least one.
        source: the reference.
        last: ids of the mistakes of the last hunt, which are not chosen together again where there are others.
    """
    pool = fair(mistakes) or list(mistakes)
    if rng.random() < _TWO:
        first = rng.choice(pool)
        for other in rng.sample(pool, len(pool)):
            if {first.id, other.id} != set(last) and apart(source, first, other):
                return tuple(sorted((first, other), key=lambda one: source.index(one.was)))
    return (rng.choice([one for one in pool if {one.id} != set(last)] or pool),)


def apart(source: str, one: Mistake, other: Mistake) -> bool:
    """Whether two mistakes lie on different lines of the reference and can be made together."""
    if set(lines_of(source, one)) & set(lines_of(source, other)):
        return False
    try:
        patch_all(source, (one, other), "")
    except PackError:
        return False
    return True


def bare(source: str) -> str:
    """The text without comments, lines of spaces, and gaps wider than the formatter leaves."""
    lines, protected = _without_comments(source)
    before = source.splitlines()
    numbered = [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if line or number in protected or not before[number - 1]
    ]
    found: list[str] = []
    gap = 0
    for number, line in numbered:
        if not line and number not in protected:
            gap += 1
            continue
        most = (
            0 if not found or found[-1].endswith(":") else 1 if line.startswith((" ", ")")) else 2
        )
        found += [""] * min(gap, most) + [line]
        gap = 0
    return "\n".join(found) + "\n"


def _without_comments(source: str) -> tuple[list[str], set[int]]:
    """Every line without its comment and the spaces at its end; and the numbers of those that belong to a text of several lines, which stay as they are."""
    lines = source.splitlines()
    protected: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        (row, column), (last, _) = token.start, token.end
        if token.type == tokenize.COMMENT:
            lines[row - 1] = lines[row - 1][:column]
        elif last > row and token.type not in (tokenize.NEWLINE, tokenize.NL):
            protected |= set(range(row, last + 1))
    return [
        line if number in protected else line.rstrip() for number, line in enumerate(lines, start=1)
    ], protected


def changes(before: Sequence[str], after: Sequence[str]) -> Iterator[Change]:
    """Where two texts differ, line by line and in order; empty lines are no difference."""
    for kind, start, stop, start_now, stop_now in difflib.SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        was, now = tuple(before[start:stop]), tuple(after[start_now:stop_now])
        if kind != "equal" and any(line.strip() for line in (*was, *now)):
            yield Change(start + 1, was, start_now + 1, now)


def broken(source: str, mistakes: Sequence[Mistake], where: str) -> Broken:
    """The reference with these mistakes in it and without comments.

    Raises:
        PackError: as `patch_all`.
    """
    text = bare(patch_all(source, mistakes, where))
    lines = text.splitlines()
    wrong: set[int] = set()
    missing = False
    for change in changes(bare(source).splitlines(), lines):
        if any(line.strip() for line in change.now):
            wrong |= {
                change.first_now + index for index, line in enumerate(change.now) if line.strip()
            }
            continue
        missing = True
        for beside in (range(change.first_now - 1, 0, -1), range(change.first_now, len(lines) + 1)):
            wrong |= set([number for number in beside if lines[number - 1].strip()][:1])
    return Broken(text, tuple(sorted(wrong)), missing)


def file_name(challenge: Challenge) -> str:
    """The name of the file to repair."""
    return f"{challenge.folder.name}_hunt.py"


def handed_out(challenge: Challenge, mistakes: Sequence[Mistake]) -> str:
    """The text of the file to repair: what to do, then the broken reference."""
    found = broken(
        pack_reader.solution(challenge), mistakes, str(challenge.solutions / "mistakes.toml")
    ).source
    many, it = ("one mistake", "it") if len(mistakes) == 1 else ("two mistakes", "them")
    header = [
        f'"""Bug hunt: the reference of {challenge.id} with {many} in it. Find {it} and repair {it} in this file.',
        "",
        f"    attn-drill hunt {challenge.id} --check     grades it; once it passes you are told what was wrong",
        f"    attn-drill hunt {challenge.id} --reveal    gives up and tells",
        "",
        *(
            line.replace("\\", "\\\\").replace('"""', r"\"\"\"")
            for line in what_it_is(found).splitlines()
        ),
        '"""',
    ]
    tree = ast.parse(found)
    lines = found.splitlines()
    if ast.get_docstring(tree) is not None:
        lines = lines[tree.body[0].end_lineno :]
    return "\n".join([*header, *(["", ""] if lines and lines[0] else []), *lines]) + "\n"


def what_it_is(source: str) -> str:
    """The first paragraph of a module's docstring."""
    return (ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0].strip()


def by_ids(challenge: Challenge, ids: Sequence[str]) -> tuple[Mistake, ...] | None:
    """The mistakes with these ids, or None where the pack no longer has one of them."""
    known = {one.id: one for one in read_mistakes(challenge)}
    return tuple(known[one] for one in ids) if all(one in known for one in ids) else None


def told(source: str, mistake: Mistake, where: str) -> tuple[Change, ...]:
    """The lines of the reference that a mistake changes, with the reference's line numbers; comments are left out."""
    before, _ = _without_comments(source)
    after, _ = _without_comments(patch(source, mistake, where))
    return tuple(changes(before, after))
