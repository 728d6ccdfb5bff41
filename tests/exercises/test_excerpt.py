"""Tests of the parts of a reference that a question shows."""

import pytest

from attn_drill.exercises.altered_reference import excerpt

LONG = '''import math

SIZE = 3


class Part(nn.Module):
    """The first part.

    It has two methods.
    """

    def first(self):
        return 1

    def second(self):
        return 2


@decorated
def third():
    return 3


def fourth():
    return 4


def fifth():
    return (
        5
    )


def sixth():
    return 6
'''


def shown(*lines: str) -> list[str]:
    """Return the lines that are shown because of these lines."""
    rows = ["", *LONG.splitlines()]
    return [rows[number] for number in excerpt(LONG, [rows.index(line) for line in lines])]


def test_methods_are_shown_below_the_head_of_their_class() -> None:
    """The head ends with the docstring."""
    head = LONG.splitlines()[5:10]
    second = ["", "    def second(self):", "        return 2"]
    assert shown("        return 2") == [*head, *second]
    first = ["", "    def first(self):", "        return 1"]
    assert shown("        return 2", "        return 1") == [*head, *first, *second]


def test_function_is_shown_with_its_decorators() -> None:
    """Functions of several lines are separated by an empty line."""
    third = ["@decorated", "def third():", "    return 3"]
    assert shown("    return 3") == third
    assert shown("def fourth():", "def third():") == [*third, "", "def fourth():", "    return 4"]


@pytest.mark.parametrize(("line", "start"), [("SIZE = 3", 2), ("class Part(nn.Module):", 5)])
def test_line_outside_of_all_functions_shows_everything(line: str, start: int) -> None:
    """The imports stay away."""
    assert shown(line) == shown(line, "    return 3") == LONG.splitlines()[start:]


def test_short_code_is_shown_whole() -> None:
    """It fits a small terminal."""
    assert excerpt("import a\n\n\ndef f():\n    b\n\n\ndef g():\n    c\n", [5]) == [
        4,
        5,
        6,
        7,
        8,
        9,
    ]
    assert excerpt("a = 1\nb = 2\n", [2]) == [1, 2]
