"""A report as terminal text: the verdict, then the checks, then the first failure in full.

Blue is right, orange is wrong. Colour never replaces words: a wrong entry has a `*`, and a check
has a symbol.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from rich.cells import cell_len, chop_cells
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from attn_drill.model.case import Case
from attn_drill.model.report import Mismatch, Outcome, Report, Slice
from attn_drill.report.diagnosis_text import (
    findings,
    render_findings,
    render_line,
    render_picture,
)
from attn_drill.report.literal import Trimmed, console, grid
from attn_drill.report.repair_text import render_repair
from attn_drill.report.stages import STAGE_WORDS, Stage, has_cause, next_stage, shows
from attn_drill.report.styles import QUIET, RIGHT, WRONG
from attn_drill.report.visible import visible
from attn_drill.report.wording import (
    VERDICT_WORDS,
    affected,
    case_rows,
    entry,
    index_in_words,
    ruled_out,
    small_tensors,
    statistics_rows,
)

VERDICTS: dict[str, str] = {verdict: words.upper() for verdict, words in VERDICT_WORDS.items()}
HOW_TO_SEE = "check again with --why"
_MOST_PRINTED_LINES, _MOST_PRINTED_COLUMNS = 20, 400


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
        report: the report.
        stream: the file to print to.
        stage: how much of the diagnosis to show.
        how_to_see: how a reader gets the likely mistake if the stage hides it.
        file: the argument FILE of the commands; "" if they find the file without it. None stands
            for the file of the report.
        options: options of the commands, with a space before each, e.g. " --pack DIR".
        wait: waits for a key before each later stage, which it gets in words, and returns False if
            the reader wants no more. None shows all stages at once.
    """
    out = console(stream)
    if wait is None:
        out.print(render(report, out.width, stage=stage, how_to_see=how_to_see))
    else:
        _print_stages(out, report, stage, wait)
    out.print()
    # A command can be copied: no newline breaks it.
    for label, command in next_commands(report, report.file if file is None else file, options):
        if len(line := f"{label:<16} {command}") > out.width:
            out.print(Text(f"{label}:", style=QUIET))
            line = f"  {command}"
        out.print(Text(line), soft_wrap=True)


def _print_stages(out: Console, report: Report, last: Stage, wait: Callable[[str], bool]) -> None:
    """Print a report without its diagnosis, then after each wait what the next stage adds."""
    shown: Stage = "where"
    out.print(render(report, out.width, stage=shown, how_to_see=""))
    while (following := next_stage(report, shown)) and shows(last, following):
        if not wait(STAGE_WORDS[following]):
            return
        earlier = findings(report, shown)
        new = [row for row in findings(report, following) if row not in earlier]
        parts = [render_findings(new)] if new else []
        failure = report.first_failure()
        if following == "line" and failure is not None:
            parts += [*render_line(report, failure), _table(ruled_out(report.diagnosis))]
        out.print(Trimmed(Group(*parts)))
        shown = following


def render(
    report: Report,
    width: int = 80,
    *,
    stage: Stage = "cause",
    how_to_see: str = HOW_TO_SEE,
    has_commands: bool = True,
) -> RenderableType:
    """Return the whole report as one renderable: the answer first, then the figures.

    Args:
        report: the report.
        width: the columns of the terminal.
        stage: how much of the diagnosis to show.
        how_to_see: how a reader gets the likely mistake if the stage hides it.
        has_commands: False for a reader who has no command line. Nothing then names a command or
            an option.
    """
    parts: list[RenderableType] = [
        _headline(report, width),
        _checks(report, width),
    ]
    parts += [Text(visible(note, lines=True), style=QUIET) for note in report.notes]
    if report.repair is not None and report.repair.planted > 1:
        parts += [Text(), *render_repair(report.repair, width)]
    failure = report.first_failure()
    if failure is not None:
        how_to_see = how_to_see if has_commands else ""
        details = _failure(report, failure, width, stage, how_to_see, has_commands=has_commands)
        parts += [Text(), *details]
    if report.stdout.strip():
        parts += [Text(), *_printed(report, width, has_commands=has_commands)]
    return Trimmed(Group(*parts))


def _headline(report: Report, width: int) -> Text:
    """Return the verdict, the challenge, the seed and the file.

    Of a name that is longer than a line only the end is shown. The commands have the whole name.
    """
    statuses = report.statuses()
    passed = sum(status == "passed" for status in statuses.values())
    only = f", case {report.only_case} alone" if report.only_case else ""
    file = visible(report.file)
    while cell_len(file) > width:
        file = f"…{file[2:]}"
    parts = (
        (VERDICTS[report.verdict], f"bold {RIGHT if report.verdict == 'passed' else WRONG}"),
        (report.challenge, "bold"),
        (f"{passed} of {len(statuses)} checks passed{only}", ""),
        (f"seed {report.seed}", ""),
        (file, QUIET),
    )
    return _side_by_side(parts, width)


def _checks(report: Report, width: int) -> Text:
    """Return all checks with their symbols."""
    symbols = {"passed": "✓", "failed": "✗", "skipped": "–"}
    styles = {"passed": RIGHT, "failed": f"bold {WRONG}", "skipped": QUIET}
    parts = (
        (f"{symbols[status]} {name}", styles[status]) for name, status in report.statuses().items()
    )
    return _side_by_side(parts, width)


def _side_by_side(parts: Iterable[tuple[str, str]], width: int) -> Text:
    """Return words with their styles in lines of this width. No part is broken over two lines."""
    line, used = Text(), 0
    for words, style in parts:
        fits = used + 2 + cell_len(words) <= width
        if line:
            line.append("  " if fits else "\n")
        used = used + 2 + cell_len(words) if line and fits else cell_len(words)
        line.append(words, style=style)
    return line


def _failure(
    report: Report,
    failure: Outcome,
    width: int,
    stage: Stage,
    how_to_see: str,
    *,
    has_commands: bool,
) -> Iterator[RenderableType]:
    """Yield the failure: findings, line, picture, then the figures.

    If the diagnosis found nothing, the check and its message are the answer and come first.
    """
    case = report.cases[failure.number - 1] if failure.number is not None else None
    found = findings(report, stage)
    words = failure.advised_message if has_commands else failure.message
    message = list(_message(failure, case, words))
    if found:
        yield render_findings(found)
    else:
        yield from message
    if how_to_see and has_cause(report) and not shows(stage, "cause"):
        yield Text(f"The likely mistake is known: {how_to_see} to see it.", style=QUIET)
    if shows(stage, "line"):
        yield from render_line(report, failure)
    yield from render_picture(report, failure, width)
    if found:
        yield from message
    yield _table(_figures(report, failure, case, width, stage))


def _table(rows: Iterable[tuple[str, RenderableType]]) -> RenderableType:
    """Return rows of a label and a value."""
    table = grid(padding=(0, 2))
    table.add_column(style=QUIET, no_wrap=True)
    table.add_column()
    for label, value in rows:
        table.add_row(label, value)
    return Padding(table, (0, 0, 0, 2), expand=False) if table.row_count else Group()


def _message(failure: Outcome, case: Case | None, words: str) -> Iterator[RenderableType]:
    title = Text(failure.check, style=f"bold {WRONG}")
    if case is not None:
        title.append(f"  case {failure.number}: {case.name}", style="bold default")
    yield title
    yield Padding(Text(visible(words, lines=True)), (0, 0, 0, 2), expand=False)


def _figures(
    report: Report, failure: Outcome, case: Case | None, width: int, stage: Stage
) -> Iterator[tuple[str, RenderableType]]:
    """Yield the rows of the case, of the difference and of the rest of the diagnosis."""
    mismatch = failure.mismatch
    if case is not None:
        yield from _case_rows(report, case, mismatch)
        if mismatch is not None:
            yield from _mismatch(mismatch, case, width)
    if shows(stage, "line"):
        yield from ruled_out(report.diagnosis)
    if others := _others(report, failure):
        yield "also", others


def _case_rows(
    report: Report, case: Case, mismatch: Mismatch | None
) -> Iterator[tuple[str, RenderableType]]:
    yield from case_rows(case, report.signatures)
    if mismatch is not None and mismatch.kind == "plain":
        matrices = small_tensors(case)
        of_this_name = [row for row in matrices if row[0] == mismatch.tensor]
        yield from of_this_name or matrices[:1]


def _mismatch(mismatch: Mismatch, case: Case, width: int) -> Iterator[tuple[str, RenderableType]]:
    sizes = dict(case.sizes)
    if mismatch.kind == "shape":
        yield from _shapes(mismatch)
        return
    if mismatch.kind != "value":
        return
    if along := affected(mismatch.affected):
        yield "along", along
    if mismatch.patterns is None and mismatch.worst is not None:
        yield mismatch.tensor, _slice(mismatch.worst, mismatch, sizes, width)
    yield from statistics_rows(mismatch)


def _shapes(mismatch: Mismatch) -> Iterator[tuple[str, RenderableType]]:
    """Yield both shapes. A size that differs has a star."""
    expected, actual = mismatch.expected_shape or (), mismatch.actual_shape or ()
    for label, shape, other in (("yours", actual, expected), ("expected", expected, actual)):
        line = Text("[")
        for position, size in enumerate(shape):
            differs = position >= len(other) or other[position] != size
            line.append(", " if position else "")
            line.append(
                f"{size}*" if differs else str(size),
                style=(WRONG if label == "yours" else RIGHT) if differs else "",
            )
        line.append("]" + (f"  ({mismatch.dims})" if label == "expected" else ""))
        yield label, line


def _slice(part: Slice, mismatch: Mismatch, sizes: dict[str, int], width: int) -> RenderableType:
    """Return the actual entries above the expected entries. A wrong actual entry has a star."""
    room = max(1, (width - 26) // 10)
    wrong_at = next((position for position, wrong in enumerate(part.wrong) if wrong), 0)
    start = max(0, min(wrong_at, len(part.actual) - room))
    shown = slice(start, start + room)
    index = (*part.index[:-1], part.index[-1] + start) if part.index else ()
    table = grid(padding=(0, 1))
    table.add_column(style=QUIET, no_wrap=True)
    for _ in part.actual[shown]:
        table.add_column(justify="right", no_wrap=True)
    yours = [
        Text(
            f"{entry(value, mismatch.expected_type)}{'*' if wrong else ' '}",
            style=WRONG if wrong else "",
        )
        for value, wrong in zip(part.actual[shown], part.wrong[shown], strict=True)
    ]
    expected = [
        Text(f"{entry(value, mismatch.expected_type)} ", style=RIGHT if wrong else "")
        for value, wrong in zip(part.expected[shown], part.wrong[shown], strict=True)
    ]
    table.add_row("yours", *yours)
    table.add_row("expected", *expected)
    place = f"from {index_in_words(index, mismatch.dims, sizes)} on" if index else "the only entry"
    return Group(Text(place), table)


def _others(report: Report, shown: Outcome) -> str:
    """Return the other failed checks, each with the count of its failing cases."""
    counts: dict[str, int] = {}
    for outcome in report.outcomes:
        if outcome.status == "failed" and outcome is not shown:
            counts[outcome.check] = counts.get(outcome.check, 0) + 1
    words = [
        f"{name} ({count} more {'cases' if count > 1 else 'case'})"
        if name == shown.check
        else f"{name} ({count})"
        for name, count in counts.items()
    ]
    return f"failing: {', '.join(words)}" if words else ""


def _printed(report: Report, width: int, *, has_commands: bool) -> Iterator[RenderableType]:
    """Yield the lines that the submission printed. Every row on the screen begins with a bar."""
    lines = visible(report.stdout, lines=True).strip("\n").split("\n")
    yield Text("Printed by your code in this case:", style=QUIET)
    bar = "│ "
    for line in lines[:_MOST_PRINTED_LINES]:
        shown = line.expandtabs(4)[:_MOST_PRINTED_COLUMNS]
        for row in chop_cells(shown, max(8, width - len(bar))) or [""]:
            yield Text(f"{bar}{row}", no_wrap=True)
    if len(lines) > _MOST_PRINTED_LINES:
        where = "; --json has them all" if has_commands else ""
        yield Text(f"{bar}({len(lines) - _MOST_PRINTED_LINES} more lines{where})", style=QUIET)


def next_commands(report: Report, file: str, options: str = "") -> Iterator[tuple[str, str]]:
    """Yield the commands that help next, each with a label.

    Args:
        report: the report.
        file: the argument FILE; "" if the commands find the file without it.
        options: options of every command, with a space before each.
    """
    failure, challenge = report.first_failure(), report.challenge
    if failure is None:
        yield "the reference", f"attn-drill solution {challenge}{options}"
        return
    argument = f"{challenge} {quoted(file)}" if file else challenge
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


def quoted(file: str) -> str:
    """Return a file name as a word of a shell. Characters that act on a terminal are escaped."""
    return shlex.quote(visible(file))
