"""Tests of the progress that the menu shows."""

from msgspec import structs

from tests.support.stats import DAY, NOW, UTC, attempt_at
from trainer.practice.facts import Attempted
from trainer.practice.overview import Overview, overview

NAMES = ("a", "b", "c")


def overview_of(*attempts: Attempted, starts: dict[str, list[float]] | None = None) -> Overview:
    """Return the overview of these attempts. `starts` are in days before now."""
    times = {name: sorted(NOW - days * DAY for days in ago) for name, ago in (starts or {}).items()}
    return overview(attempts, NAMES, NOW, starts=times, zone=UTC)


def test_new_learner_has_passed_nothing() -> None:
    """The number of challenges is known."""
    assert overview_of() == Overview((), 3, 0, {})


def test_passed_challenges_keep_the_order_of_the_pack() -> None:
    """A hunt is no pass, and neither is a challenge of another pack."""
    facts = overview_of(
        attempt_at("b", 0, "passed"),
        attempt_at("a", 1, "passed"),
        attempt_at("c", 2, "passed", purpose="hunt"),
        attempt_at("other", 2, "passed"),
    )
    assert facts.passed == ("a", "b")
    assert facts.streak == 3


def test_best_time_is_the_least_time_of_a_first_pass() -> None:
    """A later save after the same start is longer work on a finished file, so it does not count."""
    facts = overview_of(
        attempt_at("a", 9, "passed", seconds=900),
        attempt_at("a", 5, "passed", seconds=600),
        attempt_at("a", 4.9, "passed", seconds=100),
        attempt_at("a", 1, "failed", seconds=60),
        attempt_at("b", 1, "passed"),
        starts={"a": [10, 6, 2]},
    )
    assert facts.best_seconds == {"a": 600}


def test_time_with_the_reference_shown_is_not_the_best() -> None:
    """The learner may have copied it."""
    copied = structs.replace(attempt_at("a", 1, "passed", seconds=60), solution=True)
    slow = attempt_at("a", 5, "passed", seconds=600)
    assert overview_of(copied, slow, starts={"a": [6, 2]}).best_seconds == {"a": 600}
