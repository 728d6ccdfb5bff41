"""Tests of the operand to blame for a wrong node."""

import torch

from tests.support.graphs import GraphBuilder
from trainer.diagnosis.matching import Matching
from trainer.diagnosis.operands import Operands
from trainer.diagnosis.reference_index import ReferenceIndex
from trainer.diagnosis.value_graph import Node, ValueGraph

GENERATOR = torch.Generator().manual_seed(2)
QUERY, KEY, VALUE = (torch.randn(4, 4, generator=GENERATOR) for _ in range(3))
INPUTS = {"query": QUERY, "key": KEY, "value": VALUE}


def attention_of(*, uses_keys: bool) -> tuple[ValueGraph, dict[str, Node]]:
    """Return a graph whose last product takes the values, or the keys by mistake."""
    builder = GraphBuilder()
    given = {name: builder.add(f"input {name}", value) for name, value in INPUTS.items()}
    key = builder.add("exp", KEY.exp(), given["key"], lines=(2,))
    value = builder.add("sin", VALUE.sin(), given["value"], lines=(3,))
    weights = builder.add("_softmax", QUERY.softmax(-1), given["query"], lines=(4,))
    operand = key if uses_keys else value
    assert operand.value is not None
    out = builder.add("mm", QUERY.softmax(-1) @ operand.value, weights, operand, lines=(5,))
    return builder.graph(out=out, cached_key=key), {"key": key, "out": out}


def test_operand_in_the_wrong_place_is_blamed() -> None:
    """The last product uses keys in place of values, so the keys are misplaced."""
    reference, _ = attention_of(uses_keys=False)
    mistaken, _ = attention_of(uses_keys=True)
    graph, nodes = attention_of(uses_keys=True)
    matching = Matching(graph, ReferenceIndex([reference], {}), reference, mistaken)
    assert Operands(matching).misplaced(nodes["out"]) is nodes["key"]


def test_without_a_known_mistake_the_node_itself_is_blamed() -> None:
    """Only a known mistake shows which operand is expected."""
    reference, _ = attention_of(uses_keys=False)
    graph, nodes = attention_of(uses_keys=True)
    matching = Matching(graph, ReferenceIndex([reference], {}), reference)
    assert Operands(matching).misplaced(nodes["out"]) is nodes["out"]


def test_operand_that_misses_a_step_is_blamed() -> None:
    """Right answers rotate the projected query before the product. The submission forgets it."""

    def product_of(*, is_rotated: bool) -> tuple[ValueGraph, Node, Node]:
        builder = GraphBuilder()
        query, key = builder.add("input query", QUERY), builder.add("input key", KEY)
        projected = builder.add("mul", QUERY * VALUE, query, lines=(2,))
        rotated = builder.add("sin", (QUERY * VALUE).sin(), projected, lines=(3,))
        operand = rotated if is_rotated else projected
        assert operand.value is not None
        scores = builder.add("mm", operand.value @ KEY, operand, key, lines=(4,))
        return builder.graph(out=scores), projected, scores

    reference, _, right = product_of(is_rotated=True)
    graph, projected, scores = product_of(is_rotated=False)
    operands = Operands(Matching(graph, ReferenceIndex([reference], {}), reference))
    assert operands.forgotten(scores, {scores}) is projected
    operands = Operands(Matching(reference, ReferenceIndex([reference], {}), reference))
    assert operands.forgotten(right, {right}) is right


def test_missing_factor_is_told_from_other_missing_steps() -> None:
    """A value without its factor is still right, so the next step makes the first wrong value."""

    def weights_of(*, step: str) -> tuple[ValueGraph, Node, Node]:
        builder = GraphBuilder()
        query = builder.add("input query", QUERY)
        scores = builder.add("mm", QUERY @ KEY, query, lines=(2,))
        value, node = QUERY @ KEY, scores
        if step == "scale":
            half = builder.add("number", torch.tensor(2.0), lines=(3,))
            value = value / 2
            node = builder.add("div", value, scores, half, lines=(3,))
        elif step:
            value = value.sin()
            node = builder.add("sin", value, scores, lines=(3,))
        weights = builder.add("_softmax", value.softmax(-1), node, lines=(4,))
        return builder.graph(out=weights), scores, weights

    for step, is_factor in (("scale", True), ("rotation", False)):
        reference, _, _ = weights_of(step=step)
        graph, scores, weights = weights_of(step="")
        operands = Operands(Matching(graph, ReferenceIndex([reference], {}), reference))
        assert operands.forgotten(weights, {weights}) is scores
        assert operands.forgot_a_factor is is_factor


def test_added_mask_is_blamed_for_a_wrong_sum() -> None:
    """The line that makes a mask of two levels is to blame, unless the mask is an input."""
    builder = GraphBuilder()
    query, key = builder.add("input query", QUERY), builder.add("input key", KEY)
    scores = builder.add("mm", QUERY @ KEY, query, key, lines=(2,))
    bias = torch.zeros(4, 4)
    bias[0, 1] = -1e9
    mask = builder.add("mul", bias, query, lines=(3,))
    moved = builder.add("view", bias, mask, lines=(4,))
    wrong = builder.add("add", QUERY @ KEY + bias, scores, moved, lines=(5,))
    given = builder.add("add", QUERY @ KEY + bias, scores, query, lines=(6,))
    graph = builder.graph(out=wrong)
    operands = Operands(
        Matching(graph, ReferenceIndex([attention_scores()], {}), attention_scores())
    )
    assert operands.wrong_bias(wrong) is mask
    assert operands.wrong_bias(given) is given
    assert operands.wrong_bias(scores) is scores


def attention_scores() -> ValueGraph:
    """Return the graph of right scores without a mask."""
    builder = GraphBuilder()
    query, key = builder.add("input query", QUERY), builder.add("input key", KEY)
    return builder.graph(out=builder.add("mm", QUERY @ KEY, query, key, lines=(2,)))
