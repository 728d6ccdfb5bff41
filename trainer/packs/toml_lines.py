"""Find the lines of keys in the text of a TOML file, because tomllib gives no positions."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass

# The keys and the indices that lead to a value: ("challenge", 1, "weights", "masks").
KeyPath = tuple[str | int, ...]

_TOKEN = re.compile(
    r"""
    (?P<string>
        \"\"\" (?: [^"\\] | \\. | "(?!"") )*+ "{3,5}
      | ''' (?: [^'] | '(?!'') )*+ '{3,5}
      | " (?: [^"\\\n] | \\. )*+ "
      | ' [^'\n]*+ '
    )
  | (?P<skipped> [ \t\r]+ | \#[^\n]* )
  | (?P<mark> [\n\[\]{}.,=] )
  | (?P<word> [^\s\[\]{}.,=\#"']+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Span:
    """The lines of a key and its value, counted from 1. A table begins at its header."""

    first: int
    last: int


def spans(text: str) -> dict[KeyPath, Span]:
    """Return the lines of each key, of each element of an array and of each table.

    Args:
        text: valid TOML. For any other text, some lines may be missing or wrong.
    """
    finder = _LineFinder(text)
    with contextlib.suppress(RecursionError):  # nested too deeply: keep the lines found so far
        finder.read()
    return finder.spans


def line_of(text: str, path: KeyPath) -> int | None:
    """Return the line of a key, otherwise of the nearest table around it, or None."""
    found = spans(text)
    for length in range(len(path), 0, -1):
        if span := found.get(path[:length]):
            return span.first
    return None


@dataclass(frozen=True)
class _Token:
    text: str
    is_string: bool
    first: int
    last: int


_END = _Token("", False, 0, 0)


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    line = 1
    for match in _TOKEN.finditer(text):
        last = line + (match["string"] or "").count("\n")
        if match["skipped"] is None:
            tokens.append(_Token(match[0], match["string"] is not None, line, last))
        line = last + (match[0] == "\n")
    return tokens


class _LineFinder:
    """Reads the tokens of a file from the first to the last."""

    def __init__(self, text: str) -> None:
        self.spans: dict[KeyPath, Span] = {}
        self._tokens = _tokens(text)
        self._next = 0
        self._table_counts: dict[KeyPath, int] = defaultdict(int)  # of each [[table]]

    def read(self) -> None:
        table: KeyPath = ()
        while (token := self._peek()) is not _END:
            if token.text == "\n":
                self._take()
            elif token.text == "[":
                table = self._header()
            else:
                self._pair(table)
                self._extend(table)

    def _peek(self) -> _Token:
        return self._tokens[self._next] if self._next < len(self._tokens) else _END

    def _take(self) -> _Token:
        token = self._peek()
        self._next += 1
        return token

    def _header(self) -> KeyPath:
        """Read `[table]` or `[[table]]`, and return its path."""
        line = self._take().first
        is_repeated = self._peek().text == "["
        if is_repeated:
            self._take()
        table: KeyPath = ()
        keys = self._keys()
        for position, key in enumerate(keys, start=1):
            table = (*table, key)
            self.spans.setdefault(table, Span(line, line))
            if is_repeated and position == len(keys):
                self._table_counts[table] += 1
            if table in self._table_counts:
                table = (*table, self._table_counts[table] - 1)
        self.spans[table] = Span(line, line)
        while self._peek().text == "]":
            self._take()
        return table

    def _keys(self) -> list[str]:
        """Read a key with its dots: `a."b c".d`."""
        keys: list[str] = []
        while (token := self._peek()) is not _END and token.text not in ("=", "]", "\n"):
            self._take()
            if token.is_string:
                keys.append(_unquoted(token.text))
            elif token.text != ".":
                keys.append(token.text)
        return keys

    def _pair(self, table: KeyPath) -> None:
        """Read `key = value`."""
        line = self._peek().first
        keys = self._keys()
        self._take()  # the equals sign
        path = (*table, *keys)
        last = max(line, self._value(path))
        for length in range(len(table) + 1, len(path)):
            self.spans.setdefault(path[:length], Span(line, last))
        self.spans[path] = Span(line, last)

    def _value(self, path: KeyPath) -> int:
        """Read a value, and return its last line."""
        if self._peek().text == "{":
            return self._inline_table(path)
        if self._peek().text == "[":
            return self._array(path)
        last = 0
        while (token := self._peek()) is not _END and token.text not in ("\n", ",", "]", "}"):
            last = self._take().last
        return last

    def _inline_table(self, path: KeyPath) -> int:
        self._take()
        while (token := self._peek()) is not _END and token.text != "}":
            if token.text in ("\n", ","):
                self._take()
            else:
                self._pair(path)
        return self._take().last

    def _array(self, path: KeyPath) -> int:
        self._take()
        index = 0
        while (token := self._peek()) is not _END and token.text != "]":
            if token.text in ("\n", ",", "}"):
                self._take()
            else:
                last = self._value((*path, index))
                self.spans[(*path, index)] = Span(token.first, last)
                index += 1
        return self._take().last

    def _extend(self, table: KeyPath) -> None:
        """Let a table with a header end at the last line that was read."""
        if table in self.spans:
            last = self._tokens[min(self._next, len(self._tokens)) - 1].last
            self.spans[table] = Span(self.spans[table].first, last)


def _unquoted(string: str) -> str:
    try:
        return str(tomllib.loads(f"key = {string}")["key"])
    except tomllib.TOMLDecodeError:
        return string
