r"""Show text of students and submissions harmlessly: nothing of it is lost, nothing of it acts.

A submission could use escape sequences to draw on the terminal, or characters that turn the direction
of writing. Such a character is shown as its escape: `\x1b`, `\u202e`.
"""

from __future__ import annotations

import re
import unicodedata

_SUSPECT = re.compile(r"[^ -~]")
_SUSPECT_IN_LINES = re.compile(r"[^ -~\n\t]")
_JOINERS = "\u200c\u200d"  # names in Persian and in Indic scripts are spelt with them


def visible(text: str, *, lines: bool = False) -> str:
    """Return the text with each character that would act shown as its escape.

    Two names that differ stay different, and a lone surrogate of a file name can be written.

    Args:
        lines: whether line ends and tabs stay as they are.
    """
    if lines:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    suspect = _SUSPECT_IN_LINES if lines else _SUSPECT
    return suspect.sub(lambda match: _shown(match[0]), text)


def _shown(character: str) -> str:
    if character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")
