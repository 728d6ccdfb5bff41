"""Reports and their terminal text."""

import io
from collections.abc import Iterable
from typing import Any

from rich.console import Console, Group, RenderableType

from attn_drill.model.case import Case
from attn_drill.model.challenge import Mistake
from attn_drill.model.report import Diagnosis, ErrorMap, Frame, Mismatch, Outcome, Report
from attn_drill.packs import pack_reader
from attn_drill.report.terminal import render, show

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
TILED = pack_reader.solution(GQA).replace(
    "k.repeat_interleave(group_size, dim=1)", "k.repeat(1, group_size, 1, 1)"
)


def as_text(
    report: Report,
    width: int = 80,
    *,
    colour: bool = False,
    **options: Any,
) -> str:
    """Return the report as text of a terminal of this width.

    Args:
        report: the report.
        width: the columns of the terminal.
        colour: draw with colours.
        options: more arguments of `render`.
    """
    console = Console(
        width=width,
        no_color=not colour,
        force_terminal=colour,
        highlight=False,
        color_system="truecolor" if colour else None,
    )
    with console.capture() as capture:
        console.print(render(report, width, **options))
    return capture.get()


def printed(report: Report, **options: Any) -> str:
    """Return the output of `show`, in 80 columns or in the columns of the environment."""
    stream = io.StringIO()
    show(report, stream, **options)
    return stream.getvalue()


def lines_of(parts: Iterable[RenderableType], width: int = 80) -> list[str]:
    """Return the lines of parts of a report, without blanks at their ends."""
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(Group(*parts))
    return [line.rstrip() for line in capture.get().splitlines()]


def words_of(parts: Iterable[RenderableType]) -> str:
    """Return the text of parts of a report, without line breaks."""
    return " ".join(" ".join(lines_of(parts)).split())


def report_with(outcome: Outcome, **fields: Any) -> Report:
    """Return a failed report with one outcome."""
    case = Case("a [case]", {}, {"out": "B L"}, {"B": 2, "L": 3})
    return Report("gqa", "f.py", 1, "failed", (outcome,), (case,), **fields)


NO_SCALE = Mistake("no-scale", "a", "b", "The scores are not scaled.", "Why sqrt?")
TRANSPOSED = Mistake("transposed", "a", "b", "Two axes are swapped.", "Which axis is H?")
SOURCE = "def forward(q, k):\n    k = k.mT\n    scores = q @ k\n    return scores\n"
# A line, its results, and two likely mistakes, for a report with SOURCE.
DIAGNOSIS = Diagnosis(
    mistakes=(NO_SCALE, TRANSPOSED),
    first_line=Frame(3, "forward", "scores = q @ k"),
    case=1,
    last_reached="q",
    first_missed="scores",
    cleared=("mask",),
)


def error_map(rows: str, columns: str, *off: tuple[float | None, ...]) -> ErrorMap:
    """Return an error map with a cell for each index."""
    return ErrorMap(rows, columns, len(off), len(off[0]), 1, 1, off)


def explained(mismatch: Mismatch | None = None, **fields: Any) -> Report:
    """Return a failed report with SOURCE and DIAGNOSIS."""
    outcome = Outcome("values", "failed", "3 of 6 values differ", "a [case]", 1, mismatch)
    return report_with(outcome, **{"source": SOURCE, "diagnosis": DIAGNOSIS, **fields})


HOSTILE = (
    "[axis 0, two]",
    "[bold]",
    "[/]",
    "[/red]",
    "[link=x]y[/link]",
    ":smile:",
    "[[x]]",
    "\\[z]",
)
