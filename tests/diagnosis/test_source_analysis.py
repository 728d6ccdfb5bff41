"""Tests of the analysis of a learner's source."""

from attn_drill.diagnosis._source_lines import (
    function_lines,
    function_name,
    gives_a_constant,
    gradient_cut_line,
)

SOURCE = """
def attend(q, k, past, mask, cached):
    k = heads(k)
    return q @ k


@torch.no_grad()
def turned(x):
    return x * 2
"""


def test_decorator_that_disables_gradients() -> None:
    """A function without the decorator gets the line itself."""
    assert gradient_cut_line(SOURCE, 9) == 7
    assert gradient_cut_line(SOURCE, 3) == 3


def test_function_of_a_line() -> None:
    """A function has all its lines. A line outside functions has only itself, and no name."""
    assert (function_lines(SOURCE, 3), function_name(SOURCE, 3)) == (range(2, 5), "attend")
    assert (function_lines(SOURCE, 1), function_name(SOURCE, 1)) == (range(1, 2), "")


CALLS = """
def shares(x, dim, other=None):
    return x.exp() / x.exp().sum(dim)
a = shares(scores, -1)
b = shares(scores, other=c, dim=axis)
"""


def test_call_that_gives_a_constant() -> None:
    """The sign belongs to the number. A line outside functions is called by no line."""
    assert [gives_a_constant(CALLS, call, 3) for call in (4, 5)] == [True, False]
    assert not gives_a_constant(CALLS, 4, 4)
