"""What a class's results are written as: nothing of a student acts, nothing that is to stay hidden is told, and the sums are right."""

import pytest

from tests.support.class_results import (
    PLAIN_NAMES,
)
from trainer.report.visible import visible


def test_what_acts_is_shown_as_its_escape() -> None:
    """Control characters, bidirectional overrides and lone surrogates are seen; line ends only where they are lines."""
    assert visible("a\x1b[31m\n\u202eb\udce9\u2028") == r"a\x1b[31m\n\u202eb\udce9\u2028"
    assert visible("a\r\n\tb\rc\x00", lines=True) == "a\n\tb\nc\\x00"


@pytest.mark.parametrize("name", [*PLAIN_NAMES, "نی\u200cلوفر", "a\u3000b", "é", "😀"])
def test_names_of_people_stay_as_they_are(name: str) -> None:
    """No script's letters are taken for something that acts."""
    assert visible(name) == name
