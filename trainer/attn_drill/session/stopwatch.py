"""The time at work on a challenge."""

from __future__ import annotations

from collections.abc import Callable

Clock = Callable[[], float]

_PAUSE_SECONDS = 3600.0


class Stopwatch:
    """Counts the seconds at work. A pause of more than an hour counts as one hour."""

    def __init__(
        self, clock: Clock, seconds_before: float = 0.0, *, is_running: bool = True
    ) -> None:
        self._clock, self._seconds = clock, seconds_before
        self._since = clock() if is_running else None  # the last sign of work

    @property
    def seconds(self) -> float:
        if self._since is None:
            return self._seconds
        return self._seconds + min(self._clock() - self._since, _PAUSE_SECONDS)

    def start(self) -> None:
        self._since = self._clock()

    def touch(self) -> None:
        """Note that the learner is at work: there was a save or a key."""
        if self._since is not None:
            self._seconds, self._since = self.seconds, self._clock()

    def stop(self) -> None:
        self._seconds, self._since = self.seconds, None


def clock_text(seconds: float) -> str:
    """Return a time, also a negative one, in minutes or hours.

    >>> clock_text(247), clock_text(3723), clock_text(-5)
    ('4:07', '1:02:03', '0:00')
    """
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
