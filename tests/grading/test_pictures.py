"""Pictures of a wrong output: error maps, boolean matrices, and the names of axes."""

import itertools
import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from attn_drill.grading._tolerance import allowed, compare_values
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.pictures import (
    error_maps,
    name_shape,
    off_by,
    patterns,
    rows_of,
    shape_advice,
    with_pictures,
)
from attn_drill.model.report import ErrorMap, Mismatch, Outcome
from tests.support.grading import mismatch
from tests.support.rows import each_row

SIZES = {"B": 2, "L": 5, "H": 3, "D": 4}
DIMS = "B L (H D)"
INF, NAN = math.inf, math.nan


def off(*wrong: tuple[slice | int, ...], amount: float = 5.0) -> Tensor:
    """Return a tensor [B, L, H D] that is off at these indices of [B, L, H, D]."""
    apart = torch.zeros(2, 5, 3, 4)
    for index in wrong:
        apart[index] = amount
    return apart.reshape(2, 5, 12)


ALL = slice(None)


@each_row(
    "expected, actual, bound, units",
    {
        "equal": (1.0, 1.0, 0.1, 0.0),
        "equal, no tolerance": (1.0, 1.0, 0.0, 0.0),
        "at the tolerance": (1.0, 1.5, 0.5, 0.0),
        "wrong": (1.0, 2.5, 0.5, 3.0),
        "too small": (2.5, 1.0, 0.5, 3.0),
        "wrong, no tolerance": (3.0, 4.0, 0.0, 1e9),
        "far off": (0.0, 1e300, 1e-5, 1e9),
        "the least difference": (0.0, 5e-324, 0.0, 1e9),
        "nan": (0.0, NAN, 0.5, NAN),
        "nan expected": (NAN, 0.0, 0.5, NAN),
        "two nan": (NAN, NAN, 0.5, NAN),
        "infinity": (0.0, INF, 0.5, NAN),
        "minus infinity": (0.0, -INF, 0.0, NAN),
        "infinity expected": (-INF, 3.0, 0.5, NAN),
        "the other infinity": (INF, -INF, 0.5, NAN),
        "the same infinity": (-INF, -INF, 0.5, 0.0),
    },
)
def test_difference_in_units_of_the_tolerance(
    expected: float, actual: float, bound: float, units: float
) -> None:
    """A value that is right is off by 0. A value that is not finite, and wrong, gives NaN."""
    found = off_by(
        torch.tensor([expected], dtype=torch.float64),
        torch.tensor([actual], dtype=torch.float64),
        torch.tensor([bound], dtype=torch.float64),
    )
    assert found.item() == pytest.approx(units, nan_ok=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64, torch.uint8])
def test_values_of_any_dtype_are_compared_exactly(dtype: torch.dtype) -> None:
    """Unsigned integers do not wrap around."""
    expected, actual = torch.tensor([3, 1, 2]), torch.tensor([1, 3, 2])
    found = off_by(expected.to(dtype), actual.to(dtype), torch.full((3,), 0.5))
    assert found.tolist() == [4.0, 4.0, 0.0]


def test_wrong_values_are_off_by_more_than_1() -> None:
    """The map and the comparison of the grader agree on every value, also on hostile ones."""
    finite = [0.0, -0.0, 1.0, 1.0 + 2e-6, 1.1, -1.0, 1e30]
    hostile = [*finite, INF, -INF, NAN]
    pairs = torch.tensor(list(itertools.product(finite, hostile)), dtype=torch.float64)
    expected, actual = pairs.unbind(1)
    bound = allowed(expected, "float32", 0.0)
    wrong = ~(off_by(expected, actual, bound) <= 1)
    found = mismatch(expected, actual)
    assert int(wrong.sum()) == found.mismatched


@each_row(
    "wrong, rows, columns",
    {
        "a head": ((ALL, ALL, 1), "H", "L"),
        "a position": ((ALL, 2), "H", "L"),
        "a batch item": ((1,), "B", "H"),
        "a feature of a head": ((ALL, ALL, 1, 2), "H", "D"),
        "a feature at a position": ((ALL, 2, ALL, 3), "L", "D"),
        "everything": ((ALL,), "H", "L"),
        "too few entries to tell": ((0, 3, 1, 2), "H", "L"),
    },
)
def test_first_map_has_the_most_telling_dimensions(
    wrong: tuple[slice | int, ...], rows: str, columns: str
) -> None:
    """Dimensions with right and wrong indices come first. Heads and positions are preferred."""
    maps = error_maps(off(wrong), DIMS, SIZES)
    assert (maps[0].rows, maps[0].columns) == (rows, columns)


def test_every_pair_of_dimensions_has_a_map() -> None:
    """Every map is a matrix with the sizes of its dimensions."""
    maps = error_maps(off((0, 1, 2, 3)), DIMS, SIZES)
    pairs = {frozenset((found.rows, found.columns)) for found in maps}
    assert len(maps) == len(pairs) == 6
    for found in maps:
        assert len(found.off) == SIZES[found.rows]
        assert {len(row) for row in found.off} == {SIZES[found.columns]}


def test_cell_has_the_greatest_difference_along_the_other_dimensions() -> None:
    """Rows and columns are not swapped."""
    apart = off((0, 3, 1, 2), (1, 3, 1, 0), amount=7.0)
    apart[1, 3, 1 * 4 + 1] = 9.0
    found = next(found for found in error_maps(apart, DIMS, SIZES) if found.rows == "H")
    right = (0.0,) * 5
    assert found == ErrorMap("H", "L", 3, 5, 1, 1, (right, (0.0, 0.0, 0.0, 9.0, 0.0), right))


def test_value_that_is_not_finite_is_greater_than_every_number() -> None:
    """A cell with a NaN among large differences is None."""
    apart = off((0, 3, 1), amount=1e9)
    apart[1, 3, 4] = NAN
    found = next(found for found in error_maps(apart, DIMS, SIZES) if found.rows == "H")
    cells = [cell for row in found.off for cell in row]
    assert found.off[1][3] is None
    assert cells.count(None) == 1
    assert cells.count(0.0) == 14


def test_tensor_of_nothing_but_nan_has_maps() -> None:
    """All cells are None."""
    found, *_ = error_maps(torch.full((2, 5, 12), NAN), DIMS, SIZES)
    assert {cell for row in found.off for cell in row} == {None}


@each_row(
    "shape, dims, names",
    {
        "one batch item": ((1, 5, 12), "B L (H D)", ["H", "L", "D"]),
        "one dimension left": ((1, 5, 1), "B L M", ["L"]),
        "no dimension left": ((1, 1, 1), "B L M", []),
        "a scalar": ((), "", []),
        "a vector without dims": ((7,), "", ["axis 0"]),
        "unknown dims": ((2, 1, 3), "", ["axis 0", "axis 2"]),
        "dims of other sizes": ((2, 9), "B L", ["axis 0", "axis 1"]),
        "a letter without a size": ((2, 3), "B Q", ["axis 0", "axis 1"]),
    },
)
def test_dimensions_of_size_1_are_left_out(
    shape: tuple[int, ...], dims: str, names: list[str]
) -> None:
    """If the dims are unknown or do not fit, the axes have their numbers as names."""
    sizes = {**SIZES, "B": shape[0] if shape else 2, "M": 1}
    if shape[1:2] == (1,):
        sizes["L"] = 1
    maps = error_maps(torch.full(shape, 3.0), dims, sizes)
    assert {name for found in maps for name in (found.rows, found.columns)} - {""} == set(names)
    assert len(maps) == math.comb(len(names), 2) or len(names) == 1
    if len(names) == 1:
        (found,) = maps
        assert (found.rows, found.columns) == ("", names[0])
        assert found.off == ((3.0,) * math.prod(shape),)


@pytest.mark.parametrize("length", [36, 37, 40, 72, 73, 2100])
def test_neighbours_share_a_cell_in_a_long_dimension(length: int) -> None:
    """At most 36 columns and 12 rows are left, and no wrong value is lost."""
    apart = torch.zeros(length, length)
    apart[-1, 0] = NAN
    apart[0, -1] = 4.0
    (found,) = error_maps(apart, "Lq Lk", {"Lq": length, "Lk": length})
    assert (found.rows, found.columns) == ("Lq", "Lk")
    rows, columns = len(found.off), len(found.off[0])
    assert rows <= 12
    assert columns <= 36
    assert (rows - 1) * found.row_step < length <= rows * found.row_step
    assert (columns - 1) * found.column_step < length <= columns * found.column_step
    assert found.column_step == math.ceil(length / 36)
    assert found.off[-1][0] is None
    assert found.off[0][-1] == 4.0
    assert sum(cell != 0.0 for row in found.off for cell in row) == 2


def test_rows_are_strings_with_a_character_for_each_entry() -> None:
    """`#` is True."""
    assert rows_of(torch.tensor([[True, False], [False, False]])) == ("#.", "..")
    assert rows_of(torch.zeros(0, 3, dtype=torch.bool)) == ()


def test_first_wrong_matrix_is_shown() -> None:
    """Its place has the index of each outer dimension."""
    expected = torch.ones(2, 3, 2, 4, dtype=torch.bool).tril()
    actual = expected.clone()
    actual[0, 2] = actual[1, 0] = True
    found = patterns(expected, actual, "B H Lq Lk")
    assert (found.place, found.rows, found.columns) == ("b=0 h=2", "Lq", "Lk")
    assert (found.actual, found.expected) == (("####", "####"), ("#...", "##.."))


def test_matrix_without_outer_dimensions_has_no_place() -> None:
    """Integers of the submission count as booleans."""
    expected = torch.tensor([[True, False], [True, True]])
    found = patterns(expected, torch.tensor([[0, 2], [1, 1]]), "Lq Lk")
    assert (found.place, found.actual, found.expected) == ("", (".#", "##"), ("#.", "##"))


@pytest.mark.parametrize(
    ("shape", "dims"), [((4,), "L"), ((), ""), ((2, 3), ""), ((2, 3), "L"), ((2, 3), "B Lq Lk")]
)
def test_no_matrix_without_two_named_dimensions(shape: tuple[int, ...], dims: str) -> None:
    """A vector is no matrix, and a matrix without names would not be understood."""
    expected = torch.ones(shape, dtype=torch.bool)
    assert patterns(expected, ~expected, dims) is None


def test_equal_matrices_are_not_shown() -> None:
    """A later call of the case may be wrong."""
    expected = torch.eye(3, dtype=torch.bool)
    assert patterns(expected, expected.clone(), "Lq Lk") is None
    assert patterns(torch.ones(0, 3, dtype=torch.bool), torch.ones(0, 3), "Lq Lk") is None


@pytest.mark.parametrize("row", [0, 5, 150, 299])
@pytest.mark.parametrize("column", [0, 40, 1000, 2099])
def test_part_of_a_large_matrix_has_its_first_wrong_entry(row: int, column: int) -> None:
    """The place says which part is shown, and the part is no larger than a screen."""
    expected = torch.zeros(2, 300, 2100, dtype=torch.bool)
    actual = expected.clone()
    actual[1, row, column] = True
    found = patterns(expected, actual, "B Lq Lk")
    assert {len(line) for line in (*found.actual, *found.expected)} == {64}
    assert len(found.actual) == len(found.expected) <= 20
    assert "#" not in "".join(found.expected)
    match = re.fullmatch(r"b=1 lq=(\d+)-(\d+) of 300 lk=(\d+)-(\d+) of 2100", found.place)
    top, bottom, left, right = map(int, match.groups())
    assert 0 <= top <= row <= bottom < 300
    assert 0 <= left <= column <= right < 2100
    assert (bottom - top + 1, right - left + 1) == (len(found.actual), 64)
    assert found.actual[row - top][column - left] == "#"
    assert "".join(found.actual).count("#") == 1


def test_matrix_of_64_keys_is_whole() -> None:
    """All keys are shown."""
    expected = torch.ones(12, 64, dtype=torch.bool).tril(52)
    found = patterns(expected, ~expected, "Lq Lk")
    assert found.place == ""
    assert found.expected == rows_of(expected)


def outcome_of(
    expected: Tensor, actual: Tensor, dims: str, first: Tensor | None = None, **fields: Any
) -> Outcome:
    """Return the failed outcome with pictures for these values of a case.

    `first` has the values of the first call, if they are others.
    """
    sizes = dict(zip(dims.split(), expected.shape, strict=True))
    bound = torch.full(expected.shape, 1e-5, dtype=torch.float64)
    found = compare_values("out", dims, sizes, expected, actual, bound)
    result = SimpleNamespace(
        expected=SimpleNamespace(
            outputs={"out": SimpleNamespace(value=expected)}, bounds={"out": bound}
        ),
        reply=SimpleNamespace(outputs={"out": actual if first is None else first}),
        case=SimpleNamespace(sizes=sizes),
        value_of=lambda value: value,
    )
    comparison = SimpleNamespace(result_of=lambda index: result if index == 0 else None)
    outcome = Outcome("values", "failed", "m", "a", 1, found)
    return with_pictures(replace(outcome, **fields), cast(Comparison, comparison))


NUMBERS = torch.arange(6.0).reshape(2, 3)
BOOLEANS = torch.tensor([[True, False, True], [False, True, False]])


def test_wrong_numbers_get_error_maps() -> None:
    """The outcome keeps all other fields."""
    outcome = outcome_of(NUMBERS, NUMBERS + torch.tensor([0.0, 1e-4, 0.0]), "B L")
    assert outcome.mismatch.patterns is None
    (found,) = outcome.mismatch.error_maps
    assert (found.rows, found.columns) == ("B", "L")
    assert [[cell is not None and cell > 1 for cell in row] for row in found.off] == [
        [False, True, False]
    ] * 2
    assert outcome.message == "m"
    assert outcome.mismatch.mismatched == 2


def test_wrong_booleans_get_both_matrices() -> None:
    """A difference of booleans has no amount."""
    outcome = outcome_of(BOOLEANS, ~BOOLEANS, "Lq Lk")
    assert outcome.mismatch.error_maps == ()
    assert outcome.mismatch.patterns.actual == (".#.", "#.#")


@each_row(
    "expected, actual", {"numbers": (NUMBERS, NUMBERS + 1), "booleans": (BOOLEANS, ~BOOLEANS)}
)
def test_difference_of_a_later_call_has_no_picture(expected: Tensor, actual: Tensor) -> None:
    """The first call is right, so a picture of it would show no difference."""
    outcome = outcome_of(expected, actual, "Lq Lk", first=expected)
    assert (outcome.mismatch.error_maps, outcome.mismatch.patterns) == ((), None)


@each_row(
    "fields",
    {
        "no case": {"number": None},
        "a case that was not run": {"number": 2},
        "no values": {"mismatch": None},
        "a shape": {"mismatch": Mismatch("out", "shape", "B L", (2, 3), (3, 2))},
        "another tensor": {"mismatch": Mismatch("gone", "value", "B L")},
    },
)
def test_other_failures_stay_unchanged(fields: dict[str, Any]) -> None:
    """Only values of an output of a case can be drawn."""
    outcome = outcome_of(NUMBERS, NUMBERS + 1, "B L", **fields)
    if outcome.mismatch is not None:
        assert (outcome.mismatch.error_maps, outcome.mismatch.patterns) == ((), None)


def test_axes_of_the_same_name_have_maps_of_two_axes() -> None:
    """A mask has two axes of the same length; every map still has rows and columns."""
    apart = torch.zeros(2, 5, 5)
    apart[:, 1, 3] = 5.0
    maps = error_maps(apart, "B L L", {"B": 2, "L": 5})
    assert next((found.rows, found.columns) for found in maps) == ("L", "L")
    assert len(maps) == 3


def test_numbers_with_the_right_truth_have_no_picture() -> None:
    """A mask of 0.9 and 0 is wrong only in its values, which a picture of booleans cannot show."""
    expected = torch.eye(3, dtype=torch.bool)
    assert patterns(expected, 0.9 * expected, "Lq Lk") is None
    assert patterns(expected, 1.0 - 0.9 * expected, "Lq Lk") is not None


MORE_SIZES = {"B": 2, "L": 5, "H": 3, "D": 4, "M": 12, "Lq": 6, "Lk": 6}


@each_row(
    "shape, dims, expected",
    {
        "moved axes": ((2, 12, 5), "B L (H D)", "[B=2, M=12, L=5]"),
        "separate heads": ((2, 3, 5, 4), "", "[B=2, H=3, L=5, D=4]"),
        "a product": ((10, 3, 4), "", "[B·L=10, H=3, D=4]"),
        "a product of too few axes": ((10, 4), "", "[10, D=4]"),
        "a product of an axis that is there": ((2, 10), "", "[B=2, 10]"),
        "a letter or a product": ((12, 3, 4), "", "[12, H=3, D=4]"),
        "a product that code does not make": ((2, 15), "", "[B=2, 15]"),
        "an unknown size": ((99,), "", "[99]"),
        "two letters of one size": ((6, 5), "", "[6, L=5]"),
        "two axes of positions": ((2, 5, 5), "", "[B=2, L=5, L=5]"),
        "two axes that are not positions": ((3, 3), "", "[3, 3]"),
        "two equal products": ((10, 10), "", "[10, 10]"),
        "axes of size 1": ((1, 1), "", "[1, 1]"),
        "a scalar": ((), "", "[]"),
        "a wrong size that belongs to another letter": (
            (2, 12, 12),
            "B L (H D)",
            "[B=2, 12, H·D=12]",
        ),
    },
)
def test_axes_are_named_by_letters(shape: tuple[int, ...], dims: str, expected: str) -> None:
    """An axis gets its letter from the dims, or else by its size if this tells one letter."""
    assert name_shape(shape, MORE_SIZES, dims) == expected


def test_size_of_two_products_has_no_letters() -> None:
    """6 may be batch by heads or batch by positions. A letter of size 1 makes no product."""
    sizes = {"B": 2, "H": 3, "L": 3, "D": 7, "Hkv": 1}
    assert name_shape((6, 7), sizes) == "[6, D=7]"
    assert name_shape((21, 7), sizes) == "[H·D=21, D=7]"
    assert name_shape((21, 7), {**sizes, "M": 21}) == "[M=21, D=7]", "M is no second meaning"


@each_row(
    "expected, actual, says",
    {
        "all axes moved": ((2, 5, 12), (5, 12, 2), "permute(2, 0, 1)"),
        "separate heads": ((2, 5, 12), (2, 3, 5, 4), "the number of entries is right"),
        "a missing axis": ((2, 1, 5), (2, 5), "an axis of size 1 is missing"),
        "two missing axes": ((2, 1, 1, 5), (2, 5), "2 axes of size 1 are missing"),
        "an additional axis": ((2, 5), (2, 1, 5), "an axis of size 1 is too many"),
    },
)
def test_advice_on_a_wrong_shape(
    expected: tuple[int, ...], actual: tuple[int, ...], says: str
) -> None:
    """The advice names the missing permutation or reshape."""
    assert says in shape_advice(expected, actual)


def test_no_advice_on_another_number_of_entries() -> None:
    """No permutation or reshape can give the expected shape."""
    assert shape_advice((2, 5, 12), (2, 5, 13)) == ""
