"""The answer of a report as terminal text: the likely mistake, the line, and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from attn_drill.model.report import Diagnosis, EffectiveMask, Frame, Outcome, Patterns, Report
from attn_drill.report.code_text import code_around
from attn_drill.report.literal import indented, labelled, one_row
from attn_drill.report.picture_text import draw_errors, draw_masks, tells, title_of
from attn_drill.report.stages import Stage, shows
from attn_drill.report.styles import WRONG
from attn_drill.report.visible import visible
from attn_drill.report.wording import sentence

_INDENT = 2


def findings(report: Report, stage: Stage) -> list[tuple[str, str]]:
    """Return labels and sentences: the likely mistakes, how the result relates to the right one."""
    diagnosis = report.diagnosis
    if diagnosis is None:
        return []
    rows: list[tuple[str, str]] = []
    if shows(stage, "cause"):
        for mistake in diagnosis.mistakes:
            rows.append(("AND" if rows else "LIKELY", mistake.says))
    # Before the stage "cause", the questions of the mistakes stand for the mistakes.
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
    # The usual colour of text is readable on light and on dark screens.
    styled = [
        (Text(f" {label} ", style=f"bold reverse {WRONG}"), Text(words, style="bold"))
        for label, words in rows
    ]
    return labelled(styled, padding=(0, 1), style="")


def render_line(report: Report, failure: Outcome) -> Iterator[RenderableType]:
    """Yield the line to blame with the code around it, and how it relates to other lines."""
    diagnosis = report.diagnosis or Diagnosis()
    frame = diagnosis.first_line
    calls: Sequence[Frame] = ()
    # After an exception, it is the last line of the learner's file in the traceback.
    if frame is None and failure.frames:
        *calls, frame = failure.frames
    words = visible(place_words(diagnosis, failure.number))
    if frame is None:
        if words:
            yield Text(sentence(words))
        return
    title = Text(f"line {frame.line}", style="bold")
    title.append(_in_function(frame) + (f": {words}" if words else ""), style="not bold")
    yield title
    code = code_around(report.source, frame.line, diagnosis.start)
    yield from code or [one_row(Text(f"  {visible(frame.text)}", style="bold"))]
    for wrong in diagnosis.elsewhere:
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
    """Return how the marked line relates to other lines of the file in words, or ""."""
    # No sentence says that a line is right: a line may make right numbers in a layout that the next
    # step does not expect.
    missed = " ".join(filter(None, [diagnosis.first_missed, diagnosis.missed_shape]))
    if diagnosis.first_line is None:
        return f"no line makes the reference's {missed}" if missed else ""
    start, made = diagnosis.start, diagnosis.made
    parts: list[str] = []
    if diagnosis.missing and start is None:
        parts.append("a step is missing in this line")
    elif diagnosis.missing and (diagnosis.mistakes or not missed):
        parts.append(f"a step is missing between line {start} and this line")
    elif diagnosis.missing:
        before = f"this line uses the result of line {start}"
        parts.append(f"{before}, but the reference first does another step ({missed})")
    elif diagnosis.rearranged:
        parts.append("this line rearranges right numbers wrongly")
        parts.append(f"{diagnosis.rearranged} becomes {made}")
    elif made:
        for operand in diagnosis.operands:
            if operand.expected and not diagnosis.mistakes:
                value = f"{operand.name or 'the result'} of line {operand.line}"
                parts.append(f"{value} is {operand.shape}, the reference has {operand.expected}")
        parts.append("this is the first wrong result")
        lines = {operand.line for operand in diagnosis.operands} - {diagnosis.first_line.line}
        if lines:
            *others, last = map(str, sorted(lines))
            listed = f"lines {', '.join(others)} and {last}" if others else f"line {last}"
            parts.append(f"the numbers from {listed} are right")
    if made and not diagnosis.rearranged:
        is_other_case = diagnosis.case is not None and diagnosis.case != shown_case
        case = f"in case {diagnosis.case} " if is_other_case else ""
        parts.append(f"{case}it makes {made}")
    return "; ".join(parts)


def render_picture(report: Report, failure: Outcome, width: int) -> Iterator[RenderableType]:
    """Yield the picture of the wrong output: a mask, a boolean matrix, or the errors."""
    room = width - _INDENT
    mask = report.diagnosis.effective_mask if report.diagnosis is not None else None
    mismatch = failure.mismatch
    if mask is not None and mask.difference:
        name, words = "mask", mask_words(mask)
        drawing = draw_masks(mask.actual, mask.expected, room, mask.cached)
    elif mismatch is not None and mismatch.patterns is not None:
        patterns = mismatch.patterns
        name, words = mismatch.tensor, pattern_words(patterns)
        drawing = draw_masks(patterns.actual, patterns.expected, room)
    elif mismatch is not None and mismatch.error_maps and tells(mismatch.error_maps[0]):
        error_map = mismatch.error_maps[0]
        name, words = f"errors of {mismatch.tensor}", title_of(error_map)
        drawing = draw_errors(error_map, room)
    else:
        return
    yield Text(visible(name), style="bold").append(f": {words}", style="not bold")
    yield indented(*drawing, blanks=_INDENT)


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
