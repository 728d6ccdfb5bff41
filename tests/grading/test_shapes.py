"""Each check refuses what it alone is for, and says so; tables of refused and accepted submissions of gqa."""

import pytest

from trainer.grading.shapes import name_shape, shape_advice


@pytest.mark.parametrize(
    ("shape", "dims", "expected"),
    [
        pytest.param((2, 5, 12), "B L (H D)", "[B=2, L=5, H·D=12]", id="as the dims say"),
        pytest.param((2, 12, 5), "B L (H D)", "[B=2, M=12, L=5]", id="by sizes"),
        pytest.param((2, 3, 5, 4), "", "[B=2, H=3, L=5, D=4]", id="heads apart"),
        pytest.param((2, 15), "", "[B=2, H·L=15]", id="a product"),
        pytest.param((99,), "", "[99]", id="unknown"),
        pytest.param((6, 6), "", "[Lq=6, Lk=6]", id="two letters of one size"),
        pytest.param(
            (6, 6, 6), "", "[Lq=6, Lk=6, Lq=6]", id="more axes than letters of their size"
        ),
        pytest.param(
            (2, 12, 12),
            "B L (H D)",
            "[B=2, 12, H·D=12]",
            id="one size wrong, which is another letter's",
        ),
    ],
)
def test_name_shape(shape: tuple[int, ...], dims: str, expected: str) -> None:
    """Sizes are told by their letters."""
    assert (
        name_shape(shape, {"B": 2, "L": 5, "H": 3, "D": 4, "M": 12, "Lq": 6, "Lk": 6}, dims)
        == expected
    )


@pytest.mark.parametrize(
    ("expected", "actual", "says"),
    [
        pytest.param((2, 5, 12), (2, 12, 5), "transpose(1, 2)", id="two swapped"),
        pytest.param((2, 5, 12), (5, 12, 2), "permute(2, 0, 1)", id="all moved"),
        pytest.param((2, 5, 12), (2, 3, 5, 4), "as many entries", id="heads apart"),
        pytest.param((2, 1, 5), (2, 5), "an axis of size 1 is missing", id="an axis of 1 missing"),
        pytest.param(
            (2, 1, 1, 5), (2, 5), "2 axes of size 1 are missing", id="two axes of 1 missing"
        ),
        pytest.param(
            (2, 5), (2, 1, 5), "an axis of size 1 is too many", id="an axis of 1 too many"
        ),
        pytest.param((2, 5, 12), (2, 5, 13), "", id="nothing to say"),
    ],
)
def test_shape_advice(expected: tuple[int, ...], actual: tuple[int, ...], says: str) -> None:
    """Which permutation or reshape is missing, where one is."""
    assert says in shape_advice(expected, actual)
    assert bool(says) == bool(shape_advice(expected, actual))
