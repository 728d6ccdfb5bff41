"""Tests of the terminal text of attention heads."""

import math
from dataclasses import replace

import pytest
from torch import Tensor

from attn_drill.report.tools_text import cells, heads_as_object, render_heads
from attn_drill.tools.attention_heads import HeadFacts, describe, heads_of
from tests.support.report import lines_of
from tests.support.tools import facts, random_weights


def test_undefined_values_are_null_in_json() -> None:
    """L = 1 has no share of ln 1, and weights of 0 have no distance."""
    (single,) = facts([[1.0]])
    assert math.isnan(single.entropy_share)
    assert str(single.entropy) == "0.0"
    (empty,) = facts([[0.0, 0.0], [0.0, 0.0]])
    assert math.isnan(empty.distance)
    heads = heads_as_object([single, empty], "w.npy")["heads"]
    assert heads[0]["entropy_share"] is None
    assert heads[1]["distance"] is None
    assert "nan" not in "".join(shown_lines([single, empty], 80))


def facts_for(weights: Tensor, width: int = 80, *, whole: bool = False) -> list[HeadFacts]:
    """Return facts with pictures for a terminal of this width."""
    return [
        describe(head, lambda length: cells(length, width, whole=whole))
        for head in heads_of({"layers.0.attn": weights})
    ]


def shown_lines(heads: list[HeadFacts], width: int, *, whole: bool = False) -> list[str]:
    """Return the lines that a terminal of this width shows."""
    return lines_of([render_heads(heads, "w.safetensors", width, whole=whole)], width)


@pytest.mark.parametrize(("width", "per_row"), [(80, [3, 2]), (50, [2, 2, 1]), (30, [1] * 5)])
def test_pictures_are_side_by_side(width: int, per_row: list[int]) -> None:
    """Each row has as many complete pictures as fit, and no line is too wide."""
    lines = shown_lines(facts_for(random_weights(5, length=40), width), width)
    assert max(map(len, lines)) <= width
    assert [line.count("┌") for line in lines if "┌" in line] == per_row
    assert sum(line.count("┘") for line in lines) == 5


@pytest.mark.parametrize(
    ("length", "width", "rows", "columns"),
    [
        (1, 80, 1, 2),
        (11, 80, 11, 22),
        (12, 80, 6, 12),
        (500, 80, 11, 22),
        (6, 14, 6, 12),
        (7, 14, 4, 7),
    ],
)
def test_picture_has_at_most_22_columns(length: int, width: int, rows: int, columns: int) -> None:
    """A weight has two characters if they fit, or else one character and half as many rows."""
    lines = shown_lines(facts_for(random_weights(length=length), width), width)
    assert len(next(line for line in lines if line.startswith("┌"))) == columns + 2
    assert sum(line.startswith("│") for line in lines) == rows


@pytest.mark.parametrize(("length", "width", "frame"), [(32, 80, 66), (33, 80, 35), (200, 50, 50)])
def test_single_head_is_shown_in_full_size(length: int, width: int, frame: int) -> None:
    """Up to 64 positions, every weight has a separate row and column."""
    lines = shown_lines(
        facts_for(random_weights(length=length), width, whole=True), width, whole=True
    )
    assert len(next(line for line in lines if line.startswith("┌"))) == frame
    assert sum(line.startswith("│") for line in lines) == min(length, 64, width - 2)


def test_table_has_a_line_for_every_head() -> None:
    """The headline counts the classes, and the name of a tensor is after its heads."""
    heads = facts_for(random_weights(2, 2))
    lines = shown_lines(heads, 80)
    assert lines[0].startswith("w.safetensors  4 heads  L=7  ")
    assert lines[2] == "heads 0-3  layers.0.attn"
    for head, line in zip(heads, lines[5:9], strict=True):
        assert line.split() == [
            str(head.head_index),
            f"[{head.index[0]},",
            f"{head.index[1]}]",
            "7",
            f"{head.entropy:.4f}",
            f"{head.entropy_share:.0%}",
            f"{head.distance:.4f}",
            head.kind,
        ]


def test_headline_has_the_range_of_lengths() -> None:
    """The tensors of a file may have several lengths."""
    lines = shown_lines([*facts([[1.0]]), *facts(random_weights(length=5))], 80)
    assert "L=1 to 5" in lines[0]


def test_each_shade_begins_at_twice_the_weight() -> None:
    """Weights below 1/16 of the largest weight are empty. A weight has two characters."""
    weights = [[0.8, 0.4, 0.39], [0.2, 0.1, 0.05], [0.04, -0.1, math.nan]]
    rows = [line for line in shown_lines(facts(weights), 80) if line.startswith("│")]
    assert rows == ["│████▓▓│", "│▓▓▒▒░░│", "│  --??│"]


def test_notes_of_a_head_are_below_the_table() -> None:
    """The head has a mark in the table."""
    weights = random_weights(3)
    weights[1] *= 2
    lines = shown_lines(facts(weights), 80)
    assert "! head 1: 7 of 7 rows do not sum to 1 (2)" in lines
    assert [line.endswith(" !") for line in lines[3:6]] == [False, True, False]


def test_heads_that_are_not_shown_are_counted() -> None:
    """The text also counts their notes and names the option for a single head."""
    weights = random_weights(20)
    weights[15] *= 2
    heads = [replace(head, grid=head.grid * (head.head_index < 12)) for head in facts(weights)]
    last = " ".join(shown_lines(heads, 80)[-2:])
    assert "8 more heads, 1 of them unlike attention weights: --head N shows one" in last


def test_tensor_name_cannot_control_the_terminal() -> None:
    """Control characters and markup in a name are shown as text."""
    lines = shown_lines(facts(random_weights(), "a\x1b[31m\n[bold]b"), 80)
    assert r"head 0  a\x1b[31m [bold]b" in lines
    assert "\x1b" not in "".join(lines)
