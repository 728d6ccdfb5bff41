"""Tests of the comparison of code."""

import pytest

from trainer.quiz.same_code import same_code

SAME = [
    ("x.view(b,  l)", "x.view(b, l)"),
    ("(a / b)", "a / b"),
    ("float('-inf')", 'float("-inf")'),
    ("f(x, dim=1, keepdim=True)", "f(x, keepdim=True, dim=1)"),
    ("k.transpose(2, 1)", "k.transpose(1, 2)"),
    ("k.transpose(dim1=2, dim0=1)", "k.transpose(1, 2)"),
    ("torch.transpose(k, -1, -2)", "torch.transpose(k, -2, -1)"),
    ("c * (b * a)", "a * b * c"),
    ("real & causal", "causal & real"),
    ("b * sin + a * cos", "a * cos + b * sin"),
    ("q_pos >= k_pos", "k_pos <= q_pos"),
    ("0 != a % b", "a % b != 0"),
    ("y = x @ w", "y = (x @ w)"),
]
NOT_SURELY_THE_SAME = [
    ("3", "-1"),
    ("q @ k", "k @ q"),
    ("torch.matmul(q, k)", "q @ k"),
    ("a - b", "b - a"),
    ("a / b", "b / a"),
    ("k.transpose(1, 2)", "k.transpose(2, 3)"),
    ("k.permute(1, 2)", "k.permute(2, 1)"),
    ("k.repeat(1, 2)", "k.repeat(2, 1)"),
    ("[a] + [b]", "[b] + [a]"),
    ("[0] * n + [1]", "[1] + [0] * n"),
    ("a + b", "b + a"),
    ("a < b", "a <= b"),
    ("a < b < c", "c > b > a"),
    ("scale * q @ k", "q @ k * scale"),
    ("", ""),
    ("# nothing", ""),
    ("a b", "a b"),
    ("-" * 4000 + "a", "a"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_code_of_the_same_meaning(first: str, second: str) -> None:
    """The order of the two does not matter."""
    assert same_code(first, second)
    assert same_code(second, first)


@pytest.mark.parametrize(("first", "second"), NOT_SURELY_THE_SAME, ids=range(18))
def test_code_that_may_mean_something_else(first: str, second: str) -> None:
    """Text that is no Python is never the same."""
    assert not same_code(first, second)
    assert not same_code(second, first)


def test_odd_code_gives_no_warning() -> None:
    """Python warns of `1()` and `"\\d"`; the tests turn warnings into errors."""
    assert not same_code("1()", "'\\d' is 1")
