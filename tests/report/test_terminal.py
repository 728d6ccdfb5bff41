"""A report as terminal text: contents, width, colour and encoding."""

import io
import json
import math
import re
from dataclasses import replace

import pytest
import torch

from tests.support.display import GQA, HOSTILE, as_text, report_with
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
def test_report_fits_the_width(failed: Report, width: int, unicode: bool) -> None:
    """No line is longer than the terminal is wide."""
    lines = as_text(failed, width, unicode=unicode).splitlines()
    assert max(len(line.rstrip()) for line in lines) <= width


def test_report_of_a_failure_has_all_parts(failed: Report) -> None:
    """It has the verdict, checks, case, sizes, shapes, differences, heads and next commands."""
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


def test_colour_changes_no_words(failed: Report) -> None:
    """Only the report with colour has escape sequences."""
    coloured = as_text(failed, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == as_text(failed)
    assert "\x1b" not in as_text(failed)


def test_no_color_is_honoured(failed: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR removes the colours on a terminal too."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    show(failed, stream)
    assert "38;" not in stream.getvalue()


def test_terminal_that_is_not_utf_8_gets_ascii(failed: Report) -> None:
    """Symbols become letters."""
    text = as_text(failed, unicode=False)
    text.encode("ascii")
    assert "ok shapes" in text
    assert "X values" in text
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    show(failed, stream)
    stream.flush()


def test_report_of_a_pass_is_a_headline_and_the_next_step(grader: Grader) -> None:
    """A report on a single case says so."""
    report = report_of(grader, GQA, pack_reader.solution(GQA), "gqa.py", 3)
    assert as_text(report).startswith("PASSED  gqa  14 of 14 checks passed")
    assert "attn-drill solution gqa" in as_text(report)
    assert "case 2 alone" in as_text(
        report_of(grader, GQA, pack_reader.solution(GQA), "gqa.py", 3, only=2)
    )


@pytest.mark.parametrize("word", HOSTILE)
def test_words_in_brackets_are_not_markup(word: str) -> None:
    """Every string of a report is shown unchanged, even by a console that reads markup."""
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
    strings = (
        "case name size init layout tensor dims rows says code last missed made layout-of mask "
        "cleared function text message challenge file printed note dim"
    )
    assert [string for string in strings.split() if f"{string} {word}" not in shown] == []


def test_text_of_a_submission_cannot_act() -> None:
    """Markup is text, and an escape sequence is shown as its escape."""
    outcome = Outcome(
        "runs",
        "failed",
        "Error: [bold]x[/bold] \x1b[2Jy",
        "a [case]",
        1,
        frames=(Frame(3, "f[x]", "\x1b[31mline"),),
    )
    text = as_text(report_with(outcome, stdout="\x1b[1mhi\x07\n[red]there[/red]"))
    for word in (r"[bold]x[/bold] \x1b[2Jy", "in f[x]", "a [case]", "hi", "[red]there[/red]"):
        assert word in text
    assert "\x1b" not in text


def test_different_sizes_have_a_star() -> None:
    """Both shapes are shown."""
    mismatch = Mismatch("out", "shape", "B L", (2, 3), (2, 4))
    text = as_text(report_with(Outcome("shapes", "failed", "m", "a [case]", 1, mismatch)))
    assert "[2, 4*]" in text
    assert "[2, 3*]  (B L)" in text


def test_nan_is_shown_and_is_null_in_json() -> None:
    """Its place is shown as not finite."""
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
    report = report_with(Outcome("values", "failed", "m", "a [case]", 1, mismatch))
    assert "nan*" in as_text(report)
    assert "not finite at b=0 l=0" in as_text(report)
    assert json.loads(to_json(report))["checks"][0]["mismatch"]["max_abs_error"] is None


def test_long_printed_output_is_cut() -> None:
    """The first 20 lines are shown, and a count of the others."""
    report = report_with(Outcome("values", "failed", "m", "a [case]", 1), stdout="line\n" * 50)
    assert as_text(report).count("│ line") == 20
    assert "(30 more lines" in as_text(report)


def test_wrong_mask_shows_true_and_false() -> None:
    """A mean of booleans is not shown."""
    expected = torch.tensor([[True, True, False]])
    mismatch = compare_values(
        "mask", "Lq Lk", {"Lq": 1, "Lk": 3}, expected, ~expected, torch.zeros(1, 3)
    )
    assert mismatch is not None
    case = Case("causal", inputs={"q_len": 1}, dims={"mask": "Lq Lk"}, sizes={"Lq": 1, "Lk": 3})
    outcome = Outcome("values", "failed", "3 of 3 differ", "causal", 1, mismatch)
    text = as_text(Report("masks", "masks.py", 1, "failed", (outcome,), (case,)))
    assert "False* False*" in text
    assert "mean" not in text
    assert "q_len=1" in text


def test_matrix_of_a_plain_answer_is_shown() -> None:
    """If a word or a number is wrong, the report shows the small input that it depends on."""
    inputs = {"other": torch.ones(2, 2), "kind": torch.tensor([[0.25, 0.75], [0.5, 0.5]])}
    case = Case("kinds", inputs=inputs, dims={}, sizes={}, plain={"kind": "str"})
    mismatch = Mismatch("kind", "plain", expected_value="'mixed'", actual_value="'global'")
    outcome = Outcome(
        "values", "failed", "kind is 'global'; it must be 'mixed'", "kinds", 1, mismatch
    )
    text = as_text(Report("head-analysis", "head_analysis.py", 1, "failed", (outcome,), (case,)))
    assert "0.2500   0.7500" in text
    assert "1.0000" not in text
