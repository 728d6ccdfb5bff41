"""The line after a pass: progress, next challenges, the next review, and the grade."""

import re
from dataclasses import replace

from attn_drill.model.challenge import Challenge
from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Attempted, Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.practice.schedule import item_of, next_steps
from tests.support.journal import Open

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
NOW = 1_700_000_000.0
DAY = 86_400.0


def challenge(name: str, *builds_on: str) -> Challenge:
    """Return a challenge that builds on others."""
    return replace(GQA, id=name, builds_on=builds_on)


ALL = [challenge("a"), challenge("b"), challenge("c", "a", "b"), challenge("d", "c")]


def record_pass(journal: Journal, name: str) -> None:
    """Record a pass without a review."""
    journal.add(Attempted(name, NOW, seed=7, verdict="passed", source="source"))


def test_next_is_what_builds_on_passed_challenges_only(opened: Open) -> None:
    """A challenge that is passed already is not next."""
    journal = opened()
    record_pass(journal, "a")
    assert next_steps(ALL[0], ALL, journal, NOW, "") == "1 of 4 passed"
    record_pass(journal, "b")
    line = "2 of 4 passed · next: c (it builds on b)"
    assert next_steps(ALL[1], ALL, journal, NOW, "") == line
    more = [*ALL, challenge("e", "b")]
    assert "next: c, e (they build on b)" in next_steps(ALL[1], more, journal, NOW, "")
    record_pass(journal, "c")
    assert next_steps(ALL[1], ALL, journal, NOW, "") == "3 of 4 passed"


def test_progress_counts_only_challenges_that_are_known(opened: Open) -> None:
    """The pass itself counts, even if the journal does not have it."""
    journal = opened()
    record_pass(journal, "a")
    record_pass(journal, "of-another-pack")
    assert next_steps(ALL[1], ALL, journal, NOW, "").startswith("2 of 4 passed")
    assert next_steps(challenge("new"), [], journal, NOW, "") == "1 of 1 passed"


def test_next_review_is_that_of_the_challenge_and_of_no_other(opened: Open) -> None:
    """The name of an item may be the start of another name. The grade is at the end."""
    journal = opened()
    journal.add(Reviewed(item_of("a-b"), NOW - 100 * DAY, rating=4, reason="graded"))
    assert "comes back" not in next_steps(ALL[0], ALL, journal, NOW, "")
    journal.add(Reviewed(item_of("a"), NOW, rating=3, reason="graded"))
    line = next_steps(ALL[0], ALL, journal, NOW, "graded good: no hint")
    assert re.search(r"passed · comes back in \d+ days? · graded good: no hint$", line)
