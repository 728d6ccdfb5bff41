"""What the learner sees: verdict first, both values, at 80 and 50 columns, without colour and in ASCII."""

import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console

import trainer
from tests.support.grading import report_of
from trainer.grading.grader import Grader
from trainer.grading.tensor_comparison import compare_values
from trainer.model.case import Case
from trainer.model.challenge import Mistake
from trainer.model.pack_rows import Row
from trainer.model.report import (
    Affected,
    Diagnosis,
    EffectiveMask,
    Frame,
    Mismatch,
    Outcome,
    Report,
    Slice,
    Summary,
)
from trainer.model.report_codec import to_object
from trainer.packs import pack_reader
from trainer.report.literal import console, grid
from trainer.report.pack_table import mistakes_table
from trainer.report.report_json import error_to_json, to_json
from trainer.report.terminal import render, show
from trainer.report.visible import visible
from trainer.report.wording import affected, index_in_words, number, ranges

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
TILED = pack_reader.solution(GQA).replace(
    "k.repeat_interleave(group_size, dim=1)", "k.repeat(1, group_size, 1, 1)"
)


def as_text(report: Report, width: int = 80, *, unicode: bool = True, colour: bool = False) -> str:
    """The report as a terminal of this width shows it."""
    console = Console(
        width=width,
        no_color=not colour,
        force_terminal=colour,
        highlight=False,
        color_system="truecolor" if colour else None,
    )
    with console.capture() as capture:
        console.print(render(report, width, unicode=unicode))
    return capture.get()


@pytest.fixture
def failed(grader: Grader) -> Report:
    """A report of tiled key heads."""
    return report_of(grader, GQA, "print('a line')\n" + TILED, "my gqa.py", 77)


@pytest.mark.parametrize("width", [50, 80, 120])
@pytest.mark.parametrize("unicode", [True, False])
def test_fits_the_width(failed: Report, width: int, unicode: bool) -> None:
    """No line is longer than the terminal is wide."""
    assert (
        max(len(line.rstrip()) for line in as_text(failed, width, unicode=unicode).splitlines())
        <= width
    )


def test_says_what_differs_and_where(failed: Report) -> None:
    """Verdict, checks, case, sizes, shapes, counts, greatest difference with named index, slices, heads, the way back."""
    text = as_text(failed)
    lines = text.splitlines()
    assert lines[0].startswith("FAILED  gqa  9 of 14 checks passed   seed 77")
    for word in (
        "✓ shapes",
        "✗ values",
        "– masks",
        "case 1: heads apart",
        "B=2 L=5 H=6 Hkv=3 D=7 M=42",
        "out [2, 5, 42] as expected (B L (H D))",
        "values of out differ",
    ):
        assert word in text
    assert "wrong 1-4   right 0, 5" in text, "the heads that tiling moves"
    assert "attn-drill check gqa 'my gqa.py' --seed 77 --case 1" in text
    assert "│ a line" in text
    yours = next(line for line in lines if line.strip().startswith("yours") and "*" in line)
    expected = lines[lines.index(yours) + 1]
    assert expected.strip().startswith("expected")
    assert len(yours.split()) == len(expected.split())


def test_colour_adds_to_words(failed: Report) -> None:
    """With colour there are escapes, without there are none, and the words are the same."""
    import re

    coloured = as_text(failed, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == as_text(failed)
    assert "\x1b" not in as_text(failed)


def test_no_color_is_honoured(failed: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR takes the colours away on a terminal too."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    show(failed, stream)
    assert "38;" not in stream.getvalue()


def test_ascii_terminals(failed: Report) -> None:
    """A terminal that is not UTF-8 gets ASCII, symbols told in letters."""
    text = as_text(failed, unicode=False)
    text.encode("ascii")
    assert "ok shapes" in text
    assert "X values" in text
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    show(failed, stream)
    stream.flush()


def test_passed_and_single_case(grader: Grader) -> None:
    """A pass is one headline and the next step; a single case says that it is alone."""
    report = report_of(grader, GQA, pack_reader.solution(GQA), "gqa.py", 3)
    assert as_text(report).startswith("PASSED  gqa  14 of 14 checks passed")
    assert "attn-drill solution gqa" in as_text(report)
    assert "case 2 alone" in as_text(
        report_of(grader, GQA, pack_reader.solution(GQA), "gqa.py", 3, only=2)
    )


def made(outcome: Outcome, **more: object) -> Report:
    """A report of one outcome."""
    case = Case("a [case]", {}, {"out": "B L"}, {"B": 2, "L": 3})
    return Report("gqa", "f.py", 1, "failed", (outcome,), (case,), **more)  # type: ignore[arg-type]


HOSTILE = (
    "[axis 0, two]",
    "[bold]",
    "[/]",
    "[/red]",
    "[link=x]y[/link]",
    ":smile:",
    "[[x]]",
    "\\[z]",
)


@pytest.mark.parametrize("word", HOSTILE)
def test_words_in_brackets_stand_as_they_are(word: str) -> None:
    """Every string of a report is shown as it stands, by a console that reads markup too."""
    case = Case(
        f"case {word}",
        {f"name {word}": 3, f"rows {word}": [[1.0, 2.0]]},
        {"out": "B L"},
        {f"size {word}": 2, "B": 3},
        init={f"init {word}": 1},
        layout={"x": f"layout {word}"},
    )
    part = Slice((0, 0), (2.0, 1.0), (1.0, 1.0), (True, False))
    whole = Summary(0.0, 1.0, -1.0, 1.0, 0)
    affected = (Affected(f"dim {word}", 2, (0,)),)
    value = Mismatch(
        f"tensor {word}",
        "value",
        "",
        (3, 2),
        (3, 2),
        None,
        None,
        1,
        6,
        1.0,
        (0, 0),
        part,
        part,
        affected,
        whole,
        whole,
    )
    shape = Mismatch("out", "shape", f"dims {word}", (2, 3), (2, 4))
    plain = Mismatch(f"rows {word}", "plain")
    diagnosis = Diagnosis(
        mistakes=(Mistake("id", "was", "now", f"says {word}", "hint"),),
        first_line=Frame(3, "f", f"code {word}"),
        last_reached=f"last {word}",
        first_missed=f"missed {word}",
        made=f"made {word}",
        layout=f"layout-of {word}",
        effective_mask=EffectiveMask(f"mask {word}", 0, ("#.",), ("##",)),
        cleared=(f"cleared {word}",),
    )
    shown = ""
    for mismatch in (value, shape, plain):
        frames = (Frame(3, f"function {word}", f"text {word}"),)
        outcome = Outcome("values", "failed", f"message {word}", case.name, 1, mismatch, frames)
        other = Outcome("masks", "failed", "", case.name, 1)
        report = Report(
            f"challenge {word}",
            f"file {word}",
            1,
            "failed",
            (outcome, other),
            (case,),
            stdout=f"printed {word}",
            notes=(f"note {word}",),
            diagnosis=diagnosis,
        )
        shown += as_text(report, 300)
        shown += as_text(replace(report, diagnosis=replace(diagnosis, first_line=None)), 300)
    said = ("case", "name", "size", "init", "layout", "tensor", "dims", "rows", "says", "code")
    said += (
        "last",
        "missed",
        "made",
        "layout-of",
        "mask",
        "cleared",
        "function",
        "text",
        "message",
    )
    said += ("challenge", "file", "printed", "note", "dim")
    assert [one for one in said if f"{one} {word}" not in shown] == []


@pytest.mark.parametrize("word", HOSTILE)
def test_consoles_and_tables_read_no_markup(word: str) -> None:
    """What is printed as a string, or lies in a cell, stands as it is."""
    stream = io.StringIO()
    table = grid(padding=(0, 1))
    table.add_column(word)
    table.add_row(word, f"cell {word}")
    console(stream, width=80).print(f"line {word}")
    Console(file=stream, width=80).print(table)
    assert f"line {word}" in stream.getvalue()
    assert f"cell {word}" in stream.getvalue()


def test_no_other_place_makes_consoles_or_tables() -> None:
    """Rich reads brackets as markup where a console or a table is made without care."""
    folder = Path(trainer.__file__).parent
    made = re.compile(r"\b(Console|Table|Table\.grid|Panel|Columns)\(|from_markup|markup=True")
    found = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        for line in path.read_text().splitlines()
        if made.search(line) and not line.startswith("class ")
    }
    assert found == {"report/literal.py"}


def test_no_widget_reads_markup() -> None:
    """A sentence that a session shows may hold a name in brackets."""
    folder = Path(trainer.__file__).parent / "session"
    calls = [
        line
        for path in folder.glob("*.py")
        for line in path.read_text().splitlines()
        if "Static(id" in line
    ]
    assert len(calls) >= 7
    assert [line for line in calls if "markup=False" not in line] == []


def test_markup_and_escapes_are_text() -> None:
    """What comes from a submission is shown as it is and cannot draw on the terminal."""
    outcome = Outcome(
        "runs",
        "failed",
        "Error: [bold]x[/bold] \x1b[2Jy",
        "a [case]",
        1,
        frames=(Frame(3, "f[x]", "\x1b[31mline"),),
    )
    text = as_text(made(outcome, stdout="\x1b[1mhi\x07\n[red]there[/red]"))
    for word in (r"[bold]x[/bold] \x1b[2Jy", "in f[x]", "a [case]", "hi", "[red]there[/red]"):
        assert word in text
    assert "\x1b" not in text


def test_a_picture_of_many_keys_shows_where_they_differ() -> None:
    """Of 60 keys there is room for some: those from the first difference on, and the text says so."""
    right = "#" * 50 + "." * 10
    mask = EffectiveMask("other keys", 0, (right.replace(".", "#", 1),), (right,))
    outcome = Outcome("masks", "failed", "m", "a [case]", 1)
    text = as_text(made(outcome, diagnosis=Diagnosis(effective_mask=mask)), 120)
    assert "keys 36-59 of 60" in text
    assert "#" * 15 + "." * 9 in text
    assert "#" * 14 + "." * 10 in text


def test_shapes_side_by_side() -> None:
    """The sizes that differ carry a star."""
    mismatch = Mismatch("out", "shape", "B L", (2, 3), (2, 4))
    text = as_text(made(Outcome("shapes", "failed", "m", "a [case]", 1, mismatch)))
    assert "[2, 4*]" in text
    assert "[2, 3*]  (B L)" in text


def test_not_finite_values() -> None:
    """NaN is shown, and is null in JSON."""
    part = Slice((0, 0), (math.nan, 1.0), (1.0, 1.0), (True, False))
    empty = Summary(math.nan, math.nan, math.nan, math.nan, 6)
    mismatch = Mismatch(
        "out",
        "value",
        "B L",
        (2, 3),
        (2, 3),
        None,
        None,
        1,
        6,
        None,
        (0, 0),
        part,
        part,
        (),
        empty,
        empty,
    )
    report = made(Outcome("values", "failed", "m", "a [case]", 1, mismatch))
    assert "nan*" in as_text(report)
    assert "not finite at b=0 l=0" in as_text(report)
    assert json.loads(to_json(report))["checks"][0]["mismatch"]["max_abs_error"] is None


def test_long_output_is_cut() -> None:
    """The first lines of what was printed, and how many more there are."""
    report = made(Outcome("values", "failed", "m", "a [case]", 1), stdout="line\n" * 50)
    assert as_text(report).count("│ line") == 20
    assert "(30 more lines" in as_text(report)


def test_json_has_the_keys_of_the_contract(failed: Report) -> None:
    """Schema, verdict, checks with their mismatches."""
    found = to_object(replace(failed, stdout="é"))
    assert list(found) == [
        "schema",
        "challenge",
        "file",
        "seed",
        "verdict",
        "checks",
        "diagnosis",
        "stdout",
        "elapsed_seconds",
    ]
    assert json.loads(to_json(replace(failed, stdout="é\x9b")))["stdout"] == "é\x9b"
    to_json(replace(failed, stdout="é\x9b")).encode("ascii")
    assert json.loads(error_to_json("why")) == {
        "schema": "attn-drill.report/1",
        "verdict": None,
        "error": "why",
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.36612, "0.3661"),
        (-123.456, "-123.46"),
        (1e-7, "1.0e-07"),
        (12345.6, "1.2e+04"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_number(value: float, text: str) -> None:
    """Short and readable at any size."""
    assert number(value) == text


def test_words() -> None:
    """Indices by letter, ranges, affected dims."""
    assert index_in_words((1, 5), "B (H D)", {"B": 2, "H": 3, "D": 4}) == "b=1 h=1 d=1"
    assert index_in_words((1, 5), "", {}) == "[1, 5]"
    assert ranges((0, 1, 2, 3, 7, 9, 10)) == "0-3, 7, 9, 10"
    assert affected(Affected("H", 4, (1, 3))) == ("heads (H)", "wrong 1, 3   right 0, 2")
    assert affected(Affected("L", 4, (0, 1, 2, 3)))[1] == "all 4 wrong"
    assert visible("a\x1b[31mb\x00c\r\nd\te", lines=True) == "a\\x1b[31mb\\x00c\nd\te"


def test_mistakes_table() -> None:
    """A column a check, a cross where it refuses; what is not refused is shouted."""
    rows = [
        Row("gqa", "mistake", "a", True, "", ("values",)),
        Row("gqa", "mistake", "b", False),
        Row("gqa", "stub", "stub.py", True, "", ("runs",)),
    ]
    lines = mistakes_table(rows).splitlines()
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == [
        "challenge",
        "mistake",
        "values",
    ]
    assert [cell.strip() for cell in lines[2].strip("|").split("|")] == ["gqa", "a", "x"]
    assert "NOT REFUSED" in lines[3]


def test_booleans_are_words() -> None:
    """A wrong mask shows True and False, and no mean."""
    expected = torch.tensor([[True, True, False]])
    found = compare_values(
        "mask", "Lq Lk", {"Lq": 1, "Lk": 3}, expected, ~expected, torch.zeros(1, 3)
    )
    assert found is not None
    case = Case("causal", inputs={"q_len": 1}, dims={"mask": "Lq Lk"}, sizes={"Lq": 1, "Lk": 3})
    outcome = Outcome("values", "failed", "3 of 3 differ", "causal", 1, found)
    text = as_text(Report("masks", "masks.py", 1, "failed", (outcome,), (case,)))
    assert "False* False*" in text
    assert "mean" not in text
    assert "q_len=1" in text


def test_the_matrix_of_a_plain_answer() -> None:
    """Where a word or a number is wrong, the small input that it was made from is shown."""
    inputs = {"other": torch.ones(2, 2), "kind": torch.tensor([[0.25, 0.75], [0.5, 0.5]])}
    case = Case("kinds", inputs=inputs, dims={}, sizes={}, plain={"kind": "str"})
    mismatch = Mismatch("kind", "plain", expected_value="'mixed'", actual_value="'global'")
    outcome = Outcome(
        "values", "failed", "kind is 'global'; it must be 'mixed'", "kinds", 1, mismatch
    )
    text = as_text(Report("head-analysis", "head_analysis.py", 1, "failed", (outcome,), (case,)))
    assert "0.2500   0.7500" in text
    assert "1.0000" not in text
