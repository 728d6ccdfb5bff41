"""Practise a challenge in the session's screen, or with commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from attn_drill.app.open_packs import settings
from attn_drill.app.start_challenge import (
    hand_out,
    hand_out_afresh,
    handed_out_level,
    is_review_under_way,
    language,
    next_challenge,
    prompt_text,
)
from attn_drill.app.warn import say
from attn_drill.cli._command_line import Desk
from attn_drill.model.challenge import Challenge
from attn_drill.model.words import plural
from attn_drill.packs.stub_levels import Level
from attn_drill.practice.progress import since_start

if TYPE_CHECKING:
    from attn_drill.session.model import Purpose


def start_challenge(
    challenge: Challenge,
    path: Path,
    desk: Desk,
    level: Level | None = None,
    *,
    watch: bool = True,
    hints_first: bool | None = None,
) -> None:
    """Hand out the stub unless a file is there, then practise.

    Args:
        path: where the stub is written.
        level: how much help the stub has; None: as in the file that is there, else as in the
            settings. If the learner's work is there at another level, the learner is asked.
        watch: open the session's screen, if a screen can be drawn.
        hints_first: as for `practise`.
    """
    file_was_there = hand_out(challenge, path, desk.journal, level)
    level_before = handed_out_level(challenge, desk.journal)
    is_other_level = file_was_there and level not in (None, level_before)
    if watch and can_draw_screen():
        wanted = level if is_other_level else None
        practise(challenge, path, desk, hints_first=hints_first, level=wanted)
        return
    notice = ""
    if is_other_level:
        option = desk.packs.pack_option(challenge)
        notice = (
            f"{path} has your work and was handed out at the level {level_before}; "
            f"`attn-drill reset {challenge.id} --level {level}{option}` gives a fresh stub of "
            f"the level {level} and keeps your file under another name."
        )
    _show_task(challenge, path, desk, file_was_there=file_was_there, notice=notice)


def review_challenge(challenge: Challenge, path: Path, desk: Desk, *, watch: bool = True) -> None:
    """Hand out a blank stub and keep the old file under another name, then practise.

    A review that is under way continues with its file.
    """
    journal = desk.journal
    under_way = is_review_under_way(challenge, path, journal)
    if not under_way:
        old_file = hand_out_afresh(challenge, path, journal, "blank")
        if old_file is not None:
            typer.echo(f"Your old {path.name} is kept as {old_file.name}.")
    if watch and can_draw_screen():
        practise(challenge, path, desk, "review")
    else:
        _show_task(challenge, path, desk, file_was_there=under_way)


def can_draw_screen() -> bool:
    """Return whether a screen can be drawn: this is a terminal, and the system can fork."""
    return (
        sys.stdin.isatty()
        and sys.stdout.isatty()
        and os.environ.get("TERM", "dumb") != "dumb"
        and hasattr(os, "fork")
    )


def practise(
    challenge: Challenge,
    path: Path,
    desk: Desk,
    purpose: Purpose = "practice",
    *,
    hints_first: bool | None = None,
    level: Level | None = None,
) -> None:
    """Run sessions, with one challenge after the other, until the learner leaves.

    Args:
        hints_first: show the line, a question and the cause of a failure with one key each. None:
            as in the settings, else only if the stub was handed out at the level guided.
        level: ask the learner first whether to begin again with a stub of this level.
    """
    from attn_drill.session.model import SessionRequest
    from attn_drill.session.practice_screen import run_session

    packs, journal = desk.packs, desk.journal
    while True:
        since = since_start(journal.facts(subject=challenge.id))
        in_stages = settings().hints_first if hints_first is None else hints_first
        if in_stages is None:
            in_stages = handed_out_level(challenge, journal) == "guided"
        request = SessionRequest(
            challenge,
            path.resolve(),
            prompt_text(challenge),
            since.seconds,
            challenge.minutes * 60.0,
            stage="where" if in_stages else "cause",
            purpose=purpose,
            packs=packs.roots(),
            challenges=tuple(packs.catalogue().challenges),
            language=language(),
            level=level,
        )
        result = run_session(request, journal)
        # This line stays on the terminal after the session.
        state, command, does = "not passed yet", "start", "goes on"
        if result.passed:
            state, command, does = "passed", "solution", "shows the reference"
        attempts = plural(result.attempts, "attempt")
        option = packs.pack_option(challenge)
        say(
            f"{challenge.id}: {state}, {attempts}, {result.seconds / 60:.0f} min. {path} is as you "
            f"left it; `attn-drill {command} {challenge.id}{option}` {does}."
        )
        if result.ending == "interrupted":
            raise KeyboardInterrupt
        if result.ending != "next":
            return
        # Each file of this loop is in the folder of the first.
        following = next_challenge(challenge, packs.catalogue().challenges, journal)
        if following is None:
            return
        challenge, path = following, path.with_name(following.file_name)
        purpose, level = "practice", None
        hand_out(challenge, path, journal, None)


def _show_task(
    challenge: Challenge,
    path: Path,
    desk: Desk,
    *,
    file_was_there: bool,
    notice: str = "",
) -> None:
    """Show the prompt, the path of the file or the notice, and the commands to type next."""
    show_prompt(prompt_text(challenge))
    option = desk.packs.pack_option(challenge)
    file = "" if path.parent == Path(".") else f" {path}"
    typer.echo()
    if notice:
        typer.echo(notice)
    elif file_was_there:
        reset = f"`attn-drill reset {challenge.id}{option}`"
        typer.echo(f"{path} is already there and stays unchanged; {reset} gives a fresh stub.")
    else:
        typer.echo(f"{path} is the stub: write your answer there.")
    check = f"attn-drill check {challenge.id}{file}{option}"
    typer.echo(f"  {check}    grades it    par time {challenge.minutes} min")
    typer.echo(f"  attn-drill hint {challenge.id}{option}    shows a hint, one of three")


def show_prompt(text: str) -> None:
    """Show a prompt: rendered on a terminal, else as plain text."""
    if not sys.stdout.isatty():
        typer.echo(text.rstrip())
        return
    from attn_drill.report.code_text import console
    from attn_drill.report.lesson_text import Prompt

    console().print(Prompt(text))
