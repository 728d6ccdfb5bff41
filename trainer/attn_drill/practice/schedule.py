"""Grade a pass, compute when each item is due again, and choose what to practise next.

fsrs does the arithmetic, and the caller passes the current time. Cards are never stored: they are
computed from the reviews in the journal, so journals can be merged in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from attn_drill.model.challenge import Challenge
from attn_drill.model.words import plural
from attn_drill.practice import facts
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import (
    ChallengeProgress,
    SinceStart,
    passed_challenges,
    rated_reviews,
)

RATINGS = ("again", "hard", "good", "easy")
_MANY_FAILED = 8
_PREFIX, _FOLLOW_UP = "challenge:", "follow-up:"


@dataclass(frozen=True)
class ScheduledItem:
    """A challenge, question or line that is reviewed."""

    name: str  # for example `challenge:gqa`
    due_at: float  # seconds since the epoch
    strength: float  # the probability of a recall now, 0 to 1
    reviews: int
    last: Reviewed

    def is_due(self, now: float) -> bool:
        """Return whether the item is due today or earlier."""
        # Only the date counts, so the learner need not wait for the hour of the last review.
        return days_until(self.due_at, now) <= 0


def days_until(at: float, now: float) -> int:
    """Return the days from today's date to that of a time, in this machine's time zone."""
    return (datetime.fromtimestamp(at).date() - datetime.fromtimestamp(now).date()).days


def in_days(at: float, now: float) -> str:
    """Return the date of a time as `today`, `tomorrow` or `in 5 days`."""
    days = days_until(at, now)
    return "today" if days <= 0 else "tomorrow" if days == 1 else f"in {days} days"


def item_of(challenge: str) -> str:
    """Return the name of the item under which a challenge is reviewed."""
    return _PREFIX + challenge


def challenge_of(item: str) -> str | None:
    """Return the id of a challenge from the name of its item, or None for other items.

    >>> challenge_of("challenge:gqa"), challenge_of("question:sqrt")
    ('gqa', None)
    """
    return item.removeprefix(_PREFIX) if item.startswith(_PREFIX) else None


def follow_up_challenge(item: str) -> str | None:
    """Return the challenge of a follow-up question, or None for other items.

    >>> follow_up_challenge("follow-up:kv-cache:2")
    'kv-cache'
    """
    if not item.startswith(_FOLLOW_UP):
        return None
    return item.removeprefix(_FOLLOW_UP).rpartition(":")[0]


def grade(since: SinceStart, seconds: float, par_seconds: float) -> tuple[facts.Rating, str]:
    """Return the grade of a pass, and everything that decided it in words."""
    share = seconds / par_seconds if par_seconds > 0 else 0.0
    hints = ("no hint", "1 hint", "2 hints", "all hints")[min(since.hint, 3)]
    reasons = (
        f"{seconds / 60:.0f} of {par_seconds / 60:.0f} min, {hints}, "
        f"{plural(since.failed, 'failed attempt')}"
    )
    if since.solution:
        return 1, f"the solution was seen, {reasons}"
    if since.hint >= 2 or share > 1.5 or since.failed >= _MANY_FAILED:
        return 2, reasons
    if since.hint == 0 and share <= 0.6 and since.failed <= 1:
        return 4, reasons
    return 3, reasons


def items(reviews: Iterable[Reviewed], now: float) -> dict[str, ScheduledItem]:
    """Return every reviewed item by name, the longest due first."""
    by_name: dict[str, list[Reviewed]] = {}
    # Merged journals have their reviews in any order.
    for review in sorted(reviews, key=lambda review: (review.at, review.id)):
        by_name.setdefault(review.item, []).append(review)
    if not by_name:
        return {}
    from fsrs import Card, Rating, Scheduler

    # It counts in whole days, because nobody writes a module again after ten minutes. Without
    # fuzzing, the same reviews always give the same day.
    scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    scheduled: list[ScheduledItem] = []
    for name, group in by_name.items():
        card = Card(card_id=0, due=_time(group[0].at))
        for review in group:
            card, _ = scheduler.review_card(card, Rating(review.rating), _time(review.at))
        last, due_at = group[-1], card.due.timestamp()
        strength = scheduler.get_card_retrievability(card, _time(max(now, last.at)))
        scheduled.append(ScheduledItem(name, due_at, float(strength), len(group), last))
    scheduled.sort(key=lambda item: (item.due_at, item.name))
    return {item.name: item for item in scheduled}


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


# The next challenge

Section = Literal["due", "under way", "new", "passed"]
SECTIONS: tuple[Section, ...] = ("due", "under way", "new", "passed")


@dataclass(frozen=True)
class AgendaEntry:
    """A challenge with its section. `item` is None if it was never reviewed."""

    challenge: Challenge
    section: Section
    item: ScheduledItem | None = None

    def matches(self, words: str) -> bool:
        """Return whether every word occurs in the challenge's id, title, topic or level."""
        challenge = self.challenge
        text = f"{challenge.id} {challenge.title} {challenge.topic} {challenge.level}".lower()
        return all(word in text for word in words.lower().split())


def agenda(
    challenges: Sequence[Challenge],
    progress: Mapping[str, ChallengeProgress],
    reviews: Iterable[Reviewed],
    now: float,
) -> list[AgendaEntry]:
    """Return all challenges, section by section.

    The due challenges begin with the longest due, and the new challenges with those that interviews
    ask for most often. Otherwise the order is that of the pack.
    """
    reviewed = items(reviews, now)
    entries: list[AgendaEntry] = []
    for challenge in challenges:
        item = reviewed.get(item_of(challenge.id))
        state = progress[challenge.id].state if challenge.id in progress else "new"
        section: Section = "under way" if state == "started" else state
        if item is not None and item.is_due(now):
            section = "due"
        entries.append(AgendaEntry(challenge, section, item))
    return sorted(
        entries,
        key=lambda entry: (
            SECTIONS.index(entry.section),
            entry.item.due_at if entry.section == "due" and entry.item else 0.0,
            entry.challenge.rank if entry.section == "new" else 0,
        ),
    )


def next_challenge(
    last: Challenge, challenges: Sequence[Challenge], journal: Journal
) -> Challenge | None:
    """Return the challenge to practise after `last`, or None if all are passed.

    Prefer challenges that build on `last`, then those whose bases are all passed, and of these
    the challenge that is asked most often.
    """
    passed = passed_challenges(journal.facts())
    not_passed = [challenge for challenge in challenges if challenge.id not in passed]
    ready = [challenge for challenge in not_passed if passed.issuperset(challenge.builds_on)]
    build_on_last = [challenge for challenge in ready if last.id in challenge.builds_on]
    candidates = build_on_last or ready or not_passed
    return min(candidates, key=lambda challenge: challenge.rank, default=None)


def recommended(entries: Sequence[AgendaEntry]) -> AgendaEntry | None:
    """Return the challenge to do next, or None if all are passed and none is due.

    Prefer a challenge that is due or under way. Else choose a new challenge whose bases are all
    passed: the most often asked, and of these the base of the most others.
    """
    if entries and entries[0].section in ("due", "under way"):
        return entries[0]
    passed = {entry.challenge.id for entry in entries if entry.section == "passed"}
    ready = [
        entry
        for entry in entries
        if entry.section == "new" and passed.issuperset(entry.challenge.builds_on)
    ]
    bases = [base for entry in entries for base in entry.challenge.builds_on]
    return min(
        ready,
        key=lambda entry: (entry.challenge.rank, -bases.count(entry.challenge.id)),
        default=None,
    )


def next_steps(
    challenge: Challenge,
    challenges: Sequence[Challenge],
    journal: Journal,
    now: float,
    graded: str,
) -> str:
    """Return the situation after a pass in one line. It ends with the words `graded`."""
    # The journal may be unwritable.
    passed = passed_challenges(journal.facts()) | {challenge.id}
    ids = {other.id for other in challenges} | {challenge.id}
    coming = [
        other.id
        for other in challenges
        if challenge.id in other.builds_on
        and other.id not in passed
        and passed.issuperset(other.builds_on)
    ]
    parts = [f"{len(passed & ids)} of {len(ids)} passed"]
    if coming:
        build = "it builds" if len(coming) == 1 else "they build"
        parts.append(f"next: {', '.join(coming)} ({build} on {challenge.id})")
    name = item_of(challenge.id)
    if item := items(rated_reviews(journal.facts(subject=name)), now).get(name):
        parts.append(f"comes back {in_days(item.due_at, now)}")
    return " · ".join(filter(None, [*parts, graded]))


# A planned review

Form = Literal["rewrite", "gaps", "line", "follow-up"]
_GAPS_MINUTES, _LINE_MINUTES, _FOLLOW_UP_MINUTES = 4, 2, 1


@dataclass(frozen=True)
class ReviewPart:
    """A part of a review: an item, for example `challenge:gqa`, in one form."""

    item: str
    form: Form
    minutes: int


@dataclass(frozen=True)
class ReviewPlan:
    """The parts of a review, and the due items for which there is no time, in order of due date."""

    light: tuple[ReviewPart, ...]
    rewrites: tuple[ReviewPart, ...]
    left_out: tuple[str, ...]

    @property
    def minutes(self) -> int:
        """The minutes that the whole review takes."""
        return sum(part.minutes for part in (*self.light, *self.rewrites))


def challenge_forms(challenge: Challenge) -> tuple[ReviewPart, ...]:
    """Return the forms in which a challenge can be reviewed, the longest light form first."""
    item = item_of(challenge.id)
    return (
        ReviewPart(item, "rewrite", challenge.minutes),
        ReviewPart(item, "gaps", _GAPS_MINUTES),
        ReviewPart(item, "line", _LINE_MINUTES),
    )


def due_forms(
    scheduled: Mapping[str, ScheduledItem],
    challenges: Iterable[Challenge],
    follow_ups: Collection[str],
    now: float,
) -> list[tuple[ReviewPart, ...]]:
    """Return the forms of each due item, the longest due first.

    Leave out questions and lines, which belong to the quiz, and items that no pack has:
    `follow_ups` are the follow-up questions of the packs.
    """
    by_id = {challenge.id: challenge for challenge in challenges}
    forms: list[tuple[ReviewPart, ...]] = []
    for item in scheduled.values():
        challenge = by_id.get(challenge_of(item.name) or "")
        if not item.is_due(now):
            continue
        if challenge is not None:
            forms.append(challenge_forms(challenge))
        elif item.name in follow_ups:
            forms.append((ReviewPart(item.name, "follow-up", _FOLLOW_UP_MINUTES),))
    return forms


def due_follow_ups(scheduled: Iterable[ScheduledItem], now: float) -> dict[str, int]:
    """Return the number of due follow-up questions of each challenge."""
    due = [follow_up_challenge(item.name) for item in scheduled if item.is_due(now)]
    return Counter(challenge for challenge in due if challenge is not None)


def review_plan(due: Iterable[tuple[ReviewPart, ...]], minutes: int) -> ReviewPlan:
    """Choose a form for each due item, given by its forms, so that the review fits the minutes.

    The challenge that has been due longest, and fits, is written in full. Then each item gets its
    longest light form that fits. If time remains, more challenges are written in full.
    """
    forms = [*due]
    rewrites = [parts[0] for parts in forms if parts[0].form == "rewrite"]
    plan: dict[str, ReviewPart] = {}

    def put(part: ReviewPart) -> bool:
        """Put a part into the plan, in place of another form, if the time is enough for it."""
        others = sum(other.minutes for other in plan.values() if other.item != part.item)
        if others + part.minutes > minutes:
            return False
        plan[part.item] = part
        return True

    for part in rewrites:
        if put(part):
            break
    for parts in forms:
        for part in parts:
            if part.form != "rewrite" and part.item not in plan:
                put(part)
    for part in rewrites:
        put(part)
    in_order = [plan[parts[0].item] for parts in forms if parts[0].item in plan]
    return ReviewPlan(
        tuple(part for part in in_order if part.form != "rewrite"),
        tuple(part for part in in_order if part.form == "rewrite"),
        tuple(parts[0].item for parts in forms if parts[0].item not in plan),
    )
