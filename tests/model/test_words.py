"""The words of the model: challenges, cases and quantities."""

from pathlib import Path

import pytest

from attn_drill.model.case import Case, axes
from attn_drill.model.challenge import Challenge
from attn_drill.model.words import in_bytes, in_count


def test_file_name_of_the_learner_follows_the_folder() -> None:
    """The name has the folder's underscores, so that Python can import the file."""
    challenge = Challenge(
        id="kv-cache",
        title="KV cache",
        level="medium",
        minutes=25,
        kind="module",
        entry=("CachedMultiHeadAttention",),
        builds_on=("mha",),
        hints=("a", "b", "c"),
        folder=Path("challenges/kv_cache"),
        solutions=Path("solutions/kv_cache"),
    )
    assert challenge.file_name == "kv_cache.py"
    assert challenge.topic == "other"


def test_size_of_a_grouped_axis_is_the_product_of_its_letters() -> None:
    """The axis (H D) with H = 3 and D = 5 has size 15. A scalar has no axes."""
    case = Case("c", {}, {"out": "B (H D)", "loss": ""}, {"B": 2, "H": 3, "D": 5})
    assert case.output_shape("out") == (2, 15)
    assert case.output_shape("loss") == axes("") == ()


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
