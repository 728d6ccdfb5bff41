"""`attn-drill hint ID`: show the next of three hints."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.warn import say, warn_journal
from trainer.cli.parameters import ChallengeId
from trainer.model.errors import DrillError
from trainer.practice.facts import Hinted
from trainer.practice.journal import default_journal
from trainer.practice.progress import since_start


def hint(
    context: typer.Context,
    challenge_id: ChallengeId,
    level: Annotated[
        int | None, typer.Option("--level", help="1 is a nudge, 2 the idea, 3 the step.")
    ] = None,
) -> None:
    """Show the next hint."""
    known_packs: KnownPacks = context.obj
    challenge = known_packs.find(challenge_id)
    last = len(challenge.hints)
    if level is not None and not 1 <= level <= last:
        raise DrillError(f"There is no hint {level}; {challenge.id} has hints 1 to {last}.")
    journal = default_journal()
    if level is None:
        level = min(since_start(journal.facts(subject=challenge.id)).hint + 1, last)
    journal.add(Hinted(challenge.id, time.time(), level=level))
    text = challenge.hints[level - 1]
    if "\n" in text:  # code
        typer.echo(f"Hint {level} of {last}:\n\n{text}")
    else:
        say(f"Hint {level} of {last}: {text}")
    if level == last:
        pack_option = known_packs.pack_option(challenge)
        solution = f"`attn-drill solution {challenge.id} --give-up{pack_option}`"
        say(f"That was the last hint. {solution} shows the reference.")
    warn_journal(journal)
