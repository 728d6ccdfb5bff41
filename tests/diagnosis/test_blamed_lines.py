"""Tests of the choice between several lines of a wrong node."""

import torch

from tests.support.graphs import GraphBuilder
from trainer.diagnosis.blamed_lines import BlamedLines
from trainer.diagnosis.matching import Matching
from trainer.diagnosis.reference_index import ReferenceIndex

X = torch.randn(5, 3, generator=torch.Generator().manual_seed(3))


def reference_index() -> tuple[ReferenceIndex, GraphBuilder]:
    """Return the index and the builder of a reference that computes exp(x) and sin(x)."""
    builder = GraphBuilder()
    x = builder.add("input x", X)
    builder.add("exp", X.exp(), x, lines=(2,))
    builder.add("sin", X.sin(), x, lines=(3,))
    return ReferenceIndex([builder.graph()], {}), builder


def test_line_that_is_right_for_another_caller_is_not_blamed() -> None:
    """Line 2 is right when line 8 calls it, so line 9 is to blame for the wrong call."""
    right, reference = reference_index()
    builder = GraphBuilder()
    x = builder.add("input x", X)
    builder.add("exp", X.exp(), x, lines=(2, 8))
    wrong = builder.add("exp", (X * 3).exp(), x, lines=(2, 9))
    matching = Matching(builder.graph(out=wrong), right, reference.graph())
    lines = BlamedLines(matching, lambda line: (), lambda line: range(line, line + 1))
    assert lines.line_of(wrong) == 9


def test_line_that_is_wrong_for_every_caller_is_blamed() -> None:
    """The function itself is wrong, so its own line is to blame."""
    right, reference = reference_index()
    builder = GraphBuilder()
    x = builder.add("input x", X)
    builder.add("exp", (X * 2).exp(), x, lines=(2, 8))
    wrong = builder.add("exp", (X * 3).exp(), x, lines=(2, 9))
    matching = Matching(builder.graph(out=wrong), right, reference.graph())
    lines = BlamedLines(matching, lambda line: (), lambda line: range(line, line + 1))
    assert lines.line_of(wrong) == 2


def test_line_that_is_right_in_a_passed_case_is_not_blamed() -> None:
    """Another case, which the submission passes, calls line 2 from line 7."""
    right, reference = reference_index()
    builder = GraphBuilder()
    x = builder.add("input x", X)
    wrong = builder.add("exp", (X * 3).exp(), x, lines=(2, 9))
    passed = GraphBuilder()
    passed.add("exp", X.exp(), lines=(2, 7))
    matching = Matching(builder.graph(out=wrong), right, reference.graph())
    lines = BlamedLines(matching, lambda line: [passed.graph()], lambda line: range(line, line + 1))
    assert lines.line_of(wrong) == 9


def test_constant_of_the_constructor_is_blamed() -> None:
    """The constructor stored a wrong factor at line 4, and the forward pass uses it at line 12."""
    right, reference = reference_index()
    builder = GraphBuilder()
    builder.add("number", torch.tensor(7.0), lines=(4,))
    x = builder.add("input x", X)
    wrong = builder.add("div", X / 7.0, x, lines=(12,))
    matching = Matching(builder.graph(out=wrong), right, reference.graph())
    lines = BlamedLines(matching, lambda line: (), lambda line: range(line, line + 1))
    assert lines.line_of(wrong) == 4
