"""`attn-drill interview`: hold a timed mock interview with a score sheet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attn_drill.app.open_packs import KnownPacks, settings
from attn_drill.cli._command_line import Desk, write_page
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.model.errors import DrillError

if TYPE_CHECKING:
    from attn_drill.exercises.interview import ScoreSheet
    from attn_drill.model.report import Report
    from attn_drill.session.interviews import Interview

_MINUTES = typer.Option(min=5, max=240, help="The time for the whole interview.")
_TOPIC = typer.Option(help="A topic, or the challenge that is the main problem.")
_DIR = typer.Option("--dir", help="The folder for the stubs; by default a new one.")
_SHEET = typer.Option("--sheet", help="Print the last score sheet again.")
_RESUME = typer.Option(
    "--resume/--fresh",
    help="Go on with the interview under way, as it was planned, or begin another.",
)
_NO_GRADER = typer.Option(
    "--no-grader", help="Grade nothing before you hand in; the verdict is on the score sheet."
)
_DEBUG = typer.Option(
    "--debug",
    help="Hold the debugging round: a file with several bugs, then its continuation.",
)
_BUGS = typer.Option(min=1, max=5, help="A debugging round with so many bugs, instead of 4.")


def interview(
    context: typer.Context,
    minutes: Annotated[int, _MINUTES] = 45,
    topic: Annotated[str | None, _TOPIC] = None,
    folder: Annotated[Path | None, _DIR] = None,
    resume: Annotated[bool | None, _RESUME] = None,
    sheet: Annotated[bool, _SHEET] = False,
    no_grader: Annotated[bool, _NO_GRADER] = False,
    debug: Annotated[bool, _DEBUG] = False,
    bugs: Annotated[int | None, _BUGS] = None,
) -> None:
    """Hold a timed mock interview: problems, questions, and a score sheet at the end."""
    from attn_drill.cli._practise import can_draw_screen
    from attn_drill.session import interviews

    desk: Desk = context.obj
    catalogue, journal = desk.packs.catalogue(), desk.journal
    last = interviews.last_interview(journal, catalogue)
    if sheet:
        _print_again(last)
        return
    if not can_draw_screen():
        raise DrillError(
            "An interview needs a terminal: run `attn-drill interview` in one, without a pipe."
        )
    if resume:
        run = interviews.resumed(last)
    elif resume is None and last is not None and not last.state.finished:
        raise DrillError(
            "An interview is under way. `attn-drill interview --resume` goes on with it, "
            "`attn-drill interview --fresh` begins another interview."
        )
    else:
        count = bugs or (4 if debug else 0)
        plan = interviews.plan_interview(journal, catalogue, minutes, topic, count, not no_grader)
        run = interviews.begun(journal, catalogue, plan, folder)
    _hold(run, desk.packs)


def _hold(run: Interview, packs: KnownPacks) -> None:
    """Run the interview until it ends or the learner leaves. Write the score sheet at the end."""
    from attn_drill.report.pages import score_sheet_page
    from attn_drill.report.results_text import headline
    from attn_drill.report.wording import near
    from attn_drill.session.interviews import SHEET_NAME, ask_and_score, sheet_of, solve_problems

    def finish() -> ScoreSheet:
        run.finish()
        return sheet_of(run)

    def grade(challenge: Challenge, source: str, path: Path, planted: tuple[str, ...]) -> Report:
        """Grade a file that the learner hands in, with a new seed."""
        from attn_drill.app.grade_file import fresh_seed, grade_file
        from attn_drill.server.messages import Grade

        typer.echo(f"{path.name} is being graded.")
        submission = Submission(str(path), source)
        return grade_file(packs, Grade(challenge.id, submission, fresh_seed(), planted=planted))

    ending = solve_problems(run, packs.roots(), settings().language, grade)
    if ending == "next":
        ending = ask_and_score(run, finish)
    if ending == "next":
        sheet = sheet_of(run)
        page = Path(run.plan.folder) / SHEET_NAME
        write_page(page, score_sheet_page(sheet))
        typer.echo(f"{headline(sheet)}. `attn-drill interview --sheet` prints the sheet again.")
        typer.echo(f"The sheet with your code next to the reference: {near(page)}")
        return
    if run.is_recorded():
        typer.echo(
            "The interview waits. `attn-drill interview --resume` goes on with it, and the pause "
            "does not count."
        )
    else:
        typer.echo(f"The interview is over: the journal cannot keep it. Files: {run.plan.folder}")
    raise typer.Exit(130 if ending == "interrupted" else 0)


def _print_again(run: Interview | None) -> None:
    from attn_drill.report.code_text import console
    from attn_drill.report.results_text import render_sheet
    from attn_drill.session.interviews import sheet_of

    if run is None or not run.state.finished:
        raise DrillError(
            "There is no finished interview, so there is no score sheet. "
            "`attn-drill interview` begins an interview, and `--resume` goes on with one."
        )
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    out = console()
    out.print(render_sheet(sheet_of(run), out.width))
