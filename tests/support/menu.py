"""Entries of the menu, and passes in the journal."""

from pathlib import Path

from trainer.packs import pack_reader
from trainer.practice.agenda import agenda
from trainer.practice.attempt import Attempt
from trainer.practice.journal import ChallengeProgress, Journal, Review
from trainer.practice.overview import Overview

BUILT_IN = pack_reader.built_in_pack()
CHALLENGES = pack_reader.read_pack(BUILT_IN)
DAY = 86_400.0
NOW = 1_700_000_000.0


def reviewed(challenge: str, days_ago: float, rating: int = 3) -> Review:
    """Return a review from some days ago."""
    return Review(f"id {challenge}", f"challenge:{challenge}", NOW - days_ago * DAY, rating, "")


ENTRIES = agenda(
    CHALLENGES,
    {
        "gqa": ChallengeProgress("passed", 1),
        "mha": ChallengeProgress("passed", 1),
        "rope": ChallengeProgress("started"),
        "sdpa": ChallengeProgress("passed", 2),
    },
    [reviewed("mha", 40), reviewed("gqa", 90), reviewed("sdpa", 0.1)],
    NOW,
)

PASSED_IN_SHORT = Overview(("gqa", "mha", "sdpa"), len(CHALLENGES), 3, {"gqa": 850.0, "sdpa": 20.0})


def record_pass(home: Path, challenge: str, when: float) -> None:
    """Record a pass and its review in the journal."""
    journal = Journal(home)
    journal.record_attempt(Attempt(challenge, when, 1, "passed", 14, 14, "text"))
    journal.record_review(f"challenge:{challenge}", when, 3, "10 of 20 min, no hint")
    journal.close()
