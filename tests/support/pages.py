"""Helpers for tests of HTML pages."""

from __future__ import annotations

from html.parser import HTMLParser

from attn_drill.classroom.records import StudentResult
from attn_drill.export._class_page import class_html
from attn_drill.export.handout import HandoutTask, handout_html
from tests.support.classroom import assignment, make_gradebook

_VOID = {"meta", "br", "input", "hr", "img", "link"}
_SHAPES = {"rect", "line", "path"}


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text by the elements around it.

    Tags that are not closed in order, and attributes that occur twice, are an error.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.pieces: list[tuple[tuple[str, ...], str]] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag."""
        assert len(dict(attrs)) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag that closes itself. Only pictures may have them."""
        assert tag in _SHAPES
        assert "svg" in self.open
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Check that the tag closes the element that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Record text."""
        if not {"style", "script"} & set(self.open):
            self.text += data
        self.pieces.append((tuple(self.open), data))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of every element of this name."""
        return [attrs for name, attrs in self.tags if name == tag]

    def inside(self, tag: str) -> str:
        """Return all text in elements of this name."""
        return "".join(data for path, data in self.pieces if tag in path)


def class_page(results: list[StudentResult], *challenges: str) -> str:
    """Return the HTML page of a class."""
    return "".join(class_html(make_gradebook(results, assignment(challenges))))


PROMPT = """\
# The heading

| name | shape |
| ---- | ----: |
| `x` | `[B, L]` |

<script>alert(1)</script>
\x1b[31m
"""


def handout_page(**settings: object) -> str:
    """Return the HTML page that students get with two tasks."""
    both = assignment(("first", "second"), **settings)
    tasks = [
        HandoutTask(
            assigned, f"<{assigned.challenge}>", "f.py", ("f", "g"), PROMPT, ("loads", "values")
        )
        for assigned in both.challenges
    ]
    return "".join(handout_html(both, tasks))
