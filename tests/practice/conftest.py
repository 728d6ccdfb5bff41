"""Fixtures of the tests in `tests/practice`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journal import Open
from trainer.practice.journal import Journal


@pytest.fixture
def opened(home: Path) -> Iterator[Open]:
    """Opens the journal of this test's home, anew each time; all are closed at the end."""
    made: list[Journal] = []

    def one() -> Journal:
        made.append(Journal(home))
        return made[-1]

    yield one
    for journal in made:
        journal.close()
