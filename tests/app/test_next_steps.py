"""The line after a pass: progress, next challenges, the next review, and the grade."""

from dataclasses import replace

from trainer.app.next_steps import NextSteps, next_steps
from trainer.model.challenge import Challenge
from trainer.packs import pack_reader
from trainer.practice.facts import Attempted, Reviewed
from trainer.practice.journal import Journal
from trainer.practice.schedule import item_of

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


def test_next_is_what_builds_on_passed_challenges_only(journal: Journal) -> None:
    """A challenge that is passed already is not next."""
    record_pass(journal, "a")
    assert next_steps(ALL[0], ALL, journal, NOW).next == ()
    record_pass(journal, "b")
    assert next_steps(ALL[1], ALL, journal, NOW).next == ("c",)
    record_pass(journal, "c")
    assert next_steps(ALL[1], ALL, journal, NOW).next == ()


def test_progress_counts_only_challenges_that_are_known(journal: Journal) -> None:
    """The journal may have challenges of a pack that is not open."""
    record_pass(journal, "a")
    record_pass(journal, "of-another-pack")
    steps = next_steps(ALL[1], ALL, journal, NOW)
    assert (steps.passed, steps.total) == (2, 4), "the pass itself counts, even if not recorded"
    alone = next_steps(challenge("new"), [], journal, NOW)
    assert (alone.passed, alone.total) == (1, 1)


def test_next_review_is_that_of_the_challenge_and_of_no_other(journal: Journal) -> None:
    """The name of an item may be the start of another name."""
    journal.add(Reviewed(item_of("a-b"), NOW - 100 * DAY, rating=4, reason="graded"))
    assert next_steps(ALL[0], ALL, journal, NOW).due_at is None
    journal.add(Reviewed(item_of("a"), NOW, rating=3, reason="graded"))
    due_at = next_steps(ALL[0], ALL, journal, NOW).due_at
    assert due_at is not None
    assert due_at > NOW


def test_line_has_all_parts_in_order() -> None:
    """The grade has the time, so the clock is shown only without a grade."""
    steps = NextSteps("gqa", 7, 18, ("qk-norm", "gqa-rope"), NOW + 5 * DAY)
    assert steps.in_words(NOW, "graded good: 14 of 20 min, no hint", "14:00 of 20:00") == (
        "7 of 18 passed · next: qk-norm, gqa-rope (they build on gqa) · comes back in 5 days · "
        "graded good: 14 of 20 min, no hint"
    )
    assert steps.in_words(NOW, "", "14:00 of 20:00").endswith("in 5 days · 14:00 of 20:00")
    single = NextSteps("mha", 1, 18, ("mqa",))
    assert single.in_words(NOW, "", "") == "1 of 18 passed · next: mqa (it builds on mha)"
    assert NextSteps("mha", 1, 18).in_words(NOW, "", "") == "1 of 18 passed"
