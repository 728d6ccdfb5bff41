"""Followed numbers are numbers like any other, and tell what is computed of them."""

import copy
import math
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from trainer.worker.tracked_numbers import TrackedNumber, followed


class Heard:
    """Keeps what it is told: every result with the steps that it was made from; its own is the number of results before it."""

    def __init__(self) -> None:
        self.results: list[tuple[float, tuple[int, ...]]] = []

    def computed(self, value: float, parents: Sequence[int]) -> int:
        """The step of this result."""
        self.results.append((value, tuple(parents)))
        return len(self.results) - 1


COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "a / b": lambda a, b: a / b,
    "a // b": lambda a, b: a // b,
    "a % b": lambda a, b: a % b,
    "a ** b": lambda a, b: a**b,
    "divmod": divmod,
    "prod": lambda a, b: math.prod([a, 3, b]),
    "sum": lambda a, b: sum([a, b, a]),
    "floor of a quotient": lambda a, b: math.floor(a / b),
    "ceil of a quotient": lambda a, b: math.ceil(a / b),
    "rounded": lambda a, b: round(a / b),
    "negative": lambda a, b: -a + abs(-b),
    "max": max,
    "shifted": lambda a, b: int(a) << b,
    "square root": lambda a, b: a**0.5 * b,
}


@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.parametrize(("one", "other"), [(12, 5), (12.5, 5)])
def test_results_are_those_of_plain_numbers(name: str, one: float, other: float) -> None:
    """Of the same value and, apart from being followed, of the same type, whichever of the two is followed."""
    heard, compute = Heard(), COMPUTED[name]
    plain = compute(one, other)
    for a, b in (
        (followed(one, 100, heard), other),
        (one, followed(other, 101, heard)),
        (followed(one, 100, heard), followed(other, 101, heard)),
    ):
        result = compute(a, b)
        assert result == plain
        parts = zip(result, plain, strict=True) if isinstance(plain, tuple) else [(result, plain)]
        assert all(isinstance(mine, type(its)) for mine, its in parts)


def test_what_is_told() -> None:
    """Each result with the steps of the followed numbers in it."""
    heard = Heard()
    a, b = followed(12, 100, heard), followed(5, 101, heard)
    total = a * b + 2 * a
    assert isinstance(total, TrackedNumber)
    assert heard.results == [(60, (100, 101)), (24, (100,)), (84, (0, 1))]


def test_what_is_no_number_is_left_alone() -> None:
    """True stays True, tensors and lists are multiplied as ever, what cannot be added still cannot."""
    heard = Heard()
    a = followed(3, 100, heard)
    assert followed(True, 0, heard) is True
    assert [0] * a == [0, 0, 0]
    assert torch.equal(a * torch.ones(2), torch.full((2,), 3.0))
    assert torch.zeros(a, 2).view(2, a).shape == (2, 3)
    with pytest.raises(TypeError):
        a + "x"
    assert heard.results == []


def test_copies() -> None:
    """A copy is the same number; pickled it is a plain one."""
    a = followed(3, 100, Heard())
    assert copy.deepcopy([a])[0] is a
    assert copy.copy(a) is a
    assert type(pickle.loads(pickle.dumps(a))) is int
