"""Named dimensions and output shapes of a case."""

import pytest

from attn_drill.model.case import Case, axes


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        pytest.param("B L M", (("B",), ("L",), ("M",)), id="plain"),
        pytest.param("B L (H D)", (("B",), ("L",), ("H", "D")), id="grouped"),
        pytest.param("(H copy K)", (("H", "copy", "K"),), id="group of three"),
        pytest.param("", (), id="scalar"),
    ],
)
def test_named_dimensions_are_split_at_spaces(
    dims: str, expected: tuple[tuple[str, ...], ...]
) -> None:
    """A group in parentheses is one axis."""
    assert axes(dims) == expected


def test_size_of_a_grouped_axis_is_the_product_of_its_letters() -> None:
    """The axis (H D) with H = 3 and D = 5 has size 15."""
    case = Case("c", {}, {"out": "B (H D)"}, {"B": 2, "H": 3, "D": 5})
    assert case.output_shape("out") == (2, 15)
