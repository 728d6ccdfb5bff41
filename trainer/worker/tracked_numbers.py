"""Python numbers that report every result computed from them, for a recorded run.

A tracked number is an `int` or a `float` like any other. Its sums, products and other results are
reported to a recorder, and are tracked numbers as well.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol

_BINARY = "add sub mul truediv floordiv mod pow lshift rshift and or xor".split()
_UNARY = "neg pos abs floor ceil trunc".split()


class NumberRecorder(Protocol):
    """A receiver of the results of tracked numbers."""

    def add_result(self, value: float, parents: Sequence[int]) -> int:
        """Record a result and return the index of its step.

        Args:
            value: the result.
            parents: the steps of the tracked numbers that the result was computed from.
        """


class TrackedNumber:
    """The common part of a tracked integer and a tracked float.

    Attributes:
        step: the index of the step that made the number.
        recorder: the recorder that receives every result.
    """

    step: int
    recorder: NumberRecorder

    def __deepcopy__(self, memo: object) -> TrackedNumber:
        """Return the number itself, because a number is immutable."""
        return self

    def __copy__(self) -> TrackedNumber:
        """Return the number itself, because a number is immutable."""
        return self

    def __reduce__(self) -> tuple[Any, tuple[float]]:
        """Pickle the number as a plain number."""
        kind = int if isinstance(self, int) else float
        return kind, (_plain(self),)


class TrackedInt(TrackedNumber, int):
    """An integer that reports every result computed from it."""


class TrackedFloat(TrackedNumber, float):
    """A float that reports every result computed from it."""


def tracked(value: float, step: int, recorder: NumberRecorder) -> Any:
    """Return a tracked number of the same value.

    A bool is returned unchanged: Python has only two bools, and they cannot be subclassed.

    Args:
        value: the number.
        step: the index of the step that made the number.
        recorder: the recorder that receives every result.
    """
    if type(value) not in (int, float):
        return value
    made: Any = TrackedInt(value) if type(value) is int else TrackedFloat(value)
    made.step, made.recorder = step, recorder
    return made


def _plain(value: Any) -> Any:
    """Return a plain number of the same value, without the conversions of the number's class."""
    if type(value) is bool:
        return value
    return int.__add__(value, 0) if isinstance(value, int) else float.__add__(value, 0.0)


def _reported(number: TrackedNumber, result: Any, others: Sequence[Any] = ()) -> Any:
    """Report a result, or each result in a tuple (`divmod`), and return it as a tracked number."""
    if isinstance(result, tuple):
        return tuple(_reported(number, part, others) for part in result)
    if type(result) not in (int, float):
        return result
    steps = [operand.step for operand in (number, *others) if isinstance(operand, TrackedNumber)]
    return tracked(result, number.recorder.add_result(result, steps), number.recorder)


def _binary(compute: Callable[[Any, Any], Any], *, reflected: bool = False) -> Callable[..., Any]:
    def method(self: Any, other: Any, *more: Any) -> Any:
        if not isinstance(other, int | float) or more:
            return NotImplemented
        own_value, other_value = _plain(self), _plain(other)
        return _reported(
            self,
            compute(other_value, own_value) if reflected else compute(own_value, other_value),
            (other,),
        )

    return method


def _unary(compute: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda self: _reported(self, compute(_plain(self)))


def _rounded(self: Any, digits: int | None = None) -> Any:
    return _reported(self, round(_plain(self), digits))


for _kind in (TrackedInt, TrackedFloat):
    for _name in _BINARY:
        if hasattr(_kind, f"__{_name}__"):
            _compute = getattr(operator, f"{_name}_" if _name in ("and", "or") else _name)
            setattr(_kind, f"__{_name}__", _binary(_compute))
            setattr(_kind, f"__r{_name}__", _binary(_compute, reflected=True))
    for _name in _UNARY:
        if hasattr(_kind, f"__{_name}__"):
            setattr(_kind, f"__{_name}__", _unary(operator.methodcaller(f"__{_name}__")))
    _kind.__divmod__ = _binary(divmod)  # type: ignore[method-assign]  # reports its results too
    _kind.__rdivmod__ = _binary(divmod, reflected=True)  # type: ignore[method-assign]
    _kind.__round__ = _rounded  # type: ignore[method-assign,assignment]
