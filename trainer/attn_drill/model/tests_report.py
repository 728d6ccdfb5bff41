"""The report about a file of tests that a learner wrote for a challenge."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FailedTest:
    """A test that fails on a right answer."""

    test: str
    failure: str  # the exception
    line: int  # of the file with the tests; 0 if it is not known


@dataclass(frozen=True)
class FalseAlarm:
    """A right answer that the tests refuse."""

    answer: str  # its name: `reference`, or the name of its file without the suffix
    does: str  # what it does, in words
    tests: tuple[FailedTest, ...]


@dataclass(frozen=True)
class TestedMistake:
    """A mistake that the tests ran on."""

    __test__ = False  # for pytest: this is no class of tests

    id: str
    says: str
    # The tests that pass on all right answers and fail here; "the file" if it cannot be imported or
    # the tests do not come to an end.
    caught_by: tuple[str, ...]


@dataclass(frozen=True)
class TestsReport:
    """The score of a file of tests."""

    __test__ = False

    challenge: str
    file: str
    seed: int
    tests: tuple[str, ...] = ()  # that ran
    skipped: tuple[str, ...] = ()
    trouble: str = ""  # why no test could run, or ""
    answers: int = 0  # the right answers that the tests ran on
    false_alarms: tuple[FalseAlarm, ...] = ()
    mistakes: tuple[TestedMistake, ...] = ()

    @property
    def caught(self) -> tuple[TestedMistake, ...]:
        """The mistakes that the tests show."""
        return tuple(each for each in self.mistakes if each.caught_by)

    @property
    def passed(self) -> bool:
        """True if the tests catch all mistakes and refuse no right answer."""
        is_clean = not self.trouble and not self.false_alarms
        return is_clean and len(self.caught) == len(self.mistakes)
