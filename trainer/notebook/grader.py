"""The side of `check` in notebooks that grades: in an interpreter of its own, the source comes as JSON on stdin, the report goes as JSON to stdout."""

from __future__ import annotations

import html
import io
import json
import os
import secrets
import sys
from typing import Any

from rich.console import Group
from rich.text import Text

from trainer.app.grading import MOST_SEED, grade_file, record_attempt
from trainer.app.packs import open_packs
from trainer.core.report import Report
from trainer.core.words import DrillError, GraderError, Submission
from trainer.display.as_json import as_object
from trainer.display.literal import console
from trainer.display.terminal import as_ascii, render
from trainer.practice.journal import default_journal

_HTML_WIDTH = 100
_PRE = "font-family: ui-monospace, Menlo, Consolas, monospace; line-height: 1.3; white-space: pre; overflow-x: auto"


def answer() -> None:
    """Grade what comes on stdin and print one JSON object: the report as the contract's object, as text and as HTML, or an error."""
    try:
        found = _answer(json.load(sys.stdin))
    except (DrillError, GraderError) as error:
        found = {"error": str(error), "code": 2 if isinstance(error, DrillError) else 3}
    except KeyboardInterrupt:
        os._exit(130)
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # taking torch down again takes 0.3 s


def _answer(order: dict[str, Any]) -> dict[str, Any]:
    report = _graded(order)
    shown = _rendered(report, order["call"], order["width"], why=order["why"])
    page = as_html(
        _rendered(report, order["call"], _HTML_WIDTH, why=order["why"]),
        order["source"],
        colour=not os.environ.get("NO_COLOR"),
    )
    return {
        "report": as_object(report),
        "text": as_text(shown, order["width"], unicode=order["unicode"]),
        "page": page,
    }


def _graded(order: dict[str, Any]) -> Report:
    known_packs = open_packs()
    challenge = known_packs.find(order["challenge"])
    seed = secrets.randbelow(1 << 31) if order["seed"] is None else order["seed"]
    if not 0 <= seed <= MOST_SEED:
        raise DrillError(f"seed is {seed}; it must be 0 to {MOST_SEED}.")
    report = grade_file(known_packs, challenge, Submission(order["label"], order["source"]), seed)
    journal = default_journal()
    record_attempt(journal, challenge, report, order["source"], "practice")
    if journal.trouble is not None:
        print(f"attn-drill: {journal.trouble}", file=sys.stderr)
    journal.close()
    return report


def _rendered(report: Report, call: str, width: int, *, why: bool) -> Group:
    """The report; where there is no file, what leads on names the call instead."""
    whole = render(report, width, why=why, commands=not call)
    if not call:
        return Group(whole)
    if report.verdict == "passed":
        return Group(whole, Text(f"\nattn-drill solution {report.challenge} shows the reference."))
    again = f'once more   check("{report.challenge}", {call}, seed={report.seed})'
    lines = "the lines   are those of the result's .source"
    return Group(whole, Text(f"\n{again}\n{lines}\na hint      attn-drill hint {report.challenge}"))


def as_text(shown: Group, width: int, *, unicode: bool = True) -> str:
    """Plain text of this width; `unicode`: with characters beyond ASCII."""
    out = console(io.StringIO(), width=width, color_system=None, legacy_windows=False, record=True)
    out.print(shown)
    text = out.export_text()
    if not unicode:
        out.print(as_ascii(Text(text.translate({0x2713: "ok", 0x2717: "X"})), width))
        text = out.export_text()
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n"))


def as_html(shown: Group, source: str, *, colour: bool = True) -> str:
    """The report, and below it the numbered source, folded away."""
    out = console(
        io.StringIO(), width=_HTML_WIDTH, color_system=None, legacy_windows=False, record=True
    )
    out.print(shown)
    if colour:
        page = out.export_html(
            inline_styles=True, code_format=f'<pre style="{_PRE}">{{code}}</pre>'
        )
        page = page.replace(
            "color: #000000; text-decoration-color: #000000", "color: inherit"
        )  # a notebook may be dark
    else:
        page = f'<pre style="{_PRE}">{html.escape(out.export_text())}</pre>'
    lines = source.splitlines()
    numbered = "\n".join(
        f"{number:>{len(str(len(lines)))}}  {line}" for number, line in enumerate(lines, 1)
    )
    return f'{page}<details><summary>the source that was graded</summary><pre style="{_PRE}">{html.escape(numbered)}</pre></details>'
