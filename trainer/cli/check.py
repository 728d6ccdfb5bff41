"""`attn-drill check [ID] [FILE]`: grade one file."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.settings import settings
from trainer.app.warn import say, warn_journal
from trainer.cli.answer import find_answer
from trainer.cli.page_files import check_page_name, write_page
from trainer.cli.parameters import AsJson, LearnerFile, PackCommand, complete_id
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError, GraderError
from trainer.model.limits import DEFAULT
from trainer.practice.journal import default_journal

if TYPE_CHECKING:
    from trainer.app.grade_file import CheckedFile
    from trainer.practice.facts import Purpose
    from trainer.report.stages import Stage


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
    from trainer.app import grade_file

    known_packs: KnownPacks = context.obj
    journal = default_journal()
    if html is not None:
        check_page_name(html)
    answer = find_answer(challenge_id, file, journal, known_packs)
    challenge, submission = answer.challenge, answer.submission
    grade_file.check_limits(time_limit, memory_limit)
    seed = grade_file.fresh_seed() if seed is None else seed
    grade_file.check_seed(seed)
    hunted = grade_file.hunted_mistakes(journal, challenge, answer.path)
    with grade_file.graded_file(
        known_packs,
        challenge,
        submission,
        seed,
        case,
        seconds=time_limit,
        memory_mib=memory_limit,
    ) as checked:
        report = checked.report
        grade = ""
        if case is None:
            purpose: Purpose = "hunt" if hunted else "practice"
            grade = grade_file.record_attempt(
                journal, challenge, report, submission.source, purpose
            )
            warn_journal(journal)
        stage: Stage = "cause" if (not hunted if why is None else why) else "line"
        shown_file = "" if answer.is_default else None
        journal.close()
        options = known_packs.pack_option(challenge)
        if html is not None:
            from trainer.report.report_page import to_html

            write_page(html, to_html(report, stage, shown_file, options))
        if as_json:
            from trainer.report.report_json import to_json

            typer.echo(to_json(report))
        else:
            in_stages = settings().hints_first if hints_first is None else hints_first
            _show(checked, challenge, hunted, stage, shown_file, options, in_stages=in_stages)
            if html is not None:
                say(f"\n{html} has the report as a page.")
            if report.verdict == "passed" and not hunted and case is None:
                _show_after_pass(checked, challenge, known_packs, grade)
    raise typer.Exit(0 if report.verdict == "passed" else 1)


def _show(
    checked: CheckedFile,
    challenge: Challenge,
    hunted: tuple[str, ...],
    stage: Stage,
    file: str | None,
    options: str,
    *,
    in_stages: bool | None,
) -> None:
    """Show the report.

    Args:
        checked: the graded file.
        challenge: its challenge.
        hunted: the ids of the mistakes that a hunt put into the file.
        stage: the most that the report tells.
        file: as for `terminal.show`.
        options: more options of the commands in the report.
        in_stages: wait for a key before each part.
    """
    from trainer.report.terminal import show

    report = checked.report
    wait = _wait_for_key if in_stages else None
    show(report, sys.stdout, stage=stage, file=file, options=options, wait=wait)
    if report.unfinished:
        say(f"Not counted as an attempt: the file {report.unfinished}.")
    if hunted and report.verdict == "passed":
        from trainer.report.hunt_text import describe_mistakes

        width = shutil.get_terminal_size((80, 24)).columns
        typer.echo("\n" + describe_mistakes(challenge, hunted, width))


def _show_after_pass(
    checked: CheckedFile, challenge: Challenge, known_packs: KnownPacks, grade: str
) -> None:
    """Show what the pass brings. On a terminal, also measure the answer, after the verdict."""
    from trainer.app.next_steps import next_steps
    from trainer.packs.follow_up import read_follow_ups

    now = time.time()
    steps = next_steps(challenge, known_packs.catalogue().challenges, default_journal(), now)
    say("\n" + steps.in_words(now, grade, ""))
    if _is_terminal():
        from trainer.report.lesson_text import render_notes
        from trainer.report.literal import console

        sys.stdout.flush()
        try:
            shown = render_notes(checked.lesson(), checked.report.source)
            console().print("", shown, sep="\n")
        except (DrillError, GraderError) as error:  # the verdict and the exit code stay
            say(f"The answer could not be measured: {error}")
    questions, _ = read_follow_ups((challenge,), "en")
    if questions:
        option = known_packs.pack_option(challenge)
        typer.echo(f"\nfollow-ups       attn-drill quiz --follow-up {challenge.id}{option}")


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def _wait_for_key(following: str) -> bool:
    """Wait for a key before the next part of a report. Return False if the reader stops.

    Without a terminal nobody can press a key, so all parts are shown.

    Args:
        following: the next part in words.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    typer.echo(f"\nAny key shows {following}; q stops. ", nl=False)
    key = typer.getchar()
    typer.echo()
    return key.lower() not in ("q", "\x1b")
