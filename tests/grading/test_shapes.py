"""Shapes in words, and advice on wrong shapes."""

import pytest

from trainer.grading.shapes import name_shape, shape_advice

SIZES = {"B": 2, "L": 5, "H": 3, "D": 4, "M": 12, "Lq": 6, "Lk": 6}


@pytest.mark.parametrize(
    ("shape", "dims", "expected"),
    [
        pytest.param((2, 5, 12), "B L (H D)", "[B=2, L=5, H·D=12]", id="the expected shape"),
        pytest.param((2, 12, 5), "B L (H D)", "[B=2, M=12, L=5]", id="moved axes"),
        pytest.param((2, 3, 5, 4), "", "[B=2, H=3, L=5, D=4]", id="separate heads"),
        pytest.param((2, 15), "", "[B=2, H·L=15]", id="a product"),
        pytest.param((99,), "", "[99]", id="an unknown size"),
        pytest.param((6, 6), "", "[Lq=6, Lk=6]", id="two letters of one size"),
        pytest.param((6, 6, 6), "", "[Lq=6, Lk=6, Lq=6]", id="more axes than letters"),
        pytest.param(
            (2, 12, 12),
            "B L (H D)",
            "[B=2, 12, H·D=12]",
            id="a wrong size that belongs to another letter",
        ),
    ],
)
def test_axes_are_named_by_letters(shape: tuple[int, ...], dims: str, expected: str) -> None:
    """An axis gets its letter from the dims, or else by its size."""
    assert name_shape(shape, SIZES, dims) == expected


@pytest.mark.parametrize(
    ("expected", "actual", "says"),
    [
        pytest.param((2, 5, 12), (2, 12, 5), "transpose(1, 2)", id="two axes swapped"),
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
