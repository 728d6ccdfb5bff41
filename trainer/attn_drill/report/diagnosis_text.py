"""The answer of a report as terminal text: the likely mistake, the line, and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from attn_drill.model.report import Diagnosis, EffectiveMask, Frame, Outcome, Patterns, Report
from attn_drill.report.code_text import code_around
from attn_drill.report.literal import grid, one_row
from attn_drill.report.picture_text import draw_errors, draw_masks, tells, title_of
from attn_drill.report.stages import Stage, shows
from attn_drill.report.styles import WRONG
from attn_drill.report.visible import visible
from attn_drill.report.wording import sentence

_INDENT = 2


def findings(report: Report, stage: Stage) -> list[tuple[str, str]]:
    """Return labels and sentences: the likely mistakes, how the result relates to the right one.

    Before the stage "cause", the questions of the mistakes stand for the mistakes.
    """
    diagnosis = report.diagnosis
    if diagnosis is None:
        return []
    rows: list[tuple[str, str]] = []
    if shows(stage, "cause"):
        rows += [("AND", mistake.says) for mistake in diagnosis.mistakes]
        rows[:1] = [("LIKELY", says) for _, says in rows[:1]]
    elif shows(stage, "question"):
        rows += [("QUESTION", mistake.hint) for mistake in diagnosis.mistakes if mistake.hint]
    if diagnosis.layout and shows(stage, "line"):
        rows.append(("RESULT", sentence(diagnosis.layout)))
    mask = diagnosis.effective_mask
    if mask is not None and mask.difference and not diagnosis.mistakes and shows(stage, "cause"):
        rows.append(("MASK", sentence(mask.difference)))
    return rows


def render_findings(rows: Iterable[tuple[str, str]]) -> RenderableType:
    """Return sentences with their labels, the most visible part of a report."""
    table = grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    for label, words in rows:
        shown_label = Text(f" {label} ", style=f"bold reverse {WRONG}")
        # The usual colour of text is readable on light and on dark screens.
        table.add_row(shown_label, Text(words, style="bold"))
    return table


def render_line(report: Report, failure: Outcome) -> Iterator[RenderableType]:
    """Yield the line to blame with the code around it, and how it relates to other lines.

    If an exception ended the call, the line is the last line of the learner's file in the
    traceback, and the calls that led to it follow.
    """
    diagnosis = report.diagnosis
    frame = diagnosis.first_line if diagnosis is not None else None
    calls: tuple[Frame, ...] = ()
    if frame is None and failure.frames:
        *outer, frame = failure.frames
        calls = tuple(outer)
    words = "" if diagnosis is None else visible(place_words(diagnosis, failure.number))
    if frame is None:
        if words:
            yield Text(sentence(words))
        return
    title = Text(f"line {frame.line}", style="bold")
    title.append(_in_function(frame), style="not bold")
    if words:
        title.append(f": {words}", style="not bold")
    yield title
    alone = Text(f"  {visible(frame.text)}", style="bold")
    code = code_around(report.source, frame.line, diagnosis.start if diagnosis else None)
    yield from code or [one_row(alone)]
    for wrong in () if diagnosis is None else diagnosis.elsewhere:
        place = f"line {wrong.first_line.line} in {visible(wrong.function)}"
        other = Text(f"{place} (case {wrong.number}) is wrong too: ")
        other.append(visible(wrong.first_line.text), style="bold")
        yield one_row(other)
    for call in reversed(calls):
        caller = Text(f"called from line {call.line}{_in_function(call)}")
        if call.text:
            caller.append(f"  {visible(call.text)}", style="bold")
        yield one_row(caller)


def _in_function(frame: Frame) -> str:
    is_function = frame.function and frame.function != "<module>"
    return f" in {visible(frame.function)}" if is_function else ""


def place_words(diagnosis: Diagnosis, shown_case: int | None) -> str:
    """Return how the marked line relates to other lines of the file in words, or "".

    No sentence says that a line is right: a line may make right numbers in a layout that the next
    step does not expect.

    Args:
        diagnosis: the diagnosis.
        shown_case: the number of the case that the report explains, from 1.
    """
    missed = " ".join(filter(None, [diagnosis.first_missed, diagnosis.missed_shape]))
    if diagnosis.first_line is None:
        return f"no line makes the reference's {missed}" if missed else ""
    operands = diagnosis.operands
    parts: list[str] = []
    if diagnosis.missing:
        parts.append(_missing_step(diagnosis, missed))
    elif diagnosis.rearranged:
        parts.append("this line rearranges right numbers wrongly")
        parts.append(f"{diagnosis.rearranged} becomes {diagnosis.made}")
    elif diagnosis.made:
        for operand in operands if not diagnosis.mistakes else ():
            if operand.expected:
                value = operand.name or "the result"
                there = f"the reference has {operand.expected}"
                parts.append(f"{value} of line {operand.line} is {operand.shape}, {there}")
        parts.append("this is the first wrong result")
        if lines := sorted({operand.line for operand in operands} - {diagnosis.first_line.line}):
            *others, last = map(str, lines)
            listed = f"lines {', '.join(others)} and {last}" if others else f"line {last}"
            parts.append(f"the numbers from {listed} are right")
    if diagnosis.made and not diagnosis.rearranged:
        is_other_case = diagnosis.case is not None and diagnosis.case != shown_case
        case = f"in case {diagnosis.case} " if is_other_case else ""
        parts.append(f"{case}it makes {diagnosis.made}")
    return "; ".join(parts)


def _missing_step(diagnosis: Diagnosis, missed: str) -> str:
    """Return in words between which lines a step is missing."""
    if diagnosis.start is None:
        return "a step is missing in this line"
    if diagnosis.mistakes or not missed:
        return f"a step is missing between line {diagnosis.start} and this line"
    before = f"this line uses the result of line {diagnosis.start}"
    return f"{before}, but the reference first does another step ({missed})"


def render_picture(report: Report, failure: Outcome, width: int) -> Iterator[RenderableType]:
    """Yield the picture of the wrong output: a mask, a boolean matrix, or the errors."""
    room = width - _INDENT
    mask = report.diagnosis.effective_mask if report.diagnosis is not None else None
    mismatch = failure.mismatch
    if mask is not None and mask.difference:
        yield _title("mask", mask_words(mask))
        drawing = draw_masks(mask.actual, mask.expected, room, mask.cached)
    elif mismatch is not None and mismatch.patterns is not None:
        yield _title(mismatch.tensor, pattern_words(mismatch.patterns))
        patterns = mismatch.patterns
        drawing = draw_masks(patterns.actual, patterns.expected, room)
    elif mismatch is not None and mismatch.error_maps and tells(mismatch.error_maps[0]):
        yield _title(f"errors of {mismatch.tensor}", title_of(mismatch.error_maps[0]))
        drawing = draw_errors(mismatch.error_maps[0], room)
    else:
        return
    yield Padding(Group(*drawing), (0, 0, 0, _INDENT), expand=False)


def _title(name: str, words: str) -> Text:
    return Text(visible(name), style="bold").append(f": {words}", style="not bold")


def mask_words(mask: EffectiveMask, sign: str = "#") -> str:
    """Return the meaning of the picture of a mask, whose cells have a sign or a shade."""
    cached = "; keys before the bar are in the cache" if mask.cached else ""
    case = f" of case {mask.number}" if mask.number is not None else ""
    place = f"batch item {mask.item}{case}"
    return f"the keys ({sign}) that each query, a row, attends to in {place}{cached}"


def pattern_words(patterns: Patterns, sign: str = "#") -> str:
    """Return the meaning of the picture of a boolean matrix, whose cells have a sign or a shade."""
    place = f"at {patterns.place}, " if patterns.place else ""
    return f"{place}rows are {patterns.rows}, columns are {patterns.columns}, {sign} is True"
