"""Find the parts of a report's text that have a colour on HTML pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

# A word in capitals at the start is the verdict, a symbol comes before the name of a check, and a
# star after a number says that it is wrong.
_COLOURED = re.compile(
    r"(?P<verdict>\A[A-Z][A-Z ]+[A-Z](?=  ))"
    r"|(?:^|(?<=  ))(?P<check>[✓✗–] \S+(?: \S+)*)"
    r"|(?<![\w.*-])(?P<starred>(?:-?(?:[\d.]+(?:e[+-]?\d+)?|inf)|nan|True|False)\*)(?=\s|$)",
    re.MULTILINE,
)
_KINDS = {"✓": "right", "✗": "wrong", "–": "quiet"}


def coloured(report_text: str) -> Iterator[tuple[str, str]]:
    """Yield a report in pieces, each with its classes, which are "" for most.

    The classes are "right", "wrong" or "quiet", for the verdict with "verdict". The pieces together
    are the whole text, without white space at its end.
    """
    text = report_text.rstrip()
    end = 0
    for found in _COLOURED.finditer(text):
        yield "", text[end : found.start()]
        yield _classes(found), found[0]
        end = found.end()
    yield "", text[end:]


def _classes(found: re.Match[str]) -> str:
    if found["check"]:
        return _KINDS[found["check"][0]]
    if found["verdict"]:
        return "right verdict" if found["verdict"] == "PASSED" else "wrong verdict"
    return "wrong"
