"""The words of floor 0."""

import pytest

from trainer.model.case import Case, axes


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        pytest.param("B L M", (("B",), ("L",), ("M",)), id="plain"),
        pytest.param("B L (H D)", (("B",), ("L",), ("H", "D")), id="grouped"),
        pytest.param("(H copy K)", (("H", "copy", "K"),), id="group of three"),
        pytest.param("", (), id="scalar"),
    ],
)
def test_axes(dims: str, expected: tuple[tuple[str, ...], ...]) -> None:
    """Named dimensions are split at spaces, groups kept together."""
    assert axes(dims) == expected


def test_output_shape_multiplies_groups() -> None:
    """A grouped axis is as long as its letters' product."""
    case = Case("c", {}, {"out": "B (H D)"}, {"B": 2, "H": 3, "D": 5})
    assert case.output_shape("out") == (2, 15)
