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
