"""`attn-drill review`: plan a review that fits the time, show the plan, ask its light parts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Literal

import typer

from attn_drill.app.open_packs import LEAST_MINUTES, MOST_MINUTES, settings
from attn_drill.app.warn import say, say_json, warn
from attn_drill.cli._ask import (
    StoppedError,
    accept_all_characters,
    ask_follow_up,
    ask_gaps,
    ask_question,
    show_title,
)
from attn_drill.cli._command_line import AsJson, Desk, StubFolder, Watch
from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.model.errors import DrillError, PackError
from attn_drill.model.words import plural
from attn_drill.packs import pack_reader
from attn_drill.packs.question_bank import FollowUp, read_follow_ups
from attn_drill.practice.facts import Overruled, Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import progress_of, rated_reviews
from attn_drill.practice.schedule import (
    RATINGS,
    AgendaEntry,
    ReviewPart,
    ReviewPlan,
    ScheduledItem,
    agenda,
    challenge_forms,
    challenge_of,
    due_follow_ups,
    due_forms,
    in_days,
    item_of,
    items,
    review_plan,
)

_FORM_NAMES = {
    "rewrite": "write it in full",
    "gaps": "fill the gaps",
    "line": "find the wrong line",
    "follow-up": "follow-up question",
}

_LESS_TIME = "In short: `attn-drill review --minutes 15`."
_ID = typer.Argument(metavar="[ID]", help="This challenge, due or not; by default the longest due.")
_GRADE = typer.Option("--grade", help="Overrule the grade of the last review, or of ID's last.")
_LIST = typer.Option("--list", help="Only show what is due and when.")
_MINUTES = typer.Option(
    min=LEAST_MINUTES,
    max=MOST_MINUTES,
    help="Review what fits into this time, most of it in short.",
)


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
    follow_ups, troubles = read_follow_ups(asked, settings().language)
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
    from attn_drill.exercises.altered_reference import gap_exercise, rating
    from attn_drill.packs.mistakes import read_mistakes

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
    from attn_drill.exercises.questions import order_items, pool_of

    pool, now = pool_of((), (challenge,), {challenge.id: mistakes}), time.time()
    chosen = order_items(pool, items(rated_reviews(journal.facts(), "line:"), now), now, 1, rng)
    if not chosen:
        raise PackError(
            f"it has no known mistakes. `attn-drill review {challenge.id}` hands it out in full."
        )
    typer.echo()
    return ask_question(pool.ask(chosen[0], rng), journal)


def review(
    context: typer.Context,
    challenge_id: Annotated[str | None, _ID] = None,
    folder: StubFolder = Path("."),
    watch: Watch = True,
    overruled: Annotated[Literal["again", "hard", "good", "easy"] | None, _GRADE] = None,
    listed: Annotated[bool, _LIST] = False,
    minutes: Annotated[int | None, _MINUTES] = None,
    as_json: AsJson = False,
) -> None:
    """Hand out the next challenge that is due, with its signatures only."""
    if as_json and not listed:
        raise DrillError("--json prints what is due: add --list.")
    if minutes is not None and overruled is not None:
        raise DrillError(
            "--grade overrules an earlier review, so it takes no --minutes. "
            "Give only one of these two options."
        )
    desk: Desk = context.obj
    named = None if challenge_id is None else desk.packs.find(challenge_id)
    if overruled is not None:
        _overrule(desk.journal, named, overruled)
        return
    if minutes is None and named is None and not listed:
        minutes = settings().review_minutes
    challenge = named
    if minutes is not None:
        planned = planned_review(minutes, named, desk)
        show_plan(planned, minutes, as_json=as_json)
        challenge = None if listed else hold_review(planned, desk, Random())
    elif listed or named is None:
        challenge = _longest_due(desk, listed=listed, as_json=as_json)
    if challenge is not None:
        from attn_drill.cli._practise import review_challenge

        review_challenge(challenge, folder / challenge.file_name, desk, watch=watch)


def _longest_due(desk: Desk, *, listed: bool, as_json: bool) -> Challenge | None:
    """Return the challenge that has been due longest. Only show what is due if there is none."""

    now, facts = time.time(), desk.journal.facts()
    challenges = desk.packs.catalogue().challenges
    entries = agenda(challenges, progress_of(facts), rated_reviews(facts, "challenge:"), now)
    due = [entry.challenge for entry in entries if entry.section == "due"]
    if due and not listed:
        say(_LESS_TIME)
        typer.echo()
        return due[0]
    scheduled = items(rated_reviews(facts, "follow-up:"), now)
    readable = known_follow_ups(challenges, scheduled, now)
    questions = due_follow_ups([scheduled[name] for name in scheduled if name in readable], now)
    if not as_json:
        _show(entries, questions, now)
        return None
    rows = [
        {"challenge": entry.challenge.id, "section": entry.section, "due_at": entry.item.due_at}
        for entry in entries
        if entry.item is not None
    ]
    say_json({"challenges": rows, "follow_up_questions": questions})
    return None


def _show(entries: Sequence[AgendaEntry], questions: dict[str, int], now: float) -> None:
    """Show what is due and what will be due. `questions` has the number of each challenge."""
    rows = [(entry.challenge.id, "due") for entry in entries if entry.section == "due"]
    for name, count in questions.items():
        rows.append((name, f"{plural(count, 'follow-up question')} due"))
    later = sorted(
        (entry.item.due_at, entry.challenge.id)
        for entry in entries
        if entry.section != "due" and entry.item is not None
    )
    if not rows and not later:
        say(
            "No challenge was passed yet, so nothing is due. "
            "`attn-drill list` shows the challenges; a challenge comes back after a pass."
        )
        return
    advice = _LESS_TIME
    if not rows:
        typer.echo("Nothing is due today.")
        not_passed = [entry for entry in entries if entry.section in ("under way", "new")]
        advice = ""
        if not_passed:
            start = f"`attn-drill start {not_passed[0].challenge.id}`"
            advice = f"{start} goes on with a challenge that is not passed yet."
    rows += [(name, f"due {in_days(due_at, now)}") for due_at, name in later]
    for name, words in rows:
        typer.echo(f"{name:<18} {words}")
    if advice:
        say(advice)


def _overrule(journal: Journal, challenge: Challenge | None, word: str) -> None:
    """Give the last review of a challenge, or of all challenges, another grade."""
    if challenge is None:
        reviews = rated_reviews(journal.facts(), "challenge:")
    else:
        reviews = rated_reviews(journal.facts(subject=item_of(challenge.id)))
    if not reviews:
        which = "" if challenge is None else f" of {challenge.id}"
        raise DrillError(
            f"There is no review{which} to overrule yet. "
            "A challenge is graded when it first passes."
        )
    last = reviews[-1]
    rating = RATINGS.index(word) + 1
    journal.add(Overruled(last.item, time.time(), review=last.id, rating=rating))
    name = last.item.removeprefix("challenge:")
    before = f"{RATINGS[last.rating - 1]}: {last.reason}"
    say(f"{name}: graded {word}, as you say (was {before}).")
