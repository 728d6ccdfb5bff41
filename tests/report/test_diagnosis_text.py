"""The answer of a report: the likely mistakes, the line, and the picture."""

from dataclasses import replace
from typing import Any

import pytest
from rich.console import RenderableType

from attn_drill.model.report import (
    Diagnosis,
    EffectiveMask,
    Frame,
    Mismatch,
    Operand,
    Outcome,
    Patterns,
    Report,
    WrongFunction,
)
from attn_drill.report._diagnosis_text import (
    findings,
    place_words,
    render_line,
    render_picture,
)
from attn_drill.report.code_text import code_around
from attn_drill.report.wording import STAGES, Stage
from tests.support.report import (
    DIAGNOSIS,
    NO_SCALE,
    SOURCE,
    TRANSPOSED,
    error_map,
    explained,
    lines_of,
    report_with,
    words_of,
)

MASK = EffectiveMask("the mask is inverted", 1, ("#....", "##..."), (".####", "..###"))
ERRORS = error_map("B", "L", (0.0, 2.0), (2.0, 2.0))
PATTERNS = Patterns("Lq", "Lk", "b=1 h=0", ("#.",), (".#",))
VALUES = Mismatch("out", "value", "B L")


def line_of(report: Report) -> list[RenderableType]:
    """Return the parts about the line of a report."""
    failure = report.first_failure()
    assert failure is not None
    return list(render_line(report, failure))


def picture_of(report: Report, width: int = 80) -> list[str]:
    """Return the lines of the picture of a report."""
    failure = report.first_failure()
    assert failure is not None
    return lines_of(render_picture(report, failure, width), width)


def answer_of(report: Report, stage: Stage = "cause") -> str:
    """Return the findings in words."""
    return " ".join(f"{label} {sentence}" for label, sentence in findings(report, stage))


def test_first_mistake_is_likely_and_others_are_added() -> None:
    """Questions are for readers who do not see the mistakes yet. A question may be missing."""
    assert answer_of(explained()) == "LIKELY The scores are not scaled. AND Two axes are swapped."
    assert answer_of(explained(), "question") == "QUESTION Why sqrt? QUESTION Which axis is H?"
    diagnosis = replace(DIAGNOSIS, mistakes=(replace(NO_SCALE, hint=""), TRANSPOSED))
    assert answer_of(explained(diagnosis=diagnosis), "question") == "QUESTION Which axis is H?"


def test_relation_of_the_result_follows_the_mistakes() -> None:
    """It belongs to the stage of the line."""
    report = explained(diagnosis=replace(DIAGNOSIS, layout="the heads are tiled\x1b"))
    result = r"RESULT The heads are tiled\x1b."
    assert answer_of(report, "where") == ""
    assert answer_of(report, "line") == result
    assert answer_of(report, "question").endswith(f"Which axis is H? {result}")
    assert answer_of(report).endswith(f"Two axes are swapped. {result}")


def test_mask_is_described_if_no_mistake_is_known() -> None:
    """A known mistake explains more than the mask does."""
    report = explained(diagnosis=Diagnosis(layout="transposed", effective_mask=MASK))
    assert answer_of(report, "line") == "RESULT Transposed."
    assert answer_of(report) == "RESULT Transposed. MASK The mask is inverted."
    both = replace(DIAGNOSIS, effective_mask=MASK)
    assert "MASK" not in answer_of(explained(diagnosis=both))
    right = replace(MASK, difference="")
    assert answer_of(explained(diagnosis=Diagnosis(effective_mask=right))) == ""


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("diagnosis", [None, Diagnosis(), replace(DIAGNOSIS, mistakes=())])
def test_nothing_known_is_no_answer(stage: Stage, diagnosis: Diagnosis | None) -> None:
    """The report then begins with the message of the check."""
    assert answer_of(explained(diagnosis=diagnosis), stage) == ""


def test_line_comes_with_the_code_around_it() -> None:
    """How the line relates to other lines comes before it."""
    diagnosis = replace(DIAGNOSIS, made_shape="[B=2]")
    assert lines_of(line_of(explained(diagnosis=diagnosis))) == [
        "line 3 in forward: this is the first wrong result; it makes [B=2]",
        "  1 │ def forward(q, k):",
        "  2 │     k = k.mT",
        "❯ 3 │     scores = q @ k",
        "  4 │     return scores",
    ]


def test_missing_step_is_shown_from_the_line_before_it() -> None:
    """Both lines have a mark. Between lines far from each other there is an ellipsis."""
    shown = [text.plain for text in code_around("\n".join("abcdefghijklmnop"), 14, 2)]
    assert shown == [
        "·  2 │ b",
        "   3 │ c",
        "     …",
        "  13 │ m",
        "❯ 14 │ n",
        "  15 │ o",
        "  16 │ p",
    ]


MISTAKE = DIAGNOSIS.mistakes[:1]
OPERANDS = (Operand(1, "q", "[L, D]"), Operand(2, "k", "[L, D]", "[D, L]"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({}, "", id="a line found by its text"),
        pytest.param(
            {"made_shape": "[B=2]"}, "this is the first wrong result; it makes [B=2]", id="made"
        ),
        pytest.param(
            {"made_shape": "[B=2]", "case": 4},
            "this is the first wrong result; in case 4 it makes [B=2]",
            id="another case",
        ),
        pytest.param(
            {"made_shape": "[B=2]", "operands": OPERANDS, "mistakes": MISTAKE},
            "this is the first wrong result; the numbers from lines 1 and 2 are right; "
            "it makes [B=2]",
            id="operands",
        ),
        pytest.param(
            {"made_shape": "[B=2]", "operands": OPERANDS[1:], "mistakes": ()},
            "k of line 2 is [L, D], the reference has [D, L]; this is the first wrong result; "
            "the numbers from line 2 are right; it makes [B=2]",
            id="an operand in another layout",
        ),
        pytest.param(
            {"made_shape": "[B, D, L]", "rearranged": "[B, L, D]"},
            "this line rearranges right numbers wrongly; [B, L, D] becomes [B, D, L]",
            id="a layout",
        ),
        pytest.param({"missing": True}, "a step is missing in this line", id="missing in a line"),
        pytest.param(
            {"missing": True, "start": 2, "mistakes": MISTAKE},
            "a step is missing between line 2 and this line",
            id="a named step",
        ),
        pytest.param(
            {"missing": True, "start": 2, "mistakes": (), "missed_shape": "[L]"},
            "this line uses the result of line 2, but the reference first does another step "
            "(scores [L])",
            id="an unknown step",
        ),
    ],
)
def test_place_is_told_by_lines_of_the_file(changes: dict[str, Any], words: str) -> None:
    """No line is called right. A case is named only if the report explains another case."""
    assert place_words(replace(DIAGNOSIS, **changes), 1) == words


def test_results_are_a_sentence_if_no_line_is_known() -> None:
    """Without any result there is no text."""
    diagnosis = replace(DIAGNOSIS, first_line=None)
    words = words_of(line_of(explained(diagnosis=diagnosis)))
    assert words == "No line makes the reference's scores."
    assert line_of(explained(diagnosis=Diagnosis())) == []
    assert line_of(explained(diagnosis=None)) == []


def test_line_outside_the_source_has_the_text_of_the_frame() -> None:
    """The source of a report may be unknown, or its line number may be wrong."""
    for source in ("", "x = 1\n"):
        lines = lines_of(line_of(explained(source=source)))
        assert lines[1:] == ["  scores = q @ k"]


@pytest.mark.parametrize(("function", "place"), [("", ""), ("<module>", ""), ("f[x]", " in f[x]")])
def test_line_outside_functions_names_no_function(function: str, place: str) -> None:
    """Brackets in a name are no markup."""
    frame = Frame(3, function, "scores = q @ k")
    diagnosis = Diagnosis(first_line=frame)
    assert lines_of(line_of(explained(diagnosis=diagnosis)))[0] == f"line 3{place}"


def raised(*frames: Frame, **fields: Any) -> Report:
    """Return the report on a call that raised at these frames, the outermost first."""
    outcome = Outcome("runs", "failed", "ValueError: no", "a [case]", 1, frames=frames)
    return report_with(outcome, **{"source": SOURCE, **fields})


CALLS = (
    Frame(9, "<module>", "f(x)"),
    Frame(7, "outer\x1b", "return inner(x)  # \x1b[2J"),
    Frame(2, "forward", "k = k.mT"),
)


def test_line_of_an_exception_comes_with_the_calls_before_it() -> None:
    """The last call is the first, and control characters cannot act."""
    assert lines_of(line_of(raised(*CALLS))) == [
        "line 2 in forward",
        "  1 │ def forward(q, k):",
        "❯ 2 │     k = k.mT",
        "  3 │     scores = q @ k",
        "  4 │     return scores",
        r"called from line 7 in outer\x1b  return inner(x)  # \x1b[2J",
        "called from line 9  f(x)",
    ]


def test_line_of_the_diagnosis_goes_before_that_of_the_exception() -> None:
    """An exception may be the effect of an earlier line. Its calls are left out then."""
    lines = lines_of(line_of(raised(*CALLS, diagnosis=DIAGNOSIS)))
    assert lines[0].startswith("line 3 in forward")
    assert not any("called from" in line for line in lines)


def test_long_text_of_a_call_is_cut() -> None:
    """The line of the frame and the calls before it end with an ellipsis."""
    long = "x = 1  # " + "y" * 100
    report = raised(Frame(9, "f", long), Frame(2, "f", long), source="")
    title, line, call = lines_of(line_of(report), 40)
    assert title == "line 2 in f"
    for row in (line, call):
        assert len(row) == 40
        assert row.endswith("y…")


def test_call_without_text_has_its_line_number() -> None:
    """The text of a line is unknown if the code came from `exec`."""
    lines = lines_of(line_of(raised(Frame(9, "f", ""), Frame(99, "g", ""), source="")))
    assert [line.strip() for line in lines] == ["line 99 in g", "", "called from line 9 in f"]


def test_wrong_lines_of_other_functions_follow() -> None:
    """Each has its function and the case that shows it, and fills one row."""
    elsewhere = tuple(
        WrongFunction(name, number, Frame(number, name, f"return x * {number}\x1b" + tail))
        for name, number, tail in (("padding", 7, ""), ("cross\x1b", 9, "y" * 99))
    )
    lines = lines_of(line_of(explained(diagnosis=replace(DIAGNOSIS, elsewhere=elsewhere))))
    first, second = lines[-2:]
    assert first == r"line 7 in padding (case 7) is wrong too: return x * 7\x1b"
    assert second.startswith(r"line 9 in cross\x1b (case 9) is wrong too: return x * 9\x1byyy")
    assert len(second) == 80
    assert second.endswith("y…")
    assert lines[0].startswith("line 3 in forward")


def test_mask_goes_before_other_pictures() -> None:
    """Its title says what rows and signs mean, and has the batch item."""
    mismatch = replace(VALUES, error_maps=(ERRORS,), patterns=PATTERNS)
    report = explained(mismatch, diagnosis=Diagnosis(effective_mask=MASK))
    assert picture_of(report) == [
        "mask: the keys (#) that each query, a row, attends to in batch item 1",
        "  yours   expected",
        "  #....   .####",
        "  ##...   ..###",
    ]


def test_keys_of_a_cache_are_before_a_bar() -> None:
    """The title explains the bar."""
    mask = replace(MASK, cached=1)
    lines = picture_of(explained(diagnosis=Diagnosis(effective_mask=mask)), 200)
    assert lines[0].endswith("in batch item 1; keys before the bar are in the cache")
    assert lines[1:] == ["  yours    expected", "  #│....   .│####", "  #│#...   .│.###"]


def test_error_map_of_equal_cells_is_not_shown() -> None:
    """It would say only that everything is wrong."""
    mismatch = replace(VALUES, error_maps=(error_map("B", "L", (5.0, 2.0), (3.0, 2.0)),))
    assert picture_of(explained(mismatch)) == []


def test_right_mask_is_not_shown() -> None:
    """The errors are shown instead."""
    right = replace(MASK, difference="", actual=())
    mismatch = replace(VALUES, error_maps=(ERRORS,))
    lines = picture_of(explained(mismatch, diagnosis=Diagnosis(effective_mask=right)))
    assert lines == [
        "errors of out: batch (B) by positions (L)",
        "  b=0  ··░░",
        "  b=1  ░░░░",
        "  · right; ░ up to 100 x the tolerance",
    ]


def test_boolean_matrix_has_its_place() -> None:
    """A matrix that is the whole tensor has no place."""
    mismatch = Mismatch("m[0]", "value", "B H Lq Lk", patterns=PATTERNS)
    assert picture_of(explained(mismatch))[0] == (
        "m[0]: at b=1 h=0, rows are Lq, columns are Lk, # is True"
    )
    whole = replace(mismatch, patterns=replace(PATTERNS, place=""))
    assert picture_of(explained(whole))[0] == "m[0]: rows are Lq, columns are Lk, # is True"


@pytest.mark.parametrize("mismatch", [None, VALUES, Mismatch("out", "shape", "B L", (1,), (2,))])
def test_no_picture_without_matrices(mismatch: Mismatch | None) -> None:
    """There is no title either."""
    report = explained(mismatch)
    failure = report.first_failure()
    assert failure is not None
    assert list(render_picture(report, failure, 80)) == []
