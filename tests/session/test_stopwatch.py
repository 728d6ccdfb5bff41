"""The time at work."""

from attn_drill.session._session_record import Stopwatch
from tests.support.session import Clock


def test_pause_counts_at_most_an_hour() -> None:
    """A learner who left the terminal open over night did not work all night."""
    clock = Clock()
    stopwatch = Stopwatch(clock, 10.0)
    clock.now += 60
    stopwatch.touch()
    clock.now += 8 * 3600
    assert stopwatch.seconds == 10 + 60 + 3600


def test_stopwatch_counts_only_while_it_runs() -> None:
    """It may start later, and it stops for good."""
    clock = Clock()
    stopwatch = Stopwatch(clock, is_running=False)
    clock.now += 60
    stopwatch.touch()
    assert stopwatch.seconds == 0.0
    stopwatch.start()
    clock.now += 5
    stopwatch.stop()
    clock.now += 60
    stopwatch.touch()
    assert stopwatch.seconds == 5.0
