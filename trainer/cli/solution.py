"""`attn-drill solution ID`: show the reference after a pass, or after giving up."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.warn import warn_journal
from trainer.cli.parameters import ChallengeId
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.practice.journal import ChallengeProgress, default_journal
from trainer.practice.schedule import item_of


def solution(
    context: typer.Context,
    challenge_id: ChallengeId,
    give_up: Annotated[
        bool, typer.Option("--give-up", help="Show it although the challenge is not passed.")
    ] = False,
) -> None:
    """Show the reference after a pass, or with --give-up."""
    known_packs: KnownPacks = context.obj
    challenge = known_packs.find(challenge_id)
    journal = default_journal()
    progress = journal.progress().get(challenge.id, ChallengeProgress())
    if progress.state != "passed" and not give_up:
        warn_journal(journal)
        pack_option = known_packs.pack_option(challenge)
        raise DrillError(
            f"{challenge.id} is not passed yet ({progress.attempts} attempts). "
            f"Go on with `attn-drill hint {challenge.id}{pack_option}`, or see the reference "
            f"with `attn-drill solution {challenge.id} --give-up{pack_option}`."
        )
    since = journal.since_start(challenge.id)
    # In a review, passes before its start do not count.
    if not since.passed and not since.solution:
        journal.record_review(item_of(challenge.id), time.time(), 1, "given up")
    journal.record_solution(challenge.id, time.time())
    text = pack_reader.solution(challenge)
    if sys.stdout.isatty():
        from rich.syntax import Syntax

        from trainer.report.literal import console

        console().print(Syntax(text, "python", background_color="default", word_wrap=True))
    else:
        typer.echo(text.rstrip())
    warn_journal(journal)
