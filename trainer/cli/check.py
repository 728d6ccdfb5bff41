"""`attn-drill check ID [FILE]`: grade one file."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.warn import warn_journal
from trainer.cli.parameters import ChallengeId, LearnerFile
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError, GraderError
from trainer.model.submission import Submission
from trainer.practice.journal import default_journal
from trainer.practice.learner_files import read_source

if TYPE_CHECKING:
    from trainer.model.report import Report
    from trainer.practice.record_attempt import Purpose


def check(
    context: typer.Context,
    challenge_id: ChallengeId,
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
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            metavar="S",
            help="CPU seconds for all cases; other load on the machine does not count.",
        ),
    ] = 10.0,
    memory_limit: Annotated[
        int, typer.Option("--memory-limit", metavar="MIB", help="Memory beyond torch's own.")
    ] = 2048,
) -> None:
    """Grade your file on hidden cases, and show what differs and where."""
    known_packs: KnownPacks = context.obj
    try:
        challenge = known_packs.find(challenge_id)
        report, hunted = _grade(challenge, file, seed, case, time_limit, memory_limit, known_packs)
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
        show_why = not hunted if why is None else why
        _show(report, challenge, hunted, known_packs.pack_option(challenge), why=show_why)
    raise typer.Exit(0 if report.verdict == "passed" else 1)


def print_error(sentence: str) -> None:
    """Print the JSON object that `check --json` gives if there is no verdict."""
    from trainer.report.report_json import error_to_json

    typer.echo(error_to_json(sentence))


def _grade(
    challenge: Challenge,
    file: Path | None,
    seed: int | None,
    case: int | None,
    time_limit: float,
    memory_limit: int,
    known_packs: KnownPacks,
) -> tuple[Report, tuple[str, ...]]:
    """Return the report, and the ids of the mistakes that a hunt put into the file."""
    from trainer.app import grade_file
    from trainer.app.find_file import find_file

    journal = default_journal()
    path = find_file(challenge, file, journal, known_packs)
    source = read_source(path)
    grade_file.check_limits(time_limit, memory_limit)
    if seed is None:
        seed = grade_file.fresh_seed()
    grade_file.check_seed(seed)
    hunted = grade_file.hunted_mistakes(journal, challenge, path)
    report = grade_file.grade_file(
        known_packs,
        challenge,
        Submission(str(path), source),
        seed,
        case,
        seconds=time_limit,
        memory_mib=memory_limit,
    )
    if case is None:
        purpose: Purpose = "hunt" if hunted else "practice"
        grade_file.record_attempt(journal, challenge, report, source, purpose)
        warn_journal(journal)
        journal.close()
    return report, hunted


def _show(
    report: Report, challenge: Challenge, hunted: tuple[str, ...], pack_option: str, *, why: bool
) -> None:
    from trainer.report.terminal import show

    width = shutil.get_terminal_size((80, 24)).columns
    show(report, sys.stdout, why=why)
    if report.unfinished:
        note = f"Not counted as an attempt: the file {report.unfinished}."
        typer.echo(textwrap.fill(note, width) if sys.stdout.isatty() else note)
    if pack_option:
        typer.echo(f"(add{pack_option} to each of these commands)")
    if hunted and report.verdict == "passed":
        from trainer.report.hunt_text import describe_mistakes

        typer.echo("\n" + describe_mistakes(challenge, hunted, width))
