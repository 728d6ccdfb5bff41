"""Read and write amounts as people write them.

Examples: `128 KiB`, `0.125 MiB`, `12.5 %`, `4x`, `1/4`, `2^12`, `4.2 GFLOP`, `131,072`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from trainer.packs.question_bank import Unit

_BINARY = {"kib": 1024, "mib": 1024**2, "gib": 1024**3, "tib": 1024**4, "pib": 1024**5}
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15, "e": 10**18}
_PREFIXES = {
    "kibi": 1024,
    "mebi": 1024**2,
    "gibi": 1024**3,
    "tebi": 1024**4,
    "kilo": 10**3,
    "mega": 10**6,
    "giga": 10**9,
    "tera": 10**12,
    "peta": 10**15,
}
# The units that may follow each kind of amount, in small letters. Without a unit, the amount is in
# the base unit.
_WORDS: dict[Unit, dict[str, float]] = {
    "B": {
        "b": 1,
        **_BINARY,
        **{f"{letter}b": factor for letter, factor in _DECIMAL.items()},
        **{
            f"{prefix}byte{s}": factor
            for prefix, factor in {"": 1, **_PREFIXES}.items()
            for s in ("", "s")
        },
    },
    "%": {"%": 1, "percent": 1, "per cent": 1},
    "x": {"x": 1, "×": 1, "times": 1, "fold": 1},
    "FLOP": {
        f"{letter}flop{s}": factor
        for letter, factor in {"": 1, **_DECIMAL}.items()
        for s in ("", "s")
    },
    "": {},
}
_SAYS: dict[Unit, str] = {
    "B": "The answer is a number of bytes, e.g. 128 KiB, 1.5 GB or 131072",
    "%": "The answer is in percent, e.g. 12.5 or 12.5 %",
    "x": "The answer is a factor, e.g. 4x or 1/4",
    "FLOP": "The answer is a number of floating-point operations, e.g. 4.2 GFLOP or 4.2e9",
    "": "The answer is a plain number, e.g. 4096, 2^12 or 4.1e3",
}
_NUMBER = r"(?:\d{1,3}(?:[,_ ]\d{3})+(?!\d)|\d+)?(?:\.\d+|(?<=\d)\.)?(?:(?<=[\d.])e[+-]?\d{1,4})?"
_FACTOR = rf"(?=\.?\d)(?P<number>{_NUMBER})(?:\s*(?:\^|\*\*)\s*(?P<power>[+-]?\d{{1,4}}))?"
_FIRST = re.compile(r"(?P<sign>[+-]?)\s*" + _FACTOR)
_NEXT = re.compile(r"\s*(?P<sign>[*/×·])\s*" + _FACTOR)
_ROUNDED_DIGITS = 3  # with fewer digits, the rounding could hide a wrong answer
_FUZZ = 1e-12


class NotAnAmountError(ValueError):
    """Raised if a text is not an amount. The message is a sentence that says what to type."""


@dataclass(frozen=True)
class Amount:
    """An amount in the base unit: bytes, percent, times or floating-point operations.

    Attributes:
        value: The value.
        half_unit: Half a unit of the last digit if the amount has enough digits to be a rounded
            number, or else 0.
    """

    value: float
    half_unit: float = 0.0

    def is_right(self, answer: float, tolerance: float) -> bool:
        """Return whether the amount is the answer, up to the tolerance or the rounding.

        Args:
            answer: The right value.
            tolerance: The largest relative difference.
        """
        return abs(self.value - answer) <= max(
            tolerance * abs(answer), self.half_unit
        ) + _FUZZ * abs(answer)


def parse_amount(text: str, unit: Unit) -> Amount:
    """Return the amount in a text.

    Ignore case, and ignore a text in brackets at the end. Compute products, quotients and powers.

    Raises:
        NotAnAmountError: If the text is no number, or its unit does not belong to `unit`.
    """
    rest = re.sub(r"\s*\([^()]*\)$", "", text.strip().lower())
    # Chinese keyboards have another percent sign, and web pages another minus sign.
    rest = (
        re.sub(r"^(?:about|approximately|[~≈=])\s*", "", rest).replace("％", "%").replace("−", "-")
    )
    if unit == "x":
        rest = re.sub(r"^[x×]\s*", "", rest)
    match = _FIRST.match(rest)
    if match is None:
        raise NotAnAmountError(f"That cannot be read as a number. {_SAYS[unit]}.")
    value, half_unit = _factor(match, unit)
    value = -value if match["sign"] == "-" else value
    while following := _NEXT.match(rest, match.end()):
        match, half_unit = following, 0.0
        other, _ = _factor(match, unit)
        if match["sign"] == "/" and other == 0:
            raise NotAnAmountError(f"That divides by 0. {_SAYS[unit]}.")
        value = value / other if match["sign"] == "/" else value * other
    factor = _factor_of(rest[match.end() :].strip().rstrip("."), unit)
    if not math.isfinite(value * factor):
        raise NotAnAmountError(f"That is too large a number. {_SAYS[unit]}.")
    return Amount(value * factor, half_unit * factor)


def _factor(match: re.Match[str], unit: Unit) -> tuple[float, float]:
    """Return the value of a number or power, and half a unit of its last digit."""
    number = re.sub("[,_ ]", "", match["number"])
    try:
        value = float(number)
        if match["power"] is not None:
            return value ** int(match["power"]), 0.0
    except (OverflowError, ZeroDivisionError):
        raise NotAnAmountError(f"That is too large a number. {_SAYS[unit]}.") from None
    mantissa, _, exponent = number.partition("e")
    whole, _, decimals = mantissa.partition(".")
    if len((whole + decimals).lstrip("0")) < _ROUNDED_DIGITS:
        return value, 0.0
    return value, 0.5 * 10.0 ** min(int(exponent or 0) - len(decimals), 300)


def _factor_of(word: str, unit: Unit) -> float:
    """Return the factor of a unit that the learner wrote."""
    if not word:
        return 1
    if word in _WORDS[unit]:
        return _WORDS[unit][word]
    if word[0] in "0123456789.,_":
        raise NotAnAmountError(
            "That cannot be read as a number: groups have three digits, and the decimal sign is "
            f"a point, as in 1.5. {_SAYS[unit]}."
        )
    if not word[0].isalpha() and word[0] not in "%×":
        raise NotAnAmountError(f"That cannot be read as a number. {_SAYS[unit]}.")
    is_other_kind = any(word in words for words in _WORDS.values())
    raise NotAnAmountError(
        f"`{word[:20]}` is {'another kind of unit' if is_other_kind else 'an unknown unit'}. "
        f"{_SAYS[unit]}."
    )


def format_amount(value: float, unit: Unit) -> str:
    """Return an amount as text. If a learner types the text as an answer, it is right.

    Bytes are in the largest power of 1024 in which at most 4 digits are exact. If there is none,
    they are rounded, and the exact number follows in brackets. Floating-point operations are
    written in the same way in powers of 1000.

    Args:
        value: The value in the base unit.
        unit: The kind of amount.
    """
    match unit:
        case "B":
            return _scaled(
                value,
                (
                    ("B", 1),
                    ("KiB", 1024),
                    ("MiB", 1024**2),
                    ("GiB", 1024**3),
                    ("TiB", 1024**4),
                    ("PiB", 1024**5),
                ),
            )
        case "FLOP":
            return _scaled(
                value,
                tuple(
                    (f"{letter}FLOP", 1000**power)
                    for power, letter in enumerate(("", "k", "M", "G", "T", "P", "E"))
                ),
            )
        case "%":
            return f"{format_number(value)} %"
        case "x":
            return f"{format_number(value)}x"
    return format_number(value)


def _scaled(value: float, units: tuple[tuple[str, int], ...]) -> str:
    fitting = [unit for unit in units if abs(value) >= unit[1]] or [units[0]]
    for name, size in reversed(fitting):
        if abs(value / size) < 10_000 and _is_short(value / size):
            return f"{format_number(value / size)} {name}"
    name, size = fitting[-1]
    base = units[0][0]
    return (
        f"{format_number(value)} {base}"
        if size == 1
        else f"{_four_digits(value / size)} {name} ({format_number(value)} {base})"
    )


def format_number(value: float) -> str:
    """Return a number as text, with thousands separators from 10,000 on.

    A number that is not whole is rounded: to 4 digits below 10,000, else to a whole number.
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    if abs(value) >= 10_000:
        return f"{value:,.0f}" if abs(value) < 1e15 else _four_digits(value)
    return f"{value:.4g}" if _is_short(value) else _four_digits(value)


def _is_short(value: float) -> bool:
    """Return whether 4 digits write the value exactly."""
    return abs(float(f"{value:.4g}") - value) <= _FUZZ * abs(value)


def _four_digits(value: float) -> str:
    """Return the value with 4 digits, including zeros at the end, which show the rounding."""
    return f"{value:#.4g}".rstrip(".")
