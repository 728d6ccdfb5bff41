"""Ask the light parts of a review line by line: gaps, a planted mistake, follow-up questions."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import typer

from trainer.app.warn import warn
from trainer.cli.ask_questions import answered, is_coloured, question_in_colour, read_line
from trainer.model.challenge import Challenge
from trainer.model.errors import PackError
from trainer.packs.follow_up import FollowUp
from trainer.practice.journal import Journal
from trainer.practice.schedule import RATINGS, challenge_of, item_of

if TYPE_CHECKING:
    from trainer.practice.review_plan import ReviewPart
    from trainer.quiz.gaps import Gap, GapExercise

_FORM_NAMES = {
    "rewrite": "write it in full",
    "gaps": "fill the gaps",
    "line": "find the wrong line",
    "follow-up": "follow-up question",
}


@dataclass(frozen=True)
class ReviewMaterial:
    """The material of a review's light parts.

    Attributes:
        challenges: The challenges by id.
        follow_ups: The follow-up questions by item.
    """

    challenges: Mapping[str, Challenge]
    follow_ups: Mapping[str, FollowUp]

    def name_of(self, part: ReviewPart) -> str:
        """Return the id of the challenge that a part belongs to."""
        follow_up = self.follow_ups.get(part.item)
        return follow_up.challenge if follow_up else challenge_of(part.item) or part.item


def part_words(part: ReviewPart) -> str:
    """Return the form of a part in words."""
    return _FORM_NAMES[part.form]


def ask_light_parts(
    parts: tuple[ReviewPart, ...], material: ReviewMaterial, journal: Journal, rng: Random
) -> bool:
    """Ask the light parts of a review in order. Record each part as soon as it is complete.

    Args:
        parts: The parts.
        material: The material of the parts.
        journal: The learner's journal.
        rng: The random number generator.

    Returns:
        True if no part is left, or False if the learner stopped or the input ended.
    """
    for number, part in enumerate(parts, start=1):
        title = f"{number} of {len(parts)}  {material.name_of(part)}: {part_words(part)}"
        typer.echo("\n" + typer.style(title, bold=is_coloured()))
        if not _ask(part, material, journal, rng):
            return False
    return True


def _ask(part: ReviewPart, material: ReviewMaterial, journal: Journal, rng: Random) -> bool:
    """Ask a part, and return False if the learner stopped."""
    if part.form == "follow-up":
        from trainer.cli.ask_follow_ups import ask

        return ask([material.follow_ups[part.item]], journal) == 1
    challenge = material.challenges[material.name_of(part)]
    try:
        return _ask_challenge(challenge, part, journal, rng)
    except PackError as error:
        warn([f"{challenge.id} is left out: {error}"])
        return True


def _ask_challenge(challenge: Challenge, part: ReviewPart, journal: Journal, rng: Random) -> bool:
    """Ask for gaps or a line. A reference with too few places for gaps has a wrong line instead."""
    from trainer.quiz.gaps import draw_gaps

    exercise = draw_gaps(challenge, rng) if part.form == "gaps" else None
    graded = _gaps(exercise) if exercise else _line(challenge, journal, rng)
    if graded is None:
        return False
    rating, reason = graded
    journal.record_review(item_of(challenge.id), time.time(), rating, reason)
    typer.echo(f"{challenge.id}: graded {RATINGS[rating - 1]}: {reason}.")
    return True


def _line(challenge: Challenge, journal: Journal, rng: Random) -> tuple[int, str] | None:
    """Ask for the line of a known mistake: a due line, else a new line.

    Returns:
        The rating of the challenge and its reason, or None if the learner stopped.
    """
    from trainer.packs.mistakes import read_mistakes
    from trainer.practice.schedule import items
    from trainer.quiz.question_order import order_items, pool_of

    pool = pool_of((), (challenge,), {challenge.id: read_mistakes(challenge)})
    now = time.time()
    chosen = order_items(pool, items(journal.reviews("line:"), now), now, 1, rng)
    if not chosen:
        raise PackError(
            f"it has no known mistakes. `attn-drill review {challenge.id}` hands it out in full."
        )
    drawn = pool.ask(chosen[0], rng)
    width = _width()
    typer.echo(f"\n{question_in_colour(drawn, width)}\n")
    right = answered(drawn, width, journal)
    if right is None:
        return None
    return (3, "planted line found") if right else (1, "planted line not found")


def _gaps(exercise: GapExercise) -> tuple[int, str] | None:
    """Ask for all gaps of a reference.

    Returns:
        The rating and its reason, or None if the learner stopped.
    """
    from trainer.quiz.gaps import rating
    from trainer.report.gap_text import introduction

    typer.echo(f"\n{introduction(exercise, _width())}")
    right = 0
    for gap in exercise.gaps:
        is_right = _filled(gap)
        if is_right is None:
            return None
        right += is_right
    count = len(exercise.gaps)
    return rating(right, count), f"gaps, {right} of {count} right"


def _filled(gap: Gap) -> bool | None:
    """Ask for a gap, and show the code of the reference.

    Returns:
        True if the answer is right, or None if the learner stopped.
    """
    from trainer.quiz.gaps import judge_gap
    from trainer.report.gap_text import gap_line, right_code
    from trainer.report.question_text import wrapped

    typer.echo(f"\n{gap_line(gap, _width())}")
    while True:
        given = read_line(f"{gap.name} = ")
        # `q` is the name of a tensor in most references, so it does not end the review here.
        if given is None or given.strip().lower() == "quit":
            return None
        judged = judge_gap(gap, given)
        if judged.verdict != "not understood":
            break
        typer.echo(wrapped(judged.message, _width()))
    if judged.verdict == "undecided":
        typer.echo(right_code(gap, _width()))
        return _means_the_same()
    is_right = judged.verdict == "right"
    if given.strip() == "?":
        typer.echo("Noted as not known.")
    else:
        word, colour = ("Right.", "blue") if is_right else ("Wrong.", "yellow")
        typer.echo(typer.style(word, fg=colour if is_coloured() else None))
    if judged.message:
        typer.echo(wrapped(judged.message, _width()))
    if not is_right:
        typer.echo(right_code(gap, _width()))
    return is_right


def _means_the_same() -> bool | None:
    """Let the learner compare an answer with the reference. Return None if the learner stopped."""
    while True:
        given = read_line("Does yours mean the same? y/n: ")
        word = "quit" if given is None else given.strip().lower()
        if word in ("q", "quit"):
            return None
        if word in ("y", "yes", "n", "no"):
            return word[0] == "y"
        typer.echo("Answer with y or n.")


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns
