"""A class's results as they are kept: the object of `check --json` and what the class needs beside it."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from trainer.classroom.words import Excerpt, Result, Submission
from trainer.core.report import Report
from trainer.display.as_json import SCHEMA, as_object
from trainer.display.literal import console
from trainer.display.terminal import render
from trainer.display.visible import visible

_WIDTH = 80
_AROUND = 2


def kept_report(report: Report, source: str, more: Mapping[str, Any]) -> tuple[Result, bytes]:
    """A result with a report, as it is read and as it is written. `more`: student, score, late, task."""
    excerpt = excerpt_of(source, _line_of(report))
    return _kept(
        as_object(report)
        | {"text": as_text(report), "excerpt": msgspec.to_builtins(excerpt)}
        | dict(more)
    )


def kept_trouble(
    challenge: str, file: str, trouble: str, more: Mapping[str, Any]
) -> tuple[Result, bytes]:
    """The result of what was handed in and cannot be read: it does not load."""
    checks = [
        {"name": "loads", "case": None, "case_number": None, "status": "failed", "message": trouble}
    ]
    text = f"ERROR  {challenge}\n{visible(file, lines=True)}\nX loads\n\nloads\n  {visible(trouble, lines=True)}\n"
    return _kept(
        _bare(challenge, file) | {"verdict": "error", "checks": checks, "text": text} | dict(more)
    )


def kept_failure(
    challenge: str, file: str, sentence: str, more: Mapping[str, Any]
) -> tuple[Result, bytes]:
    """The result where the grader failed: no verdict, no score."""
    return _kept(
        _bare(challenge, file)
        | {
            "verdict": None,
            "error": sentence,
            "checks": [],
            "text": f"NOT GRADED  {challenge}\n{visible(sentence, lines=True)}\n",
        }
        | dict(more)
    )


def kept_unsettled(submission: Submission, more: Mapping[str, Any]) -> tuple[Result, bytes]:
    """Return the result, as read and as written, if several files came under one name."""
    kept = kept_failure(submission.challenge, submission.file, submission.trouble, more)[0]
    return _kept(msgspec.to_builtins(kept) | {"unsettled": list(submission.unsettled)})


def _bare(challenge: str, file: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "challenge": challenge,
        "file": file,
        "seed": None,
        "diagnosis": None,
        "stdout": "",
        "elapsed_seconds": 0.0,
    }


def _kept(found: dict[str, Any]) -> tuple[Result, bytes]:
    # `student` first: a teacher who opens the file sees whose it is. In ASCII, so that nothing printed draws on a terminal.
    text = (
        json.dumps({"student": found["student"]} | found, allow_nan=False).encode("ascii") + b"\n"
    )
    return msgspec.json.decode(text, type=Result), text


def as_text(report: Report) -> str:
    """The report as plain text, without the likely mistake and without commands."""
    out = console(
        io.StringIO(), width=_WIDTH, no_color=True, force_terminal=False, legacy_windows=False
    )
    with out.capture() as capture:
        out.print(render(report, _WIDTH, why=False, commands=False))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip() + "\n"


def _line_of(report: Report) -> int | None:
    """The line that the report is about."""
    if report.diagnosis is not None and report.diagnosis.first_line is not None:
        return report.diagnosis.first_line.line
    failure = report.first_failure()
    return failure.frames[-1].line if failure is not None and failure.frames else None


def excerpt_of(source: str, line: int | None) -> Excerpt | None:
    """A line and its neighbours, as they stand in the file."""
    lines = source.split("\n")
    if line is None or not 1 <= line <= len(lines):
        return None
    first = max(1, line - _AROUND)
    return Excerpt(
        first, line, [one.rstrip("\r")[:200] for one in lines[first - 1 : line + _AROUND]]
    )
