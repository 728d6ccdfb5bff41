"""What the learner sees: verdict first, both values, at 80 and 50 columns, without colour and in ASCII."""

import io
import json
import math
from dataclasses import replace

import pytest
import torch

from tests.support.display import GQA, HOSTILE, as_text, made
from tests.support.grading import report_of
from trainer.grading.grader import Grader
from trainer.grading.tensor_comparison import compare_values
from trainer.model.case import Case
from trainer.model.challenge import Mistake
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
from trainer.packs import pack_reader
from trainer.report.report_json import to_json
from trainer.report.terminal import show


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
