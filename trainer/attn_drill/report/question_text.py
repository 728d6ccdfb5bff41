"""Questions, answers and lines of code as plain text of a given width.

The module does not import rich, so that a quiz starts at once.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Iterator, Sequence

from attn_drill.practice.schedule import ScheduledItem
from attn_drill.quiz.bank_progress import BankProgress
from attn_drill.quiz.drawn_questions import LETTERS, Choice, DrawnQuestion, FindLine, Number
from attn_drill.report.wording import wrapped

Highlight = Callable[[Sequence[str]], list[str]]

_AMOUNTS = {"B": "bytes", "%": "percent", "x": "factor", "FLOP": "FLOPs", "": "number"}


def code_lines(lines: Sequence[str], width: int, labels: Sequence[str] = ()) -> Iterator[str]:
    """Yield lines of code, each after its label.

    A line that does not fit continues on the next line, indented by four more columns.
    """
    labels = labels or ["" for _ in lines]
    margin = _margin(labels)
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


def indented(code: str, width: int) -> str:
    """Return code indented by four columns. Lines that do not fit continue on the next line."""
    return "\n".join(f"    {line}".rstrip() for line in code_lines(code.split("\n"), width - 4))


def _margin(labels: Sequence[str]) -> int:
    """Return the width of the column of labels, with the blanks after it."""
    longest = max((len(label) for label in labels), default=0)
    return longest + 2 if longest else 0


def question(drawn: DrawnQuestion, width: int, highlight: Highlight = list) -> str:
    """Return the text, the code and the options of a question.

    Args:
        drawn: The question.
        width: The columns of the terminal.
        highlight: A function that adds colours to lines of code.
    """
    parts = [wrapped(drawn.text, width)]
    if drawn.code:
        parts += ["", *_code(drawn, width, highlight)]
    if isinstance(drawn, Choice):
        parts.append("")
        parts += [
            wrapped(f"{letter}) {option}", width, indent="  ", hanging="   ")
            for letter, option in zip(LETTERS, drawn.options, strict=False)
        ]
    return "\n".join(parts)


def _code(drawn: DrawnQuestion, width: int, highlight: Highlight) -> Iterator[str]:
    """Yield the lines of a question's code: numbered if a line is asked for, else indented."""
    lines = drawn.code.split("\n")
    line_numbers = range(1, len(lines) + 1)
    labels = list(map(str, line_numbers)) if isinstance(drawn, FindLine) else []
    margin = _margin(labels) or 4
    shown = (
        list(code_lines(lines, width, labels))
        if labels
        else [" " * margin + line for line in code_lines(lines, width - margin)]
    )
    code = highlight([line[margin:] for line in shown])
    for line, coloured in zip(shown, code, strict=True):
        yield f"{line[:margin]}{coloured}".rstrip()


def prompt(drawn: DrawnQuestion) -> str:
    """Return the words before the place where the answer is typed."""
    match drawn:
        case Number():
            return f"{_AMOUNTS[drawn.unit]}: "
        case Choice():
            return f"{LETTERS[0]}-{LETTERS[len(drawn.options) - 1]}: "
        case FindLine():
            return "line: "


def progress_line(progress: BankProgress) -> str:
    """Return the progress through the question bank as a sentence."""
    counts = [
        f"{known} of {total} {name}"
        for known, total, name in (
            (progress.known_questions, progress.questions, "questions"),
            (progress.known_lines, progress.lines, "lines"),
        )
        if total
    ]
    return f"{' and '.join(counts)} known; {progress.due or 'nothing'} due."


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
