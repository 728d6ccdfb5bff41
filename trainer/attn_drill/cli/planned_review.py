"""Plan a review that fits the learner's time, show the plan, and ask its light parts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import typer

from attn_drill.app.start_challenge import language
from attn_drill.app.warn import say, say_json, warn
from attn_drill.cli.ask import (
    StoppedError,
    accept_all_characters,
    ask_follow_up,
    ask_gaps,
    ask_question,
    show_title,
)
from attn_drill.cli.parameters import Desk
from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from attn_drill.packs.follow_up import FollowUp, read_follow_ups
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import rated_reviews
from attn_drill.practice.review_plan import (
    ReviewPart,
    ReviewPlan,
    challenge_forms,
    due_follow_ups,
    due_forms,
    review_plan,
)
from attn_drill.practice.schedule import RATINGS, ScheduledItem, challenge_of, item_of, items

_FORM_NAMES = {
    "rewrite": "write it in full",
    "gaps": "fill the gaps",
    "line": "find the wrong line",
    "follow-up": "follow-up question",
}


@dataclass(frozen=True)
class PlannedReview:
    """A planned review, with the challenges by id and the follow-up questions by item."""

    plan: ReviewPlan
    challenges: Mapping[str, Challenge]
    follow_ups: Mapping[str, FollowUp]

    def name_of(self, part: ReviewPart) -> str:
        """Return the id of the challenge that a part belongs to."""
        follow_up = self.follow_ups.get(part.item)
        return follow_up.challenge if follow_up else challenge_of(part.item) or part.item


def planned_review(minutes: int, named: Challenge | None, desk: Desk) -> PlannedReview:
    """Plan a review of everything that is due, or of the named challenge, due or not."""
    now = time.time()
    if named is not None:
        return PlannedReview(review_plan([challenge_forms(named)], minutes), {named.id: named}, {})
    challenges = desk.packs.catalogue().challenges
    scheduled = items(rated_reviews(desk.journal.facts()), now)
    follow_ups = known_follow_ups(challenges, scheduled, now)
    due = due_forms(scheduled, challenges, follow_ups, now)
    by_id = {challenge.id: challenge for challenge in challenges}
    return PlannedReview(review_plan(due, minutes), by_id, follow_ups)


def known_follow_ups(
    challenges: Iterable[Challenge], scheduled: Mapping[str, ScheduledItem], now: float
) -> dict[str, FollowUp]:
    """Return the follow-up questions of the challenges that have due ones, by item.

    Warn about files that cannot be read.
    """
    counts = due_follow_ups(scheduled.values(), now)
    if not counts:
        return {}
    asked = tuple(challenge for challenge in challenges if challenge.id in counts)
    follow_ups, troubles = read_follow_ups(asked, language())
    warn(troubles)
    return {follow_up.item: follow_up for follow_up in follow_ups}


def show_plan(review: PlannedReview, minutes: int, *, as_json: bool = False) -> None:
    plan = review.plan
    parts = (*plan.light, *plan.rewrites)
    if as_json:
        rows = [
            {"challenge": review.name_of(part), "form": part.form, "minutes": part.minutes}
            for part in parts
        ]
        say_json({"minutes": minutes, "parts": rows, "left_out": plan.left_out})
        return
    if not parts and not plan.left_out:
        say("Nothing is due today. `attn-drill review --list` shows what is due and when.")
        return
    typer.echo(f"{plan.minutes} of {minutes} minutes:")
    longest = max((len(review.name_of(part)) for part in parts), default=0)
    for part in parts:
        words = f"{part.minutes:>3} min  {_FORM_NAMES[part.form]}"
        typer.echo(f"  {review.name_of(part):<{longest}}  {words}")
    if count := len(plan.left_out):
        typer.echo("1 more item stays due." if count == 1 else f"{count} more items stay due.")


def hold_review(review: PlannedReview, desk: Desk, rng: Random) -> Challenge | None:
    """Ask the light parts. Return the challenge to write in full now, or None."""
    accept_all_characters()
    light = review.plan.light
    try:
        for number, part in enumerate(light, start=1):
            name = review.name_of(part)
            show_title(f"{number} of {len(light)}  {name}: {_FORM_NAMES[part.form]}")
            if part.form == "follow-up":
                ask_follow_up(review.follow_ups[part.item], desk.journal)
            else:
                _ask_challenge(review.challenges[name], part, desk, rng)
    except StoppedError:
        typer.echo("Stopped. All grades so far are recorded.")
        return None
    if not review.plan.rewrites:
        return None
    first, *later = [review.challenges[review.name_of(part)] for part in review.plan.rewrites]
    typer.echo(f"\nNow write {first.id} in full ({first.minutes} min).")
    for challenge in later:
        option = desk.packs.pack_option(challenge)
        typer.echo(f"Later: `attn-drill review {challenge.id}{option}`.")
    typer.echo()
    return first


def _ask_challenge(challenge: Challenge, part: ReviewPart, desk: Desk, rng: Random) -> None:
    """Ask the gaps of a challenge, or the wrong line if it has too few places. Grade it."""
    from attn_drill.packs.mistakes import read_mistakes
    from attn_drill.quiz.gap_exercise import gap_exercise, rating

    try:
        mistakes = read_mistakes(challenge)
        exercise = None
        if part.form == "gaps":
            exercise = gap_exercise(pack_reader.solution(challenge), mistakes, rng)
        if exercise is not None:
            from attn_drill.app.grade_file import open_grader

            with open_grader(desk.packs, challenge) as grade:
                right, count = ask_gaps(exercise, grade), len(exercise.gaps)
            mark, reason = rating(right, count), f"gaps, {right} of {count} right"
        elif _finds_line(challenge, mistakes, desk.journal, rng):
            mark, reason = 3, "planted line found"
        else:
            mark, reason = 1, "planted line not found"
    except PackError as error:
        warn([f"{challenge.id} is left out: {error}"])
        return
    fact = Reviewed(item_of(challenge.id), time.time(), rating=mark, reason=reason)
    desk.journal.add(fact)
    typer.echo(f"{challenge.id}: graded {RATINGS[mark - 1]}: {reason}.")


def _finds_line(
    challenge: Challenge, mistakes: Sequence[Mistake], journal: Journal, rng: Random
) -> bool:
    """Ask for the line of a known mistake: a due line, else a new line."""
    from attn_drill.quiz.question_order import order_items, pool_of

    pool, now = pool_of((), (challenge,), {challenge.id: mistakes}), time.time()
    chosen = order_items(pool, items(rated_reviews(journal.facts(), "line:"), now), now, 1, rng)
    if not chosen:
        raise PackError(
            f"it has no known mistakes. `attn-drill review {challenge.id}` hands it out in full."
        )
    typer.echo()
    return ask_question(pool.ask(chosen[0], rng), journal)
