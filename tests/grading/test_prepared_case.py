"""Prepared cases: the inputs with gradients, the largest value, and variants."""

import math

import torch

from attn_drill.grading.grader import Grader
from tests.support.grading import GQA


def test_only_floating_inputs_get_gradients(grader: Grader) -> None:
    """Masks get no gradients. Cases that compare no gradients have no such inputs."""
    for prepared in grader.case_set(GQA, 5).prepared:
        expected = ["x"] if prepared.cotangents else []
        names = [name for name in prepared.differentiable if not name.startswith("later_")]
        assert names == expected, prepared.case.name


def test_largest_number_includes_weights_and_ignores_nan(grader: Grader) -> None:
    """An infinite value counts as infinite."""
    prepared = grader.case_set(GQA, 5).prepared[0]
    x = torch.zeros_like(prepared.inputs["x"])
    weight = torch.full((2, 2), -7.0)
    inputs = {"x": x, "mask": None}
    assert prepared.varied(inputs, {"weight": weight}).largest_number == 7.0
    with_nan = {"x": torch.full_like(x, math.nan), "mask": None}
    assert prepared.varied(with_nan, {"weight": weight}).largest_number == 7.0
    infinite = {"x": torch.full_like(x, -math.inf), "mask": None}
    assert prepared.varied(infinite, {"weight": weight}).largest_number == math.inf


def test_variant_of_a_variant_has_the_first_expected_results(grader: Grader) -> None:
    """Variants are never graded, so the reference does not run on their inputs."""
    prepared = grader.case_set(GQA, 5).prepared[0]
    first = prepared.varied(prepared.inputs, {})
    second = first.varied({"x": torch.zeros(1)}, {})
    assert second.varied_from is prepared
    assert second.expected is prepared.expected
    assert second.second == second.inputs
