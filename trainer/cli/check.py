"""`attn-drill check [ID] [FILE]`: grade one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainer.app.answer import find_answer
from trainer.app.open_packs import KnownPacks
from trainer.app.settings import settings
from trainer.cli.page_files import check_page_name
from trainer.cli.parameters import AsJson, LearnerFile, PackCommand, complete_id
from trainer.cli.verdict import Output, grade_answer
from trainer.model.limits import DEFAULT
from trainer.practice.journal import default_journal


class CheckCommand(PackCommand):
    """The command `check`. Its errors have the form of a report."""

    def error_as_json(self, sentence: str) -> str:
        """Return an error as a report without a verdict."""
        from trainer.report.report_json import error_to_json

        return error_to_json(sentence)


_ID = typer.Argument(
    metavar="[ID]",
    help="The challenge, e.g. gqa; by default the one that you started last.",
    autocompletion=complete_id,
    show_default=False,
)
_SEED = typer.Option("--seed", help="Use the cases of this seed; by default fresh cases.")
_WHY = typer.Option(
    "--why/--no-why",
    help="Name the likely mistake, or hide it, as an interview and a hunt do.",
    show_default=False,
)
_HINTS_FIRST = typer.Option(
    "--hints-first/--no-hints-first",
    help="Show the place first, then with one key each the line, a question and the cause.",
    show_default=False,
)
_HTML = typer.Option("--html", metavar="FILE.html", help="Also write the report as one page.")
_TIME = typer.Option(
    "--time-limit",
    metavar="S",
    help="CPU seconds for all cases; other load on the machine does not count.",
)
_MEMORY = typer.Option("--memory-limit", metavar="MIB", help="Memory beyond torch's own.")


def check(
    context: typer.Context,
    challenge_id: Annotated[str | None, _ID] = None,
    file: LearnerFile = None,
    seed: Annotated[int | None, _SEED] = None,
    case: Annotated[
        int | None, typer.Option("--case", help="Use only the case with this number.")
    ] = None,
    why: Annotated[bool | None, _WHY] = None,
    hints_first: Annotated[bool | None, _HINTS_FIRST] = None,
    html: Annotated[Path | None, _HTML] = None,
    as_json: AsJson = False,
    time_limit: Annotated[float, _TIME] = DEFAULT.seconds,
    memory_limit: Annotated[int, _MEMORY] = DEFAULT.memory_mib,
) -> None:
    """Grade your file on hidden cases, and show what differs and where."""
    from trainer.app.grade_file import check_limits

    known_packs: KnownPacks = context.obj
    if html is not None:
        check_page_name(html)
    limits = check_limits(time_limit, memory_limit)
    answer = find_answer(challenge_id, file, default_journal(), known_packs)
    in_stages = settings().hints_first if hints_first is None else hints_first
    output = Output(why, bool(in_stages), html, as_json)
    report = grade_answer(answer, seed, known_packs, output, case=case, limits=limits)
    raise typer.Exit(0 if report.verdict == "passed" else 1)
