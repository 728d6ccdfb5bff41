"""Tests of results that may belong to another right implementation."""

import torch

from tests.support.graphs import GraphBuilder
from trainer.diagnosis.matching import Matching
from trainer.diagnosis.reference_index import ReferenceIndex
from trainer.diagnosis.right_styles import RightStyles
from trainer.diagnosis.value_graph import ValueGraph

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(4))
PRODUCT = X @ X.t()


def reference() -> ValueGraph:
    """Return a reference that divides a product by 2 and takes the exponential."""
    builder = GraphBuilder()
    x = builder.add("input x", X)
    product = builder.add("mm", PRODUCT, x, x, lines=(2,))
    halved = builder.add("div", PRODUCT / 2, product, lines=(3,))
    out = builder.add("exp", (PRODUCT / 2).exp(), halved, lines=(4,))
    return builder.graph(out=out)


def styles_of(graph: ValueGraph) -> RightStyles:
    """Return the styles of a submission."""
    right = reference()
    return RightStyles(Matching(graph, ReferenceIndex([right], {}), right))


def test_scale_of_another_operand_may_be_right() -> None:
    """The submission halves x before the product. Twice the factor is not right any more."""
    builder = GraphBuilder()
    x = builder.add("input x", X)
    halved = builder.add("mul", X / 2, x, lines=(7,))
    quartered = builder.add("mul", X / 4, halved, lines=(8,))
    styles = styles_of(builder.graph(out=quartered))
    assert styles.may_be_right(halved)
    assert not styles.may_be_right(quartered)


def test_pieces_of_a_loop_may_be_right() -> None:
    """A loop computes the product row by row. A single row that runs once does not count."""
    builder = GraphBuilder()
    x = builder.add("input x", X)
    rows = [builder.add("mm", PRODUCT[i : i + 2], x, lines=(7,)) for i in range(0, 6, 2)]
    single = builder.add("mm", PRODUCT[1:4], x, lines=(9,))
    styles = styles_of(builder.graph(out=single))
    assert all(styles.may_be_right(row) for row in rows)
    assert not styles.may_be_right(single)


def test_part_of_a_right_value_may_be_right_if_all_parts_are_used() -> None:
    """Both halves of the product are used. A single half of x is not a complete split."""
    builder = GraphBuilder()
    x = builder.add("input x", X)
    product = builder.add("mm", PRODUCT, x, x, lines=(6,))
    halves = [builder.add("split", part, product, lines=(7,)) for part in PRODUCT.split(3, dim=1)]
    alone = builder.add("slice", X[:, :3].exp(), x, lines=(8,))
    styles = styles_of(builder.graph(out=alone))
    assert all(styles.may_be_right(half) for half in halves)
    assert not styles.may_be_right(alone)
