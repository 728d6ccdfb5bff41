"""Find the parts of a report's text that have a colour on HTML pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

# The verdict is in capitals at the start of the text. A check has a symbol before its name. A wrong
# entry has a star after it.
_COLOURED = re.compile(
    r"(?P<verdict>\A[A-Z][A-Z ]+[A-Z](?=  ))"
    r"|(?:^|(?<=  ))(?P<check>[✓✗–] \S+(?: \S+)*)"
    r"|(?<![\w.*-])(?P<starred>(?:-?(?:[\d.]+(?:e[+-]?\d+)?|inf)|nan|True|False)\*)(?=\s|$)",
    re.MULTILINE,
)
_KINDS = {"✓": "right", "–": "quiet"}


def coloured(report_text: str) -> Iterator[tuple[str, str]]:
    """Yield CSS classes, or "", and a piece of the report, whose end has no white space."""
    text = report_text.rstrip()
    end = 0
    for match in _COLOURED.finditer(text):
        yield "", text[end : match.start()]
        end = match.end()
        if match["verdict"]:
            classes = "right verdict" if match["verdict"] == "PASSED" else "wrong verdict"
        else:
            classes = _KINDS.get(match[0][0], "wrong")
        yield classes, match[0]
    yield "", text[end:]
