"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

import pytest

from trainer.diagnosis.source_analysis import (
    branch_not_taken,
    function_lines,
    gradient_cut_line,
    is_called_from_several_places,
    is_given_a_constant,
)

CALLS = """
def softmax(x, dim, scale=None):
    x = x - x.amax(dim, keepdim=True)
    return x.exp() / x.exp().sum()

def once(x):
    return softmax(x * 2, dim=-1)

def twice(x, n):
    return once(softmax(x, n))
"""


@pytest.mark.parametrize(("line", "several"), [(3, True), (7, False), (10, False), (1, False)])
def test_from_where_a_function_is_called(line: int, *, several: bool) -> None:
    """By its name in the text; what is in no function is called from nowhere."""
    assert is_called_from_several_places(CALLS, line) == several


@pytest.mark.parametrize(
    ("line", "call", "constant"),
    [(3, 7, True), (4, 7, False), (3, 10, False), (7, 10, False), (1, 10, False)],
)
def test_an_argument_that_is_written_out(line: int, call: int, *, constant: bool) -> None:
    """Only what the statement reads counts, and only if the call writes it out."""
    assert is_given_a_constant(CALLS, line, call) == constant


BRANCHES = """
def attend(q, k, past, mask, cached):
    k = heads(k)
    if mask is not None:
        scores = 0
    if cached:
        k = join(past, k)
        q = q + 0
    return q @ k


@torch.no_grad()
def turned(x):
    return x * 2
"""


def test_a_branch_that_was_not_entered() -> None:
    """Only one that would have bound the name counts, between the two lines, and of which nothing was visited."""
    assert branch_not_taken(BRANCHES, 3, 9, {3, 9}, {"k"}) == 6
    assert branch_not_taken(BRANCHES, 3, 9, {3, 8, 9}, {"k"}) is None
    assert branch_not_taken(BRANCHES, 3, 9, {3, 9}, {"v"}) is None
    assert branch_not_taken(BRANCHES, 7, 9, {9}, {"k"}) is None
    assert branch_not_taken(BRANCHES, 3, 14, {3}, {"k"}) is None


def test_lines_of_functions() -> None:
    """A decorator that turns gradients off is told; a function's lines are all of it."""
    assert gradient_cut_line(BRANCHES, 14) == 12
    assert gradient_cut_line(BRANCHES, 9) == 9
    assert function_lines(BRANCHES, 5) == range(2, 10)
    assert function_lines(BRANCHES, 1) == range(1, 2)
