"""Questions, answers and lines of code as plain text of a given width."""

from __future__ import annotations

import textwrap

# The module does not import rich, so that a quiz starts at once.
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from attn_drill.exercises import altered_reference
from attn_drill.exercises.questions import (
    LETTERS,
    Choice,
    DrawnQuestion,
    FindLine,
    Number,
    QuestionPool,
)
from attn_drill.model.challenge import Challenge
from attn_drill.packs import pack_reader
from attn_drill.practice.schedule import ScheduledItem
from attn_drill.report.words import wrapped

Highlight = Callable[[Sequence[str]], list[str]]

_AMOUNTS = {"B": "bytes", "%": "percent", "x": "factor", "FLOP": "FLOPs", "": "number"}
_GOOD = 3  # a rating of fsrs; a worse one means that the last answer was wrong


def code_lines(lines: Sequence[str], width: int, labels: Sequence[str] = ()) -> Iterator[str]:
    """Yield lines of code, each after its label."""
    labels = labels or [""] * len(lines)
    margin = _margin(labels)
    room = max(20, width - margin)
    for label, line in zip(labels, lines, strict=True):
        indent = len(line) - len(line.lstrip())
        # A line that does not fit continues on the next line, indented by four more columns.
        parts = textwrap.wrap(
            line.strip(),
            room,
            initial_indent=" " * indent,
            subsequent_indent=" " * min(indent + 4, room // 2),
            break_on_hyphens=False,
        ) or [""]
        before = f"{label:>{margin - 2}}  " if margin else ""
        yield f"{before}{parts[0]}".rstrip()
        for part in parts[1:]:
            yield " " * margin + part


def shifted(code: str, width: int) -> str:
    """Return code indented by four columns. Lines that do not fit continue on the next line."""
    return "\n".join(f"    {line}".rstrip() for line in code_lines(code.split("\n"), width - 4))


def _margin(labels: Sequence[str]) -> int:
    """Return the width of the column of labels, with the blanks after it."""
    longest = max(map(len, labels), default=0)
    return longest + 2 if longest else 0


def question(drawn: DrawnQuestion, width: int, highlight: Highlight = list) -> str:
    """Return the text, the code and the options of a question."""
    parts = [wrapped(drawn.text, width)]
    if drawn.code:
        parts += ["", *_code(drawn, width, highlight)]
    if isinstance(drawn, Choice):
        parts.append("")
        for letter, option in zip(LETTERS, drawn.options, strict=False):
            parts.append(wrapped(f"{letter}) {option}", width, indent="  ", hanging="   "))
    return "\n".join(parts)


def _code(drawn: DrawnQuestion, width: int, highlight: Highlight) -> Iterator[str]:
    """Yield the lines of a question's code: numbered if a line is asked for, else indented."""
    lines = drawn.code.split("\n")
    if isinstance(drawn, FindLine):
        labels = [str(number) for number, _ in enumerate(lines, start=1)]
        margin = _margin(labels)
        shown = list(code_lines(lines, width, labels))
    else:
        margin = 4
        shown = [" " * margin + line for line in code_lines(lines, width - margin)]
    # The numbers get no colour.
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


def progress_line(pool: QuestionPool, reviewed: Mapping[str, ScheduledItem], now: float) -> str:
    """Return how many questions and lines of a pool the learner knows, and how many are due."""
    items = pool.reviewed(reviewed)
    due = sum(item.is_due(now) for item in items)
    # An item is known if the last answer was right and it is not due.
    known = [item.name for item in items if item.last.rating >= _GOOD and not item.is_due(now)]
    counts = []
    for names, word in ((pool.questions, "questions"), (pool.lines, "lines")):
        if names:
            counts.append(f"{sum(name in names for name in known)} of {len(names)} {word}")
    return f"{' and '.join(counts)} known; {due or 'nothing'} due."


def summary(results: Sequence[tuple[DrawnQuestion, bool]], coming: Sequence[ScheduledItem]) -> str:
    """Return the count of right answers, in total and by topic, and the days of coming items."""
    asked = Counter(drawn.topic for drawn, _ in results)
    right = Counter(drawn.topic for drawn, is_right in results if is_right)
    lines = [f"{right.total()} of {len(results)} right."]
    if len(asked) > 1:
        longest = max(map(len, asked))
        for topic in sorted(asked):
            lines.append(f"  {topic:<{longest}}  {right[topic]} of {asked[topic]}")
    due_times = sorted(item.due_at for item in coming)
    days = Counter(time.strftime("%Y-%m-%d", time.localtime(at)) for at in due_times)
    if days:
        # A Counter keeps the order of the days.
        first = [f"{count} on {day}" for day, count in list(days.items())[:3]]
        lines.append(f"Due next: {', '.join(first)}.")
    return "\n".join(lines)


def describe_mistakes(challenge: Challenge, ids: Sequence[str], width: int) -> str:
    """Return each planted mistake in words, its changed lines and its hint, in this width."""
    mistakes = altered_reference.mistakes_by_ids(challenge, ids)
    if mistakes is None:
        return wrapped(f"{challenge.id} has changed: it no longer has this hunt's bugs.", width)
    source = pack_reader.solution(challenge)
    where = str(challenge.solutions / "mistakes.toml")
    texts: list[str] = []
    for number, mistake in enumerate(mistakes, start=1):
        label = f"Bug {number}" if len(mistakes) > 1 else "The bug"
        lines = [wrapped(f"{label}: {mistake.says}", width)]
        for change in altered_reference.reference_changes(source, mistake, where):
            lines += _titled(f"reference, line {change.first}", change.was, width)
            lines += _titled("handed out", change.now, width)
        lines.append(wrapped(f"To remember: {mistake.hint}", width))
        texts.append("\n".join(lines))
    return "\n\n".join(texts)


def _titled(title: str, lines: Sequence[str], width: int) -> Iterator[str]:
    """Yield a title and the lines without their common indent."""
    shown = textwrap.dedent("\n".join(filter(str.strip, lines)))
    yield f"  {title}{':' if shown else ': nothing'}"
    for line in code_lines(shown.splitlines(), width - 4):
        yield f"    {line}"
