"""Write the page that students get with an assignment, with the template `handout.html.jinja`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markupsafe import Markup

from trainer.classroom.assignment import DAY
from trainer.classroom.records import AssignedChallenge, Assignment
from trainer.export.grade_words import WeightRow, time_in_words, weight_rows
from trainer.report.class_words import points
from trainer.report.pages import page
from trainer.report.visible import visible

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@dataclass(frozen=True)
class Task:
    """A challenge as the students get it.

    Attributes:
        assigned: the challenge with its weights.
        title: the title of the challenge.
        file: the name of the file to hand in.
        entry: the names that the file must define.
        prompt: the task, in Markdown.
        checks: the names of the challenge's checks.
    """

    assigned: AssignedChallenge
    title: str
    file: str
    entry: tuple[str, ...]
    prompt: str
    checks: Sequence[str]

    @property
    def html(self) -> Markup:
        """The task as HTML without its heading. HTML in the Markdown is shown as text."""
        body = self.prompt.partition("\n")[2] if self.prompt.startswith("# ") else self.prompt
        tokens = _MARKDOWN.parse(visible(body, lines=True))
        for token in tokens:
            if token.type in ("th_open", "td_open"):  # the page's policy forbids their styles
                token.attrs = {"scope": "col"} if token.tag == "th" else {}
        return Markup(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))

    @property
    def weights(self) -> tuple[WeightRow, ...]:
        """The points of each check."""
        return weight_rows(self.assigned, self.checks)


def handout_html(assignment: Assignment, tasks: Sequence[Task]) -> Iterator[str]:
    """Yield the page in small pieces."""
    whole = sum(task.assigned.worth for task in tasks)
    return page(
        "handout",
        title=assignment.title,
        tasks=[(task, task.assigned.worth / whole) for task in tasks],
        rules=_rules(assignment),
        points=points,
    )


def _rules(assignment: Assignment) -> list[str]:
    """Return the rules of the assignment, each as one sentence."""
    rules = []
    if assignment.due is not None:
        rules.append(f"Due: {time_in_words(assignment.due, assignment.utc_offset)}.")
    if assignment.grace:
        rules.append(f"A file that comes at most {_length(assignment.grace)} later is in time.")
    if assignment.penalty:
        rules.append(
            f"Each day late that has begun costs {points(assignment.penalty)} of 100 points."
        )
    rules.append(
        "Hand in one Python file or one notebook for each task. It must hold everything that the"
        " answer needs: a second file is not loaded."
    )
    rules.append(
        f"Your file runs on hidden cases, for at most {assignment.seconds:g} CPU seconds and with"
        f" {assignment.memory_mib} MiB of memory beyond torch's own."
    )
    rules.append(
        "Each check brings its points times the share of its cases that are right, beyond what a"
        " trivial answer like zeros reaches. Checks that do not look at values count as far as the"
        " values are right. Attention that a library computes brings no points."
    )
    if assignment.one_mistake:
        rules.append(
            "An answer that is right except for one known mistake gets at least"
            f" {points(assignment.one_mistake)} points."
        )
    return rules


def _length(seconds: float) -> str:
    unit, size = ("day", DAY) if seconds >= DAY else ("minute", 60.0)
    count = seconds / size
    return f"{count:g} {unit}{'' if count == 1 else 's'}"
