"""Grade a learner's answer, and show the report."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trainer.app.answer import LearnerAnswer
from trainer.app.open_packs import KnownPacks
from trainer.app.warn import say, warn_journal
from trainer.cli.ask import width
from trainer.model.errors import DrillError, GraderError
from trainer.model.limits import DEFAULT, Limits
from trainer.practice.journal import default_journal

if TYPE_CHECKING:
    from trainer.app.grade_file import CheckedFile
    from trainer.model.report import Report
    from trainer.practice.facts import Purpose
    from trainer.report.stages import Stage


@dataclass(frozen=True)
class Output:
    """How a report is shown."""

    why: bool | None = None  # name the likely mistake; None: unless a hunt put it into the file
    in_stages: bool = False  # wait for a key before each part
    html: Path | None = None  # also write a page
    as_json: bool = False  # print nothing else

    def stage(self, *, is_hunt: bool) -> Stage:
        """Return the most that the report tells. To find the line is the task of a hunt."""
        if self.why or (self.why is None and not is_hunt):
            return "cause"
        return "where" if is_hunt else "line"


def grade_answer(
    answer: LearnerAnswer,
    seed: int | None,
    known_packs: KnownPacks,
    output: Output,
    *,
    case: int | None = None,
    limits: Limits = DEFAULT,
) -> Report:
    """Grade an answer, record the attempt unless it is for one case, and show the report."""
    from trainer.app import grade_file
    from trainer.server.messages import Grade

    journal = default_journal()
    challenge = answer.challenge
    seed = grade_file.fresh_seed() if seed is None else seed
    grade_file.check_seed(seed)
    hunted = grade_file.hunted_mistakes(journal, challenge, answer.path)
    planted = hunted if len(hunted) > 1 or output.why else ()
    request = Grade(
        challenge.id,
        answer.submission,
        seed,
        case,
        seconds=limits.seconds,
        memory_mib=limits.memory_mib,
        planted=planted,
        is_diagnosed=not hunted or bool(planted),
    )
    with grade_file.graded_file(known_packs, request) as checked:
        grade = ""
        if case is None:
            purpose: Purpose = "hunt" if hunted else "practice"
            source, report = answer.source, checked.report
            grade = grade_file.record_attempt(journal, challenge, report, source, purpose)
            warn_journal(journal)
        journal.close()
        _show(answer, checked, hunted, known_packs, output)
        if checked.report.verdict == "passed" and case is None and not (hunted or output.as_json):
            _show_after_pass(answer, checked, grade, known_packs)
    return checked.report


def _show(
    answer: LearnerAnswer,
    checked: CheckedFile,
    hunted: tuple[str, ...],
    known_packs: KnownPacks,
    output: Output,
) -> None:
    """Show the report, then what it means for a hunt."""
    report, challenge = checked.report, answer.challenge
    stage = output.stage(is_hunt=bool(hunted))
    file = "" if answer.is_default else None
    options = known_packs.pack_option(challenge)
    if output.html is not None:
        from trainer.cli.page_files import write_page
        from trainer.report.report_page import to_html

        write_page(output.html, to_html(report, stage, file, options))
    if output.as_json:
        from trainer.report.report_json import to_json

        typer.echo(to_json(report))
        return
    from trainer.report.terminal import show

    wait = wait_for_key if output.in_stages else None
    show(report, sys.stdout, stage=stage, file=file, options=options, wait=wait)
    if report.unfinished:
        say(f"Not counted as an attempt: the file {report.unfinished}.")
    if hunted and report.verdict == "passed":
        from trainer.report.hunt_text import describe_mistakes

        typer.echo("\n" + describe_mistakes(challenge, hunted, width()))
        if len(hunted) > 1:
            _hand_out_follow_up(answer, known_packs)
    elif hunted:
        give_up = f"`attn-drill hunt {challenge.id} --reveal{options}`"
        say(f"\nNot repaired yet. Go on, and grade the file again. {give_up} gives up.")
    if output.html is not None:
        say(f"\n{output.html} has the report as a page.")


def _show_after_pass(
    answer: LearnerAnswer, checked: CheckedFile, grade: str, known_packs: KnownPacks
) -> None:
    """Show what the pass brings. On a terminal, also measure the answer, after the verdict."""
    from trainer.app.next_steps import next_steps
    from trainer.packs.follow_up import read_follow_ups

    challenge, now = answer.challenge, time.time()
    challenges = known_packs.catalogue().challenges
    say("\n" + next_steps(challenge, challenges, default_journal(), now, grade))
    if is_terminal():
        from trainer.report.lesson_text import render_notes
        from trainer.report.literal import console

        sys.stdout.flush()
        try:
            shown = render_notes(checked.lesson(), answer.source)
            console().print("", shown, sep="\n")
        except (DrillError, GraderError) as error:  # the verdict and the exit code stay
            say(f"The answer could not be measured: {error}")
    questions, _ = read_follow_ups((challenge,), "en")
    if questions:
        option = known_packs.pack_option(challenge)
        typer.echo(f"\nfollow-ups       attn-drill quiz --follow-up {challenge.id}{option}")


def _hand_out_follow_up(answer: LearnerAnswer, known_packs: KnownPacks) -> None:
    """Write the file of the challenge that continues with the repaired file, if there is one."""
    from trainer.app.hunts import follow_up_of, hand_out_follow_up

    challenge = answer.challenge
    follow_up = follow_up_of(challenge, known_packs.catalogue().challenges)
    if follow_up is None:
        return
    path = hand_out_follow_up(challenge, follow_up, answer.path, default_journal())
    say(f"\nNext: {follow_up.title}. {path} is your repaired file, to continue with.")
    folder = "" if path.parent == Path() else f" --dir {shlex.quote(str(path.parent))}"
    typer.echo(f"  attn-drill start {follow_up.id}{folder}{known_packs.pack_option(follow_up)}")


def is_terminal() -> bool:
    """Return whether a person reads the output."""
    return sys.stdout.isatty()


def wait_for_key(following: str) -> bool:
    """Wait for a key before the next part of a report. Return False if the reader stops.

    Without a terminal nobody can press a key, so all parts are shown.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    typer.echo(f"\nAny key shows {following}; q stops. ", nl=False)
    key = typer.getchar()
    typer.echo()
    return key.lower() not in ("q", "\x1b")
