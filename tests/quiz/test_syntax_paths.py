"""Tests of the search for changed and equal expressions."""

import ast

import pytest

from trainer.quiz.syntax_paths import (
    changed_expression,
    node_at,
    shows_same,
    without_names,
)

SOURCE = """
def attend(self, q, k, scale=2):
    q = q.transpose(1, 2)
    k = k.transpose(1, 2)
    scores = q @ k.transpose(-2, -1)
    scores = scores / math.sqrt(self.head_dim)
    masked = scores[:, 1:]
    return torch.softmax(masked, dim=-1), f"{k.shape}"
"""
SCORES = "scores * math.sqrt(self.head_dim)"


def change(was: str, now: str) -> tuple[str, str | None] | None:
    """Return the changed expression before and after a replacement in SOURCE."""
    assert SOURCE.count(was) == 1
    before = ast.parse(SOURCE)
    found = changed_expression(SOURCE, before, ast.parse(SOURCE.replace(was, now)))
    if found is None:
        return None
    path, after = found
    return ast.unparse(node_at(before, path)), None if after is None else ast.unparse(after)


@pytest.mark.parametrize(
    ("was", "now", "before", "after"),
    [
        ("dim=-1", "dim=0", "-1", "0"),
        ("dim=-1", "dim=-2", "-1", "-2"),
        ("math.sqrt(self.head_dim)", "self.head_dim", "math.sqrt(self.head_dim)", "self.head_dim"),
        ("k.transpose(-2, -1)", "k.mT", "k.transpose(-2, -1)", "k.mT"),
        ("transpose(-2, -1)", "permute(-2, -1)", "k.transpose(-2, -1)", "k.permute(-2, -1)"),
        ("-2, -1", "-3, -2", "k.transpose(-2, -1)", "k.transpose(-3, -2)"),
        ("1:]", ":]", "scores[:, 1:]", "scores[:, :]"),
        ("scores / math", "scores * math", "scores / math.sqrt(self.head_dim)", SCORES),
    ],
)
def test_smallest_expression_with_a_text_of_its_own(
    was: str, now: str, before: str, after: str
) -> None:
    """A slice, the name of a called function and the 1 of -1 have no such text."""
    assert change(was, now) == (before, after)


def test_removed_statement_is_its_value() -> None:
    """There is no expression after the change."""
    removed = "    scores = scores / math.sqrt(self.head_dim)\n"
    assert change(removed, "") == ("scores / math.sqrt(self.head_dim)", None)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        pytest.param("scale=2", "scale=3", id="an argument of the function"),
        pytest.param("masked = ", "scores = ", id="the name of a result"),
        pytest.param("q.transpose(1, 2)\n    k", "q\n    l", id="two statements"),
        pytest.param("    return", "    pass\n    return", id="a new statement"),
        pytest.param("\n    k = k.", "\n    k  =  k.", id="no change"),
    ],
)
def test_other_changes_are_in_no_expression(was: str, now: str) -> None:
    """They give no gap."""
    assert change(was, now) is None


def twins(expression: str) -> list[str] | None:
    """Return the code of the expressions that show the same as the first such expression."""
    tree = ast.parse(SOURCE)
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    for index, statement in enumerate(function.body):
        value = getattr(statement, "value", None)
        if value is not None and ast.unparse(value) == expression:
            path = (("body", 0), ("body", index), ("value", None))
            found = shows_same(tree, without_names(tree), path)
            return None if found is None else [ast.unparse(node_at(tree, twin)) for twin in found]
    raise AssertionError(expression)


def test_same_code_with_other_names_is_found() -> None:
    """Other dimensions are other code."""
    assert twins("q.transpose(1, 2)") == ["k.transpose(1, 2)"]
    assert twins("scores[:, 1:]") == []
