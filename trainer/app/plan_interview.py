"""Plan a mock interview from the packs and the learner's journal."""

from __future__ import annotations

import time

from trainer.app import hunts
from trainer.app.grade_file import fresh_seed
from trainer.app.start_challenge import language
from trainer.app.warn import warn
from trainer.interview import plan as planning
from trainer.interview.plan import InterviewPlan
from trainer.packs.catalogue import Catalogue
from trainer.packs.follow_up import read_follow_ups
from trainer.practice.journal import Journal
from trainer.practice.progress import counted_attempts, rated_reviews
from trainer.practice.schedule import items


def plan_interview(
    journal: Journal,
    catalogue: Catalogue,
    minutes: int,
    topic: str | None,
    seed: int | None,
    bugs: int,
) -> InterviewPlan:
    """Return the plan of an interview, without its folder. With bugs, it is a debugging round.

    Raises:
        DrillError: if no challenge fits.
    """
    challenges = catalogue.challenges
    mains = planning.main_problems(challenges, topic)
    questions, troubles = read_follow_ups(tuple(challenges), language())
    warn(troubles)
    now = time.time()
    facts = journal.facts()
    familiarity = planning.familiarity(
        counted_attempts(facts), items(rated_reviews(facts), now), now
    )
    seed = fresh_seed() if seed is None else seed
    ids: tuple[str, ...] = ()
    if bugs:
        challenge = hunts.debugging_challenge(mains, challenges, topic)
        ids = tuple(mistake.id for mistake in hunts.choose_bugs(challenge, bugs, (), seed))
        chosen: planning.Choice = {"debugging": challenge}
        if (follow_up := hunts.follow_up_of(challenge, challenges)) is not None:
            chosen["follow-up"] = follow_up
    else:
        chosen = planning.choose_problems(challenges, minutes, mains, familiarity, seed)
    return planning.make_plan(chosen, questions, minutes, familiarity, seed, ids)
