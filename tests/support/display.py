"""Reports and their terminal text."""

from typing import Any

from rich.console import Console

from trainer.model.case import Case
from trainer.model.report import Outcome, Report
from trainer.packs import pack_reader
from trainer.report.terminal import render

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
TILED = pack_reader.solution(GQA).replace(
    "k.repeat_interleave(group_size, dim=1)", "k.repeat(1, group_size, 1, 1)"
)


def as_text(report: Report, width: int = 80, *, unicode: bool = True, colour: bool = False) -> str:
    """Return the report as text of a terminal of this width."""
    console = Console(
        width=width,
        no_color=not colour,
        force_terminal=colour,
        highlight=False,
        color_system="truecolor" if colour else None,
    )
    with console.capture() as capture:
        console.print(render(report, width, unicode=unicode))
    return capture.get()


def report_with(outcome: Outcome, **fields: Any) -> Report:
    """Return a failed report with one outcome."""
    case = Case("a [case]", {}, {"out": "B L"}, {"B": 2, "L": 3})
    return Report("gqa", "f.py", 1, "failed", (outcome,), (case,), **fields)


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
