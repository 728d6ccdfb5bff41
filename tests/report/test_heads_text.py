"""`heads`: facts against hand-made values and the reference, formats, bad input, and what is shown at which width."""

import io
import math
import re

import pytest
from rich.console import Console

from tests.support.heads import exact, facts, random_weights
from trainer.report.heads_text import as_object, show_heads, small_cells, whole_cells
from trainer.tools.attention_heads import HeadFacts, count_heads, facts_of


def test_one_position_and_no_weight() -> None:
    """L = 1 has no share of ln 1, all zeros have no distance: NaN, and null in JSON."""
    (single,) = facts([[1.0]])
    assert math.isnan(single.entropy_share)
    assert str(single.entropy) == "0.0"
    (nothing,) = facts([[0.0, 0.0], [0.0, 0.0]])
    assert math.isnan(nothing.distance)
    told = as_object([single, nothing], "w.npy")["heads"]
    assert told[0]["entropy_share"] is None
    assert told[1]["distance"] is None
    assert "nan" not in "".join(shown_lines([single, nothing], 80))


def drawn(*leading: int, length: int = 7, width: int = 80) -> list[HeadFacts]:
    """Random heads with pictures for a terminal of this width."""
    tensors = {"layers.0.attn": random_weights(*leading, length=length)}
    count = count_heads(tensors)
    return list(facts_of(tensors, range(count), range(12), lambda one: small_cells(one, width)))


def shown_lines(
    found: list[HeadFacts], width: int, encoding: str = "utf-8", *, whole: bool = False
) -> list[str]:
    """What a pipe of this encoding gets."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    show_heads(
        found,
        "w.safetensors",
        Console(file=stream, width=width, highlight=False, emoji=False),
        whole=whole,
    )
    stream.flush()
    return stream.buffer.getvalue().decode(encoding).splitlines()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("width", "beside"), [(80, 3), (50, 2), (30, 1)])
@pytest.mark.parametrize("length", [22, 40])
def test_pictures_stand_side_by_side(width: int, beside: int, length: int) -> None:
    """As many in a row as the width has room for, each in a whole frame, and nothing is wider than the terminal."""
    lines = shown_lines(drawn(5, length=length, width=width), width)
    assert max(map(len, lines)) <= width
    assert [line.count("┌") for line in lines if "┌" in line] == [beside] * (5 // beside) + [
        5 % beside
    ] * (5 % beside > 0)
    assert sum(line.count("┘") for line in lines) == 5


@pytest.mark.parametrize(
    ("length", "width", "rows", "columns"),
    [
        (1, 80, 1, 2),
        (3, 80, 3, 6),
        (11, 80, 11, 22),
        (12, 80, 6, 12),
        (22, 80, 11, 22),
        (23, 80, 11, 22),
        (500, 80, 11, 22),
        (6, 14, 6, 12),
        (7, 14, 4, 7),
        (500, 14, 6, 12),
    ],
)
def test_sizes_of_pictures(length: int, width: int, rows: int, columns: int) -> None:
    """At most 22 characters in a frame that fits: where they are enough two for a weight, else one, and half as many rows."""
    lines = shown_lines(drawn(length=length, width=width), width)
    assert len(next(line for line in lines if line.startswith("┌"))) == columns + 2
    assert sum(line.startswith("│") for line in lines) == rows


def test_every_head_has_its_line() -> None:
    """Number, index, entropy, share, distance and class, below the tensor's name; the headline counts the classes."""
    found = drawn(2, 2)
    lines = shown_lines(found, 80)
    assert lines[0].startswith("w.safetensors  4 heads  L=7  ")
    assert lines[3] == "layers.0.attn"
    for one, line in zip(found, lines[4:8], strict=True):
        assert line.split() == [
            str(one.number),
            f"[{one.index[0]},",
            f"{one.index[1]}]",
            f"{one.entropy:.4f}",
            f"{one.entropy_share:.0%}",
            f"{one.distance:.4f}",
            one.kind,
        ]


def test_lengths_that_differ_are_told() -> None:
    """A column L where the tensors have different lengths."""
    tensors = {"a": random_weights(length=3), "b": random_weights(length=5)}
    lines = shown_lines(list(facts_of(tensors, range(2), range(2), exact)), 80)
    assert "L=3 to 5" in lines[0]
    assert [line.split()[:2] for line in lines if re.match(r" +[01] ", line)] == [
        ["0", "3"],
        ["1", "5"],
    ]


def test_shades_by_hand() -> None:
    """Each shade from twice the weight of the one before; below 1/16 of the head's greatest nothing; two characters a weight."""
    weights = [[0.8, 0.4, 0.39], [0.2, 0.1, 0.05], [0.04, -0.1, math.nan]]
    rows = [line for line in shown_lines(facts(weights), 80) if line.startswith("│")]
    assert rows == ["│████▓▓│", "│▓▓▒▒░░│", "│  --??│"]


def test_ascii_has_the_same_shades() -> None:
    """A stream of another encoding: no character of it is lost."""
    weights = [[0.8, 0.4, 0.39], [0.2, 0.1, 0.05], [0.04, -0.1, math.nan]]
    lines = shown_lines(facts(weights), 80, "ascii")
    start = lines.index("+------+")
    assert lines[start + 1 : start + 5] == ["|####**|", "|**::..|", "|  --??|", "+------+"]
    assert ". : * #" in lines[-1]


def test_oddities_are_told_a_line_a_head() -> None:
    """A mark in the table, the words below it."""
    weights = random_weights(3)
    weights[1] *= 2
    lines = shown_lines(facts(weights), 80)
    assert "! head 1: 7 of 7 rows do not sum to 1 (2)" in lines
    assert [line.endswith(" !") for line in lines[3:6]] == [False, True, False]


def test_more_heads_than_are_shown() -> None:
    """How many more there are, how many of them are odd, and how to see them."""
    weights = random_weights(20)
    weights[15] *= 2
    found = list(facts_of({"": weights}, range(20), range(12), exact))
    last = " ".join(shown_lines(found, 80)[-2:])
    assert "8 more heads, 1 of them unlike attention weights: --head N shows one" in last


@pytest.mark.parametrize(
    ("length", "width", "frame"),
    [(20, 80, 42), (32, 80, 66), (33, 80, 35), (64, 80, 66), (200, 80, 66), (200, 50, 50)],
)
def test_one_head_in_full_size(length: int, width: int, frame: int) -> None:
    """Up to 64 columns, every weight of up to 64 positions a row and a column of its own."""
    tensors = {"": random_weights(length=length)}
    found = list(facts_of(tensors, range(1), range(1), lambda one: whole_cells(one, width)))
    lines = shown_lines(found, width, whole=True)
    assert len(next(line for line in lines if line.startswith("┌"))) == frame
    assert sum(line.startswith("│") for line in lines) == min(length, 64, width - 2)


def test_names_cannot_draw_on_the_terminal() -> None:
    """Control characters and markup of a tensor's name are not obeyed."""
    found = list(facts_of({"a\x1b[31m\n[bold]b": random_weights()}, range(1), range(1), exact))
    lines = shown_lines(found, 80)
    assert r"a\x1b[31m [bold]b" in lines
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("no_color", [False, True])
def test_colour_only_adds(no_color: bool) -> None:
    """A terminal gets colours, with NO_COLOR none, and the characters are the same."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=80,
        force_terminal=True,
        no_color=no_color,
        color_system="256",
        highlight=False,
    )
    show_heads(drawn(2), "w.safetensors", console)
    assert bool(re.search(r"\x1b\[[0-9;]*38;5;33m", stream.getvalue())) == (not no_color)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert plain.splitlines() == shown_lines(drawn(2), 80)
