"""Define the cell magic `%%drill`, which grades a cell as `attn-drill check` grades a file.

`%load_ext attn_drill` registers the magic. This module does not import IPython, because IPython is
not a dependency.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from dataclasses import dataclass
from typing import Any, NoReturn

from rich.text import Text

from attn_drill.app.grade_file import check_seed, check_system, record_attempt
from attn_drill.app.open_packs import open_packs
from attn_drill.app.warn import warn_journal
from attn_drill.model.challenge import Submission
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.model.report import Report, to_object
from attn_drill.practice.journal import default_journal
from attn_drill.practice.learner_files import decode_source
from attn_drill.report.code_text import console, in_ascii, is_utf
from attn_drill.report.pages import page
from attn_drill.report.terminal import render
from attn_drill.report.wording import Stage, coloured
from attn_drill.server.clients import pool
from attn_drill.server.messages import Grade, Refused, Verdict


class NotebookError(DrillError):
    """An error whose sentence IPython shows without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"attn-drill: {self}"]


@dataclass(frozen=True, repr=False)
class DrillResult:
    """The verdict on a cell. IPython shows the report."""

    report: dict[str, Any]  # the object that `attn-drill check --json` prints
    text: str  # the report as text for a terminal

    @property
    def passed(self) -> bool:
        """True if every check passed."""
        return bool(self.report["verdict"] == "passed")

    def __repr__(self) -> str:
        return self.text if is_utf(sys.stdout) else in_ascii(self.text)

    def _repr_html_(self) -> str:
        """Return the report as an HTML fragment for dark and light notebooks."""
        has_colour = not os.environ.get("NO_COLOR")
        return "".join(page("notebook", coloured=coloured, text=self.text, colour=has_colour))


class _Parser(argparse.ArgumentParser):
    """A parser for the words after `%%drill`. Its errors do not end the kernel."""

    def error(self, message: str) -> NoReturn:
        raise DrillError(f"{message}. `%drill --help` shows the options.")


def _parser() -> _Parser:
    parser = _Parser(
        prog="%%drill",
        description="Run this cell, then grade it like a file. It needs its own imports.",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("challenge", metavar="ID", help="the challenge, for example gqa")
    parser.add_argument("--seed", type=int, help="grade on the cases of this seed")
    parser.add_argument("--case", type=int, help="only this case, by its number in the report")
    parser.add_argument(
        "--no-why", dest="why", action="store_false", help="hide the likely mistake"
    )
    parser.add_argument("--help", action="store_true", help="show this text")
    return parser


def register(ipython: Any) -> None:
    """Register the magic `%%drill` in a running IPython."""

    def drill(line: str, cell: str | None = None) -> DrillResult | None:
        """Run this cell and grade it. `%drill --help` shows the options."""
        try:
            return _drill(ipython, line, cell)
        except (DrillError, GraderError) as error:
            raise NotebookError(str(error)) from None
        except KeyboardInterrupt:
            raise NotebookError("Interrupted: the cell has no verdict.") from None

    ipython.register_magic_function(drill, "line_cell", "drill")


def _drill(ipython: Any, line: str, cell: str | None) -> DrillResult | None:
    """Run a cell and grade it. Return None for `--help` or if the cell was interrupted."""
    parser, words = _parser(), line.split()
    if "--help" in words:
        print(parser.format_help(), end="")
        return None
    options = parser.parse_args(words)
    if cell is None:
        raise DrillError(
            "%drill with one percent sign has no cell to grade. Write "
            f"`%%drill {line.strip()}` as the first line of the cell that holds your answer."
        )
    packs = open_packs()
    challenge = packs.find(options.challenge)
    if options.seed is not None:
        check_seed(options.seed)
    check_system()
    decode_source(cell.encode("utf-8", "surrogatepass"), "The cell", "Write your answer in it.")
    # The line of the magic stays as a comment, so that line numbers are those of the cell.
    source = f"# %%drill {line.strip()}\n{cell}"
    execution = ipython.run_cell(source)
    if isinstance(execution.error_in_exec, KeyboardInterrupt):
        return None
    reply = pool.ask(
        tuple(map(str, packs.roots())),
        Grade(
            challenge.id,
            Submission(f"{challenge.id} (notebook cell)", source),
            options.seed,
            options.case,
        ),
    )
    if isinstance(reply, Refused):
        raise GraderError(reply.sentence)
    assert isinstance(reply, Verdict)
    report = reply.report
    if options.case is None:
        journal = default_journal()
        record_attempt(journal, challenge, report, source, "practice")
        warn_journal(journal)
        journal.close()
    return DrillResult(to_object(report), _as_text(report, "cause" if options.why else "line"))


def _as_text(report: Report, stage: Stage) -> str:
    """Return the report and the next steps, in the width of the terminal."""
    width = shutil.get_terminal_size().columns
    out = console(width=width, color_system=None, legacy_windows=False)
    with out.capture() as capture:
        how_to_see = "grade again without --no-why"
        out.print(render(report, width, stage=stage, how_to_see=how_to_see))
        out.print(Text("\n" + "\n".join(_next_steps(report))))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _next_steps(report: Report) -> list[str]:
    failure = report.first_failure()
    if failure is None:
        return [f"!attn-drill solution {report.challenge} shows the reference."]
    steps = []
    if report.unfinished:
        steps.append(f"Not counted as an attempt: the cell {report.unfinished}.")
    if "NameError" in failure.message:
        steps.append("The cell is graded alone: names from other cells are not defined in it.")
    case = "" if failure.number is None else f" --case {failure.number}"
    return [
        *steps,
        f"this case again  %%drill {report.challenge} --seed {report.seed}{case}",
        f"a hint           !attn-drill hint {report.challenge}",
    ]
