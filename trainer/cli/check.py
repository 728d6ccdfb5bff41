"""`attn-drill check [ID] [FILE]`: grade one file."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.app.find_file import asked, is_default_file
from trainer.app.open_packs import KnownPacks
from trainer.app.warn import say, warn_journal
from trainer.cli.page_files import check_page_name, write_page
from trainer.cli.parameters import LearnerFile, complete_id
from trainer.cli.read_answer import read_answer
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError, GraderError
from trainer.model.limits import DEFAULT
from trainer.model.submission import Submission
from trainer.practice.journal import default_journal

if TYPE_CHECKING:
    from trainer.app.grade_file import CheckedFile
    from trainer.model.report import Report
    from trainer.practice.facts import Purpose
    from trainer.report.stages import Stage


def check(
    context: typer.Context,
    challenge_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            help="The challenge, e.g. gqa; by default the one that you started last.",
            autocompletion=complete_id,
            show_default=False,
        ),
    ] = None,
    file: LearnerFile = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Use the cases of this seed; by default fresh cases."),
    ] = None,
    case: Annotated[
        int | None, typer.Option("--case", help="Use only the case with this number.")
    ] = None,
    why: Annotated[
        bool | None,
        typer.Option(
            "--why/--no-why",
            help="Name the likely mistake, or hide it, as an interview and a hunt do.",
            show_default=False,
        ),
    ] = None,
    hints_first: Annotated[
        bool,
        typer.Option(
            "--hints-first",
            help="Show the place first, then with one key each the line, a question and the cause.",
        ),
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE.html", help="Also write the report as one page."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
    notes: Annotated[
        bool | None,
        typer.Option(
            "--notes/--no-notes",
            help="After a pass, measure the answer; by default only on a terminal.",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            metavar="S",
            help="CPU seconds for all cases; other load on the machine does not count.",
        ),
    ] = DEFAULT.seconds,
    memory_limit: Annotated[
        int, typer.Option("--memory-limit", metavar="MIB", help="Memory beyond torch's own.")
    ] = DEFAULT.memory_mib,
) -> None:
    """Grade your file on hidden cases, and show what differs and where."""
    known_packs: KnownPacks = context.obj
    with ExitStack() as stack:
        try:
            if html is not None:
                check_page_name(html)
            challenge, file = asked(challenge_id, file, default_journal(), known_packs)
            checked = _grade(
                challenge, file, seed, case, time_limit, memory_limit, known_packs, stack
            )
            report = checked.graded.report
            stage: Stage = "cause" if (not checked.hunted if why is None else why) else "line"
            is_default = is_default_file(challenge, file, default_journal(), known_packs)
            shown_file = "" if is_default else None
            options = known_packs.pack_option(challenge)
            if html is not None:
                from trainer.report.report_page import to_html

                write_page(html, to_html(report, stage, shown_file, options))
        except (DrillError, GraderError) as error:
            if not as_json:
                raise
            print_error(str(error))
            raise typer.Exit(2 if isinstance(error, DrillError) else 3) from None
        except KeyboardInterrupt:
            if as_json:
                print_error("Interrupted.")
            raise
        if as_json:
            from trainer.report.report_json import to_json

            typer.echo(to_json(report))
        else:
            wait = _wait_for_key if hints_first else None
            _show(report, challenge, checked.hunted, options, stage, shown_file, wait)
            if html is not None:
                say(f"\n{html} has the report as a page.")
            if report.verdict == "passed" and not checked.hunted and case is None:
                are_wanted = sys.stdout.isatty() if notes is None else notes
                _show_after_pass(checked, challenge, known_packs, notes=are_wanted)
    raise typer.Exit(0 if report.verdict == "passed" else 1)


def print_error(sentence: str) -> None:
    """Print the JSON object that `check --json` gives if there is no verdict."""
    from trainer.report.report_json import error_to_json

    typer.echo(error_to_json(sentence))


@dataclass(frozen=True)
class _Checked:
    """A graded file with its entries in the journal.

    Attributes:
        graded: the file with its report.
        source: the text of the file.
        hunted: the ids of the mistakes that a hunt put into the file.
        grade: the grade of the pass with its reasons, or "".
    """

    graded: CheckedFile
    source: str
    hunted: tuple[str, ...]
    grade: str = ""


def _grade(
    challenge: Challenge,
    file: Path | None,
    seed: int | None,
    case: int | None,
    time_limit: float,
    memory_limit: int,
    known_packs: KnownPacks,
    stack: ExitStack,
) -> _Checked:
    """Grade the file and record the attempt. The grader stays open until `stack` is closed."""
    from trainer.app import grade_file
    from trainer.app.find_file import find_file

    journal = default_journal()
    path = find_file(challenge, file, journal, known_packs)
    source = read_answer(challenge, path)
    grade_file.check_limits(time_limit, memory_limit)
    if seed is None:
        seed = grade_file.fresh_seed()
    grade_file.check_seed(seed)
    hunted = grade_file.hunted_mistakes(journal, challenge, path)
    graded = stack.enter_context(
        grade_file.graded_file(
            known_packs,
            challenge,
            Submission(str(path), source),
            seed,
            case,
            seconds=time_limit,
            memory_mib=memory_limit,
        )
    )
    grade = ""
    if case is None:
        purpose: Purpose = "hunt" if hunted else "practice"
        grade = grade_file.record_attempt(journal, challenge, graded.report, source, purpose)
        warn_journal(journal)
        journal.close()
    return _Checked(graded, source, hunted, grade)


def _show_after_pass(
    checked: _Checked, challenge: Challenge, known_packs: KnownPacks, *, notes: bool
) -> None:
    """Show what the pass brings, then the notes if they are wanted.

    The verdict is on the screen before the measurement begins.
    """
    from trainer.app.next_steps import next_steps
    from trainer.packs.follow_up import read_follow_ups

    journal, now = default_journal(), time.time()
    steps = next_steps(challenge, known_packs.catalogue().challenges, journal, now)
    pack_option = known_packs.pack_option(challenge)
    say("\n" + steps.in_words(now, checked.grade, ""))
    if notes:
        from trainer.report.lesson_text import render_notes
        from trainer.report.literal import console

        sys.stdout.flush()
        try:
            shown = render_notes(checked.graded.lesson(), checked.source)
            console().print("", shown, sep="\n")
        except (DrillError, GraderError) as error:  # the verdict and the exit code stay
            say(f"The answer could not be measured: {error}")
    questions, _ = read_follow_ups((challenge,), "en")
    if questions:
        typer.echo(f"\nfollow-ups       attn-drill quiz --follow-up {challenge.id}{pack_option}")


def _show(
    report: Report,
    challenge: Challenge,
    hunted: tuple[str, ...],
    options: str,
    stage: Stage,
    file: str | None,
    wait: Callable[[str], bool] | None,
) -> None:
    from trainer.report.terminal import show

    show(report, sys.stdout, stage=stage, file=file, options=options, wait=wait)
    if report.unfinished:
        say(f"Not counted as an attempt: the file {report.unfinished}.")
    if hunted and report.verdict == "passed":
        from trainer.report.hunt_text import describe_mistakes

        width = shutil.get_terminal_size((80, 24)).columns
        typer.echo("\n" + describe_mistakes(challenge, hunted, width))


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
