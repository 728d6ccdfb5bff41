"""Make the result of a submission: its report, and the text of the report for the student."""

from __future__ import annotations

import io
from dataclasses import replace

from attn_drill.classroom.handed_in import NOTEBOOK
from attn_drill.classroom.records import StudentResult
from attn_drill.model.report import Outcome, Report
from attn_drill.practice.notebook_file import cell_line
from attn_drill.report.literal import console
from attn_drill.report.terminal import render
from attn_drill.report.visible import visible

_WIDTH = 80


def with_report(result: StudentResult, report: Report, source: str) -> StudentResult:
    """Return the result of a submission that was graded, with the text of the submission."""
    graded = replace(result, report=report, source=source, text=as_text(report))
    if result.file.endswith(NOTEBOOK) and (cells := _cell_words(graded)):
        return replace(graded, text=f"{graded.text}\n{cells}\n")
    return graded


def with_trouble(result: StudentResult, trouble: str) -> StudentResult:
    """Return the result of a student without a file for this challenge. `loads` failed."""
    report = Report(
        challenge=result.challenge,
        file=result.file,
        seed=None,  # nothing was run
        verdict="error",
        outcomes=(Outcome("loads", "failed", trouble),),
    )
    return replace(result, report=report, text=f"✗ loads\n  {visible(trouble, lines=True)}\n")


def with_failure(result: StudentResult, sentence: str) -> StudentResult:
    """Return a result without a verdict and without a score, because nothing was graded."""
    text = f"NOT GRADED  {result.challenge}\n{visible(sentence, lines=True)}\n"
    return replace(result, error=sentence, score=None, text=text)


def as_text(report: Report) -> str:
    """Return the report as plain text, without the likely mistake and without commands."""
    out = console(
        io.StringIO(), width=_WIDTH, no_color=True, force_terminal=False, legacy_windows=False
    )
    with out.capture() as capture:
        out.print(render(report, _WIDTH, stage="line", has_commands=False))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip() + "\n"


def _cell_words(result: StudentResult) -> str:
    """Return a sentence for each line that the report names, with the cell of the notebook."""
    failure = None if result.report is None else result.report.first_failure()
    frames = () if failure is None else failure.frames
    lines = {result.line, *(frame.line for frame in frames)} - {None}
    places = {line: cell_line(result.source, line) for line in sorted(filter(None, lines))}
    return " ".join(
        f"Line {line} is line {place[1]} of code cell {place[0]}."
        for line, place in places.items()
        if place is not None
    )
