"""`attn-drill start ID`: hand out the stub, show the prompt, and on a terminal stay. Never over existing work."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.cli.common import (
    catalogue,
    complete_id,
    find,
    language,
    pack_roots,
    say_trouble,
    with_pack,
    write_new,
)
from trainer.content import packs
from trainer.content.levels import Level
from trainer.core.words import Challenge, DrillError
from trainer.practice.journal import Journal, default_journal

if TYPE_CHECKING:
    from trainer.session.stay import Left, Purpose


def start(
    challenge_id: Annotated[
        str,
        typer.Argument(metavar="ID", help="The challenge, e.g. gqa.", autocompletion=complete_id),
    ],
    folder: Annotated[Path, typer.Option("--dir", help="The folder for the stub.")] = Path("."),
    level: Annotated[
        Level,
        typer.Option("--level", help="With steps as comments, as ever, or the signatures alone."),
    ] = "standard",
    watch: Annotated[
        bool,
        typer.Option(
            "--watch/--no-watch", help="Stay and grade every save, where this is a terminal."
        ),
    ] = True,
) -> None:
    """Write the stub of a challenge, show its prompt, and stay to grade every save."""
    challenge = find(challenge_id)
    journal = default_journal()
    path = folder / challenge.file_name
    kept = hand_out(challenge, path, journal, level)
    if watch and can_stay():
        practise(challenge, path, journal)
        return
    show_prompt(packs.prompt(challenge, language()))
    typer.echo()
    typer.echo(next_steps(challenge, path, kept=kept))
    say_trouble(journal)


def hand_out(challenge: Challenge, path: Path, journal: Journal, level: Level) -> bool:
    """Write the stub unless there is a file; whether there was one. What is under way goes on: its clock and its hints stay.

    Raises:
        DrillError: where the stub cannot be written.
    """
    stub = packs.stub(challenge, level)
    if path.is_dir():
        raise DrillError(
            f"{path} is a folder; the stub would be a file of that name. Choose another folder with --dir."
        )
    kept = path.exists()
    if not kept:
        write_new(path, stub)
    if not kept or journal.path_of(challenge.id) != path.resolve():
        journal.record_start(challenge.id, path.resolve(), time.time(), level)
    return kept


def can_stay() -> bool:
    """Whether this is a terminal that a screen can be drawn on."""
    return (
        sys.stdin.isatty()
        and sys.stdout.isatty()
        and os.environ.get("TERM", "dumb") != "dumb"
        and hasattr(os, "fork")
    )


def practise(
    challenge: Challenge, path: Path, journal: Journal, purpose: Purpose = "practice"
) -> None:
    """Stay in sessions, from one challenge to the next, until the learner leaves.

    Raises:
        KeyboardInterrupt: after Ctrl-C.
    """
    from trainer.session.stay import Stay, stay

    while True:
        since = journal.since_start(challenge.id)
        given = Stay(
            challenge,
            path.resolve(),
            packs.prompt(challenge, language()),
            since.seconds,
            challenge.minutes * 60.0,
            purpose=purpose,
            packs=pack_roots(),
        )
        left = stay(given, journal)
        typer.echo(_farewell(challenge, path, left))
        say_trouble(journal)
        if left.how == "interrupted":
            raise KeyboardInterrupt
        following = _following(challenge, journal) if left.how == "next" else None
        if following is None:
            return
        challenge, path, purpose = following, path.with_name(following.file_name), "practice"
        hand_out(challenge, path, journal, "standard")


def _following(challenge: Challenge, journal: Journal) -> Challenge | None:
    """What comes next: the first that is not passed and builds on this one, else the first that is not passed and whose bases are."""
    challenges = catalogue().challenges
    passed = {name for name, one in journal.progress().items() if one.state == "passed"}
    open_ones = [one for one in challenges if one.id not in passed]
    ready = [one for one in open_ones if set(one.builds_on) <= passed]
    return next((one for one in ready if challenge.id in one.builds_on), None) or next(
        iter(ready or open_ones), None
    )


def _farewell(challenge: Challenge, path: Path, left: Left) -> str:
    """One line that stays on the terminal."""
    state = "passed" if left.passed else "not passed yet"
    tries = f"{left.attempts} {'attempt' if left.attempts == 1 else 'attempts'}"
    packed = with_pack(challenge)
    again = (
        f"`attn-drill solution {challenge.id}{packed}` shows the reference"
        if left.passed
        else f"`attn-drill start {challenge.id}{packed}` goes on"
    )
    return f"{challenge.id}: {state}, {tries}, {left.seconds / 60:.0f} min. {path} is as you left it; {again}."


def next_steps(challenge: Challenge, path: Path, *, kept: bool) -> str:
    """What to type next, with the file's place."""
    file = "" if path.parent == Path(".") else f" {path}"
    packed = with_pack(challenge)
    lines = [
        f"{path} is already there and is left as it is; `attn-drill reset {challenge.id}{packed}` gives a fresh stub."
        if kept
        else f"{path} is the stub: write your answer there."
    ]
    lines.append(
        f"  attn-drill check {challenge.id}{file}{packed}    grades it    par time {challenge.minutes} min"
    )
    lines.append(f"  attn-drill hint {challenge.id}{packed}    a hint, three in all")
    return "\n".join(lines)


def show_prompt(text: str) -> None:
    """Rendered on a terminal, as it is in a pipe."""
    if not sys.stdout.isatty():
        typer.echo(text.rstrip())
        return
    from rich.markdown import Markdown

    from trainer.display.literal import console

    console().print(Markdown(text))
