"""Tests of the line to blame for failures other than wrong values."""

import pytest
import torch

from attn_drill.diagnosis._source_lines import blamed_line, line_of_rounded_angle
from attn_drill.diagnosis._value_graph import ValueGraph
from tests.support.diagnosis import GraphBuilder


@pytest.fixture
def graph() -> ValueGraph:
    """Make a run that writes in place, detaches, draws at random and makes a large tensor."""
    builder = GraphBuilder()
    x = builder.add("input x", torch.randn(3))
    maximum = builder.add("amax", torch.randn(1), x, lines=(2,))
    shifted = builder.add("detach", torch.randn(1), maximum, lines=(3,), is_cut=True)
    builder.add("zeros_like", torch.zeros(3), x, lines=(4,), is_cut=True)
    detached = builder.add("detach", torch.randn(3), x, lines=(5,), is_cut=True)
    builder.add("add_", torch.randn(3), x, shifted, lines=(6,), written=x)
    builder.add("bernoulli_", torch.ones(3), detached, lines=(7,))
    builder.add("expand", torch.ones(50), x, lines=(8,))
    builder.add("mul", torch.ones(50), x, lines=(9,))
    return builder.graph()


@pytest.mark.parametrize(
    ("check", "line"), [("properties", 6), ("gradients", 5), ("train/eval", 7), ("values", None)]
)
def test_first_forbidden_line_of_a_check(graph: ValueGraph, check: str, line: int | None) -> None:
    """A detached maximum and a new tensor of the same shape cut no needed gradient."""
    assert blamed_line(graph, check) == line


def test_large_tensor_is_blamed_if_it_needs_memory(graph: ValueGraph) -> None:
    """An expanded view needs no memory. Without a limit, no tensor is too large."""
    assert blamed_line(graph, "memory", limit=50) == 9
    assert blamed_line(graph, "memory", limit=51) is None
    assert blamed_line(graph, "memory") is None


def test_draw_that_the_reference_makes_too_is_right() -> None:
    """With attention dropout and residual dropout, the second draw is to blame."""

    def run(*draws: int) -> ValueGraph:
        builder = GraphBuilder()
        x = builder.add("input x", torch.randn(2, 3))
        for place, entries in enumerate(draws):
            builder.add("native_dropout", torch.randn(entries), x, lines=(place + 2,))
        return builder.graph()

    assert blamed_line(run(8, 6), "train/eval", reference=run(8)) == 3
    assert blamed_line(run(6, 8), "train/eval", reference=run(8)) == 2
    assert blamed_line(run(8, 8), "train/eval", reference=run(8)) == 3
    assert blamed_line(run(8), "train/eval", reference=run(8)) == 2
    assert blamed_line(run(8, 6), "train/eval") == 2
    assert blamed_line(run(), "train/eval", reference=run(8)) is None


def test_rounded_angle_is_found() -> None:
    """A rounded position leads to a cosine. A rounded cosine, and exact positions, are right."""

    def run(*, start: int, is_rounded_early: bool) -> ValueGraph:
        builder = GraphBuilder()
        positions = builder.add("arange", torch.arange(start, start + 4).float(), lines=(2,))
        low = torch.arange(start, start + 4).to(torch.bfloat16)
        if is_rounded_early:
            positions = builder.add("_to_copy", low, positions)
        cosine = builder.add("cos", torch.randn(4), positions, lines=(3,))
        builder.add("_to_copy", torch.randn(4).to(torch.bfloat16), cosine, lines=(4,))
        return builder.graph()

    assert line_of_rounded_angle(run(start=1001, is_rounded_early=True)) == 2
    assert line_of_rounded_angle(run(start=1, is_rounded_early=True)) is None
    assert line_of_rounded_angle(run(start=1001, is_rounded_early=False)) is None
