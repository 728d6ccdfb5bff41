"""Read a TOML file of a pack into a typed value."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from trainer.model.errors import PackError

_PLACE = re.compile(r" - at `(?:key in )?\$(?P<place>.*?)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_TYPES = {
    "str": "a text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list in [ ]",
    "object": "a table",
}


def read_toml(path: Path, shape: Any) -> Any:
    """Read a TOML file into a msgspec type.

    Raises:
        PackError: if the file is missing, unreadable or not valid. The message names the file and
            the key.
    """
    try:
        with path.open("rb") as file:
            return msgspec.convert(tomllib.load(file), shape)
    except FileNotFoundError:
        raise PackError(
            f"{path} is missing. "
            "Add it. `attn-drill pack check` reports everything that a challenge lacks."
        ) from None
    except OSError as error:
        raise PackError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PackError(f"{path} is not valid TOML: {error}. Correct this place.") from None
    except msgspec.ValidationError as error:
        raise PackError(f"{path}: {_in_words(str(error), shape)}") from None


def _in_words(text: str, shape: Any) -> str:
    """Return what msgspec says about a value, with the key and the next step.

    Args:
        text: the message of msgspec, for example "Expected `int`, got `str` - at `$.minutes`".
        shape: the type of the file.
    """
    found = _PLACE.search(text)
    problem, place = (text[: found.start()], found["place"]) if found else (text, "")
    # msgspec writes [...] for a value of a table whose keys are free.
    key, owner = _named(place.removesuffix("[...]"))
    if place.endswith("[...]"):
        owner = f" (one of its values){owner}"
    if match := re.match(r"Object missing required field `(.*)`", problem):
        return f"{_owner(place) or 'the file'} has no key `{match[1]}`. Add it."
    if match := re.match(r"Object contains unknown field `(.*)`", problem):
        known = getattr(_shape_at(shape, place), "__struct_fields__", ())
        near = difflib.get_close_matches(match[1], known, n=1)
        advice = f"Did you mean `{near[0]}`?" if near else f"The keys are {', '.join(known)}."
        where = f" in {_owner(place)}" if place else ""
        return f"`{match[1]}` is not a key{where}. {advice}"
    if match := re.match(r"Invalid enum value (.*)", problem):
        words = " or ".join(f'"{word}"' for word in get_args(_shape_at(shape, place)))
        return f"`{key}`{owner} is {match[1]}. Write {words}."
    if match := re.match(r"Expected `array` of length (\d+), got (\d+)", problem):
        return f"`{key}`{owner} has {match[2]} entries. Write {match[1]}."
    if match := re.match(r"Expected `(\w+)[^`]*`, got `(\w+)`", problem):
        wanted, actual = (_TYPES.get(word, word) for word in match.groups())
        return f"`{key}`{owner} is {actual}. Write {wanted}."
    return f"`{key}`{owner}: {problem}. Correct it." if key else f"{problem}. Correct it."


def _named(place: str) -> tuple[str, str]:
    """Return the last key of a place, and words for the table that contains it.

    For example `.mistake[3].says` gives "says" and " of [[mistake]] number 4".
    """
    parent, _, key = place.rpartition(".")
    name, bracket, index = key.partition("[")
    of_parent = f" of {_owner(parent)}" if parent else ""
    if bracket and index[:-1].isdigit():
        return f"{name}", f" (entry {int(index[:-1]) + 1}){of_parent}"
    return name, of_parent


def _owner(place: str) -> str:
    """Return words for a table of the file: `.mistake[3]` is "[[mistake]] number 4"."""
    name, _, index = place.rpartition(".")[2].partition("[")
    if not name:
        return ""
    index = index.partition("]")[0]
    return f"[[{name}]] number {int(index) + 1}" if index.isdigit() else f"`{name}`"


def _shape_at(shape: Any, place: str) -> Any:
    """Return the type of the value at a place of the file."""
    for name, _ in _STEP.findall(place):
        if name:
            shape = get_type_hints(shape).get(name)
        elif arguments := get_args(shape):
            shape = arguments[-1] if arguments[-1] is not Ellipsis else arguments[0]
    return shape
