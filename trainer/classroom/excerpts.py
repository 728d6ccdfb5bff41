"""A few lines of somebody's code that may be shown to a whole class: nothing in them says whose they are."""

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
    """The words by which a name is recognised: `Doe_JaneMary.17` gives doe, jane, mary, janemary. Numbers count from four digits on."""
    whole = [word for word in re.split(r"[\W_]+", name) if word]
    found = {part.casefold() for word in whole for part in [word, *_WORD.findall(word)]}
    return frozenset(
        word
        for word in found
        if (
            len(word) >= 4
            if word.isdigit()
            else len(word) >= shortest or (len(word) > 1 and not word.isascii())
        )
    )


def anonymous(excerpt: Excerpt, names: Set[str]) -> Excerpt | None:
    """The excerpt without comments, strings, long numbers and identifiers that contain one of these words; `…` stands in their place.

    Strings that are a pattern of axes or an infinity stay. Lines that are no whole piece of Python, such as the rest of a docstring,
    are left out; where nothing is sure the answer is None.
    """
    here = excerpt.marked - excerpt.first
    if not 0 <= here < len(excerpt.lines) or any(
        len(line) > _LONGEST_LINE for line in excerpt.lines
    ):
        return None
    lines = [line.expandtabs(4).rstrip() for line in excerpt.lines]
    for start, end in _ranges(len(lines), here):
        if _is_python(lines[start:end]):
            cleaned = _cleaned(lines[start:end], names)
            break
    else:
        start, cleaned = here, [_cut(lines[here], names)]
    marked = here - start
    if not cleaned[marked].strip(f' "{HIDDEN}'):
        return None
    first = next(number for number, line in enumerate(cleaned) if line)
    last = max(number for number, line in enumerate(cleaned) if line)
    shown = textwrap.dedent("\n".join(cleaned[first : last + 1])).split("\n")
    return Excerpt(first=excerpt.first + start + first, marked=excerpt.marked, lines=tuple(shown))


def hidden(excerpt: Excerpt) -> int:
    """In how many places something was taken out."""
    return sum(line.count(HIDDEN) for line in excerpt.lines)


def _ranges(count: int, here: int) -> list[tuple[int, int]]:
    """All stretches of lines around this one, the longest first."""
    starts, ends = (
        range(max(0, here - _AROUND), here + 1),
        range(here + 1, min(count, here + 1 + _AROUND) + 1),
    )
    return sorted(
        ((start, end) for start in starts for end in ends),
        key=lambda one: (one[0] - one[1], one[0]),
    )


def _is_python(lines: list[str]) -> bool:
    """Whether these lines can be read by themselves: only then is it sure what is a string in them."""
    text = textwrap.dedent("\n".join(lines))
    last = text.split("\n")[-1]
    body = " " * (len(last) - len(last.lstrip()) + 4) + "pass"
    return _parses(text) or (last.endswith(":") and _parses(f"{text}\n{body}"))


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in somebody's strings
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _cut(line: str, names: Set[str]) -> str:
    """A line that begins a longer statement or goes on with one; nothing where it may be no code at all."""
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
    kept = line[:end]
    begun = "".join({")": "_(", "]": "[", "}": "{"}[one] for one in reversed(closed))
    whole = begun + kept.strip() + "".join(_CLOSES[one] for one in reversed(opened))
    return _cleaned([kept], names)[0] if _is_python([whole]) else ""


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens up to the first place that is none."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.ERRORTOKEN:
                return
            yield token
    except (tokenize.TokenError, SyntaxError):
        return


def _cleaned(lines: list[str], names: Set[str]) -> list[str]:
    """The lines with everything replaced that could name somebody. Lines that hold nothing else become empty."""
    source = textwrap.dedent("\n".join(lines))
    text = source.split("\n")
    spans: list[tuple[tuple[int, int], tuple[int, int], str]] = []
    depth, opened = 0, (0, 0)
    for token in _tokens(source):
        kind = tokenize.tok_name[token.type]
        if kind in (
            "FSTRING_START",
            "TSTRING_START",
        ):  # from Python 3.12 on, a formatted string is many tokens
            opened = opened if depth else token.start
            depth += 1
        elif kind in ("FSTRING_END", "TSTRING_END"):
            depth -= 1
            if not depth:
                spans.append((opened, token.end, f'"{HIDDEN}"'))
        elif not depth and (instead := _instead(token, names)) is not None:
            spans.append((token.start, token.end, instead))
    for (row, column), (end_row, end_column), instead in sorted(spans, reverse=True):
        rest = text[end_row - 1][end_column:]
        text[row - 1] = (
            text[row - 1][:column] + instead + (rest if row == end_row else "")
        ).rstrip()
        if row != end_row:
            text[row:end_row] = [""] * (end_row - row - 1) + [rest]
    return [line if line.strip(f' "{HIDDEN}') else "" for line in text]


def _instead(token: tokenize.TokenInfo, names: Set[str]) -> str | None:
    """What is shown in place of this token; None where it may be seen."""
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
        whole = token.string.casefold()
        named = name_words(token.string, 2) & names or any(
            len(name) >= 4 and name in whole for name in names
        )
        return HIDDEN if named else None
    return None
