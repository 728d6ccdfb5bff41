"""`attn-drill hint` shows the next of three hints, `attn-drill solution` the reference."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from attn_drill.app.warn import say
from attn_drill.cli.parameters import ChallengeId, Desk
from attn_drill.model.errors import DrillError
from attn_drill.packs.pack_reader import other_answers
from attn_drill.practice.facts import Hinted, Revealed, Reviewed
from attn_drill.practice.progress import ChallengeProgress, progress_of, since_start
from attn_drill.practice.schedule import item_of

_HINT_LEVEL = typer.Option(help="1 is a nudge, 2 the idea, 3 the step.")
_GIVE_UP = typer.Option("--give-up", help="Show it although the challenge is not passed.")
_STYLE = typer.Option(metavar="NAME", help="Show this other right answer instead.")


def hint(
    context: typer.Context,
    challenge_id: ChallengeId,
    level: Annotated[int | None, _HINT_LEVEL] = None,
) -> None:
    """Show the next hint."""
    desk: Desk = context.obj
    challenge, journal = desk.packs.find(challenge_id), desk.journal
    last = len(challenge.hints)
    if level is not None and not 1 <= level <= last:
        raise DrillError(f"There is no hint {level}; {challenge.id} has hints 1 to {last}.")
    if level is None:
        level = min(since_start(journal.facts(subject=challenge.id)).hint + 1, last)
    journal.add(Hinted(challenge.id, time.time(), level=level))
    text = challenge.hints[level - 1]
    if "\n" in text:  # code
        typer.echo(f"Hint {level} of {last}:\n\n{text}")
    else:
        say(f"Hint {level} of {last}: {text}")
    if level == last:
        option = desk.packs.pack_option(challenge)
        solution = f"`attn-drill solution {challenge.id} --give-up{option}`"
        say(f"That was the last hint. {solution} shows the reference.")


def solution(
    context: typer.Context,
    challenge_id: ChallengeId,
    give_up: Annotated[bool, _GIVE_UP] = False,
    style: Annotated[str | None, _STYLE] = None,
) -> None:
    """Show the reference, or another right answer, after a pass or with --give-up."""
    desk: Desk = context.obj
    challenge, journal = desk.packs.find(challenge_id), desk.journal
    option = desk.packs.pack_option(challenge)
    facts = journal.facts(subject=challenge.id)
    progress = progress_of(facts).get(challenge.id, ChallengeProgress())
    since = since_start(facts)
    if progress.state != "passed" and not since.solution and not give_up:
        raise DrillError(
            f"{challenge.id} is not passed yet ({progress.attempts} attempts). "
            f"Go on with `attn-drill hint {challenge.id}{option}`, or see the reference "
            f"with `attn-drill solution {challenge.id} --give-up{option}`."
        )
    answers = other_answers(challenge)
    by_name = {answer.name: answer for answer in answers}
    if style is not None and style not in by_name:
        names = ", ".join(by_name)
        raise DrillError(f"{challenge.id} has no answer called {style}; it has {names}.")
    answer = answers[0] if style is None else by_name[style]
    # In a review, passes before its start do not count.
    if not since.passed and not since.solution:
        journal.add(Reviewed(item_of(challenge.id), time.time(), rating=1, reason="given up"))
    journal.add(Revealed(challenge.id, time.time()))
    if not sys.stdout.isatty():
        typer.echo(answer.source.rstrip())
        return
    from attn_drill.report.lesson_text import render_answer
    from attn_drill.report.literal import console
    from attn_drill.report.wording import wrapped

    out = console()
    out.print(render_answer(answer, None, None, out.width))
    if len(answers) > 1:
        typer.echo(f"\nOthers: attn-drill solution {challenge.id}{option} --style NAME")
    for other in answers:
        if other is not answer:
            typer.echo(f"  {other.name}\n{wrapped(other.does, out.width, indent='    ')}")
