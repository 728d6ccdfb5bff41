"""The cause of a failure as terminal text: sentences, pictures, and the state of a repair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.console import RenderableType
from rich.text import Text

from attn_drill.model.report import (
    Curve,
    Diagnosis,
    EffectiveMask,
    ErrorMap,
    Frame,
    Outcome,
    Patterns,
    Repair,
    Report,
)
from attn_drill.report.code_text import code_around, indented, labelled, one_row
from attn_drill.report.wording import (
    QUIET,
    RIGHT,
    WRONG,
    Stage,
    dimension,
    sentence,
    shows,
    visible,
)


class Level(NamedTuple):
    most: float  # the greatest difference, in units of the tolerance
    symbol: str
    style: str
    words: str


LEVELS = (
    Level(1.0, "·", RIGHT, "right"),
    Level(1e2, "░", WRONG, "up to 100 x the tolerance"),
    Level(1e4, "▒", WRONG, "up to 10,000 x the tolerance"),
    Level(math.inf, "█", f"bold {WRONG}", "far off"),
    Level(math.nan, "!", f"bold {WRONG}", "not finite"),
)
_GAP = 3  # columns between two matrices
_HEIGHT, _MOST_COLUMNS, _LABEL_COLUMNS = 7, 60, 8
_YOURS, _REFERENCE, _BOTH = "●", "·", "◉"
_SYMBOLS = {"right": "✓", "wrong": "✗", "unknown": "?"}
_STYLES = {"right": RIGHT, "wrong": f"bold {WRONG}", "unknown": QUIET}


def level(off: float | None) -> int:
    """Return the index of a cell's level. None stands for a difference that is not finite.

    >>> [level(off) for off in (0.0, 1.0, 50.0, 1e9, None)]
    [0, 0, 1, 3, 4]
    """
    if off is None:
        return len(LEVELS) - 1
    return next(index for index, each in enumerate(LEVELS) if off <= each.most)


def tells(error_map: ErrorMap) -> bool:
    """Return whether the cells of a map differ. A map of equal cells shows nothing."""
    return len({level(off) for row in error_map.off for off in row}) > 1


def draw_errors(error_map: ErrorMap, width: int) -> Iterator[Text]:
    """Yield the rows of an error map in at most `width` columns, then its symbols in words."""
    labels: list[str] = []
    for row, _ in enumerate(error_map.off):
        # A row may join several indices.
        first = row * error_map.row_step
        last = min(first + error_map.row_step, error_map.row_count) - 1
        indices = f"{first}-{last}" if last > first else str(first)
        labels.append(f"{error_map.rows.lower()}={indices}" if error_map.rows else "")
    label_width = max(map(len, labels))
    times = 2 if label_width + 2 + 2 * len(error_map.off[0]) <= width else 1
    used: set[int] = set()
    for label, cells in zip(labels, error_map.off, strict=True):
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{label:>{label_width}}  ", style=QUIET)
        for off in cells:
            used.add(level(off))
            drawn = LEVELS[level(off)]
            line.append(drawn.symbol * times, style=drawn.style)
        yield line
    legend = [f"{LEVELS[index].symbol} {LEVELS[index].words}" for index in sorted(used)]
    yield Text("; ".join(legend), style=QUIET)


def title_of(error_map: ErrorMap) -> str:
    """Return the dimensions of a map in words, e.g. "heads (H) by positions (L)"."""
    columns = dimension(error_map.columns)
    if error_map.column_step > 1:
        columns += f", {error_map.column_step} in a cell"
    return f"{dimension(error_map.rows)} by {columns}" if error_map.rows else columns


def draw_masks(
    actual: Sequence[str], expected: Sequence[str], width: int, cached: int = 0
) -> Iterator[Text]:
    """Yield two matrices of `#` and `.`: side by side if there is room, else below each other."""
    # A bar stands between the keys of a cache, which come first, and the other keys.
    columns = len(expected[0]) if expected else 0
    bars = 1 if 0 < cached < columns else 0
    room = max(columns + bars, len("yours"))
    if 2 * room + _GAP <= width:
        yield Text(f"{'yours':<{room}}{'':{_GAP}}expected", style=QUIET)
        for row, other in zip(actual, expected, strict=True):
            line = _cells(row, other, 0, cached, WRONG)
            line.append(" " * (room - columns - bars + _GAP))
            yield line.append_text(_cells(other, row, 0, cached, RIGHT))
        return
    # A matrix that is wider than the screen is folded into blocks.
    most = max(8, width - bars)
    for start in range(0, columns, most):
        stop = min(columns, start + most)
        part = f" (columns {start}-{stop - 1} of {columns})" if columns > most else ""
        for label, rows, others, style in (
            ("yours", actual, expected, WRONG),
            ("expected", expected, actual, RIGHT),
        ):
            yield Text(f"{label}{part}", style=QUIET)
            for row, other in zip(rows, others, strict=True):
                yield _cells(row[start:stop], other[start:stop], start, cached, style)


def _cells(row: str, other: str, start: int, cached: int, style: str) -> Text:
    """Return the cells of a row. Cells that differ from the other row have a style."""
    text = Text(no_wrap=True)
    for column, (cell, other_cell) in enumerate(zip(row, other, strict=True), start):
        if column == cached and column > 0:
            text.append("│", style=QUIET)
        text.append(cell, style=f"bold {style}" if cell != other_cell else "")
    return text


def render_repair(repair: Repair, width: int) -> Iterator[RenderableType]:
    """Yield the progress of a hunt with several bugs."""
    yield Text(bugs_left(repair), style="bold")
    parts: list[Text] = []
    for part in repair.parts:
        parts.append(Text(f"{_SYMBOLS[part.state]} {part.name}", style=_STYLES[part.state]))
    if parts:
        yield indented(Text("  ").join(parts))
    if any(part.state == "unknown" for part in repair.parts):
        yield indented(Text("?  fails, but it uses a part that is wrong", style=QUIET))
    curve = repair.curve
    if curve is None:
        return
    steps = len(curve.expected)
    if not curve.actual:
        yield Text(f"The small training of {steps} steps raised an exception.", style=QUIET)
        return
    title = Text(f"loss over {steps} training steps  ")
    title.append(f"{_YOURS} yours", style=WRONG)
    title.append(f"  {_REFERENCE} reference", style=RIGHT)
    yield title.append(f"  {_BOTH} both", style=QUIET)
    yield from plotted(curve, max(10, min(_MOST_COLUMNS, width - _LABEL_COLUMNS - 2)))
    if lost := curve.actual.count(None):
        yield indented(Text(f"{lost} of {steps} losses are not finite", style=WRONG))


def bugs_left(repair: Repair) -> str:
    """Return the number of bugs that are left, in words."""
    if repair.left is None:
        return "Your change traded one bug for another, or repaired only a part of a bug."
    count = len(repair.left)
    if count == 0:
        return f"All {repair.planted} bugs are repaired."
    return f"{count} of {repair.planted} bugs {'is' if count == 1 else 'are'} left."


def plotted(curve: Curve, columns: int) -> list[Text]:
    """Return the rows of the picture, the highest loss first."""
    top = max([1e-6, *(loss for loss in curve.expected if loss is not None)]) * 1.25
    yours = _heights(curve.actual, columns, top)
    reference = _heights(curve.expected, columns, top)
    rows: list[Text] = []
    for level in reversed(range(_HEIGHT)):
        value = top * (level + 0.5) / _HEIGHT
        row = Text(f"{value:>{_LABEL_COLUMNS - 2}.2f} ┤", style=QUIET)
        for actual, wanted in zip(yours, reference, strict=True):
            if actual == level and wanted == level:
                row.append(_BOTH, style=QUIET)
            elif actual == level:
                row.append(_YOURS, style=WRONG)
            else:
                row.append(_REFERENCE if wanted == level else " ", style=RIGHT)
        rows.append(row)
    rows.append(Text(" " * (_LABEL_COLUMNS - 1) + "└" + "─" * columns, style=QUIET))
    return rows


def _heights(losses: Sequence[float | None], columns: int, top: float) -> list[int | None]:
    """Return the row of the mean loss of each column, from 0 at the bottom; None if not finite."""
    levels: list[int | None] = []
    for column in range(columns):
        first = column * len(losses) // columns
        part = losses[first : max(first + 1, (column + 1) * len(losses) // columns)]
        values = [loss for loss in part if loss is not None]
        if values and len(values) == len(part):
            # A loss above the top is in the top row.
            level = int(sum(values) / len(values) / top * _HEIGHT)
            levels.append(max(0, min(_HEIGHT - 1, level)))
        else:
            levels.append(None)
    return levels


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
    table = labelled([], padding=(0, 1), style="")
    for label, words in rows:
        table.add_row(Text(f" {label} ", style=f"bold reverse {WRONG}"), Text(words, style="bold"))
    return table


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
    start, made_shape = diagnosis.start, diagnosis.made_shape
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
        parts.append(f"{diagnosis.rearranged} becomes {made_shape}")
    elif made_shape:
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
    if made_shape and not diagnosis.rearranged:
        is_other_case = diagnosis.case is not None and diagnosis.case != shown_case
        case = f"in case {diagnosis.case} " if is_other_case else ""
        parts.append(f"{case}it makes {made_shape}")
    return "; ".join(parts)


def render_picture(report: Report, failure: Outcome, width: int) -> Iterator[RenderableType]:
    """Yield the picture of the wrong output: a mask, a boolean matrix, or the errors."""
    room = width - 2  # the picture is indented
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
    yield indented(*drawing)


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
