"""Questions, answers and lines of code as plain text of a given width."""

from __future__ import annotations

import textwrap
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
from attn_drill.report.wording import wrapped

# The module does not import rich, so that a quiz starts at once.
Highlight = Callable[[Sequence[str]], list[str]]

_AMOUNTS = {"B": "bytes", "%": "percent", "x": "factor", "FLOP": "FLOPs", "": "number"}
_BLANKS = "  "  # in place of a label: the code is indented by four columns
_GOOD = 3  # a rating of fsrs; a worse one means that the last answer was wrong


def code_lines(lines: Sequence[str], width: int, labels: Sequence[str] = ()) -> Iterator[str]:
    """Yield lines of code, each after its label."""
    labels = labels or [""] * len(lines)
    longest = max(map(len, labels), default=0)
    margin = longest + 2 if longest else 0
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
    lines = code.split("\n")
    return "\n".join(code_lines(lines, width, [_BLANKS] * len(lines)))


def question(drawn: DrawnQuestion, width: int, highlight: Highlight = list) -> str:
    """Return the text, the code and the options of a question."""
    parts = [wrapped(drawn.text, width)]
    if drawn.code:
        parts.append("")
        lines = drawn.code.split("\n")
        # The lines have numbers if one of them is asked for.
        labels = [_BLANKS] * len(lines)
        if isinstance(drawn, FindLine):
            labels = [str(number) for number, _ in enumerate(lines, start=1)]
        margin = len(labels[-1]) + 2
        shown = list(code_lines(lines, width, labels))
        # The numbers get no colour.
        code = highlight([line[margin:] for line in shown])
        for line, coloured in zip(shown, code, strict=True):
            parts.append(f"{line[:margin]}{coloured}".rstrip())
    if isinstance(drawn, Choice):
        parts.append("")
        for letter, option in zip(LETTERS, drawn.options, strict=False):
            parts.append(wrapped(f"{letter}) {option}", width, indent="  ", hanging="   "))
    return "\n".join(parts)


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
    due = 0
    known_items: list[str] = []
    for item in pool.reviewed(reviewed):
        if item.is_due(now):
            due += 1
        elif item.last.rating >= _GOOD:
            known_items.append(item.name)
    counts = []
    for names, word in ((pool.questions, "questions"), (pool.lines, "lines")):
        if names:
            counts.append(f"{sum(name in names for name in known_items)} of {len(names)} {word}")
    return f"{' and '.join(counts)} known; {due or 'nothing'} due."


def summary(results: Sequence[tuple[DrawnQuestion, bool]], coming: Sequence[ScheduledItem]) -> str:
    """Return the count of right answers, in total and by topic, and the days of coming items."""
    asked, right = Counter[str](), Counter[str]()
    for drawn, is_right in results:
        asked[drawn.topic] += 1
        right[drawn.topic] += is_right
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
            title = f"reference, line {change.first}"
            for words, code in ((title, change.was), ("handed out", change.now)):
                # Without the indent that the lines share.
                shown = textwrap.dedent("\n".join(filter(str.strip, code)))
                lines.append(f"  {words}{':' if shown else ': nothing'}")
                if shown:
                    lines.append(shifted(shown, width))
        lines.append(wrapped(f"To remember: {mistake.hint}", width))
        texts.append("\n".join(lines))
    return "\n\n".join(texts)
