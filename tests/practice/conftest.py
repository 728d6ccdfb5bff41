"""Fixtures of the tests in `tests/practice`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from attn_drill.practice.journal import Journal
from tests.support.journal import Open


@pytest.fixture
def opened(home: Path) -> Iterator[Open]:
    """Return a function that opens the journal of this home anew. Close all journals at the end."""
    journals: list[Journal] = []

    def open_journal() -> Journal:
        journals.append(Journal(home))
        return journals[-1]

    yield open_journal
    for journal in journals:
        journal.close()
