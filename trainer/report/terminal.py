"""A report as terminal text: the verdict, then the checks, then the first failure in full.

Blue is right, orange is wrong. Colour never replaces words: a wrong entry has a `*`, and a check
has a symbol.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from trainer.model.case import Case
from trainer.model.report import Mismatch, Outcome, Report, Slice
from trainer.report.diagnosis_text import render_diagnosis
from trainer.report.literal import console, grid
from trainer.report.styles import QUIET, RIGHT, WRONG
from trainer.report.visible import visible
from trainer.report.wording import (
    affected,
    entry,
    index_in_words,
    number,
    plain_inputs,
    sizes_in_words,
    small_tensors,
    summary,
)

VERDICTS = {
    "passed": "PASSED",
    "failed": "FAILED",
    "error": "ERROR",
    "timeout": "TIME LIMIT",
    "memory": "OUT OF MEMORY",
    "not-allowed": "NOT ALLOWED",
}
_MOST_PRINTED_LINES = 20


def show(report: Report, stream: TextIO, *, why: bool = True) -> None:
    """Print a report in the terminal's width, with symbols of its encoding.

    Args:
        report: the report.
        stream: the file to print to.
        why: name the likely mistake.
    """
    out = console(stream)
    out.print(render(report, out.width, unicode=has_unicode(out), why=why))


def has_unicode(terminal: Console) -> bool:
    """Return whether the terminal's encoding has other characters than ASCII."""
    return terminal.encoding.lower().replace("_", "-").startswith("utf")


def render(
    report: Report,
    width: int = 80,
    *,
    unicode: bool = True,
    why: bool = True,
    commands: bool = True,
) -> RenderableType:
    """Return the whole report as one renderable.

    Args:
        report: the report.
        width: the columns of the terminal.
        unicode: draw with other characters than ASCII.
        why: name the likely mistake; if False, show only the place.
        commands: show the commands to type next.
    """
    parts: list[RenderableType] = [_headline(report), _checks(report, width, unicode=unicode)]
    parts += [Text(visible(note, lines=True), style=QUIET) for note in report.notes]
    failure = report.first_failure()
    if failure is not None:
        parts += [Text(), *_failure(report, failure, width)]
        if report.diagnosis is not None:
            parts += render_diagnosis(report.diagnosis, failure.number, why=why)
    if report.stdout.strip():
        parts += [Text(), *_printed(report, unicode=unicode)]
    if commands:
        parts += [Text(), *_next(report, failure)]
    text = Group(*parts)
    return text if unicode else as_ascii(text, width)


def _headline(report: Report) -> Text:
    verdict = VERDICTS[report.verdict]
    statuses = report.statuses()
    passed = sum(status == "passed" for status in statuses.values())
    only = f", case {report.only_case} alone" if report.only_case else ""
    line = Text(verdict, style=f"bold {RIGHT if report.verdict == 'passed' else WRONG}")
    line.append(f"  {report.challenge}", style="bold")
    line.append(
        f"  {passed} of {len(statuses)} checks passed{only}   seed {report.seed}\n",
        style="not bold default",
    )
    line.append(visible(report.file), style=f"not bold {QUIET}")
    return line


def _checks(report: Report, width: int, *, unicode: bool) -> Text:
    """Return all checks with their symbols. A symbol and its name stay on one line."""
    symbols = (
        {"passed": "✓", "failed": "✗", "skipped": "–"}
        if unicode
        else {"passed": "ok", "failed": "X", "skipped": "-"}
    )
    styles = {"passed": RIGHT, "failed": f"bold {WRONG}", "skipped": QUIET}
    line = Text()
    used = 0
    for name, status in report.statuses().items():
        word = f"{symbols[status]} {name}"
        if used and used + 2 + len(word) > width:
            line.append("\n")
            used = 0
        elif used:
            line.append("  ")
            used += 2
        line.append(word, style=styles[status])
        used += len(word)
    return line


def _failure(report: Report, failure: Outcome, width: int) -> Iterator[RenderableType]:
    case = report.cases[failure.number - 1] if failure.number is not None else None
    title = Text(failure.check, style=f"bold {WRONG}")
    if case is not None:
        title.append(f"  case {failure.number}: {case.name}", style="bold default")
    yield title
    yield Padding(Text(visible(failure.message, lines=True)), (0, 0, 0, 2), expand=False)
    rows = grid(padding=(0, 2))
    rows.add_column(style=QUIET, no_wrap=True)
    rows.add_column()
    if case is not None:
        if case.sizes:
            rows.add_row("sizes", sizes_in_words(case))
        if arguments := plain_inputs(case):
            rows.add_row("inputs", arguments)
        if failure.mismatch is not None and failure.mismatch.kind == "plain":
            matrices = small_tensors(case)
            of_this_name = [row for row in matrices if row[0] == failure.mismatch.tensor]
            for name, matrix in of_this_name or matrices[:1]:
                rows.add_row(name, matrix)
        if case.dims:
            rows.add_row("setup", f"{case.dtype}, {case.mode} mode{_extras(case)}")
    for frame in failure.frames:
        place = f"line {frame.line}" + (
            f", in {visible(frame.function)}"
            if frame.function and frame.function != "<module>"
            else ""
        )
        rows.add_row(
            "where",
            Text(place)
            + Text(f"  {visible(frame.text, lines=True)}" if frame.text else "", style="bold"),
        )
    if failure.mismatch is not None and case is not None:
        for label, value in _mismatch(failure.mismatch, case, width):
            rows.add_row(label, value)
    if others := _others(report, failure):
        rows.add_row("also", others)
    yield Padding(rows, (0, 0, 0, 2), expand=False)


def _extras(case: Case) -> str:
    layouts = [f"{name} {layout} in memory" for name, layout in case.layout.items()]
    arguments = [f"{name}={value}" for name, value in case.init.items()]
    words = [*layouts, f"constructor ({', '.join(arguments)})" if arguments else ""]
    return "".join(f", {word}" for word in words if word)


def _mismatch(mismatch: Mismatch, case: Case, width: int) -> Iterator[tuple[str, RenderableType]]:
    sizes = dict(case.sizes)
    if mismatch.kind == "shape":
        yield from _shapes(mismatch)
        return
    if mismatch.kind != "value":
        return
    shape = ", ".join(str(size) for size in mismatch.expected_shape or ())
    yield (
        "shape",
        f"{mismatch.tensor} [{shape}] as expected"
        + (f" ({mismatch.dims})" if mismatch.dims else ""),
    )
    boolean = mismatch.expected_type == "bool"
    if mismatch.max_abs_error_index is not None and not boolean:
        place = index_in_words(mismatch.max_abs_error_index, mismatch.dims, sizes)
        size = "not finite" if mismatch.max_abs_error is None else number(mismatch.max_abs_error)
        yield "greatest", f"difference {size} at {place}"
    for dimension in mismatch.affected:
        yield affected(dimension)
    for label, part in (("first", mismatch.first), ("worst", mismatch.worst)):
        if part is not None and not (label == "worst" and part == mismatch.first):
            yield label, _slice(part, mismatch, sizes, width)
    if boolean:
        return
    if mismatch.actual_summary is not None and mismatch.expected_summary is not None:
        yield "yours", summary(mismatch.actual_summary)
        yield "expected", summary(mismatch.expected_summary)


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


def _printed(report: Report, *, unicode: bool) -> Iterator[RenderableType]:
    lines = visible(report.stdout, lines=True).strip("\n").split("\n")
    yield Text("Printed by your code in this case:", style=QUIET)
    bar = "│ " if unicode else "| "
    for line in lines[:_MOST_PRINTED_LINES]:
        yield Text(bar + line[:400])
    if len(lines) > _MOST_PRINTED_LINES:
        yield Text(
            f"{bar}({len(lines) - _MOST_PRINTED_LINES} more lines; --json has them all)",
            style=QUIET,
        )


def _next(report: Report, failure: Outcome | None) -> Iterator[RenderableType]:
    command = f"attn-drill check {report.challenge} {shlex.quote(report.file)}"
    if failure is None:
        yield Text(f"attn-drill solution {report.challenge} shows the reference.")
        return
    if failure.number is not None:
        yield Text(f"this case again  {command} --seed {report.seed} --case {failure.number}")
    else:
        yield Text(f"once more        {command}")
    if report.diagnosis is not None:
        again = f"{report.challenge} {shlex.quote(report.file)} --seed {report.seed}" + (
            f" --case {failure.number}" if failure.number is not None else ""
        )
        yield Text(f"line by line     attn-drill trace {again}")
        if failure.number is not None:
            yield Text(f"in a debugger    attn-drill repro {again}")
    yield Text(f"a hint           attn-drill hint {report.challenge}")


def as_ascii(content: RenderableType, width: int) -> RenderableType:
    """Return the content in ASCII, for a terminal of another encoding."""
    out = console(width=width, no_color=True, legacy_windows=False)
    with out.capture() as capture:
        out.print(content)
    replaced = capture.get().translate(
        {
            0xA0: " ",
            0x2013: "-",
            0x2192: "->",
            0x2026: "...",
            0x22C5: "*",
            0xB7: "*",
            0x2502: "|",
            0xB1: "+-",
        }
    )
    return Text(replaced.rstrip("\n").encode("ascii", "replace").decode("ascii"))
