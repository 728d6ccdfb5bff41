"""Questions, answers and lines of code as plain text of a given width.

The module does not import rich, so that a quiz starts at once.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator, Sequence

from trainer.practice.schedule import ScheduledItem
from trainer.quiz.drawn_questions import LETTERS, DrawnQuestion

_WIDEST = 100  # columns; longer lines of prose are hard to read


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Return prose at this width, with its line ends kept. No line has more than 100 columns."""
    room = max(20, min(width, _WIDEST))
    return "\n".join(
        textwrap.fill(
            line,
            room,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        if line.strip()
        else ""
        for line in text.splitlines()
    )


def code_lines(lines: Sequence[str], width: int, labels: Sequence[str] = ()) -> Iterator[str]:
    """Yield lines of code, each after its label.

    A line that does not fit continues on the next line, indented by four more columns.
    """
    labels = labels or ["" for _ in lines]
    margin = max((len(label) for label in labels), default=0)
    margin += 2 if margin else 0
    room = max(20, width - margin)
    for label, line in zip(labels, lines, strict=True):
        indent = len(line) - len(line.lstrip())
        deeper = " " * min(indent + 4, room // 2)
        parts = textwrap.wrap(
            line.strip(),
            room,
            initial_indent=" " * indent,
            subsequent_indent=deeper,
            break_on_hyphens=False,
        ) or [""]
        yield f"{label:>{max(0, margin - 2)}}{'  ' if margin else ''}{parts[0]}".rstrip()
        yield from (" " * margin + part for part in parts[1:])


def question(drawn: DrawnQuestion, width: int) -> str:
    """Return the text, the code and the options of a question."""
    parts = [wrapped(drawn.text, width)]
    if drawn.code:
        lines = drawn.code.split("\n")
        line_numbers = range(1, len(lines) + 1)
        labels = list(map(str, line_numbers)) if drawn.kind == "line" else []
        parts += [
            "",
            *(
                code_lines(lines, width, labels)
                if labels
                else ("    " + line for line in code_lines(lines, width - 4))
            ),
        ]
    if drawn.options:
        parts.append("")
        for letter, option in zip(LETTERS, drawn.options, strict=False):
            parts.append(
                textwrap.fill(
                    option,
                    max(20, min(width, _WIDEST)),
                    initial_indent=f"  {letter}) ",
                    subsequent_indent="     ",
                    break_on_hyphens=False,
                )
            )
    return "\n".join(parts)


def prompt(drawn: DrawnQuestion) -> str:
    """Return the words before the place where the answer is typed."""
    if drawn.kind == "line":
        return "line: "
    if drawn.kind == "choice":
        return f"{LETTERS[0]}-{LETTERS[len(drawn.options) - 1]}: "
    return {"B": "bytes: ", "%": "percent: ", "x": "factor: ", "FLOP": "FLOPs: ", "": "number: "}[
        drawn.unit
    ]


def summary(results: Sequence[tuple[DrawnQuestion, bool]], coming: Sequence[ScheduledItem]) -> str:
    """Return the count of right answers, in total and by topic, and the next due days.

    Args:
        results: each question, and whether its answer was right.
        coming: the items that are not due yet.
    """
    by_topic: dict[str, list[bool]] = {}
    for drawn, right in results:
        by_topic.setdefault(drawn.topic, []).append(right)
    lines = [f"{sum(right for _, right in results)} of {len(results)} right."]
    if len(by_topic) > 1:
        longest = max(map(len, by_topic))
        lines += [
            f"  {topic:<{longest}}  {sum(answers)} of {len(answers)}"
            for topic, answers in sorted(by_topic.items())
        ]
    days: dict[str, int] = {}
    for item in sorted(coming, key=lambda item: item.due_at):
        day = time.strftime("%Y-%m-%d", time.localtime(item.due_at))
        days[day] = days.get(day, 0) + 1
    if days:
        lines.append(
            "Due next: "
            + ", ".join(f"{count} on {day}" for day, count in list(days.items())[:3])
            + "."
        )
    return "\n".join(lines)
