"""`attn-drill hunt ID`: repair a reference with mistakes in it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.start_challenge import prompt_text
from attn_drill.app.warn import say
from attn_drill.cli._ask import width
from attn_drill.cli._command_line import ChallengeId, Desk, StubFolder, Watch
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.practice.facts import Hunted
from attn_drill.practice.learner_files import read_source

_SEED = typer.Option(min=0, help="Draw the same mistake again.")
_BUGS = typer.Option(min=1, max=5, help="The number of bugs; by default one or two.")
_MINUTES = typer.Option(min=1, max=240, help="The time for the repair.")
_REVEAL = typer.Option("--reveal", help="Give up: show what is wrong.")


def hunt(
    context: typer.Context,
    challenge_id: ChallengeId,
    folder: StubFolder = Path("."),
    seed: Annotated[int | None, _SEED] = None,
    bugs: Annotated[int | None, _BUGS] = None,
    minutes: Annotated[int | None, _MINUTES] = None,
    reveal: Annotated[bool, _REVEAL] = False,
    watch: Watch = True,
) -> None:
    """Find and repair mistakes in a reference: one or two, or the number of --bugs."""
    from attn_drill.cli._practise import can_draw_screen
    from attn_drill.report.question_text import describe_mistakes

    desk: Desk = context.obj
    challenge = desk.packs.find(challenge_id)
    if reveal:
        last = desk.journal.last(Hunted, subject=challenge.id)
        if last is None:
            option = desk.packs.pack_option(challenge)
            raise DrillError(
                f"No hunt in {challenge.id} is under way. "
                f"`attn-drill hunt {challenge.id}{option}` begins one."
            )
        typer.echo(describe_mistakes(challenge, last.mistakes, width()))
        return
    path = _hand_out(challenge, folder, seed, bugs, desk)
    while watch and can_draw_screen() and _repair(challenge, path, minutes, desk):
        path = _hand_out(challenge, folder, None, bugs, desk)


def _hand_out(
    challenge: Challenge, folder: Path, seed: int | None, bugs: int | None, desk: Desk
) -> Path:
    """Write the reference with mistakes into `folder`, and show the next commands."""
    from attn_drill.app.hunts import choose_bugs
    from attn_drill.exercises.altered_reference import in_words, write_hunt

    journal = desk.journal
    last = journal.last(Hunted, subject=challenge.id)
    chosen = choose_bugs(challenge, bugs, last.mistakes if last else (), seed)
    path, old_file = write_hunt(challenge, chosen, folder, journal)
    many, it = in_words(len(chosen))
    say(f"{path} is the reference of {challenge.id} with {many} in it. Find and repair {it}.")
    if old_file is not None:
        say(f"The old file is kept as {old_file}.")
    option = desk.packs.pack_option(challenge)
    file = shlex.quote(str(path))
    typer.echo(f"  attn-drill check {challenge.id} {file}{option}   grades it")
    typer.echo(f"  attn-drill hunt {challenge.id} --reveal{option}   gives up")
    return path


def _repair(challenge: Challenge, path: Path, minutes: int | None, desk: Desk) -> bool:
    """Let the learner repair the file in a session. Return whether another hunt is wanted.

    After the repair of several bugs, the challenge that continues with the file comes next.
    """
    from attn_drill.app.hunts import follow_up_of, hand_out_follow_up, hunt_task
    from attn_drill.cli._practise import practise
    from attn_drill.session.model import SessionRequest
    from attn_drill.session.practice_screen import run_session

    packs, journal = desk.packs, desk.journal
    hunt = journal.last(Hunted, subject=challenge.id)
    hunted = hunt.mistakes if hunt is not None else ()
    request = SessionRequest(
        challenge,
        path.resolve(),
        hunt_task(challenge, path.name, len(hunted)) + prompt_text(challenge),
        seconds_before=0.0,
        # Nothing has to be written, so half of the par time is enough.
        par_seconds=challenge.minutes * 60.0 / 2 if minutes is None else minutes * 60.0,
        stage="where",  # finding the line is the task
        purpose="hunt",
        packs=packs.roots(),
        untouched=read_source(path),
        hunted=hunted,
    )
    result = run_session(request, journal)
    state = "repaired" if result.passed else "not repaired yet"
    say(f"{challenge.id}: {state}, {result.seconds / 60:.0f} min. {path} is as you left it.")
    if result.ending == "interrupted":
        raise KeyboardInterrupt
    if result.ending != "next":
        return False
    follow_up = follow_up_of(challenge, packs.catalogue().challenges)
    if not result.passed or len(hunted) < 2 or follow_up is None:
        return True
    next_path = hand_out_follow_up(challenge, follow_up, path, journal)
    practise(follow_up, next_path, desk)
    return False
