"""`attn-drill check ID [FILE]`: grade one file."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.cli.common import (
    complete_id,
    find,
    fresh_seed,
    learner_file,
    pack_roots,
    read_source,
    say_trouble,
    with_pack,
)
from trainer.core.words import DrillError, GraderError
from trainer.practice.journal import Journal, default_journal
from trainer.practice.record import Purpose, record, record_diagnosis

if TYPE_CHECKING:
    from trainer.core.report import Report
    from trainer.core.words import Challenge
    from trainer.grading.grader import Grader

MOST_SEED = (1 << 63) - 1


def check(
    challenge_id: Annotated[
        str,
        typer.Argument(metavar="ID", help="The challenge, e.g. gqa.", autocompletion=complete_id),
    ],
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Your file; by default the stub's place."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Grade on the cases of this seed; fresh ones by default."),
    ] = None,
    case: Annotated[
        int | None, typer.Option("--case", help="Only this case, by its number in the report.")
    ] = None,
    why: Annotated[
        bool | None,
        typer.Option(
            "--why/--no-why",
            help="Name the likely mistake, or hold it back as an interview and a hunt do.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on stdout and nothing else.")
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
    """Grade your file on hidden cases and say what differs, and where."""
    try:
        report, hunted = _grade(challenge_id, file, seed, case, time_limit, memory_limit)
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
        from trainer.display.as_json import to_json

        typer.echo(to_json(report))
    else:
        from trainer.display.terminal import show

        show(report, sys.stdout, why=not hunted if why is None else why)
        if report.unfinished:
            said = f"Not counted as an attempt: the file {report.unfinished}."
            typer.echo(
                textwrap.fill(said, shutil.get_terminal_size((80, 24)).columns)
                if sys.stdout.isatty()
                else said
            )
        if packed := with_pack(find(report.challenge)):
            typer.echo(f"(each of these commands with{packed})")
        if hunted and report.verdict == "passed":
            from trainer.display.hunts import what_it_was

            typer.echo(
                "\n"
                + what_it_was(
                    find(report.challenge), hunted, shutil.get_terminal_size((80, 24)).columns
                )
            )
    raise typer.Exit(0 if report.verdict == "passed" else 1)


def print_error(sentence: str) -> None:
    """The object of the contract where there is no verdict."""
    from trainer.display.as_json import error_to_json

    typer.echo(error_to_json(sentence))


def _grade(
    challenge_id: str,
    file: Path | None,
    seed: int | None,
    case: int | None,
    time_limit: float,
    memory_limit: int,
) -> tuple[Report, tuple[str, ...]]:
    """The report, and the mistakes that a hunt put into the file."""
    challenge = find(challenge_id)
    journal = default_journal()
    path = learner_file(challenge, file, journal)
    source = read_source(path)
    check_limits(time_limit, memory_limit)
    if seed is not None:
        check_seed(seed)
    hunted = _hunted(journal, challenge.id, path)
    report = _run(
        challenge,
        source,
        path,
        fresh_seed() if seed is None else seed,
        case,
        time_limit,
        memory_limit,
    )
    if case is None:
        keep(journal, challenge, report, source, "hunt" if hunted else "practice")
        say_trouble(journal)
        journal.close()
    return report, hunted


def check_limits(seconds: float, memory_mib: int) -> None:
    """Refuse limits that make no sense."""
    if not 0 < seconds <= 86_400:
        raise DrillError(
            f"--time-limit is {seconds:g}; it must be more than 0 and at most 86400 seconds."
        )
    if not 16 <= memory_mib <= 1 << 20:
        raise DrillError(f"--memory-limit is {memory_mib}; it must be 16 to 1048576 MiB.")


def check_seed(seed: int) -> None:
    """Refuse a seed that no generator takes."""
    if not 0 <= seed <= MOST_SEED:
        raise DrillError(f"--seed is {seed}; it must be 0 to {MOST_SEED}.")


def _hunted(journal: Journal, challenge: str, path: Path) -> tuple[str, ...]:
    """The mistakes that a hunt put into this file; () of any other. It is graded for the hunt, however the check was called."""
    hunt = journal.last_hunt(challenge)
    return hunt[0] if hunt is not None and hunt[1] == path.resolve() else ()


def _run(
    challenge: Challenge,
    source: str,
    path: Path,
    seed: int,
    case: int | None,
    time_limit: float,
    memory_limit: int,
) -> Report:
    with grader_for(time_limit, memory_limit) as grader:
        return grader.grade(challenge, source, str(path), seed, case, diagnosed=True)


def _what_shows_it() -> None:
    """Import what will draw the report."""
    import trainer.display.terminal  # noqa: F401


def grader_for(time_limit: float = 10.0, memory_limit: int = 2048) -> Grader:
    """Import torch and start a grader with these limits, in seconds and MiB. It hides all known packs from what it grades."""
    if not hasattr(os, "fork"):
        raise GraderError(
            "Grading needs a system that can fork a process: Linux, macOS, or Windows' Linux subsystem (WSL)."
        )
    packs = pack_roots()
    # The collector would walk over every object that torch makes while it is imported.
    gc.disable()
    try:
        from trainer.grading.grader import Grader
        from trainer.running.zygote import Limits
    except ImportError as error:
        raise GraderError(
            f"torch cannot be imported: {error}. Install attn-drill again; the README has the command."
        ) from None
    grader = Grader(packs, Limits(time_limit, memory_limit << 20), meanwhile=_what_shows_it)
    gc.enable()
    return grader


def keep(
    journal: Journal, challenge: Challenge, report: Report, source: str, purpose: Purpose
) -> None:
    """Put a report into the journal."""
    kept = record(journal, challenge, report, source, time.time(), None, purpose)
    record_diagnosis(journal, kept.attempt, report)
