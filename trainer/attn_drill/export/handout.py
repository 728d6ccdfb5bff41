"""Write the page that students get with an assignment, with the template `handout.html.jinja`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markupsafe import Markup

from attn_drill.classroom.records import AssignedChallenge, Assignment
from attn_drill.export._grade_words import challenge_shares, check_weights, rules
from attn_drill.report.pages import page
from attn_drill.report.words import visible

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@dataclass(frozen=True)
class HandoutTask:
    """A challenge as the students get it."""

    assigned: AssignedChallenge
    title: str
    file: str  # the name of the file to hand in
    entry: tuple[str, ...]  # the names that the file must define
    prompt: str  # in Markdown
    checks: Sequence[str]  # their names

    @property
    def html(self) -> Markup:
        """The task as HTML without its heading. HTML in the Markdown is shown as text."""
        body = self.prompt.partition("\n")[2] if self.prompt.startswith("# ") else self.prompt
        tokens = _MARKDOWN.parse(visible(body, lines=True))
        for token in tokens:
            if token.type in ("th_open", "td_open"):  # the page's policy forbids their styles
                token.attrs = {"scope": "col"} if token.tag == "th" else {}
        return Markup(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))


def handout_html(assignment: Assignment, tasks: Sequence[HandoutTask]) -> Iterator[str]:
    """Yield the page in small pieces."""
    return page(
        "handout",
        title=assignment.title,
        assignment=assignment,
        tasks=tasks,
        shares=challenge_shares(assignment),
        rules=rules(assignment),
        check_weights=check_weights,
    )
