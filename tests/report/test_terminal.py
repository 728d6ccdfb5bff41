"""A report as terminal text: contents, width, colour and encoding."""

import io
import json
import math
import re
import shlex
from dataclasses import replace
from typing import Any

import pytest
import torch
from rich.cells import cell_len

from attn_drill.grading._tolerance import compare_values
from attn_drill.grading.grader import Grader
from attn_drill.grading.pictures import patterns
from attn_drill.model.case import Case
from attn_drill.model.challenge import Mistake, Parameter, Signature
from attn_drill.model.report import (
    Affected,
    Diagnosis,
    EffectiveMask,
    Frame,
    Mismatch,
    Operand,
    Outcome,
    Patterns,
    Report,
    Slice,
    Summary,
    to_json,
)
from attn_drill.packs import pack_reader
from attn_drill.report.terminal import next_commands, show
from attn_drill.report.wording import STAGE_WORDS, STAGES, Stage
from tests.support.grading import report_of
from tests.support.report import (
    DIAGNOSIS,
    HOSTILE,
    as_text,
    error_map,
    explained,
    printed,
    report_with,
)


def test_report_of_a_failure_has_all_parts(failed: Report) -> None:
    """It has the verdict, checks, case, sizes, picture, differences, heads and next commands."""
    text = as_text(failed)
    lines = text.splitlines()
    assert lines[0].startswith("FAILED  gqa  10 of 15 checks passed  seed 77")
    for word in (
        "✓ shapes",
        "✗ values",
        "– masks",
        "case 1: heads apart",
        "B=2 L=5 H=6 Hkv=3 D=7 M=42",
        "constructor (d_model=42, num_heads=6,",
        "280 of 420 values of out differ (67%); at [",
        "errors of out: heads (H) by positions (L)",
        "also   failing: values (",
    ):
        assert word in text
    assert "along  heads (H) wrong 1-4, right 0, 5" in text, "the heads that tiling moves"
    picture = {line.strip() for line in lines if line.startswith("  h=")}
    right = {line for line in picture if set(line[5:]) == {"·"}}
    assert len(picture) == 6
    assert {line[:3] for line in right} == {"h=0", "h=5"}
    command = "attn-drill check gqa 'my gqa.py' --seed 77 --case 1"
    assert f"this case again  {command}" in printed(failed).splitlines()
    assert "│ a line" in text
    yours = next(line for line in lines if line.strip().startswith("yours") and "*" in line)
    expected = lines[lines.index(yours) + 1]
    assert expected.strip().startswith("expected")
    assert len(yours.split()) == len(expected.split())


@pytest.mark.parametrize(
    ("width", "shown"), [(80, "/home/漢字/a_folder/gqa.py"), (20, "\n…字/a_folder/gqa.py")]
)
def test_end_of_a_long_file_name_is_shown(width: int, shown: str) -> None:
    """A name that continues on the next line could not be read as one name."""
    report = Report("gqa", "/home/漢字/a_folder/gqa.py", 1, "passed", (Outcome("loads", "passed"),))
    assert f"{shown}\n" in as_text(report, width)


def test_report_of_a_pass_is_a_headline_and_the_next_step(grader: Grader) -> None:
    """A report on a single case says so."""
    norm = pack_reader.find_challenge(pack_reader.built_in_pack(), "rmsnorm")
    right = pack_reader.solution(norm)
    report = report_of(grader, norm, right, "rmsnorm.py", 3)
    assert re.match(r"PASSED  rmsnorm  (\d+) of \1 checks passed", as_text(report))
    assert printed(report).splitlines()[-2:] == ["", "the reference    attn-drill solution rmsnorm"]
    assert "case 2 alone" in as_text(report_of(grader, norm, right, "rmsnorm.py", 3, only=2))


@pytest.mark.sampled(4)
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
        error_maps=(error_map(f"map-rows {word}", f"map-columns {word}", (2.0, 0.0)),),
    )
    rows, columns = f"pattern-rows {word}", f"pattern-columns {word}"
    patterns = Patterns(rows, columns, f"place {word}", ("#",), (".",))
    boolean = replace(value, patterns=patterns)
    shape = Mismatch("out", "shape", f"dims {word}", (2, 3), (2, 4))
    plain = Mismatch(f"rows {word}", "plain")
    diagnosis = Diagnosis(
        mistakes=(Mistake("id", "was", "now", f"says {word}", f"hint {word}"),),
        first_line=Frame(3, "f", f"code {word}"),
        first_missed=f"missed {word}",
        missed_shape=f"missed-shape {word}",
        made_shape=f"made {word}",
        operands=(Operand(1, f"operand {word}", "[L, D]", "[D, L]"),),
        layout=f"the layout-of {word}",
        effective_mask=EffectiveMask(f"the mask {word}", 0, ("#.",), ("##",)),
        cleared=(f"cleared {word}",),
    )
    shown = ""
    for mismatch in (value, boolean, shape, plain):
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
        shown += as_text(report, 300, stage="question")
        shown += as_text(report, 300, stage="where", how_to_see=f"see {word}")
        shown += as_text(replace(report, source=f"#\n#\nsource {word}\n"), 300)
        shown += as_text(replace(report, diagnosis=replace(diagnosis, first_line=None)), 300)
        shown += as_text(replace(report, diagnosis=replace(diagnosis, mistakes=())), 300)
        shown += as_text(replace(report, diagnosis=None), 300)
        file, options = f"argument {word}", f" --pack option {word}"
        shown += printed(report, file=file, options=options)
    strings = (
        "case name size init layout tensor dims rows says code missed made operand layout-of mask "
        "cleared function text message challenge file printed note dim missed-shape "
        "hint see source map-rows map-columns pattern-rows pattern-columns place argument option"
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
    """The statistics of both tensors are shown if only one of them is not finite."""
    part = Slice((0, 0), (math.nan, 1.0), (1.0, 1.0), (True, False))
    empty = Summary(math.nan, math.nan, math.nan, math.nan, 6)
    whole = Summary(0.0, 1.0, -1.0, 1.0, 0)
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
        whole,
        empty,
        error_maps=(error_map("B", "L", (None, 0.0, 0.0), (0.0, 0.0, 0.0)),),
    )
    report = report_with(Outcome("values", "failed", "m", "a [case]", 1, mismatch))
    lines = [" ".join(line.split()) for line in as_text(report).splitlines()]
    assert "yours nan* 1.0000" in lines
    assert "yours mean nan std nan from nan to nan not finite 6" in lines
    assert "expected mean 0 std 1.0000 from -1.0000 to 1.0000" in lines
    assert "b=0 !!····" in lines
    assert "· right; ! not finite" in lines
    same = replace(mismatch, expected_summary=empty)
    assert "mean" not in as_text(report_with(Outcome("values", "failed", "m", "a", 1, same)))
    assert json.loads(to_json(report))["checks"][0]["mismatch"]["max_abs_error"] is None


def test_long_printed_output_is_cut() -> None:
    """The first 20 lines are shown, and a count of the others."""
    report = report_with(Outcome("values", "failed", "m", "a [case]", 1), stdout="line\n" * 50)
    assert as_text(report).count("│ line") == 20
    assert "(30 more lines" in as_text(report)


def test_wrong_mask_shows_true_and_false() -> None:
    """A mean of booleans is not shown, and the picture has the same symbols."""
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
    pictured = replace(mismatch, patterns=patterns(expected, ~expected, "Lq Lk"))
    report = Report(
        "masks", "masks.py", 1, "failed", (replace(outcome, mismatch=pictured),), (case,)
    )
    text = as_text(report)
    assert "mask: rows are Lq, columns are Lk, # is True" in text
    assert "..#     ##." in text
    assert "False*" not in text, "the matrix shows the same"


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


def pictured(**fields: Any) -> Report:
    """Return a failed report with a diagnosis, figures and an error map."""
    part = Slice((0, 0), (2.0, 1.0, 0.5), (1.0, 1.0, 0.5), (True, False, False))
    mismatch = Mismatch(
        "out",
        "value",
        "B L",
        (2, 3),
        (2, 3),
        mismatched=1,
        total=6,
        worst=part,
        affected=(Affected("B", 2, (0,)),),
        error_maps=(error_map("B", "L", (9e9, 0.0, 0.0), (0.0, 0.0, 0.0)),),
    )
    return explained(mismatch, **fields)


def places(text: str, *words: str) -> list[int]:
    """Return the places of words in a text, each of which the text has once."""
    assert [(word, text.count(word)) for word in words] == [(word, 1) for word in words], text
    return [text.index(word) for word in words]


def test_answer_comes_before_the_figures() -> None:
    """The order is: likely mistakes, line, picture, check and message, figures, printed text."""
    text = as_text(pictured(stdout="hello\n"))
    found = places(
        text,
        "✗ values",
        " LIKELY  The scores are not scaled.",
        " AND     Two axes are swapped.",
        "line 3 in forward",
        "❯ 3 │     scores = q @ k",
        "errors of out: batch (B) by positions (L)",
        "values  case 1: a [case]",
        "3 of 6 values differ",
        "sizes      B=2 L=3",
        "along      batch (B) wrong 0, right 1",
        "2.0000*",
        "ruled out  mask",
        "Printed by your code in this case:",
        "│ hello",
    )
    assert found == sorted(found)
    assert "QUESTION" not in text


def test_message_comes_first_if_no_cause_is_known() -> None:
    """The message is the answer then. The line and the picture follow."""
    text = as_text(pictured(diagnosis=replace(DIAGNOSIS, mistakes=())))
    found = places(text, "3 of 6 values differ", "❯ 3 │", "errors of out:", "sizes ")
    assert found == sorted(found)


LINE = ("line 3 in forward", "❯ 3 │", "ruled out  mask")
QUESTION = ("QUESTION  Why sqrt?",)
CAUSE = ("LIKELY  The scores are not scaled.", "AND     Two axes are swapped.")
HIDDEN = "The likely mistake is known: check again with --why to see it."


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("where", (HIDDEN,)),
        ("line", (*LINE, HIDDEN)),
        ("question", (*LINE, *QUESTION, HIDDEN)),
        ("cause", (*LINE, *CAUSE)),
    ],
)
def test_stage_shows_its_part_of_the_diagnosis(stage: Stage, words: tuple[str, ...]) -> None:
    """Picture, message and figures are shown at every stage."""
    text = as_text(pictured(), stage=stage)
    always = ("errors of out:", "3 of 6 values differ", "along ", "2.0000*")
    assert [word for word in (*words, *always) if word not in text] == []
    others = {*LINE, *QUESTION, *CAUSE, HIDDEN} - set(words)
    assert [word for word in others if word in text] == []


def test_reader_without_a_command_line_sees_no_command() -> None:
    """The advice, the way to see the mistake, and the option for the printed lines are left out."""
    report = pictured(stdout="line\n" * 50)
    outcomes = tuple(replace(outcome, advice="`--more` helps") for outcome in report.outcomes)
    report = replace(report, outcomes=outcomes)
    words = ("`--more` helps", "check again with --why", "--json has them all")
    with_commands = as_text(report, 120, stage="line")
    assert all(word in with_commands for word in words)
    without = as_text(report, 120, stage="line", has_commands=False)
    assert "--" not in without
    assert "(30 more lines)" in without
    assert "failing:" not in without


def test_reader_learns_how_to_see_the_mistake() -> None:
    """A session and a notebook have other ways than a command."""
    assert "known: press w to see it" in as_text(pictured(), stage="line", how_to_see="press w")
    assert "is known" not in as_text(pictured(), stage="line", how_to_see="")
    nothing = pictured(diagnosis=replace(DIAGNOSIS, mistakes=()))
    assert "is known" not in as_text(nothing, stage="line")
    mask = EffectiveMask("the mask is inverted", 1, ("#....",), (".####",))
    assert "is known" in as_text(pictured(diagnosis=Diagnosis(effective_mask=mask)), stage="line")


@pytest.mark.parametrize("columns", [50, 80, 200])
@pytest.mark.parametrize("options", ["", " --pack /a/folder/with/a/long/name/that/fills/the/line"])
def test_no_newline_breaks_a_command(
    monkeypatch: pytest.MonkeyPatch, columns: int, options: str
) -> None:
    """A command that does not fit next to its label gets a line of its own."""
    monkeypatch.setenv("COLUMNS", str(columns))
    text = printed(pictured(), file="a folder with a long name/gqa.py", options=options)
    lines = text.splitlines()
    file = "'a folder with a long name/gqa.py'"
    for label, command in (
        ("this case again", f"attn-drill check gqa {file} --seed 1 --case 1{options}"),
        ("line by line", f"attn-drill trace gqa {file} --seed 1 --case 1{options}"),
        ("in a debugger", f"attn-drill repro gqa {file} --seed 1 --case 1{options}"),
        ("a hint", f"attn-drill hint gqa{options}"),
    ):
        in_one_line = f"{label:<16} {command}"
        if len(in_one_line) <= columns:
            assert in_one_line in lines
        else:
            assert lines[lines.index(f"{label}:") + 1] == f"  {command}"
    assert lines[-1].endswith(f"hint gqa{options}")
    assert lines.count("") == 2, "before the failure and before the commands"


def test_commands_name_the_file_only_if_they_need_it() -> None:
    """By default the file of the report is named."""
    for file, argument in ((None, "gqa f.py"), ("", "gqa"), ("b c.py", "gqa 'b c.py'")):
        text = printed(pictured(), file=file)
        assert f"this case again  attn-drill check {argument} --seed 1 --case 1\n" in text


def test_name_of_a_file_is_one_word_and_cannot_act() -> None:
    """Line ends and escape sequences in a name neither break a command nor act on the terminal."""
    text = printed(pictured(), file="it's\x1b[31m\n.py")
    assert "\x1b" not in text
    (command,) = [line for line in text.splitlines() if "attn-drill check" in line]
    assert shlex.split(command)[-6:-4] == ["gqa", r"it's\x1b[31m\n.py"]


@pytest.mark.parametrize(
    ("outcome", "diagnosis", "labels"),
    [
        pytest.param(
            Outcome("values", "failed", "m", "a", 1),
            DIAGNOSIS,
            ["this case again", "line by line", "in a debugger", "a hint"],
            id="a case",
        ),
        pytest.param(
            Outcome("values", "failed", "m", "a", 1),
            None,
            ["this case again", "a hint"],
            id="no diagnosis",
        ),
        pytest.param(
            Outcome("bad sizes", "failed", "m"),
            DIAGNOSIS,
            ["once more", "line by line", "a hint"],
            id="no case",
        ),
        pytest.param(Outcome("loads", "passed"), None, ["the reference"], id="passed"),
    ],
)
def test_next_commands_fit_the_failure(
    outcome: Outcome, diagnosis: Diagnosis | None, labels: list[str]
) -> None:
    """Only a failure in a case has a case to repeat, and only a file that was called a trace."""
    commands = dict(next_commands(report_with(outcome, diagnosis=diagnosis), "", " -x"))
    assert list(commands) == labels
    assert all(command.endswith(" -x") for command in commands.values())
    assert ("--case" in " ".join(commands.values())) == (outcome.number is not None)
    if "once more" in commands:
        assert commands["once more"] == "attn-drill check gqa -x", "a new seed"


def in_stages(report: Report, *answers: bool, **options: Any) -> tuple[str, list[str]]:
    """Return the output of `show`, with `> WORDS` for each wait, and the words.

    Args:
        report: the report.
        answers: the answers of the reader; afterwards the reader always wants more.
        options: more arguments of `show`.
    """
    stream, asked = io.StringIO(), list[str]()

    def wait(words: str) -> bool:
        asked.append(words)
        stream.write(f"> {words}\n")
        return answers[len(asked) - 1] if len(asked) <= len(answers) else True

    show(report, stream, wait=wait, **options)
    return stream.getvalue(), asked


def test_stages_come_one_after_another() -> None:
    """Each part comes after a wait that names it, and the commands come last."""
    text, asked = in_stages(pictured())
    found = places(
        text,
        "3 of 6 values differ",
        "errors of out:",
        f"> {STAGE_WORDS['line']}\n",
        "❯ 3 │",
        f"> {STAGE_WORDS['question']}\n",
        "QUESTION  Why sqrt?",
        f"> {STAGE_WORDS['cause']}\n",
        "LIKELY  The scores",
        "this case again ",
    )
    assert found == sorted(found)
    assert asked == [STAGE_WORDS[stage] for stage in STAGES[1:]]
    assert "is known" not in text
    lines = text.splitlines()
    assert lines.count("") == 2, "before the failure and before the commands"


@pytest.mark.parametrize("count", [0, 1, 2])
def test_reader_may_stop_before_a_stage(count: int) -> None:
    """The commands are still printed."""
    text, asked = in_stages(pictured(), *[True] * count, False, file="", options=" --pack p")
    shown = [word for word in ("❯ 3 │", "QUESTION", "LIKELY") if word in text]
    assert shown == ["❯ 3 │", "QUESTION", "LIKELY"][:count]
    assert len(asked) == count + 1
    assert text.endswith("\na hint           attn-drill hint gqa --pack p\n")
    assert "attn-drill check gqa --seed 1 --case 1 --pack p\n" in text


@pytest.mark.parametrize("last", STAGES)
def test_stages_end_with_the_last_that_is_wanted(last: Stage) -> None:
    """The reader of a hunt does not see the mistake."""
    text, asked = in_stages(pictured(), stage=last)
    wanted = STAGES[1 : STAGES.index(last) + 1]
    assert asked == [STAGE_WORDS[stage] for stage in wanted]
    assert ("LIKELY" in text) == (last == "cause")
    assert text.endswith("\na hint           attn-drill hint gqa\n")


def test_pass_has_no_stages() -> None:
    """The output is the same as without stages."""
    report = Report("gqa", "f.py", 1, "passed", (Outcome("loads", "passed"),))
    text, asked = in_stages(report)
    assert asked == []
    assert text == printed(report)


def test_all_stages_together_have_all_of_the_report() -> None:
    """A reader who takes the hints first misses nothing."""
    for diagnosis in (DIAGNOSIS, replace(DIAGNOSIS, first_line=None)):
        report = pictured(diagnosis=replace(diagnosis, layout="transposed"))
        in_parts = in_stages(report)[0].split()
        whole = as_text(report).split()
        assert [word for word in whole if word not in in_parts] == []


WIDE = "漢字" * 60
PRINTED = ("x" * 500, "", "tab\tend", WIDE, "  indented " + "y" * 90, "\x1b[2J\x0c", "blank   ")


@pytest.mark.parametrize("columns", [50, 80])
def test_every_printed_row_has_a_bar(columns: int) -> None:
    """Long lines are folded, a tab ends at the next multiple of 4, and no row is too long."""
    report = pictured(stdout="\n".join(PRINTED) + "\n")
    text = as_text(report, columns)
    rows = text.partition("Printed by your code in this case:\n")[2].splitlines()
    assert [row for row in rows if row != "│" and not row.startswith("│ ")] == []
    assert max(map(cell_len, rows)) <= columns
    shown = "".join(row[2:] for row in rows)
    assert shown.count("x" * 10) == 40, "of a long line 400 characters are shown"
    assert "│" in rows, "the empty line"
    assert "│ tab end" in rows
    assert r"\x1b[2J\x0c" in shown
    assert "│ blank" in rows
    assert WIDE in shown


def test_large_boolean_matrix_takes_a_screenful() -> None:
    """A wrong mask of 300 queries and 2100 keys does not fill the terminal with equal rows."""
    expected = torch.ones(300, 2100, dtype=torch.bool).tril(1800)
    actual = expected.clone()
    actual[200, 2050] = True
    mismatch = Mismatch(
        "mask",
        "value",
        "Lq Lk",
        expected_type="bool",
        patterns=patterns(expected, actual, "Lq Lk"),
    )
    lines = as_text(explained(mismatch)).splitlines()
    assert len(lines) <= 80
    assert max(map(len, lines)) <= 80


def test_call_is_shown_as_in_the_contract() -> None:
    """Inputs that only the grader reads are left out. A module has no call to show."""
    inputs = {"function": "attend", "query": [[1.0]], "key": "query", "causal": True, "reset": 3}
    case = Case("a [case]", inputs, {"out": "B L"}, {"B": 2, "L": 3})
    attend = Signature("attend", tuple(Parameter(name, True, None) for name in ("key", "causal")))
    report = replace(pictured(), cases=(case,))
    text = as_text(replace(report, signatures=(attend,)))
    assert "call       attend(key=query, causal=True)\n" in text
    assert "reset" not in text
    text = as_text(report)
    assert "inputs     function='attend', key=query, causal=True, reset=3\n" in text


def summaries(actual: Summary, expected: Summary) -> bool:
    """Return whether a report shows these statistics of both tensors."""
    mismatch = Mismatch("out", "value", "B L", actual_summary=actual, expected_summary=expected)
    return "mean" in as_text(explained(mismatch))


@pytest.mark.parametrize(
    ("mean", "std", "is_shown"),
    [(0.0, 1.0, False), (0.9, 1.4, False), (0.0, 1.6, True), (0.0, 0.6, True), (1.1, 1.0, True)],
)
def test_statistics_are_shown_only_if_they_help(mean: float, std: float, is_shown: bool) -> None:
    """The deviations differ by half, or the means differ by a deviation."""
    expected = Summary(0.0, 1.0, -3.0, 3.0, 0)
    assert summaries(Summary(mean, std, -3.0, 3.0, 0), expected) == is_shown
