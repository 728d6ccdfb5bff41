"""Find the line that has the text of a named mistake."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection
from difflib import SequenceMatcher

from attn_drill.model.challenge import Mistake
from attn_drill.packs.mistakes import lines_of, patch_all

_COMMENT = re.compile(r"\s*#.*$")


def is_omission(reference: str, mistake: Mistake) -> bool:
    """Return whether a mistake only leaves out operations of the reference."""
    right, wrong = _operations(reference), _operations(patch_all(reference, [mistake], ""))
    return wrong < right


def _operations(source: str) -> Counter[str]:
    """Count the operations of a file: calls by name, arithmetic, comparisons and slices."""
    found: Counter[str] = Counter()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(ast.Name("float") | ast.Attribute(ast.Name("math"))):
                continue  # a number
            case ast.Call():
                found[ast.unparse(node.func)] += 1
            case ast.BinOp() | ast.AugAssign():
                found[type(node.op).__name__] += 1
            case ast.Compare() | ast.Subscript():
                found[type(node).__name__] += 1
    return found


def line_by_text(
    reference: str, mistake: Mistake, source: str, *, is_planted: bool = False
) -> tuple[int, int] | None:
    """Return the first and the last line of a mistake in a file; None if its text is not there.

    Both are the same line, except for a line that a hunt left out. Then they are the lines before
    and after the gap, or the line before it twice if the gap is at the end of a block.

    Args:
        source: the text of the file.
        is_planted: whether a bug hunt put the mistake into the file. Then lines that were moved
            count too, and so do lines that were left out.
    """
    texts = reference, patch_all(reference, [mistake], ""), source
    right, wrong, own = map(_code_of, texts)
    places = _matched([text for _, text in wrong], [text for _, text in own])
    changes = _changes([text for _, text in right], [text for _, text in wrong])
    moved = {text.strip() for _, text in right}
    for tag, first_right, _, start, end in changes:
        if tag == "delete" and is_planted:
            before, after = places.get(start - 1), places.get(start)
            if before is not None and after == before + 1:
                is_in_block = _indent(own[after][1]) >= _indent(right[first_right][1])
                return own[before][0], own[after if is_in_block else before][0]
        for index in range(start, end):
            text = wrong[index][1].strip()
            may_be_elsewhere = text in moved or text.startswith("with ")
            if index in places and (is_planted or not may_be_elsewhere):
                return (own[places[index]][0],) * 2
    return None


def _code_of(source: str) -> list[tuple[int, str]]:
    """Return the lines with code, with their numbers, without comments at their ends."""
    numbered = enumerate((_COMMENT.sub("", line) for line in source.splitlines()), 1)
    return [(number, text) for number, text in numbered if text.strip()]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _changes(was: list[str], now: list[str]) -> list[tuple[str, int, int, int, int]]:
    found = SequenceMatcher(None, was, now, autojunk=False).get_opcodes()
    return [change for change in found if change[0] != "equal"]


def _matched(first: list[str], second: list[str]) -> dict[int, int]:
    """Return the index in the second list of each line of the first list that stayed."""
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return {block.a + offset: block.b + offset for block in blocks for offset in range(block.size)}


def patched_lines(reference: str, mistake: Mistake) -> Collection[int]:
    """Return the lines of the reference with a mistake that the mistake changed or added.

    If it only left lines out, the line after them is returned.
    """
    right, wrong = _code_of(reference), _code_of(patch_all(reference, [mistake], ""))
    changes = _changes([text for _, text in right], [text for _, text in wrong])
    added = [wrong[index] for *_, start, end in changes for index in range(start, end)]
    left = [right[index][1].strip() for _, start, end, *_ in changes for index in range(start, end)]
    new = {number for number, text in added if text.strip() not in left}
    return new or {number for number, _ in added} or {lines_of(reference, mistake).start}
