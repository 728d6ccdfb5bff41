"""Ask follow-up questions line by line: think, read a model answer, rate your own answer."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.start_challenge import language
from trainer.app.warn import warn_journal
from trainer.cli.ask_questions import accept_all_characters, is_coloured, read_line
from trainer.model.errors import DrillError
from trainer.packs.follow_up import FollowUp, follow_ups
from trainer.practice.facts import Reviewed
from trainer.practice.journal import Journal, default_journal
from trainer.practice.progress import ChallengeProgress, progress_of, since_start
from trainer.practice.schedule import RATINGS

_RATE = "1 again  2 hard  3 good  4 easy: "


def ask_about(challenge_id: str, known_packs: KnownPacks) -> None:
    """Ask all follow-up questions of a challenge whose answers the learner may see.

    Raises:
        DrillError: If no challenge has this id, if the challenge is not passed and its solution
            was not shown, or if its pack has no answers.
    """
    accept_all_characters()
    challenge = known_packs.find(challenge_id)
    journal = default_journal()
    facts = journal.facts(subject=challenge.id)
    progress = progress_of(facts).get(challenge.id, ChallengeProgress())
    if progress.state != "passed" and not since_start(facts).solution:
        warn_journal(journal)
        raise DrillError(
            f"{challenge.id} is not passed yet. The answers come after the pass: "
            f"`attn-drill start {challenge.id}{known_packs.pack_option(challenge)}`."
        )
    questions = [entry for entry in follow_ups(challenge, language()) if entry.answer]
    if not questions:
        raise DrillError(
            f"{challenge.id} has no follow-up questions with answers. "
            f"`attn-drill quiz --topic {challenge.id}` asks other questions about it."
        )
    rated = ask(questions, journal)
    typer.echo(f"\n{rated} of {len(questions)} rated.")
    warn_journal(journal)
    journal.close()


def ask(questions: Sequence[FollowUp], journal: Journal) -> int:
    """Ask questions until all are asked, the learner types `q`, or the input ends.

    Each rating is recorded at once.

    Returns:
        The number of questions that the learner rated.
    """
    for count, follow_up in enumerate(questions):
        if len(questions) > 1:
            title = f"{count + 1} of {len(questions)}  {follow_up.challenge}"
            typer.echo("\n" + typer.style(title, bold=is_coloured()))
        rating = _rated(follow_up)
        if rating is None:
            return count
        journal.add(Reviewed(follow_up.item, time.time(), rating=rating, reason="own rating"))
    return len(questions)


def _rated(follow_up: FollowUp) -> int | None:
    """Ask a question and show its model answer. Return the learner's rating, or None to stop."""
    _show(follow_up.question)
    if _is_end(read_line("Think, then press Enter. ")):
        return None
    _show(follow_up.answer)
    while True:
        given = read_line(_RATE)
        if given is None or _is_end(given):
            return None
        word = given.strip().lower()
        if word in RATINGS:
            return RATINGS.index(word) + 1
        if word in ("1", "2", "3", "4"):
            return int(word)
        typer.echo("Answer with a number, 1 to 4. `q` ends.")


def _is_end(given: str | None) -> bool:
    return given is None or given.strip().lower() in ("q", "quit")


def _show(prose: str) -> None:
    """Print prose in the width of the terminal. rich also divides Chinese, which has no blanks."""
    from rich.text import Text

    from trainer.report.follow_up_text import prose_of
    from trainer.report.literal import console
    from trainer.report.wording import WIDEST

    out = console(sys.stdout)
    typer.echo()
    for line in Text(prose_of(prose)).wrap(out, min(out.width, WIDEST)):
        typer.echo(line.plain.rstrip())
    typer.echo()
