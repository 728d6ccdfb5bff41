"""Say in one line what a pass brings: progress, next challenges, the next review, the grade."""

from __future__ import annotations

from collections.abc import Sequence

from attn_drill.model.challenge import Challenge
from attn_drill.practice.agenda import in_days
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import progress_of, rated_reviews
from attn_drill.practice.schedule import item_of, items


def next_steps(
    challenge: Challenge,
    challenges: Sequence[Challenge],
    journal: Journal,
    now: float,
    graded: str,
) -> str:
    """Return the situation after a pass in one line. It ends with the words `graded`."""
    progress = progress_of(journal.facts())
    passed = {name for name, state in progress.items() if state.state == "passed"}
    passed.add(challenge.id)  # the journal may be unwritable
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
