"""Tests of lists of names in sentences."""

import pytest

from attn_drill.model.listing import first_of


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["ana"], "ana"),
        (["ana", "bob"], "ana, bob"),
        (["ana", "bob", "cy", "di"], "ana, bob and 2 more"),
    ],
)
def test_only_the_first_names_are_shown(names: list[str], text: str) -> None:
    """The others are counted."""
    assert first_of(names, 2) == text
