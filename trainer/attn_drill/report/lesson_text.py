"""Show a prompt, the lesson after a pass, other answers, mistakes and follow-up questions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from rich import markdown
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.table import Table
from rich.text import Text

from attn_drill.exercises.altered_reference import without_docstring
from attn_drill.model.challenge import CallCost, OtherAnswer
from attn_drill.model.report import Lesson, Note
from attn_drill.model.words import in_bytes, in_count
from attn_drill.packs.pack_reader import REFERENCE
from attn_drill.packs.question_bank import FollowUp
from attn_drill.report.code_text import (
    Trimmed,
    code_block,
    code_pair,
    difference,
    grid,
    indented,
    labelled,
    one_row,
    source_lines,
)
from attn_drill.report.wording import QUIET, RIGHT, WIDEST, visible


def render_notes(lesson: Lesson, source: str) -> RenderableType:
    """Return the notes, each with its line of the learner's code, and the table of costs."""
    parts: list[RenderableType] = [_title("What an interviewer would say")]
    if lesson.cost is not None:
        parts.append(_prose(f"Measured: {lesson.call}.", QUIET))
    is_call_measured = lesson.cost is not None or not lesson.call
    if not lesson.notes and lesson.is_measured and is_call_measured:
        parts.append(_prose("No remarks: no right answer of this pack does clearly better."))
    elif not lesson.notes:
        parts.append(_prose("The answer could not be measured."))
    lines = source_lines(source)
    parts += [_note(note, lines) for note in lesson.notes]
    if lesson.cost is not None:
        parts += [Text(), _costs(lesson, lesson.cost)]
    return Trimmed(Group(*parts))


def _note(note: Note, lines: Sequence[str]) -> RenderableType:
    """Return a note after a bullet: its line of code if it has one, the fact, the reason."""
    parts: list[RenderableType] = []
    if 0 < note.line <= len(lines):
        code = Text(f"line {note.line}  ", style="bold")
        code.append(visible(lines[note.line - 1].strip().expandtabs(4)), style="not bold")
        parts.append(one_row(code))
    parts += [_prose(note.says), _prose(note.why, QUIET)]
    return labelled([(Text("•", style="bold"), Group(*parts))], padding=(0, 1, 0, 0), style="")


def _costs(lesson: Lesson, cost: CallCost) -> RenderableType:
    """Return the costs of the answer, the reference, the recommended and the leanest answer."""
    costs = {other.name: other.cost for other in lesson.others if other.cost is not None}
    leanest = sorted(costs, key=lambda name: costs[name].peak_bytes)[:1]
    names = [REFERENCE, *(note.recommends for note in lesson.notes), *leanest]
    table = grid("left", padding=(0, 2, 0, 0))
    # On a narrow screen, only a name may continue below.
    for _ in range(3):
        table.add_column(no_wrap=True)
    headings = ("", "operations", "multiply-adds", "memory")
    table.add_row(*(Text(word, style=QUIET) for word in headings))
    table.add_row("yours", *cost_in_words(cost))
    for name in filter(None, dict.fromkeys(names)):
        table.add_row(name, *(cost_in_words(costs[name]) if name in costs else ["not measured"]))
    return indented(table)


def cost_in_words(cost: CallCost) -> tuple[str, str, str]:
    """Return the operations, the multiply-adds and the peak memory of a call in words."""
    return str(cost.operations), in_count(cost.multiply_adds), in_bytes(cost.peak_bytes)


def render_answer(
    answer: OtherAnswer, own_source: str | None, own_cost: CallCost | None, width: int
) -> RenderableType:
    """Return a right answer of the pack: its difference, its price, its code."""
    parts: list[RenderableType] = []
    for text, style in ((answer.does, ""), (answer.costs, QUIET)):
        if text:
            parts.append(_prose(text, style))
    if answer.cost is not None:
        operations, multiply_adds, memory = cost_in_words(answer.cost)
        measured = f"{operations} operations, {multiply_adds} multiply-adds, {memory} at the peak"
        if own_cost is not None:
            measured += f"; yours: {', '.join(cost_in_words(own_cost))}"
        parts.append(_prose(f"{measured}.", QUIET))
    if answer.name != REFERENCE:
        parts += [Text(), code_block(without_docstring(answer.source), width)]
    elif own_source is None:
        parts.append(code_block(answer.source, width))
    else:
        titles = ("the reference", "yours")
        parts.append(code_pair(titles, (answer.source, own_source), width))
    return Group(*parts)


def render_mistakes(yours: Sequence[tuple[str, int]], common: Sequence[str]) -> RenderableType:
    """Return the learner's own mistakes with their counts, then the pack's known mistakes."""
    parts: list[RenderableType] = []
    if yours:
        counted = [_prose(f"{count} x  {says}", indent=2) for says, count in yours]
        parts += [_title("Your mistakes here"), *counted, Text()]
    common_mistakes = [_prose(says, indent=2) for says in common]
    return Group(*parts, _title("Mistakes that are common here"), *common_mistakes)


def render_attempts(sources: Sequence[tuple[str, str]], width: int) -> RenderableType:
    """Return the changes between attempts: words and a source for each, the oldest first."""
    if len(sources) < 2:
        return _prose("There is only one attempt, so there is nothing to compare.")
    parts: list[RenderableType] = []
    for (before_words, before), (words, after) in pairwise(sources):
        parts += [Text()] if parts else []
        parts.append(_title(f"from {before_words} to {words}"))
        parts.append(difference(before, after, width))
    return Group(*parts)


def name_in_words(answer: OtherAnswer) -> str:
    """Return the name of an answer for a title."""
    return "the reference" if answer.name == REFERENCE else answer.name


def _title(words: str) -> Text:
    return Text(words, style=f"bold {RIGHT}")


def _prose(text: str, style: str = "", indent: int = 0) -> RenderableType:
    """Return prose whose lines are at most 100 columns wide."""
    lines = Text(visible(text, lines=True), style=style)
    return Constrain(indented(lines, blanks=indent), WIDEST)


_CHINESE = r"\u3000-\u9fff\uff00-\uffef"
# A line end between two Chinese characters, also after a comma, stands for no blank.
_CHINESE_LINE_END = re.compile(rf"(?<=[{_CHINESE},;:?!)])\n(?=[{_CHINESE}])")


def prose_of(text: str) -> str:
    """Return a question or an answer as one line, without the backquotes of Markdown.

    >>> prose_of("Why is `q @ k`\\n  divided?")
    'Why is q @ k divided?'
    """
    lines = "\n".join(line.strip() for line in text.strip().splitlines())
    return " ".join(_CHINESE_LINE_END.sub("", lines).replace("`", "").split())


def render_follow_up(follow_up: FollowUp, title: str, *, is_revealed: bool) -> RenderableType:
    """Return a question about a challenge, and its model answer if the learner asked for it."""
    next_step = "Think, then press Enter to read a model answer."
    parts = [Text(title, style=QUIET), Text(prose_of(follow_up.question), style="bold"), Text()]
    if is_revealed:
        next_step = "Rate your own answer: 1 again, 2 hard, 3 good, 4 easy."
        parts += [Text(prose_of(follow_up.answer)), Text()]
    return Constrain(Group(*parts, Text(next_step, style=QUIET)), WIDEST)


class _FoldingTable(markdown.TableElement):
    """A table whose long words continue on more lines. rich would cut them with an ellipsis."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            assert isinstance(table, Table)
            for column in table.columns:
                column.overflow = "fold"
            yield table


class _PlainCode(markdown.CodeBlock):
    """Code whose long lines continue below."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield indented(code_block(str(self.text), options.max_width - 2, self.lexer_name))


class Prompt(markdown.Markdown):
    """A prompt, which is written in Markdown."""

    elements: ClassVar[dict[str, type[markdown.MarkdownElement]]] = {
        **markdown.Markdown.elements,
        "table_open": _FoldingTable,
        "fence": _PlainCode,
        "code_block": _PlainCode,
    }
