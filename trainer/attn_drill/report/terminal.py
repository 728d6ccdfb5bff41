"""A report or a trace as terminal text: the verdict, the checks, the first failure in full."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TextIO

from rich.cells import cell_len, chop_cells
from rich.console import Group, RenderableType
from rich.text import Text

from attn_drill.model.case import Case
from attn_drill.model.report import Mismatch, Outcome, Report, Slice, Trace, TraceRow
from attn_drill.model.words import plural
from attn_drill.report._diagnosis_text import (
    findings,
    render_findings,
    render_line,
    render_picture,
    render_repair,
)
from attn_drill.report.code_text import Trimmed, console, grid, indented, labelled, one_row
from attn_drill.report.wording import (
    QUIET,
    RIGHT,
    STAGE_WORDS,
    VERDICT_WORDS,
    WRONG,
    Stage,
    affected,
    case_rows,
    has_cause,
    index_in_words,
    next_stage,
    number,
    ruled_out,
    shows,
    sizes_in_words,
    small_tensors,
    statistics_rows,
    visible,
)

VERDICTS: dict[str, str] = {verdict: words.upper() for verdict, words in VERDICT_WORDS.items()}
HOW_TO_SEE = "check again with --why"
_SYMBOLS = {"passed": "✓", "failed": "✗", "skipped": "–"}
_STYLES = {"passed": RIGHT, "failed": f"bold {WRONG}", "skipped": QUIET}
# Of what the code printed, a report shows so many lines, and so much of each line.
_MOST_LINES, _MOST_COLUMNS = 20, 400


def show(
    report: Report,
    stream: TextIO,
    *,
    stage: Stage = "cause",
    how_to_see: str = HOW_TO_SEE,
    file: str | None = None,
    options: str = "",
    wait: Callable[[str], bool] | None = None,
) -> None:
    """Print a report in the terminal's width, with symbols of its encoding, and the next commands.

    Args:
        how_to_see: how a reader gets the likely mistake if the stage hides it.
        file: the argument FILE of the commands, by default the file of the report.
        options: options of the commands, with a space before each, e.g. " --pack DIR".
        wait: asks before each later stage, which it gets in words, whether the reader wants it.
            None shows all stages at once.
    """
    out = console(stream)
    if wait is None:
        out.print(render(report, out.width, stage=stage, how_to_see=how_to_see))
    else:
        # First the report without its diagnosis, then what each stage adds.
        shown: Stage = "where"
        out.print(render(report, out.width, stage=shown, how_to_see=""))
        while (following := next_stage(report, shown)) and shows(stage, following):
            if not wait(STAGE_WORDS[following]):
                break
            out.print(Trimmed(Group(*_added(report, shown, following))))
            shown = following
    out.print()
    # A command can be copied: no newline breaks it.
    for label, command in next_commands(report, report.file if file is None else file, options):
        line = f"{label:<16} {command}"
        if len(line) > out.width:
            out.print(Text(f"{label}:", style=QUIET))
            line = f"  {command}"
        out.print(Text(line), soft_wrap=True)


def _added(report: Report, before: Stage, stage: Stage) -> Iterator[RenderableType]:
    """Yield the parts that a stage adds to the stage before it."""
    earlier, failure = findings(report, before), report.first_failure()
    if new := [row for row in findings(report, stage) if row not in earlier]:
        yield render_findings(new)
    if stage == "line" and failure is not None:
        yield from render_line(report, failure)
        yield indented(labelled(ruled_out(report.diagnosis)))


def render(
    report: Report,
    width: int = 80,
    *,
    stage: Stage = "cause",
    how_to_see: str = HOW_TO_SEE,
    # Without a command line, nothing names a command or an option.
    has_commands: bool = True,
) -> RenderableType:
    """Return the whole report as one renderable: the answer first, then the figures."""
    statuses = report.statuses()
    passed = list(statuses.values()).count("passed")
    colour = RIGHT if report.verdict == "passed" else WRONG
    case_words = f", case {report.only_case} alone" if report.only_case else ""
    file = visible(report.file)
    # Of a long name only the end is shown. The commands have the whole name.
    while cell_len(file) > width:
        file = f"…{file[2:]}"
    headline = (
        (VERDICTS[report.verdict], f"bold {colour}"),
        (report.challenge, "bold"),
        (f"{passed} of {len(statuses)} checks passed{case_words}", ""),
        (f"seed {report.seed}", ""),
        (file, QUIET),
    )
    checks = [(f"{_SYMBOLS[status]} {name}", _STYLES[status]) for name, status in statuses.items()]
    parts: list[RenderableType] = [_side_by_side(headline, width), _side_by_side(checks, width)]
    parts += [Text(visible(note, lines=True), style=QUIET) for note in report.notes]
    if report.repair is not None and report.repair.planted > 1:
        parts += [Text(), *render_repair(report.repair, width)]
    if (failure := report.first_failure()) is not None:
        parts += [Text(), *_failure(report, failure, width, stage, how_to_see, has_commands)]
    if report.stdout.strip():
        parts += [Text(), *_printed(report.stdout, width, has_commands)]
    return Trimmed(Group(*parts))


def _side_by_side(parts: Iterable[tuple[str, str]], width: int) -> Text:
    """Return words with their styles in lines of this width. No part is broken over two lines."""
    lines: list[Text] = []
    for words, style in parts:
        if lines and lines[-1].cell_len + 2 + cell_len(words) <= width:
            lines[-1].append("  ")
        else:
            lines.append(Text())
        lines[-1].append(words, style=style)
    return Text("\n").join(lines)


def _failure(
    report: Report, failure: Outcome, width: int, stage: Stage, how_to_see: str, has_commands: bool
) -> Iterator[RenderableType]:
    """Yield the failure: findings, line, picture, then the figures."""
    case = report.cases[failure.number - 1] if failure.number is not None else None
    title = Text(failure.check, style=f"bold {WRONG}")
    if case is not None:
        title.append(f"  case {failure.number}: {case.name}", style="bold default")
    words = failure.advised_message if has_commands else failure.message
    message = (title, indented(Text(visible(words, lines=True))))
    answer = findings(report, stage)
    # If the diagnosis found nothing, the check and its message are the answer and come first.
    if answer:
        yield render_findings(answer)
    else:
        yield from message
    if has_commands and how_to_see and has_cause(report) and not shows(stage, "cause"):
        yield Text(f"The likely mistake is known: {how_to_see} to see it.", style=QUIET)
    if shows(stage, "line"):
        yield from render_line(report, failure)
    yield from render_picture(report, failure, width)
    if answer:
        yield from message
    figures = labelled(_figures(report, failure, case, width, stage))
    if figures.row_count:
        yield indented(figures)


def _figures(
    report: Report, failure: Outcome, case: Case | None, width: int, stage: Stage
) -> Iterator[tuple[str, RenderableType]]:
    """Yield the rows of the case, of the difference and of the rest of the diagnosis."""
    mismatch = failure.mismatch
    if case is not None:
        yield from case_rows(case, report.signatures)
    if case is not None and mismatch is not None:
        if mismatch.kind == "plain":
            matrices = small_tensors(case)
            yield from [row for row in matrices if row[0] == mismatch.tensor] or matrices[:1]
        elif mismatch.kind == "shape":
            yield from _shapes(mismatch)
        elif mismatch.kind == "value":
            if along := affected(mismatch.affected):
                yield "along", along
            if mismatch.patterns is None and mismatch.worst is not None:
                yield mismatch.tensor, _slice(mismatch.worst, mismatch, case.sizes, width)
            yield from statistics_rows(mismatch)
    if shows(stage, "line"):
        yield from ruled_out(report.diagnosis)
    others: Counter[str] = Counter()
    for outcome in report.outcomes:
        if outcome.status == "failed" and outcome is not failure:
            others[outcome.check] += 1
    words: list[str] = []
    for name, count in others.items():
        cases = plural(count, "more case") if name == failure.check else str(count)
        words.append(f"{name} ({cases})")
    if words:
        yield "also", f"failing: {', '.join(words)}"


def _shapes(mismatch: Mismatch) -> Iterator[tuple[str, RenderableType]]:
    """Yield both shapes. A size that differs has a star."""
    expected, actual = mismatch.expected_shape or (), mismatch.actual_shape or ()
    for label, shape, other, style in (
        ("yours", actual, expected, WRONG),
        ("expected", expected, actual, RIGHT),
    ):
        line = Text("[")
        for axis, size in enumerate(shape):
            line.append(", " if axis else "")
            if shape[axis : axis + 1] == other[axis : axis + 1]:
                line.append(str(size))
            else:
                line.append(f"{size}*", style=style)
        line.append("]" + (f"  ({mismatch.dims})" if label == "expected" else ""))
        yield label, line


def _slice(part: Slice, mismatch: Mismatch, sizes: Mapping[str, int], width: int) -> RenderableType:
    """Return the actual entries above the expected entries, around the first wrong entry."""
    room = max(1, (width - 26) // 10)
    first_wrong = part.wrong.index(True) if True in part.wrong else 0
    start = max(0, min(first_wrong, len(part.actual) - room))
    columns = range(start, min(start + room, len(part.actual)))
    table = grid(padding=(0, 1))
    table.add_column(style=QUIET, no_wrap=True)
    for _ in columns:
        table.add_column(justify="right", no_wrap=True)
    # Colour never replaces words: a wrong actual entry has a star.
    for label, values, sign, style in (
        ("yours", part.actual, "*", WRONG),
        ("expected", part.expected, " ", RIGHT),
    ):
        cells = []
        for column in columns:
            words = number(values[column])
            if mismatch.expected_type == "bool":
                words = str(bool(values[column]))
            is_wrong = part.wrong[column]
            cells.append(Text(f"{words}{sign}", style) if is_wrong else Text(f"{words} "))
        table.add_row(label, *cells)
    if not part.index:
        return Group(Text("the only entry"), table)
    index = (*part.index[:-1], part.index[-1] + start)
    return Group(Text(f"from {index_in_words(index, mismatch.dims, sizes)} on"), table)


def _printed(printed: str, width: int, has_commands: bool) -> Iterator[RenderableType]:
    """Yield the lines that the submission printed."""
    lines = visible(printed, lines=True).strip("\n").split("\n")
    yield Text("Printed by your code in this case:", style=QUIET)
    # Every row on the screen begins with a bar, so that none looks like a part of the report.
    bar = "│ "
    for line in lines[:_MOST_LINES]:
        shown = line.expandtabs(4)[:_MOST_COLUMNS]
        for row in chop_cells(shown, max(8, width - len(bar))) or [""]:
            yield Text(f"{bar}{row}", no_wrap=True)
    if len(lines) > _MOST_LINES:
        where = "; --json has them all" if has_commands else ""
        yield Text(f"{bar}({len(lines) - _MOST_LINES} more lines{where})", style=QUIET)


def next_commands(report: Report, file: str, options: str = "") -> Iterator[tuple[str, str]]:
    """Yield the commands that help next, each with a label. `file` may be ""."""
    failure, challenge = report.first_failure(), report.challenge
    if failure is None:
        yield "the reference", f"attn-drill solution {challenge}{options}"
        return
    # Characters of the name that act on a terminal are escaped.
    argument = f"{challenge} {shlex.quote(visible(file))}" if file else challenge
    cases = f" --seed {report.seed}"
    if failure.number is not None:
        cases += f" --case {failure.number}"
        yield "this case again", f"attn-drill check {argument}{cases}{options}"
    else:
        yield "once more", f"attn-drill check {argument}{options}"
    if report.diagnosis is not None:
        yield "line by line", f"attn-drill trace {argument}{cases}{options}"
        if failure.number is not None:
            yield "in a debugger", f"attn-drill repro {argument}{cases}{options}"
    yield "a hint", f"attn-drill hint {challenge}{options}"


def render_trace(trace: Trace) -> RenderableType:
    """Return a trace as one renderable: each line of code, and its result below it."""
    title = Text(f"case {trace.number}: {trace.case.name}", style="bold")
    title.append(f"   {sizes_in_words(trace.case)}   seed {trace.seed}", style=f"not bold {QUIET}")
    parts = [title]
    digits = len(str(max((row.line for row in trace.rows), default=0)))
    for row in trace.rows:
        # The first wrong line has a marker.
        mark, style = (">", f"bold {WRONG}") if row.is_wrong else (" ", QUIET)
        code = Text(f"{mark} {row.line:>{digits}}  ", style=style)
        code.append(f"{'  ' * row.depth}{visible(row.text)}", style="not dim bold")
        result = Text(" " * (digits + 6 + 2 * row.depth))
        if row.milestone:
            result.append(f"= {row.milestone}  ", style=RIGHT)
        style = WRONG if row.is_wrong else QUIET
        result.append(f"{row.shape} {row.dtype}  {_values(row)}", style=style)
        parts += [one_row(code), one_row(result)]
    equal = "= name: equal to the reference's result of that name, in any layout"
    parts.append(Text(equal, style=QUIET))
    if any(row.is_wrong for row in trace.rows):
        parts.append(Text("> the first line whose result is wrong", style=f"bold {WRONG}"))
    if trace.failure:
        parts.append(Text(visible(trace.failure, lines=True), style=WRONG))
    return Trimmed(Group(*parts))


def _values(row: TraceRow) -> str:
    if row.true is not None:
        return f"{row.true} of {row.entries} True"
    words = "" if math.isnan(row.low) else f"{number(row.low)} to {number(row.high)}"
    return f"{words} ({row.not_finite} not finite)" if row.not_finite else words
