"""Python numbers that tell what is computed of them, for a run that is recorded: an `int` or a `float` like any other, but its sums and products are told."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol

_BINARY = "add sub mul truediv floordiv mod pow lshift rshift and or xor".split()
_UNARY = "neg pos abs floor ceil trunc".split()


class NumberRecorder(Protocol):
    """Who is told."""

    def computed(self, value: float, parents: Sequence[int]) -> int:
        """A number was computed of others, whose steps are these; gives its own."""


class TrackedNumber:
    """What a followed integer and a followed float have in common."""

    step: int
    teller: NumberRecorder

    def __deepcopy__(self, memo: object) -> TrackedNumber:
        """It is as immutable as any number."""
        return self

    def __copy__(self) -> TrackedNumber:
        """As above."""
        return self

    def __reduce__(self) -> tuple[Any, tuple[float]]:
        """Once pickled it is a plain number."""
        kind = int if isinstance(self, int) else float
        return kind, (_plain(self),)


class TrackedInt(TrackedNumber, int):
    """An integer of which every result is told."""


class TrackedFloat(TrackedNumber, float):
    """A float of which every result is told."""


def followed(value: float, step: int, teller: NumberRecorder) -> Any:
    """The same number, followed. A bool, which Python has only two of, stays as it is."""
    if type(value) not in (int, float):
        return value
    made: Any = TrackedInt(value) if type(value) is int else TrackedFloat(value)
    made.step, made.teller = step, teller
    return made


def _plain(value: Any) -> Any:
    """The number itself. The class's own conversions are not asked."""
    if type(value) is bool:
        return value
    return int.__add__(value, 0) if isinstance(value, int) else float.__add__(value, 0.0)


def _told(mine: TrackedNumber, result: Any, others: Sequence[Any] = ()) -> Any:
    """A result, or several as of divmod, followed in turn."""
    if isinstance(result, tuple):
        return tuple(_told(mine, one, others) for one in result)
    if type(result) not in (int, float):
        return result
    steps = [one.step for one in (mine, *others) if isinstance(one, TrackedNumber)]
    return followed(result, mine.teller.computed(result, steps), mine.teller)


def _binary(compute: Callable[[Any, Any], Any], *, reflected: bool = False) -> Callable[..., Any]:
    def method(self: Any, other: Any, *more: Any) -> Any:
        if not isinstance(other, int | float) or more:
            return NotImplemented
        mine, its = _plain(self), _plain(other)
        return _told(self, compute(its, mine) if reflected else compute(mine, its), (other,))

    return method


def _unary(compute: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda self: _told(self, compute(_plain(self)))


def _rounded(self: Any, digits: int | None = None) -> Any:
    return _told(self, round(_plain(self), digits))


for _kind in (TrackedInt, TrackedFloat):
    for _name in _BINARY:
        if hasattr(_kind, f"__{_name}__"):
            _compute = getattr(operator, f"{_name}_" if _name in ("and", "or") else _name)
            setattr(_kind, f"__{_name}__", _binary(_compute))
            setattr(_kind, f"__r{_name}__", _binary(_compute, reflected=True))
    for _name in _UNARY:
        if hasattr(_kind, f"__{_name}__"):
            setattr(_kind, f"__{_name}__", _unary(operator.methodcaller(f"__{_name}__")))
    _kind.__divmod__ = _binary(divmod)  # type: ignore[method-assign]  # told as all the others are
    _kind.__rdivmod__ = _binary(divmod, reflected=True)  # type: ignore[method-assign]
    _kind.__round__ = _rounded  # type: ignore[method-assign,assignment]
