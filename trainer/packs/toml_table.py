"""Read the keys of a TOML file that a person wrote, with errors in the words of TOML.

An error names the file, the line and the key, and suggests the likely key or value.
"""

from __future__ import annotations

import difflib
import math
import stat
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from trainer.model.errors import DrillError
from trainer.packs.toml_lines import KeyPath, line_of

_MOST_SHOWN = 60  # characters of a wrong value
_MOST_BYTES = 16 << 20  # of a file
_BYTE_ORDER_MARK = "\ufeff"
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
# The next step for some of tomllib's sentences.
_SYNTAX_HINTS = {
    "Invalid value": "Put text in quotes. Write true and false in small letters.",
    "Expected newline": "Text needs quotes, and a time needs seconds: 2026-12-01 23:59:00.",
    "Expected '='": 'Put a key with a blank or a sign like @ in quotes: "ana@uni.example" = …',
    "twice": "Remove one of the two. A list of tables needs two brackets, [[…]], in each header.",
    "Cannot": "A key is there twice: remove one of the two. A list of tables needs two brackets,"
    " [[…]], in each header.",
}


@dataclass(frozen=True)
class TomlFile:
    """The text of a TOML file.

    Attributes:
        path: the path that messages show.
        text: the text, without a byte order mark.
    """

    path: Path
    text: str

    def error(self, place: KeyPath, sentence: str) -> DrillError:
        """Return an error that names the file and the line of a key."""
        line = line_of(self.text, place)
        return DrillError(f"{self.path}{f', line {line}' if line else ''}: {sentence}")

    def table(self) -> TomlTable:
        """Return the keys outside of all tables, and all tables.

        Raises:
            DrillError: the text is not TOML.
        """
        try:
            return TomlTable(self, (), tomllib.loads(self.text))
        except (RecursionError, ValueError) as error:  # too many digits, or not TOML
            hints = (hint for words, hint in _SYNTAX_HINTS.items() if words in str(error))
            advice = f" {hint}" if (hint := next(hints, "")) else ""
            raise DrillError(f"{self.path} is not valid TOML: {error}.{advice}") from None


def read_toml_file(path: Path) -> TomlFile:
    """Return the text of a TOML file.

    Raises:
        FileNotFoundError: there is no such file.
        DrillError: the file cannot be read or is not UTF-8.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DrillError(f"{path} is not a regular file. Name a TOML file.")
        if status.st_size > _MOST_BYTES:
            raise DrillError(f"{path} has more than {_MOST_BYTES:,} bytes. Is it the right file?")
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DrillError(
            f"{path} cannot be read: {error.strerror or error}. Check its name and permissions."
        ) from None
    except UnicodeDecodeError as error:
        raise DrillError(
            f"{path} is not valid TOML: byte {error.object[error.start]:#04x} at offset"
            f" {error.start} is not UTF-8. Save the file as UTF-8."
        ) from None
    return TomlFile(path, text.removeprefix(_BYTE_ORDER_MARK))


@dataclass(frozen=True)
class TomlTable:
    """A table of a TOML file. Its methods return a value of a type or raise DrillError.

    Attributes:
        file: the file.
        place: the keys that lead to the table; () for the keys outside of all tables.
        values: the values by key.
    """

    file: TomlFile
    place: KeyPath
    values: Mapping[str, Any]

    def error(self, key: str, sentence: str) -> DrillError:
        """Return an error about a key. Without the key, it names the line of the table."""
        return self.file.error((*self.place, key), sentence)

    def refuse_unknown(
        self, known: Collection[str], elsewhere: Mapping[str, str] | None = None
    ) -> None:
        """Raise an error about the first unknown key.

        Args:
            known: the keys that are allowed here.
            elsewhere: keys that are allowed in another table, with the next step.
        """
        for key in self.values:
            if key in known:
                continue
            advice = (elsewhere or {}).get(key) or suggested(key, known, "keys")
            raise self.error(key, f"The key `{shown_key(key)}` is unknown here. {advice}")

    def text(self, key: str, default: str = "") -> str:
        """Return text."""
        value = self.values.get(key, default)
        if isinstance(value, str):
            return value
        text = _without_quotes(value)
        raise self.wrong(key, "text in quotes", as_toml(text) if text else "")

    def number(self, key: str, default: float = 0.0) -> float:
        """Return a number, which can be infinite or NaN."""
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong(key, "a number", _number_in(value))
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf

    def whole_number(self, key: str, default: int = 0) -> int:
        """Return a number without a fraction."""
        value = self.values.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, float) and math.isfinite(value):
            raise self.wrong(key, "a whole number", str(round(value)))
        raise self.wrong(key, "a whole number", _number_in(value))

    def truth(self, key: str, default: bool = False) -> bool:
        """Return a truth value."""
        value = self.values.get(key, default)
        if isinstance(value, bool):
            return value
        words = {"true": "true", "yes": "true", "1": "true"}
        words |= {"false": "false", "no": "false", "0": "false"}
        raise self.wrong(key, "true or false", words.get(_without_quotes(value).lower(), ""))

    def table(self, key: str, example: str) -> TomlTable:
        """Return a table; an empty table if the key is missing."""
        value = self.values.get(key, {})
        if isinstance(value, dict):
            return TomlTable(self.file, (*self.place, key), value)
        raise self.wrong(key, "a table", example, is_pair=True)

    def tables(self, key: str) -> Iterator[TomlTable]:
        """Yield the tables with the header [[key]]."""
        value = self.values.get(key, [])
        header = f"[[{key}]]"
        if not isinstance(value, list):
            advice = f"Write {header}, with two brackets." if isinstance(value, dict) else ""
            raise self.wrong(key, f"a list of tables {header}", advice, is_sentence=True)
        for index, element in enumerate(value):
            place = (*self.place, key, index)
            if not isinstance(element, dict):
                raise self.file.error(
                    place,
                    f"`{key}` is a list that holds {shown(element)}; it must be a list of tables."
                    f" Write {header} and, below it, the keys.",
                )
            yield TomlTable(self.file, place, element)

    def wrong(
        self,
        key: str,
        expected: str,
        advice: str = "",
        *,
        is_pair: bool = False,
        is_sentence: bool = False,
    ) -> DrillError:
        """Return an error about a value of the wrong type.

        Args:
            key: the key of the value.
            expected: the right type, in words.
            advice: the likely value, or "".
            is_pair: True if the advice has the key, too.
            is_sentence: True if the advice is a sentence.
        """
        if advice and not is_sentence:
            advice = f"Write {advice if is_pair else f'{shown_key(key)} = {advice}'}"
        sentence = f"`{shown_key(key)}` is {shown(self.values[key])}; it must be {expected}."
        return self.error(key, f"{sentence} {advice}".rstrip())


def suggested(word: str, known: Collection[str], plural: str) -> str:
    """Return the sentence that names the most similar known word, otherwise all known words."""
    close = difflib.get_close_matches(word.lower().replace("_", " "), _spaced(known), 1, 0.5)
    if close:
        return f'Did you mean "{_spaced(known)[close[0]]}"?'
    return f"The {plural} are {', '.join(known)}."


def _spaced(words: Collection[str]) -> dict[str, str]:
    """Return the words by their spelling in small letters and with blanks."""
    return {word.lower().replace("_", " "): word for word in words}


def shown(value: Any) -> str:
    """Return a value for a message, in the words of TOML."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list of tables" if value and isinstance(value[0], dict) else "a list"
    if isinstance(value, str):
        return f"{_short(as_toml(value))}, which is text in quotes"
    kinds = {datetime: "a time", date: "a day", time: "a time of day without a day"}
    text = _short(as_toml(value))
    return f"{text}, which is {kinds[type(value)]}" if type(value) in kinds else text


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def shown_key(key: str) -> str:
    """Return a key as TOML: in quotes, if it needs quotes."""
    is_bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if is_bare else _short(as_toml(key))


def as_toml(value: str | float | datetime | date | time) -> str:
    """Return a value as TOML.

    The result is valid TOML for every str: characters that cannot be printed are escaped, and half
    of a surrogate pair, which TOML cannot represent, becomes U+FFFD.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, (int, float)):
        try:
            return repr(value)
        except ValueError:  # hexadecimal digits in the file, too many as a decimal
            return hex(value) if isinstance(value, int) else ""
    if not isinstance(value, str):
        return str(value)
    return f'"{"".join(map(_escaped, value))}"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    if char.isprintable():
        return char
    return f"\\u{ord(char):04X}" if ord(char) < 0x10000 else f"\\U{ord(char):08X}"


def _without_quotes(value: Any) -> str:
    """Return the text that the file probably holds for a value; "" for a table or a list."""
    if isinstance(value, str):
        return value
    return "" if isinstance(value, (dict, list)) else as_toml(value)


def _number_in(value: Any) -> str:
    """Return the number that a text holds, as TOML, or ""."""
    if not isinstance(value, str):
        return ""
    try:
        number = float(value.strip().rstrip("%").replace(",", "."))
    except ValueError:
        return ""
    return as_toml(number) if math.isfinite(number) else ""


def listed(names: Sequence[str]) -> str:
    """Return names for a sentence: "values, masks and work"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
