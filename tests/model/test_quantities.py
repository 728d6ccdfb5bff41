"""Large numbers in words."""

import pytest

from attn_drill.model.words import in_bytes, in_count

MIB = 1 << 20


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1020 * MIB, "1,020 MiB"),
        (MIB - 1, "1 MiB"),
        (5000 << 30, "5,000 GiB"),
    ],
)
def test_bytes_have_three_digits_and_a_unit(count: int, words: str) -> None:
    """No number has an exponent."""
    assert in_bytes(count) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0"),
        (999_000, "999,000"),
        (20_971_520, "21 million"),
        (999_999_999, "1 billion"),
        (5 * 10**15, "5,000 trillion"),
    ],
)
def test_counts_have_three_digits_and_a_word(count: int, words: str) -> None:
    """Small counts are exact."""
    assert in_count(count) == words
