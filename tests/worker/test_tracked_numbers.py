"""Tracked numbers behave like plain numbers and report every result computed from them."""

import copy
import math
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from trainer.worker.tracked_numbers import TrackedNumber, tracked


class KeptResults:
    """A recorder that keeps each result with its parents. The first result is step 0."""

    def __init__(self) -> None:
        self.results: list[tuple[float, tuple[int, ...]]] = []

    def add_result(self, value: float, parents: Sequence[int]) -> int:
        """Keep a result and return its step."""
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
@pytest.mark.parametrize(("left", "right"), [(12, 5), (12.5, 5)])
def test_results_equal_those_of_plain_numbers(name: str, left: float, right: float) -> None:
    """The result has the value and the type of the plain result.

    The left operand, the right operand, or both may be tracked.
    """
    recorder, compute = KeptResults(), COMPUTED[name]
    plain = compute(left, right)
    for a, b in (
        (tracked(left, 100, recorder), right),
        (left, tracked(right, 101, recorder)),
        (tracked(left, 100, recorder), tracked(right, 101, recorder)),
    ):
        result = compute(a, b)
        assert result == plain
        parts = zip(result, plain, strict=True) if isinstance(plain, tuple) else [(result, plain)]
        assert all(isinstance(part, type(plain_part)) for part, plain_part in parts)


def test_each_result_is_reported_with_its_parents() -> None:
    """The recorder receives each result with the steps of the tracked numbers in it."""
    recorder = KeptResults()
    a, b = tracked(12, 100, recorder), tracked(5, 101, recorder)
    total = a * b + 2 * a
    assert isinstance(total, TrackedNumber)
    assert recorder.results == [(60, (100, 101)), (24, (100,)), (84, (0, 1))]


def test_operations_with_other_types_are_unchanged() -> None:
    """A bool stays a bool, tensors and lists are multiplied as usual, and a string is refused."""
    recorder = KeptResults()
    a = tracked(3, 100, recorder)
    assert tracked(True, 0, recorder) is True
    assert [0] * a == [0, 0, 0]
    assert torch.equal(a * torch.ones(2), torch.full((2,), 3.0))
    assert torch.zeros(a, 2).view(2, a).shape == (2, 3)
    with pytest.raises(TypeError):
        a + "x"
    assert recorder.results == []


def test_copy_is_the_same_number_and_a_pickle_is_plain() -> None:
    """A copied number is the same object, and an unpickled number is a plain number."""
    a = tracked(3, 100, KeptResults())
    assert copy.deepcopy([a])[0] is a
    assert copy.copy(a) is a
    assert type(pickle.loads(pickle.dumps(a))) is int
