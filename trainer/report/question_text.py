"""Questions, answers and lines of code as plain text of a given width. No rich: a quiz starts at once."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator, Sequence

from trainer.practice.schedule import ScheduledItem
from trainer.quiz.drawn_questions import LETTERS, DrawnQuestion

_WIDEST = 100  # columns; longer lines of prose are hard to read


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Prose at this width, paragraph by paragraph."""
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
    """Lines of code, each behind its label; what does not fit goes on below, four columns further in than the line's own indent."""
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


def question(asked: DrawnQuestion, width: int) -> str:
    """The question, its code and its options."""
    found = [wrapped(asked.text, width)]
    if asked.code:
        lines = asked.code.split("\n")
        labels = (
            [str(number) for number in range(1, len(lines) + 1)] if asked.kind == "line" else []
        )
        found += [
            "",
            *(
                code_lines(lines, width, labels)
                if labels
                else ("    " + line for line in code_lines(lines, width - 4))
            ),
        ]
    if asked.options:
        found.append("")
        for letter, option in zip(LETTERS, asked.options, strict=False):
            found.append(
                textwrap.fill(
                    option,
                    max(20, min(width, _WIDEST)),
                    initial_indent=f"  {letter}) ",
                    subsequent_indent="     ",
                    break_on_hyphens=False,
                )
            )
    return "\n".join(found)


def prompt(asked: DrawnQuestion) -> str:
    """What is shown where the answer is typed."""
    if asked.kind == "line":
        return "line: "
    if asked.kind == "choice":
        return f"{LETTERS[0]}-{LETTERS[len(asked.options) - 1]}: "
    return {"B": "bytes: ", "%": "percent: ", "x": "factor: ", "FLOP": "FLOPs: ", "": "number: "}[
        asked.unit
    ]


def summary(results: Sequence[tuple[DrawnQuestion, bool]], coming: Sequence[ScheduledItem]) -> str:
    """How many were right, in all and by topic, and when the next ones are due; `coming`: the items that are not due yet."""
    by_topic: dict[str, list[bool]] = {}
    for asked, right in results:
        by_topic.setdefault(asked.topic, []).append(right)
    found = [f"{sum(right for _, right in results)} of {len(results)} right."]
    if len(by_topic) > 1:
        longest = max(map(len, by_topic))
        found += [
            f"  {topic:<{longest}}  {sum(some)} of {len(some)}"
            for topic, some in sorted(by_topic.items())
        ]
    days: dict[str, int] = {}
    for item in sorted(coming, key=lambda one: one.due_at):
        day = time.strftime("%Y-%m-%d", time.localtime(item.due_at))
        days[day] = days.get(day, 0) + 1
    if days:
        found.append(
            "Due next: "
            + ", ".join(f"{many} on {day}" for day, many in list(days.items())[:3])
            + "."
        )
    return "\n".join(found)
