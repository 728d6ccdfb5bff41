r"""Make text of students and submissions safe to show, without a loss of information.

A submission could draw on the terminal with escape sequences, or change the direction of writing
with certain characters. The text shows these characters as escapes: `\x1b`, `\u202e`.
"""

from __future__ import annotations

import re
import unicodedata

_SUSPECT = re.compile(r"[^ -~]")
_SUSPECT_IN_LINES = re.compile(r"[^ -~\n\t]")
_JOINERS = "\u200c\u200d"  # names in Persian and in Indic scripts are spelt with them


def visible(text: str, *, lines: bool = False) -> str:
    """Return the text with an escape in place of each character that could act.

    Different names stay different. A lone surrogate in a file name becomes an escape too, so that
    the name can be written.

    Args:
        text: the text to show.
        lines: keep line ends and tabs. Other line ends become `\\n`.
    """
    if lines:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    suspect = _SUSPECT_IN_LINES if lines else _SUSPECT
    return suspect.sub(lambda match: _shown(match[0]), text)


def _shown(character: str) -> str:
    if character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")
