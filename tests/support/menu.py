"""Entries of the menu, and passes in the journal."""

from pathlib import Path

from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Attempted, Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import ChallengeProgress
from attn_drill.practice.schedule import agenda
from attn_drill.practice.statistics import Stats

BUILT_IN = pack_reader.built_in_pack()
CHALLENGES = pack_reader.read_pack(BUILT_IN)
DAY = 86_400.0
NOW = 1_700_000_000.0


def reviewed(challenge: str, days_ago: float, rating: int = 3) -> Reviewed:
    """Return a review from some days ago."""
    return Reviewed(
        f"challenge:{challenge}", NOW - days_ago * DAY, f"id {challenge}", rating=rating
    )


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

PASSED_IN_SHORT = Stats(
    passed=("gqa", "mha", "sdpa"),
    challenges=len(CHALLENGES),
    streak=3,
    best_seconds={"gqa": 850.0, "sdpa": 20.0},
)


def record_pass(home: Path, challenge: str, when: float) -> None:
    """Record a pass and its review in the journal."""
    journal = Journal(home)
    journal.add(Attempted(challenge, when, seed=1, verdict="passed", source="text"))
    journal.add(Reviewed(f"challenge:{challenge}", when, rating=3, reason="10 of 20 min, no hint"))
    journal.close()
