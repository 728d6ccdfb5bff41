"""Error maps and boolean matrices as terminal text."""

import math

import pytest
import torch

from attn_drill.grading.pictures import error_maps
from attn_drill.model.report import ErrorMap
from attn_drill.report._diagnosis_text import draw_errors, draw_masks, level, title_of
from attn_drill.report.wording import RIGHT, WRONG
from tests.support.report import lines_of

ROOM = 48  # of a terminal with 50 columns
# All symbols in one row.
EVERY = (0.0, 2.0, 1e3, 1e9, None)


def errors(
    *rows: tuple[float | None, ...],
    dims: tuple[str, str] = ("H", "L"),
    step: tuple[int, int] = (1, 1),
) -> ErrorMap:
    """Return an error map of these rows."""
    counts = (len(rows) * step[0], len(rows[0]) * step[1])
    return ErrorMap(*dims, *counts, *step, rows)


def causal(queries: int, keys: int) -> tuple[str, ...]:
    """Return the rows of a causal mask."""
    return tuple(
        "".join("#" if key <= row + keys - queries else "." for key in range(keys))
        for row in range(queries)
    )


@pytest.mark.parametrize(
    ("off", "index"),
    [
        (0.0, 0),
        (1.0, 0),
        (math.nextafter(1.0, 2.0), 1),
        (100.0, 1),
        (100.1, 2),
        (1e4, 2),
        (1.1e4, 3),
        (math.inf, 3),
        (None, 4),
    ],
)
def test_level_of_a_cell(off: float | None, index: int) -> None:
    """A bound belongs to the lower level, as a value that is off by its tolerance is right."""
    assert level(off) == index


def test_each_row_has_its_index_and_a_symbol_twice_for_each_cell() -> None:
    """Labels are aligned at their right. Two columns a cell make the picture about square."""
    rows = [(0.0,) * 3] * 10 + [(2.0, None, 0.0)]
    lines = lines_of(draw_errors(errors(*rows), ROOM))
    assert lines[0] == " h=0  ······"
    assert lines[10] == "h=10  ░░!!··"
    assert len(lines) == 12


def test_legend_names_the_symbols_of_the_picture() -> None:
    """A symbol that does not occur is not explained."""
    *_, legend = lines_of(draw_errors(errors((0.0, 2.0, 5e4)), 100), 100)
    assert legend == "· right; ░ up to 100 x the tolerance; █ far off"
    *_, legend = lines_of(draw_errors(errors((None, None)), 100), 100)
    assert legend == "! not finite"
    *_, legend = lines_of(draw_errors(errors(EVERY), 200), 200)
    assert legend == (
        "· right; ░ up to 100 x the tolerance; ▒ up to 10,000 x the tolerance; "
        "█ far off; ! not finite"
    )


@pytest.mark.parametrize("columns", [1, 2, 21, 22, 36])
@pytest.mark.parametrize("label", ["H", "Hkv"])
def test_picture_fits_50_columns(columns: int, label: str) -> None:
    """A cell has one column if two do not fit. No cell is cut off."""
    found = errors(*[(2.0,) * columns] * 12, dims=(label, "Lk"))
    lines = lines_of(draw_errors(found, ROOM), ROOM)
    assert max(map(len, lines)) <= ROOM
    cells = [line.split()[1] for line in lines[:12]]
    assert set(cells) in ({"░" * columns}, {"░" * 2 * columns})
    room = ROOM - len(f"{label}=11  ")
    assert len(cells[0]) == (2 * columns if 2 * columns <= room else columns)


def test_joined_rows_have_a_range_as_label() -> None:
    """The title says how many columns a cell joins."""
    found = errors(*[(2.0, 2.0)] * 3, dims=("L", "Lk"), step=(4, 2))
    lines = lines_of(draw_errors(found, ROOM))
    assert [line.split()[0] for line in lines[:3]] == ["l=0-3", "l=4-7", "l=8-11"]
    assert title_of(found) == "positions (L) by keys (Lk), 2 in a cell"


def test_range_of_the_last_row_ends_at_the_last_index() -> None:
    """13 positions in pairs leave one position over."""
    found, *_ = error_maps(torch.full((13, 3), 2.0), "L D", {"L": 13, "D": 3})
    labels = [line.split()[0] for line in lines_of(draw_errors(found, ROOM))[:-1]]
    assert labels[0] == "l=0-1"
    assert labels[-1] == "l=12"


def test_single_dimension_has_no_label() -> None:
    """The title is the name of the dimension; an unknown dimension is only its name."""
    found = errors((0.0, 2.0), dims=("", "L"))
    assert lines_of(draw_errors(found, ROOM))[0].strip() == "··░░"
    assert title_of(found) == "positions (L)"
    assert title_of(errors((0.0,), dims=("axis 0", "axis 1"))) == "axis 0 by axis 1"


def test_masks_are_side_by_side_if_there_is_room() -> None:
    """Both names are above the first column of their matrix."""
    actual, expected = ("######", "######"), causal(2, 6)
    assert lines_of(draw_masks(actual, expected, 15)) == [
        "yours    expected",
        "######   #####.",
        "######   ######",
    ]
    below = lines_of(draw_masks(actual, expected, 14))
    assert below == ["yours", "######", "######", "expected", "#####.", "######"]


@pytest.mark.parametrize("keys", [1, 2, 4, 5])
def test_name_is_above_its_narrow_matrix(keys: int) -> None:
    """A matrix may have fewer columns than the word `yours`."""
    head, row = lines_of(draw_masks(("#" * keys,), ("." * keys,), ROOM))
    assert head.index("expected") == row.index(".")


def test_64_keys_fit_50_columns() -> None:
    """All keys of both matrices are shown, in blocks that say their columns."""
    expected = causal(3, 64)
    actual = tuple(row[::-1] for row in expected)
    lines = lines_of(draw_masks(actual, expected, ROOM), ROOM)
    assert max(map(len, lines)) <= ROOM
    heads = [line for line in lines if " " in line]
    assert heads == [
        "yours (columns 0-47 of 64)",
        "expected (columns 0-47 of 64)",
        "yours (columns 48-63 of 64)",
        "expected (columns 48-63 of 64)",
    ]
    blocks = [lines[start + 1 : start + 4] for start in (0, 4, 8, 12)]
    assert joined(blocks[0], blocks[2]) == actual
    assert joined(blocks[1], blocks[3]) == expected


def joined(first: list[str], second: list[str]) -> tuple[str, ...]:
    """Return the rows of two neighbouring blocks."""
    return tuple(left + right for left, right in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("cached", "row"),
    [
        (0, "######"),
        (1, "#│#####"),
        (4, "####│##"),
        (6, "######"),
    ],
)
def test_bar_is_between_cached_and_new_keys(cached: int, row: str) -> None:
    """There is no bar if all keys, or none, are in the cache."""
    lines = lines_of(draw_masks(("######",), ("######",), ROOM, cached))
    assert lines[1] == f"{row}   {row}"
    assert lines[0].index("expected") == len(row) + 3


@pytest.mark.parametrize("cached", [1, 46, 47, 48, 63])
def test_bar_needs_room_too(cached: int) -> None:
    """In matrices that are folded, the bar is drawn once, and no row is too long."""
    lines = lines_of(draw_masks(("#" * 64,), ("#" * 64,), ROOM, cached), ROOM)
    rows = [line for line in lines if " " not in line]
    assert max(map(len, rows)) <= ROOM
    yours = "".join(rows[::2])
    assert yours == "#" * cached + "│" + "#" * (64 - cached)


def test_matrix_without_rows_is_drawn() -> None:
    """A mask without queries has no keys to show."""
    assert lines_of(draw_masks((), (), ROOM)) == ["yours   expected"]


def test_only_differing_cells_have_a_colour() -> None:
    """Wrong cells are orange, and the cells that they should be are blue."""
    (_, row) = draw_masks(("##.",), ("#..",), ROOM)
    coloured = {
        (row.plain[span.start : span.end], str(span.style), span.start) for span in row.spans
    }
    assert {(text, style) for text, style, _ in coloured if style} == {
        ("#", f"bold {WRONG}"),
        (".", f"bold {RIGHT}"),
    }
    assert {start for _, style, start in coloured if style} == {1, 9}
