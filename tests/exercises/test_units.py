"""Tests of reading and writing amounts."""

from random import Random

import pytest

from attn_drill.exercises.questions import NotAnAmountError, format_amount, parse_amount
from attn_drill.packs.question_bank import Unit

UNDERSTOOD: list[tuple[Unit, str, float]] = [
    ("B", "1 GiB", 2**30),
    ("B", "1gib", 2**30),
    ("B", "1 GIB", 2**30),
    ("B", "131072 B", 131072),
    ("B", "131072", 131072),
    ("B", "128KiB", 131072),
    ("B", "0.125 MiB", 131072),
    ("B", ".125 MiB", 131072),
    ("B", "1 GB", 10**9),
    ("B", "1.5 kb", 1500),
    ("B", "2 TB", 2 * 10**12),
    ("B", "131,072", 131072),
    ("B", "131_072 bytes", 131072),
    ("B", "131 072 byte", 131072),
    ("B", "1,310,720.5", 1310720.5),
    ("B", "4 * 2^30", 2**32),
    ("B", "4 * (2^20 + 1) B", 4 * (2**20 + 1)),
    ("B", "68.62 KiB (70,272 B)", 68.62 * 1024),
    ("%", "25", 25),
    ("%", "25%", 25),
    ("%", "12.5 percent", 12.5),
    ("%", "25％", 25),
    ("%", "0.25", 0.25),
    ("x", "4", 4),
    ("x", "4x", 4),
    ("x", "x4", 4),
    ("x", "×4", 4),
    ("x", "4 times", 4),
    ("x", "1/4", 0.25),
    ("x", "3/4 x", 0.75),
    ("FLOP", "4 GFLOP", 4e9),
    ("FLOP", "2 TFLOPs", 2e12),
    ("FLOP", "4e9", 4e9),
    ("FLOP", "1.5e3 flops", 1500),
    ("", "2^12", 4096),
    ("", "2**12", 4096),
    ("", "4096", 4096),
    ("", "4096.", 4096),
    ("", "1e6", 10**6),
    ("", "1E6", 10**6),
    ("", "3/4", 0.75),
    ("", "3*2^10", 3072),
    ("", "12/3*2", 8),
    ("", "2^-3", 0.125),
    ("", "-3", -3),
    ("", "−3", -3),
    ("", "~5", 5),
    ("", " 5 ", 5),
]

NOT_UNDERSTOOD: list[tuple[Unit, str, str]] = [
    ("B", "128 K", "cannot be read. The answer is a number of bytes"),
    ("B", "4 GFLOP", "another kind of unit"),
    ("B", "25 %", "another kind of unit"),
    ("B", "8 bits", "cannot be read. The"),
    ("%", "4x", "another kind of unit"),
    ("x", "4 percent", "another kind of unit"),
    ("FLOP", "4 GiB", "another kind of unit"),
    ("FLOP", "4 FLOP/s", "cannot be read. The"),
    ("", "4 KiB", "another kind of unit"),
    ("", "4 times", "another kind of unit"),
    ("", "67.1M", "cannot be read. The"),
    ("", "many", "cannot be read. The"),
    ("", "", "cannot be read. The"),
    ("", ".", "cannot be read. The"),
    ("", "e", "cannot be read. The"),
    ("", "nan", "cannot be read. The"),
    ("", "1,5", "cannot be read: the decimal sign is a point, as in 1.5. The"),
    ("", "1,0000", "a point, as in 1.5"),
    ("", "131,0725", "a point, as in 1.5"),
    ("", "1..5", "cannot be read. The"),
    ("x", "1/0", "cannot be read. The"),
    ("", "9^9999", "cannot be read. The"),
    ("", "9**9**9", "cannot be read. The"),
    ("", "1e9999", "too large"),
    ("FLOP", "1e300 EFLOP", "too large"),
    ("", "__import__('os')", "cannot be read. The"),
    ("", "(" * 300 + "1" + ")" * 300, "cannot be read. The"),
    ("", "-" * 9000 + "1", "cannot be read. The"),
]

ROUNDED: list[tuple[Unit, str, float, float, bool]] = [
    ("B", "68.6 KiB", 70272, 0.0, True),
    ("B", "68.7 KiB", 70272, 0.0, False),
    ("B", "68.62 KiB", 70272, 0.0, True),
    ("B", "68.63 KiB", 70272, 0.0, True),
    ("B", "69 KiB", 70272, 0.0, False),  # two digits are too few for a rounded answer
    ("B", "70272", 70272, 0.0, True),
    ("B", "70273", 70272, 0.0, False),
    ("B", "70273", 70272, 0.001, True),
    ("B", "137 GB", 2**37, 0.0, True),
    ("B", "138 GB", 2**37, 0.0, False),
    ("%", "1.76", 1.7578125, 0.0, True),
    ("%", "1.8", 1.7578125, 0.0, False),
    ("%", "1.8", 1.7578125, 0.03, True),
    ("%", "0.00176", 0.0017578125, 0.0, True),
    ("", "0.334", 1 / 3, 0.0, False),
    ("", "0.333", 1 / 3, 0.0, True),
    ("", "333/1000", 1 / 3, 0.0, False),  # a quotient is exact
    ("", "1.50e6", 1_504_000, 0.0, True),
    ("", "1.50e6", 1_506_000, 0.0, False),
    ("", "1/3", 1 / 3, 0.0, True),
]

SHOWN: list[tuple[Unit, float, str]] = [
    ("B", 131072, "128 KiB"),
    ("B", 70272, "68.62 KiB (70,272 B)"),
    ("B", 2**30, "1 GiB"),
    ("B", 1.5 * 2**30, "1.5 GiB"),
    ("B", 1250 * 2**20, "1250 MiB"),
    ("B", 576, "576 B"),
    ("B", 2**50 * 3, "3 PiB"),
    ("B", 131_000_000, "124.9 MiB (131,000,000 B)"),
    ("FLOP", 4e9, "4 GFLOP"),
    ("FLOP", 2**34, "17.18 GFLOP (17,179,869,184 FLOP)"),
    ("FLOP", 512, "512 FLOP"),
    ("%", 25, "25 %"),
    ("%", 1.7578125, "1.758 %"),
    ("x", 8, "8x"),
    ("x", 1 / 3, "0.3333x"),
    ("", 4096, "4096"),
    ("", 67108864, "67,108,864"),
    ("", 0.1 * 3, "0.3"),
    ("", 2.0000001, "2.000"),
    ("", 12345.678, "12,346"),
]


@pytest.mark.parametrize(
    ("unit", "text", "value"), UNDERSTOOD, ids=[f"{unit} {text}" for unit, text, _ in UNDERSTOOD]
)
def test_amount_is_read_in_the_base_unit(unit: Unit, text: str, value: float) -> None:
    """The spelling of numbers and units does not matter."""
    assert parse_amount(text, unit).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("unit", "text", "says"),
    NOT_UNDERSTOOD,
    ids=[f"{unit} {text[:20]}" for unit, text, _ in NOT_UNDERSTOOD],
)
def test_text_that_is_no_amount_is_refused(unit: Unit, text: str, says: str) -> None:
    """The message is one line with an example."""
    with pytest.raises(NotAnAmountError, match=r"e\.g\.") as caught:
        parse_amount(text, unit)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("unit", "text", "answer", "tolerance", "right"),
    ROUNDED,
    ids=[f"{text} for {answer:.6g} {unit}" for unit, text, answer, *_ in ROUNDED],
)
def test_answer_may_be_rounded(
    unit: Unit, text: str, answer: float, tolerance: float, right: bool
) -> None:
    """An answer with three or more digits may be half a unit of the last digit off.

    The tolerance of the question may allow more.
    """
    assert parse_amount(text, unit).is_right(answer, tolerance) is right


@pytest.mark.parametrize(("unit", "value", "text"), SHOWN, ids=[text for _, _, text in SHOWN])
def test_amount_is_written_in_the_largest_exact_unit(unit: Unit, value: float, text: str) -> None:
    """Exact means at most four digits.

    Other amounts are rounded, with the exact number in brackets.
    """
    assert format_amount(value, unit) == text


@pytest.mark.parametrize("unit", ["B", "FLOP", "%", "x", ""])
def test_written_amount_is_a_right_answer(unit: Unit) -> None:
    """It is right without any tolerance, and 10 % more is wrong."""
    rng = Random(3)
    for _ in range(2000):
        value = rng.choice(
            [
                float(rng.randrange(1, 10**12)),
                10 ** rng.uniform(-8, 17),
                rng.randrange(1, 4096) / 64,
            ]
        )
        amount = parse_amount(format_amount(value, unit), unit)
        assert amount.is_right(value, 0.0), (value, format_amount(value, unit))
        assert not amount.is_right(1.1 * value, 0.0), (value, format_amount(value, unit))
