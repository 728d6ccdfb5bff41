"""Make the result of a submission: its report, and the text of the report for the student."""

from __future__ import annotations

import io
from dataclasses import replace

from attn_drill.classroom.handed_in import NOTEBOOK
from attn_drill.classroom.records import StudentResult
from attn_drill.model.report import Outcome, Report
from attn_drill.practice.notebook_file import cell_line
from attn_drill.report.code_text import console
from attn_drill.report.terminal import render
from attn_drill.report.words import visible

_WIDTH = 80


def with_report(result: StudentResult, report: Report, source: str) -> StudentResult:
    """Return the result of a submission that was graded, with the text of the submission."""
    graded = replace(result, report=report, source=source, text=as_text(report))
    if not result.file.endswith(NOTEBOOK):
        return graded
    failure = report.first_failure()
    numbers = {graded.line, *(frame.line for frame in (failure.frames if failure else ()))}
    # The report names lines of all cells together.
    sentences = []
    for number in sorted(filter(None, numbers)):
        if place := cell_line(source, number):
            sentences.append(f"Line {number} is line {place[1]} of code cell {place[0]}.")
    text = f"{graded.text}\n{' '.join(sentences)}\n" if sentences else graded.text
    return replace(graded, text=text)


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
