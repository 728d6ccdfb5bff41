"""Returned values are taken apart, or described in words."""

import enum
from collections import namedtuple

import pytest
import torch

from attn_drill.worker.returns import UnexpectedReturnError, describe, plain_value, unpack


class Colour(enum.IntEnum):
    """An enumeration whose members are integers with another `__str__`."""

    RED = 2

    def __str__(self) -> str:
        raise RuntimeError


def test_unpack_returns_the_parts_of_a_tuple_or_list() -> None:
    """A named tuple is a tuple too."""
    pair = namedtuple("pair", "out cache")
    for value in ((1, 2), [1, 2], pair(1, 2)):
        assert unpack(value, "out", "cache") == (1, 2)


@pytest.mark.parametrize(
    ("value", "description"),
    [
        (torch.ones(2, 3), "a tensor [2, 3]"),
        ((torch.ones(2),), "a tuple of 1: (Tensor [2])"),
        (None, "None (is a `return` missing?)"),
        ({"out": 1, "cache": 2}, "a dict"),
    ],
    ids=["a tensor", "too few parts", "nothing", "a dict"],
)
def test_unpack_names_the_expected_parts_and_the_value(value: object, description: str) -> None:
    """A tensor of two rows is not taken apart."""
    with pytest.raises(UnexpectedReturnError) as caught:
        unpack(value, "out", "cache")
    assert "(out, cache)" in str(caught.value)
    assert description in str(caught.value)


def test_descriptions_are_short() -> None:
    """Long strings and tuples are cut, and a huge integer is not written out."""
    assert len(describe("x" * 1000)) < 80
    assert describe(tuple(range(7))) == "a tuple of 7: (int, int, int, int, int, int, …)"
    assert describe(10**5000) == "an int"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Colour.RED, ("int", "2")),
        (True, ("", "")),
        (10**5000, ("", "")),
    ],
    ids=["a member of an enumeration", "a bool", "a huge int"],
)
def test_plain_value_of_integers_and_strings(value: object, plain: tuple[str, str]) -> None:
    """The `__str__` of a subclass is not called."""
    assert plain_value(value) == plain
