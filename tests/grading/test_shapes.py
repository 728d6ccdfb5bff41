"""Shapes in words, and advice on wrong shapes."""

import pytest

from attn_drill.grading.pictures import name_shape, shape_advice

SIZES = {"B": 2, "L": 5, "H": 3, "D": 4, "M": 12, "Lq": 6, "Lk": 6}


@pytest.mark.parametrize(
    ("shape", "dims", "expected"),
    [
        pytest.param((2, 12, 5), "B L (H D)", "[B=2, M=12, L=5]", id="moved axes"),
        pytest.param((2, 3, 5, 4), "", "[B=2, H=3, L=5, D=4]", id="separate heads"),
        pytest.param((10, 3, 4), "", "[B·L=10, H=3, D=4]", id="a product"),
        pytest.param((10, 4), "", "[10, D=4]", id="a product of too few axes"),
        pytest.param((2, 10), "", "[B=2, 10]", id="a product of an axis that is there"),
        pytest.param((12, 3, 4), "", "[12, H=3, D=4]", id="a letter or a product"),
        pytest.param((2, 15), "", "[B=2, 15]", id="a product that code does not make"),
        pytest.param((99,), "", "[99]", id="an unknown size"),
        pytest.param((6, 5), "", "[6, L=5]", id="two letters of one size"),
        pytest.param((2, 5, 5), "", "[B=2, L=5, L=5]", id="two axes of positions"),
        pytest.param((3, 3), "", "[3, 3]", id="two axes that are not positions"),
        pytest.param((10, 10), "", "[10, 10]", id="two equal products"),
        pytest.param((1, 1), "", "[1, 1]", id="axes of size 1"),
        pytest.param((), "", "[]", id="a scalar"),
        pytest.param(
            (2, 12, 12),
            "B L (H D)",
            "[B=2, 12, H·D=12]",
            id="a wrong size that belongs to another letter",
        ),
    ],
)
def test_axes_are_named_by_letters(shape: tuple[int, ...], dims: str, expected: str) -> None:
    """An axis gets its letter from the dims, or else by its size if this tells one letter."""
    assert name_shape(shape, SIZES, dims) == expected


def test_size_of_two_products_has_no_letters() -> None:
    """6 may be batch by heads or batch by positions. A letter of size 1 makes no product."""
    sizes = {"B": 2, "H": 3, "L": 3, "D": 7, "Hkv": 1}
    assert name_shape((6, 7), sizes) == "[6, D=7]"
    assert name_shape((21, 7), sizes) == "[H·D=21, D=7]"
    assert name_shape((21, 7), {**sizes, "M": 21}) == "[M=21, D=7]", "M is no second meaning"


@pytest.mark.parametrize(
    ("expected", "actual", "says"),
    [
        pytest.param((2, 5, 12), (5, 12, 2), "permute(2, 0, 1)", id="all axes moved"),
        pytest.param(
            (2, 5, 12), (2, 3, 5, 4), "the number of entries is right", id="separate heads"
        ),
        pytest.param((2, 1, 5), (2, 5), "an axis of size 1 is missing", id="a missing axis"),
        pytest.param((2, 1, 1, 5), (2, 5), "2 axes of size 1 are missing", id="two missing axes"),
        pytest.param((2, 5), (2, 1, 5), "an axis of size 1 is too many", id="an additional axis"),
    ],
)
def test_advice_on_a_wrong_shape(
    expected: tuple[int, ...], actual: tuple[int, ...], says: str
) -> None:
    """The advice names the missing permutation or reshape."""
    assert says in shape_advice(expected, actual)


def test_no_advice_on_another_number_of_entries() -> None:
    """No permutation or reshape can give the expected shape."""
    assert shape_advice((2, 5, 12), (2, 5, 13)) == ""
