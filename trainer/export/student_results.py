"""Make the result of a submission: its report, and the text of the report for the student."""

from __future__ import annotations

import io
from dataclasses import replace

from trainer.classroom.handed_in import NOTEBOOK
from trainer.classroom.records import Excerpt, StudentResult
from trainer.export.load_words import load_words
from trainer.model.report import Outcome, Report
from trainer.practice.notebook_file import cell_line
from trainer.report.literal import console
from trainer.report.terminal import render
from trainer.report.visible import visible

_WIDTH = 80
_AROUND = 2


def with_report(result: StudentResult, report: Report, source: str) -> StudentResult:
    """Return the result of a submission that was graded.

    Args:
        result: the student, the challenge, the score, and whether the submission was late.
        report: the report on the submission.
        source: the text of the submission.
    """
    excerpt = excerpt_of(source, _line_of(report))
    text, words = as_text(report), load_words(report, source)
    if result.file.endswith(NOTEBOOK) and (cells := _cell_words(report, source)):
        text += f"\n{cells}\n"
        words += f" {cells}" if words else ""
    return replace(result, report=report, text=text, excerpt=excerpt, load_words=words)


def with_trouble(result: StudentResult, trouble: str) -> StudentResult:
    """Return the result of a file that cannot be read. Its check `loads` failed."""
    report = Report(
        challenge=result.challenge,
        file=result.file,
        seed=None,  # nothing was run
        verdict="error",
        outcomes=(Outcome("loads", "failed", trouble),),
    )
    file, sentence = visible(result.file), visible(trouble, lines=True)
    text = f"ERROR  {result.challenge}\n{file}\n✗ loads\n\nloads\n  {sentence}\n"
    return replace(result, report=report, text=text)


def with_failure(result: StudentResult, sentence: str) -> StudentResult:
    """Return a result without a verdict and without a score, because the grader failed."""
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


def _line_of(report: Report) -> int | None:
    """Return the line that the report is about, or None."""
    if report.diagnosis is not None and report.diagnosis.first_line is not None:
        return report.diagnosis.first_line.line
    failure = report.first_failure()
    return failure.frames[-1].line if failure is not None and failure.frames else None


def _cell_words(report: Report, source: str) -> str:
    """Return a sentence for each line that the report names, with the cell of the notebook."""
    lines = [_line_of(report)]
    if (failure := report.first_failure()) is not None:
        lines += [frame.line for frame in failure.frames]
    places = {line: cell_line(source, line) for line in lines if line is not None}
    return " ".join(
        f"Line {line} is line {place[1]} of code cell {place[0]}."
        for line, place in sorted(places.items())
        if place is not None
    )


def excerpt_of(source: str, line: int | None) -> Excerpt | None:
    """Return a line of the source with the lines around it, or None if there is no such line.

    Args:
        source: the text of the submission.
        line: the line number from 1, or None.
    """
    lines = source.split("\n")
    if line is None or not 1 <= line <= len(lines):
        return None
    first = max(1, line - _AROUND)
    shown = tuple(text.rstrip("\r")[:200] for text in lines[first - 1 : line + _AROUND])
    return Excerpt(first, line, shown)
