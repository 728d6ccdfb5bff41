"""Compare a translated prompt with the English prompt.

A translation has other words, but the same facts: the code of its examples, the names in its table,
and the names of the interface. So the prompt of another challenge does not pass as a translation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from trainer.model.challenge import Challenge
from trainer.packs import pack_reader
from trainer.packs.interface import signatures

_BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_COMMENT = re.compile(r"\s*#.*")
_WORD = re.compile(r"[A-Za-z_]\w*")
_MOST_SHOWN = 5  # names of a message


def translations(challenge: Challenge) -> tuple[Path, ...]:
    """Return the paths of the translated prompts, for example `prompt.zh.md`."""
    return tuple(sorted(challenge.folder.glob("prompt.*.md")))


def translation_troubles(challenge: Challenge, path: Path) -> Iterator[str]:
    """Yield a sentence for each fact of the English prompt that a translation does not have.

    Args:
        challenge: the challenge.
        path: the path of the translation.

    Raises:
        PackError: if a file cannot be read, or if the stub does not define the interface.
    """
    english, other = pack_reader.own_prompt(challenge), pack_reader.read_text(path)
    if not other.strip():
        yield f"{path} is empty. Write the translation of prompt.md, or remove the file"
        return
    if missing := _names(challenge, english) - _words(other):
        yield (
            f"{path} does not name {_listed(missing)}, which prompt.md names. "
            "Translate the prompt of this challenge"
        )
    wanted, found = _names_of_table(english), _names_of_table(other)
    if wanted != found:
        differing = set(wanted) ^ set(found)
        yield (
            f"{path}: the first column of its tables differs from that of prompt.md"
            f"{f' in {_listed(differing)}' if differing else ''}. Write the same names"
        )
    if line := _first_difference(_code(english), _code(other)):
        yield (
            f"{path}: its examples differ from those of prompt.md, first in {line!r}. "
            "Copy the examples without changes"
        )


def _names(challenge: Challenge, text: str) -> set[str]:
    """Return the names of the interface that a prompt mentions: callables and their arguments."""
    names = set(challenge.entry)
    for signature in signatures(challenge):
        names |= {part for part in signature.name.split(".") if not part.startswith("__")}
        names |= {parameter.name for parameter in signature.parameters}
    return names & _words(text)


def _words(text: str) -> set[str]:
    """Return the words in the code of a prompt: in spans and in examples."""
    code = [*_SPAN.findall(_BLOCK.sub("", text)), *_BLOCK.findall(text)]
    return {word for part in code for word in _WORD.findall(part)}


def _names_of_table(text: str) -> list[str]:
    """Return the names in the first column of all tables of a prompt, in order."""
    rows = [line for line in _BLOCK.sub("", text).splitlines() if line.startswith("|")]
    return [name for row in rows for name in _SPAN.findall(row.strip("|").partition("|")[0])]


def _code(text: str) -> list[str]:
    """Return the lines of the examples without comments, which may be translated."""
    lines = "\n".join(_BLOCK.findall(text)).splitlines()
    return [code for line in lines if (code := _COMMENT.sub("", line).rstrip())]


def _first_difference(wanted: list[str], found: list[str]) -> str:
    """Return the first line of the examples that differs; "" if there is none."""
    for index in range(max(len(wanted), len(found))):
        lines = [code[index] if index < len(code) else "" for code in (wanted, found)]
        if lines[0] != lines[1]:
            return lines[0] or lines[1]
    return ""


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)[:_MOST_SHOWN])
