"""Every view on every terminal: narrow, with and without colour, and in ASCII."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TextIO

import pytest
from rich.cells import cell_len
from rich.console import RenderableType

from attn_drill.model.case import Case
from attn_drill.model.challenge import CallCost
from attn_drill.model.report import (
    Curve,
    EffectiveMask,
    Lesson,
    Mismatch,
    Note,
    Outcome,
    Part,
    Patterns,
    Repair,
    Report,
    Trace,
    TraceRow,
)
from attn_drill.report import results_text, tools_text
from attn_drill.report.code_text import Trimmed, console, in_ascii
from attn_drill.report.lesson_text import Prompt, render_notes
from attn_drill.report.terminal import render_trace, show
from attn_drill.tools.attention_costs import configure, costs
from tests.support.journal import NOW, attempt_at, review, statistics_of
from tests.support.report import DIAGNOSIS, SHEET, error_map, explained
from tests.support.tools import facts

MASK = EffectiveMask("the mask is inverted", 0, ("#...", "##.."), (".###", "..##"), 2)
ERRORS = error_map("H", "L", (0.0, 2.0, 1e3), (5e4, 2.0, None))
PATTERNS = Patterns("Lq", "Lk", "b=1 h=0", ("#.",), (".#",))
REPAIR = Repair(
    2,
    None,
    tuple(Part(state, state) for state in ("right", "wrong", "unknown")),
    Curve((2.0, 1.9, 1.0, None), (2.0, 1.5, 1.0, 0.5)),
)
LESSON = Lesson(
    "a layer", CallCost(14, 130 << 30, 64 << 20), (Note(2, "It copies.", "x" * 90), Note(0, "", ""))
)
STATS = statistics_of(
    *(
        attempt_at("a", day + save / 1e4, "failed", "no-scale")
        for day in (0, 3)
        for save in range(9)
    ),
    attempt_at("a", 39, "passed", seconds=700.0),
    attempt_at("a", 0.05, "passed", seconds=540.0),
    reviews=(review("challenge:a", 39),),
    starts={"a": [81, 41, 3.5]},
)
COSTS = configure(settings=["d_model=64,num_heads=4"])
PROMPT = "# Title\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n- one … two – three\n\n---\n"


TRACED = TraceRow(1, "α = " + "x" * 90, 0, "[2]", "int64", 0.0, 1.0, 0, "q", is_wrong=True)
TRACE = Trace(Case("c", {}, {}, {"B": 2}), 1, 2, (TRACED,))
HEADS = facts([[0.8, 0.4, 0.39], [0.2, 0.1, 0.05], [0.04, -0.1, float("nan")]])


def drawn(render: Callable[[int], RenderableType]) -> Callable[[TextIO], None]:
    """Return a function that prints what `render` returns for the width of the terminal."""

    def draw(stream: TextIO) -> None:
        out = console(stream)
        out.print(render(out.width))

    return draw


def all_stages(report: Report) -> Callable[[TextIO], None]:
    """Return a function that shows a report whole, and once more in stages."""

    def draw(stream: TextIO) -> None:
        show(report, stream)
        show(report, stream, wait=lambda words: True)

    return draw


def value(**fields: object) -> Report:
    """Return a report on a wrong tensor."""
    outcomes = (Outcome("masks", "skipped"), Outcome("loads", "passed"))
    report = explained(Mismatch("out", "value", "B L", **fields), stdout="α = 1\xa0…\n")
    return replace(report, outcomes=(*report.outcomes, *outcomes), repair=REPAIR)


VIEWS = {
    "mask": all_stages(explained(diagnosis=replace(DIAGNOSIS, effective_mask=MASK))),
    "patterns": all_stages(value(patterns=PATTERNS)),
    "errors": all_stages(value(error_maps=(ERRORS,))),
    "trace": drawn(lambda _: render_trace(TRACE)),
    "lesson": drawn(lambda _: render_notes(LESSON, f"\ny = '{'x' * 90}'\n")),
    "statistics": drawn(
        lambda width: results_text.render_statistics(STATS, {"basics": "–"}, NOW, width)
    ),
    "costs": drawn(lambda width: tools_text.render_costs(COSTS, None, costs(COSTS), width)),
    "heads": drawn(lambda width: tools_text.render_heads(HEADS, "w.npy", width)),
    "score sheet": drawn(lambda width: results_text.render_sheet(SHEET, width)),
    "prompt": drawn(lambda _: Trimmed(Prompt(PROMPT))),
}


def lines_of(view: str, encoding: str = "utf-8") -> list[str]:
    """Return the lines that a pipe with this encoding receives."""
    pipe = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    VIEWS[view](pipe)
    pipe.seek(0)
    return pipe.read().splitlines()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("columns", [120, 80, 50])
def test_every_view_fits_the_terminal(
    view: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line is too long, and no line of a pipe ends with a blank."""
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = lines_of(view)
    assert max(map(cell_len, lines)) <= columns
    assert [line for line in lines if line != line.rstrip(" ")] == []


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("no_color", ["", "1"])
def test_colour_only_helps(view: str, no_color: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal gets the same characters with colours; with NO_COLOR it gets no colours."""
    plain = lines_of(view)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("NO_COLOR", no_color)
    coloured = "\n".join(lines_of(view))
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split("\n") == plain
    assert "\x1b[" in coloured
    assert not (no_color and "38;" in coloured)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("columns", ["80", "50"])
def test_every_view_has_the_same_lines_in_ascii(
    view: str, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line is as long as with Unicode. Only text that is not ours gets a `?`."""
    monkeypatch.setenv("COLUMNS", columns)
    lines, ascii_lines = lines_of(view), lines_of(view, "latin-1")
    text = "\n".join(ascii_lines)
    assert text.isascii()
    assert list(map(len, ascii_lines)) == list(map(len, lines))
    known = set("".join(lines)) - set("α")
    assert "?" not in "".join(map(in_ascii, known - {"?"}))
