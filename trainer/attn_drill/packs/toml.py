"""Read TOML files that a person wrote into msgspec types.

An error is one sentence with the file, the line, the key, its value and the next step.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from attn_drill.model.errors import DrillError

T = TypeVar("T")
Text = Annotated[str, msgspec.Meta(min_length=1)]
# The keys and the indices that lead to a value: ("challenge", 1, "weights", "masks").
Keys = tuple[str | int, ...]

_MOST_SHOWN = 60  # characters of a wrong value
_ADVICE = (
    'Put text in quotes, also a key like "ana@uni.example". A time needs seconds: 23:59:00. '
    "Write true and false in small letters, and each key or [header] once."
)
_TYPES = {
    "str": "text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list ([…], or headers in [[…]])",
    "object": "a table",
}
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|(\[\.\.\.\])")
_BLOCK = re.compile(r"('''|\"\"\").*?\1", re.DOTALL)  # text of several lines
_KEY = r"\s*\[*\s*([^=#]*\.\s*)?[\"']?{}[\"']?\s*[].=]"  # a line with a key, or a header


def read_toml(path: Path, shape: type[T], error: type[DrillError] = DrillError) -> T:
    """Read a TOML file into a msgspec type, or raise an error of this class.

    A struct may have rules of its own: its `__post_init__` raises ValueError with a sentence about
    the table. A class that msgspec does not know is called with the value, and raises ValueError
    with the next step as a sentence.
    """
    try:
        data = tomllib.loads(read_text(path, error))
    except tomllib.TOMLDecodeError as fault:
        raise error(f"{path} is not valid TOML: {fault}. {_ADVICE}") from None
    try:
        return msgspec.convert(data, shape, dec_hook=_of_own_type)
    except msgspec.ValidationError as fault:
        keys, sentence = _explain(str(fault), data, shape)
        raise key_error(path, keys, sentence, error) from None


def read_text(path: Path, error: type[DrillError] = DrillError) -> str:
    """Read a text file, or raise an error with the next step."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise error(f"{path} is missing. Add it.") from None
    except OSError as fault:
        raise error(f"{path} cannot be read: {fault.strerror or fault}.") from None
    except UnicodeDecodeError:
        raise error(f"{path} is not UTF-8 text. Save the file as UTF-8.") from None


def key_error(
    path: Path, keys: Keys, sentence: str, error: type[DrillError] = DrillError
) -> DrillError:
    """Return an error about a key of a TOML file. It names the line of the key."""
    line = line_of(read_text(path), keys)
    return error(f"{path}{f', line {line}' if line else ''}: {sentence}")


def line_of(text: str, keys: Keys) -> int | None:
    """Return the line of a key, otherwise of the nearest table around it, or None.

    Keys inside { } are not searched.
    """
    # Text of several lines may hold lines that look like keys.
    text = _BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    lines = text.split("\n")
    begin, end = 0, len(lines)
    line = None
    headers: list[int] = []
    for key in keys:
        if isinstance(key, int):
            if key >= len(headers):  # the list is not written as tables with headers
                break
            begin, end = headers[key], [*headers, end][key + 1]
        else:
            is_key = re.compile(_KEY.format(re.escape(key))).match
            is_header = re.compile(_KEY.format(re.escape(key)) + r"\]").match
            places = [place for place in range(begin, end) if is_key(lines[place])]
            if not places:
                break
            begin = places[0]
            headers = [place for place in places if is_header(lines[place])]
        line = begin + 1
    return line


def as_toml(value: object) -> str:
    r"""Return a text, a number, a truth value or a time as TOML.

    >>> print(as_toml("two\nlines"), as_toml(True), as_toml(2.0), as_toml(0.5))
    "two\nlines" true 2 0.5
    """
    if isinstance(value, str | bool):
        # TOML has the escapes of JSON, but it does not allow DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def suggestion(word: str, choices: Iterable[str]) -> str:
    """Return the sentence that names the most similar choice, otherwise all choices.

    >>> suggestion("train_eval", ["values", "train/eval"])
    'Did you mean "train/eval"?'
    """
    choices = tuple(choices)
    # People write small letters and underscores for "train/eval" or "bad sizes".
    spellings = {choice.lower().replace("_", " "): choice for choice in choices}
    near = difflib.get_close_matches(word.lower().replace("_", " "), spellings, 1, 0.5)
    if near:
        return f'Did you mean "{spellings[near[0]]}"?'
    return f"The choices are {', '.join(choices)}."


def _of_own_type(kind: type, value: Any) -> Any:  # for classes that msgspec does not know
    return kind(value)


def _explain(fault: str, data: Any, shape: Any) -> tuple[Keys, str]:
    """Return the place of a fault of msgspec, and a sentence with the key and the next step.

    A fault looks like this: "Expected `int`, got `str` - at `$.minutes`".
    """
    problem, _, place = fault.partition(" - at `$")
    keys, value, kind = _locate(place.rstrip("`"), data, shape)
    if match := re.match(r"Object missing required field `(.*)`", problem):
        return keys, f"the key `{match[1]}` is missing. Add it."
    if match := re.match(r"Object contains unknown field `(.*)`", problem):
        advice = suggestion(match[1], _fields(kind)).replace('"', "`")
        if keys and match[1] in _fields(shape):
            advice = "Move it to the top of the file, above the first header in [ ]."
        return (*keys, match[1]), f"`{match[1]}` is not a key here. {advice}"
    if not problem.startswith(("Expected", "Invalid")) and isinstance(value, dict):
        return keys, problem  # __post_init__ of a struct refused the table
    if problem.startswith("Invalid enum value"):
        step = f"Write {' or '.join(as_toml(word) for word in get_args(kind))}."
    elif match := re.match(r"Expected `([^`]*)`( [^,]*)?", problem):
        types = " or ".join(_TYPES.get(word, word) for word in match[1].split(" | "))
        step = f"Write {types}{match[2] or ''}."
    else:  # a sentence of a class that msgspec does not know
        step = problem
    last = keys[-1]
    name = f"entry {last + 1} of `{keys[-2]}`" if isinstance(last, int) else f"`{last}`"
    return keys, f"{name} is {_shown(value)}. {step}"


def _locate(steps: str, value: Any, shape: Any) -> tuple[Keys, Any, Any]:
    """Return the keys, the value and the type at a place such as `.challenge[1].id`."""
    keys: Keys = ()
    key: str | int
    for name, index, _ in _STEP.findall(steps):
        if name:
            key = name
            shape = get_type_hints(_plain(shape), include_extras=True)[name]
        else:
            shape = next(kind for kind in reversed(get_args(_plain(shape))) if kind is not Ellipsis)
            # msgspec writes [...] for a key that is not in the type.
            misfits = (place for place in value if not _fits(value[place], shape))
            key = int(index) if index else next(misfits)
        keys, value = (*keys, key), value[key]
    return keys, value, _plain(shape)


def _fits(value: Any, shape: Any) -> bool:
    try:
        msgspec.convert(value, shape, dec_hook=_of_own_type)
    except msgspec.ValidationError:
        return False
    return True


def _plain(shape: Any) -> Any:
    """Return a type without its bounds and without None."""
    if get_origin(shape) is Annotated:
        shape = get_args(shape)[0]
    arguments = get_args(shape)
    return arguments[0] if arguments[1:] == (type(None),) else shape


def _fields(shape: Any) -> tuple[str, ...]:
    return getattr(shape, "__struct_fields__", ())


def _shown(value: Any) -> str:
    """Return a value for a message, in the words of TOML."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return f"a list of length {len(value)}"
    text = as_toml(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
