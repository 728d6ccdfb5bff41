"""Make excerpts of a student's code anonymous, so that a whole class may see them."""

from __future__ import annotations

import ast
import io
import keyword
import re
import textwrap
import tokenize
import warnings
from collections.abc import Iterator, Set

from trainer.classroom.records import Excerpt

HIDDEN = "…"
_AROUND, _LONGEST_LINE = 6, 400
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+")
# Strings that are part of the computation: "bqhd,bkhd->bhqk", "b (h d) l -> b h l d", "-inf".
_PATTERN = re.compile(r"([\"'])(?:[-+]?inf|nan|[A-Za-z0-9 .,()]*->[A-Za-z0-9 .,()]*)\1")


def name_words(name: str, shortest: int = 3) -> frozenset[str]:
    """Return the words that identify a student in a text.

    `Doe_JaneMary.17` gives doe, jane, mary and janemary.

    Args:
        name: the name of the student.
        shortest: the fewest characters of a word. Words with letters outside ASCII need two
            characters, and numbers need four digits.
    """
    whole = [word for word in re.split(r"[\W_]+", name) if word]
    words = {part.casefold() for word in whole for part in [word, *_WORD.findall(word)]}
    return frozenset(
        word
        for word in words
        if (
            len(word) >= 4
            if word.isdigit()
            else len(word) >= shortest or (len(word) > 1 and not word.isascii())
        )
    )


def identifies(word: str, names: Set[str]) -> bool:
    """Return whether a word contains a word of a student's name.

    Args:
        word: a word without blanks, for example an identifier.
        names: words of students' names, from `name_words`.
    """
    whole = word.casefold()
    return bool(name_words(word, 2) & names) or any(
        len(name) >= 4 and name in whole for name in names
    )


def anonymised(excerpt: Excerpt, names: Set[str]) -> Excerpt | None:
    """Return an excerpt that does not identify its author, or None if that is not possible.

    Remove comments. Replace strings, long numbers, and identifiers that contain one of the words
    in `names` by `…`. Keep strings that are a pattern of axes or an infinity. Leave out lines that
    cannot be parsed, for example the end of a docstring.

    Args:
        excerpt: lines of a submission with a marked line.
        names: words of students' names, from `name_words`.
    """
    marked_index = excerpt.marked - excerpt.first
    if not 0 <= marked_index < len(excerpt.lines) or any(
        len(line) > _LONGEST_LINE for line in excerpt.lines
    ):
        return None
    lines = [line.expandtabs(4).rstrip() for line in excerpt.lines]
    for start, end in _ranges(len(lines), marked_index):
        if _is_python(lines[start:end]):
            cleaned = _cleaned(lines[start:end], names)
            break
    else:
        start, cleaned = marked_index, [_cut(lines[marked_index], names)]
    marked = marked_index - start
    if not cleaned[marked].strip(f' "{HIDDEN}'):
        return None
    first = next(index for index, line in enumerate(cleaned) if line)
    last = max(index for index, line in enumerate(cleaned) if line)
    shown = textwrap.dedent("\n".join(cleaned[first : last + 1])).split("\n")
    return Excerpt(first=excerpt.first + start + first, marked=excerpt.marked, lines=tuple(shown))


def hidden_count(excerpt: Excerpt) -> int:
    """Return how many places of an excerpt are replaced by `…`."""
    return sum(line.count(HIDDEN) for line in excerpt.lines)


def _ranges(count: int, index: int) -> list[tuple[int, int]]:
    """Return all ranges of lines that contain the line at this index, the longest first."""
    starts, ends = (
        range(max(0, index - _AROUND), index + 1),
        range(index + 1, min(count, index + 1 + _AROUND) + 1),
    )
    return sorted(
        ((start, end) for start in starts for end in ends),
        key=lambda limits: (limits[0] - limits[1], limits[0]),
    )


def _is_python(lines: list[str]) -> bool:
    """Return whether these lines parse without their context.

    Only then it is certain which parts of the lines are strings.
    """
    text = textwrap.dedent("\n".join(lines))
    last = text.split("\n")[-1]
    body = " " * (len(last) - len(last.lstrip()) + 4) + "pass"
    return _parses(text) or (last.endswith(":") and _parses(f"{text}\n{body}"))


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a student's strings may have invalid escapes
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _cut(line: str, names: Set[str]) -> str:
    """Return a cleaned line that is a part of a longer statement.

    Return "" if the line may be text instead of code.
    """
    if '"""' in line or "'''" in line:
        return ""
    end, opened, closed = 0, "", ""
    for token in _tokens(line):
        end = (
            token.end[1]
            if token.start[0] == 1 and token.type != tokenize.COMMENT and token.string.strip()
            else end
        )
        if token.string in _CLOSES:
            opened += token.string
        elif token.string in _CLOSES.values():
            opened, closed = (opened[:-1], closed) if opened else (opened, closed + token.string)
    code = line[:end]
    begun = "".join({")": "_(", "]": "[", "}": "{"}[bracket] for bracket in reversed(closed))
    whole = begun + code.strip() + "".join(_CLOSES[bracket] for bracket in reversed(opened))
    return _cleaned([code], names)[0] if _is_python([whole]) else ""


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens up to the first place that cannot be read."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.ERRORTOKEN:
                return
            yield token
    except (tokenize.TokenError, SyntaxError):
        return


def _cleaned(lines: list[str], names: Set[str]) -> list[str]:
    """Return the lines with everything replaced that could identify a person.

    Lines that hold nothing else become empty.
    """
    source = textwrap.dedent("\n".join(lines))
    text = source.split("\n")
    spans: list[tuple[tuple[int, int], tuple[int, int], str]] = []
    depth, opened = 0, (0, 0)
    for token in _tokens(source):
        kind = tokenize.tok_name[token.type]
        if kind in ("FSTRING_START", "TSTRING_START"):
            # Since Python 3.12, a formatted string consists of many tokens.
            opened = opened if depth else token.start
            depth += 1
        elif kind in ("FSTRING_END", "TSTRING_END"):
            depth -= 1
            if not depth:
                spans.append((opened, token.end, f'"{HIDDEN}"'))
        elif not depth and (replacement := _replacement(token, names)) is not None:
            spans.append((token.start, token.end, replacement))
    for (row, column), (end_row, end_column), replacement in sorted(spans, reverse=True):
        rest = text[end_row - 1][end_column:]
        text[row - 1] = (
            text[row - 1][:column] + replacement + (rest if row == end_row else "")
        ).rstrip()
        if row != end_row:
            text[row:end_row] = [""] * (end_row - row - 1) + [rest]
    return [line if line.strip(f' "{HIDDEN}') else "" for line in text]


def _replacement(token: tokenize.TokenInfo, names: Set[str]) -> str | None:
    """Return the text that replaces a token, or None if the token may be shown."""
    if token.type == tokenize.COMMENT:
        return ""
    if token.type == tokenize.STRING:
        inside = name_words(token.string, 2)
        return None if _PATTERN.fullmatch(token.string) and not inside & names else f'"{HIDDEN}"'
    if token.type == tokenize.NUMBER:
        digits = token.string.replace("_", "")
        long = digits.isdigit() and len(digits) >= 6 and len(digits.strip("0")) > 1
        return HIDDEN if long or digits in names else None
    if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
        return HIDDEN if identifies(token.string, names) else None
    return None
