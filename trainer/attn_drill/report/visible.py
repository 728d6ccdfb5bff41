"""Make text of students and submissions safe to show, without a loss of information."""

from __future__ import annotations

import re
import unicodedata

# A submission could draw on the terminal with escape sequences, or change the direction of writing
# with certain characters. All characters but the usual ones are looked at.
_SUSPECT = re.compile(r"[^ -~]")
_SUSPECT_IN_LINES = re.compile(r"[^ -~\n\t]")
# Names in Persian and in Indic scripts are spelt with them.
_JOINERS = "\u200c\u200d"


def visible(text: str, *, lines: bool = False) -> str:
    r"""Return the text with an escape in place of each character that could act.

    Different names stay different. A lone surrogate in a file name becomes an escape too, so that
    the name can be written. With `lines`, tabs and line ends stay, and all line ends become `\n`.

    >>> visible("a\x1b[2J\n")
    'a\\x1b[2J\\n'
    """
    if not lines:
        return _SUSPECT.sub(_shown, text)
    return _SUSPECT_IN_LINES.sub(_shown, text.replace("\r\n", "\n").replace("\r", "\n"))


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")
