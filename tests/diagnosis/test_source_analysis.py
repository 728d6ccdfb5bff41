"""Tests of the analysis of a learner's source."""

import pytest

from trainer.diagnosis.source_analysis import (
    Branch,
    branch_not_taken,
    collecting_line,
    function_lines,
    function_name,
    gradient_cut_line,
    is_called_from_several_places,
    is_given_a_constant,
    names_read_at,
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
def test_callers_of_the_function_of_a_line(line: int, *, several: bool) -> None:
    """Callers are found by the name of the function. Line 1 is in no function."""
    assert is_called_from_several_places(CALLS, line) == several


@pytest.mark.parametrize(
    ("line", "call", "constant"),
    [(3, 7, True), (4, 7, False), (3, 10, False), (7, 10, False), (1, 10, False)],
)
def test_argument_is_a_constant_in_the_call(line: int, call: int, *, constant: bool) -> None:
    """An argument counts only if the statement reads it and the call passes a constant."""
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


def test_branch_that_did_not_run() -> None:
    """The branch is between two lines, none of its lines ran, and it binds the name."""
    assert branch_not_taken(BRANCHES, 3, 9, {3, 9}, {"k"}) == Branch(6, range(7, 9))
    assert branch_not_taken(BRANCHES, 3, 9, {3, 8, 9}, {"k"}) is None
    assert branch_not_taken(BRANCHES, 3, 9, {3, 9}, {"v"}) is None
    assert branch_not_taken(BRANCHES, 7, 9, {9}, {"k"}) is None
    assert branch_not_taken(BRANCHES, 3, 14, {3}, {"k"}) is None


def test_decorator_that_disables_gradients() -> None:
    """A function without the decorator gets the line itself."""
    assert gradient_cut_line(BRANCHES, 14) == 12
    assert gradient_cut_line(BRANCHES, 9) == 9


def test_lines_of_functions() -> None:
    """A function has all its lines. A line outside functions has only itself."""
    assert function_lines(BRANCHES, 5) == range(2, 10)
    assert function_lines(BRANCHES, 1) == range(1, 2)


COLLECTIONS = """
def forward(self, x):
    k, v = self.k(x), self.v(x)
    keys = repeat(k)
    cache = (keys, v)
    if self.named:
        return {"out": x, "keys": k}
    return x, cache
"""


@pytest.mark.parametrize(
    ("line", "name", "found"),
    [(3, "keys", 5), (3, "v", 5), (3, "k", 7), (5, "v", None), (3, "cache", 8), (3, "", None)],
)
def test_line_that_collects_a_variable(line: int, name: str, found: int | None) -> None:
    """A tuple, a list or a dict collects a variable after its line. A tuple of targets does not."""
    assert collecting_line(COLLECTIONS, line, name) == found


def test_name_of_the_function_of_a_line() -> None:
    """A line outside functions has no name."""
    assert function_name(COLLECTIONS, 4) == "forward"
    assert function_name(COLLECTIONS, 1) == ""


def test_names_of_the_innermost_statement() -> None:
    """Only the statement of the line counts."""
    assert names_read_at(COLLECTIONS, 4) == {"keys", "repeat", "k"}
    assert names_read_at(COLLECTIONS, 1) == set()
