"""Practise a challenge in the session's screen or with commands, or choose from the menu."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import typer

from attn_drill.app.answer import (
    hand_out,
    hand_out_afresh,
    handed_out_level,
    is_review_under_way,
    prompt_text,
)
from attn_drill.app.open_packs import settings
from attn_drill.app.warn import say
from attn_drill.cli._command_line import Desk
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.model.words import plural
from attn_drill.packs.question_bank import read_bank
from attn_drill.packs.stub_levels import Level
from attn_drill.practice.facts import Started
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import (
    path_of,
    progress_of,
    rated_reviews,
    route_states,
    since_start,
)
from attn_drill.practice.schedule import (
    AgendaEntry,
    agenda,
    next_challenge,
    recommended,
)
from attn_drill.practice.statistics import Stats, statistics

if TYPE_CHECKING:
    from attn_drill.practice.facts import Purpose
    from attn_drill.session import MenuChoice


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
    from attn_drill.session import SessionRequest, run_session

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
            language=settings().language,
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


def menu(context: typer.Context) -> None:
    """Show the menu again and again, and run what the learner chooses, until the learner leaves."""
    desk: Desk = context.obj
    program = context.find_root().command
    notice = ""
    while True:
        stats, chosen = _choose(desk, notice)
        if chosen is None:
            return
        notice = ""
        try:
            if chosen.command == "start" and chosen.entry is not None:
                begin = review_challenge if chosen.entry.section == "due" else start_challenge
                path = _path(chosen.entry, desk.journal)
                begin(chosen.entry.challenge, path, desk)
                continue
            words = command_words(chosen, stats, desk.named)
            program.main(words, standalone_mode=False)
        except DrillError as error:
            notice = str(error)
        else:  # the command has left text to read on the terminal
            typer.prompt("Enter goes back to the menu", "", show_default=False)


def _choose(desk: Desk, notice: str) -> tuple[Stats, MenuChoice | None]:
    """Let the learner choose. Return the statistics and the choice."""
    from attn_drill.session import Menu, choose

    catalogue, journal, now = desk.packs.catalogue(), desk.journal, time.time()
    challenges, facts = catalogue.challenges, journal.facts()
    entries = agenda(challenges, progress_of(facts), rated_reviews(facts, "challenge:"), now)
    stats = statistics(facts, challenges, {}, now)

    def plan(entry: AgendaEntry) -> str:
        path = _path(entry, journal)
        if entry.section == "due" and not is_review_under_way(entry.challenge, path, journal):
            kept = "; your old file is kept under another name" if path.exists() else ""
            return f"Enter writes a blank stub to {path}{kept}."
        return f"Enter goes on with {path}." if path.exists() else f"Enter writes {path}."

    topics = read_bank(catalogue.roots).titles
    routes = route_states(catalogue.routes, stats.passed)
    best = recommended(entries)
    return stats, choose(Menu(entries, best, topics, plan, stats, now, notice, routes))


def _path(entry: AgendaEntry, journal: Journal) -> Path:
    """Return the learner's file: the file that was handed out, else a file in this folder."""
    here = Path(entry.challenge.file_name)
    started = path_of(journal.facts(Started, subject=entry.challenge.id))
    # A review begins a new file here.
    if entry.section == "due" or started is None or not started.exists():
        return here
    return here if started == here.resolve() else started


def command_words(chosen: MenuChoice, stats: Stats, packs: Iterable[Path | str]) -> list[str]:
    """Return the words of a command as the learner would type them after `attn-drill`.

    A hunt without a challenge takes a random passed challenge.
    """
    words: list[str] = [chosen.command]
    if chosen.command == "hunt" and chosen.entry is not None:
        words.append(chosen.entry.challenge.id)
    elif chosen.command == "hunt":
        if not stats.passed:
            raise DrillError(
                "No challenge is passed yet, and a bug hunt shows the reference of a challenge. "
                "Pass a challenge first, or hunt in any challenge with `attn-drill hunt ID`."
            )
        words.append(Random().choice(stats.passed))
    for folder in packs:
        words += ["--pack", str(folder)]
    return words
