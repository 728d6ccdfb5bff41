"""Read and write amounts as people write them: `128 KiB`, `12.5 %`, `4x`, `2^12`, `131,072`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from attn_drill.packs.arithmetic import evaluate
from attn_drill.packs.question_bank import Unit

_STEPS: dict[Unit, tuple[int, tuple[str, ...]]] = {
    "B": (1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB")),
    "FLOP": (1000, ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP")),
}
_KINDS: dict[str, Unit] = {"b": "B", "f": "FLOP", "%": "%", "p": "%", "x": "x", "t": "x"}
_SAYS: dict[Unit, str] = {
    "B": "The answer is a number of bytes, e.g. 128 KiB, 1.5 GB or 131072",
    "%": "The answer is in percent, e.g. 12.5 or 12.5 %",
    "x": "The answer is a factor, e.g. 4x or 1/4",
    "FLOP": "The answer is a number of floating-point operations, e.g. 4.2 GFLOP or 4.2e9",
    "": "The answer is a plain number, e.g. 4096, 2^12 or 4.1e3",
}
# Arithmetic, then a unit, then words in brackets: `68.62 KiB (70,272 B)`.
_AMOUNT = re.compile(
    r"[~≈=x]?\s*(?P<number>[\de.,_+*/^() -]{1,60}?)"
    r"\s*(?:(?P<prefix>[kmgtpe]?)(?P<binary>i?)(?P<base>b|bytes?|flops?|%|percent|x|times))?"
    r"\.?(?:\s*\(.*[a-z].*\))?"
)
_SEPARATOR = re.compile(r"(?<=\d)[,_ ](?=\d{3}(?!\d))")
# Chinese keyboards have another percent sign, and web pages another minus sign.
_USUAL = str.maketrans("％−×·", "%-x*")
_ROUNDED_DIGITS = 3  # with fewer digits, the rounding could hide a wrong answer
_FUZZ = 1e-12


class NotAnAmountError(ValueError):
    """Raised if a text is not an amount. The message is a sentence that says what to type."""


@dataclass(frozen=True)
class Amount:
    """An amount in the base unit: bytes, percent, times or floating-point operations."""

    value: float
    # Half a unit of the last digit if there are enough digits for a rounded number, else 0.
    half_unit: float = 0.0

    def is_right(self, answer: float, tolerance: float) -> bool:
        """Return whether the amount is the answer, up to a relative tolerance or the rounding."""
        most = max(tolerance * abs(answer), self.half_unit) + _FUZZ * abs(answer)
        return abs(self.value - answer) <= most


def parse_amount(text: str, unit: Unit) -> Amount:
    """Return the amount in a text: arithmetic, and a unit or none for the base unit.

    >>> parse_amount("2 * 64 KiB", "B").value
    131072

    Raises:
        NotAnAmountError: If the text is no number, or its unit does not belong to `unit`.
    """
    match = _AMOUNT.fullmatch(text.strip().lower().translate(_USUAL))
    number = _SEPARATOR.sub("", match["number"]) if match else ""
    try:
        value = evaluate(number.replace("^", "**"), {})
    except ValueError:
        point = ": the decimal sign is a point, as in 1.5" if "," in number else ""
        raise NotAnAmountError(f"That cannot be read{point}. {_SAYS[unit]}.") from None
    size = 1
    if match and match["base"]:
        if _KINDS[match["base"][0]] != unit:
            raise NotAnAmountError(f"That is another kind of unit. {_SAYS[unit]}.")
        step = 1024 if match["binary"] else 1000
        size = step ** " kmgtpe".index(match["prefix"] or " ")
    if not math.isfinite(value * size):
        raise NotAnAmountError(f"That is too large a number. {_SAYS[unit]}.")
    try:
        _, digits, exponent = Decimal(number).as_tuple()
    except InvalidOperation:  # the number is computed
        return Amount(value * size)
    is_rounded = len(digits) >= _ROUNDED_DIGITS
    return Amount(value * size, 0.5 * 10.0 ** int(exponent) * size if is_rounded else 0.0)


def format_amount(value: float, unit: Unit) -> str:
    """Return an amount as text. If a learner types the text as an answer, it is right.

    It is in the largest unit in which at most 4 digits are exact. If there is none, it is rounded,
    and the exact number follows in brackets.

    >>> format_amount(131_072, "B"), format_amount(70_272, "B")
    ('128 KiB', '68.62 KiB (70,272 B)')
    """
    if unit not in _STEPS:
        return f"{format_number(value)}{' %' if unit == '%' else unit}"
    step, names = _STEPS[unit]
    sizes = {name: step**power for power, name in enumerate(names)}
    fitting = [name for name in names if abs(value) >= sizes[name]] or [names[0]]
    for name in reversed(fitting):
        if abs(value / sizes[name]) < 10_000 and _is_short(value / sizes[name]):
            return f"{format_number(value / sizes[name])} {name}"
    exact, name = f"{format_number(value)} {names[0]}", fitting[-1]
    return exact if name == names[0] else f"{_four_digits(value / sizes[name])} {name} ({exact})"


def format_number(value: float) -> str:
    """Return a number as text, in 4 digits if it is not whole and less than 10,000.

    >>> [format_number(value) for value in (8192, 10_000, 131_072, 0.5, 2 / 3, 1e-7)]
    ['8192', '10,000', '131,072', '0.5', '0.6667', '1e-07']
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
