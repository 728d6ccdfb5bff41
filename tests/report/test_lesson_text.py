"""The lesson after a pass as text: notes, costs, other answers, mistakes, attempts."""

from dataclasses import replace

import pytest

from attn_drill.model.challenge import CallCost, OtherAnswer
from attn_drill.model.report import Lesson, Note
from attn_drill.report.lesson_text import (
    render_answer,
    render_attempts,
    render_mistakes,
    render_notes,
)
from tests.support.report import HOSTILE, lines_of, words_of

MIB = 1 << 20
SOURCE = "def f(x):\n    y = x.repeat(4, 1)  # [4 L, M]\n    return y.mean().item()\n"
REFERENCE = OtherAnswer(
    "reference", "", "", "def f(x):\n    return x\n", CallCost(13, 120 << 30, 99 * MIB)
)
GROUPED = OtherAnswer(
    "grouped_einsum",
    "Make the group an axis.",
    "This saves memory.",
    '"""Make the group an axis.\n\nThis saves memory.\n"""\n\nimport torch\n',
    CallCost(11, 120 << 30, 50 * MIB),
)
MAPPED = OtherAnswer("mapped", "Map.", "Slow.", "x = 1\n", CallCost(40, 120 << 30, 70 * MIB))
UNMEASURED = OtherAnswer("threads", "Use threads.", "None.", "x = 2\n")
LESSON = Lesson(
    "a layer of Llama 3 8B, B = 1, L = 2048",
    CallCost(14, 130 << 30, 64 * MIB),
    (
        Note(2, "This line copies repeated entries: 64 MiB instead of 16 MiB.", "It costs time."),
        Note(0, "None of the measured calls reads low.", "It takes memory."),
    ),
    (REFERENCE, GROUPED, MAPPED, UNMEASURED),
)


def notes_in(lesson: Lesson, width: int = 80) -> list[str]:
    """Return the lines of the notes."""
    return lines_of([render_notes(lesson, SOURCE)], width)


def test_note_has_its_line_of_code_the_fact_and_the_reason() -> None:
    """A note without a line begins with its fact."""
    lines = notes_in(LESSON)
    assert lines[:6] == [
        "What an interviewer would say",
        "Measured: a layer of Llama 3 8B, B = 1, L = 2048.",
        "• line 2  y = x.repeat(4, 1)  # [4 L, M]",
        "  This line copies repeated entries: 64 MiB instead of 16 MiB.",
        "  It costs time.",
        "• None of the measured calls reads low.",
    ]


def test_costs_are_those_of_the_answer_the_reference_and_the_better_answers() -> None:
    """These are the answers that a note recommends, and the answer with the lowest peak."""
    better = tuple(Note(0, "", "", name) for name in ("mapped", "threads", "mapped", ""))
    lesson = replace(LESSON, notes=better)
    assert [line.split()[0] for line in notes_in(lesson)[-5:]] == (
        "yours reference mapped threads grouped_einsum".split()
    )
    assert notes_in(lesson)[-2].split() == ["threads", "not", "measured"]
    table = [line.split() for line in notes_in(LESSON)[-4:]]
    assert table == [
        ["operations", "multiply-adds", "memory"],
        ["yours", "14", "140", "billion", "64", "MiB"],
        ["reference", "13", "129", "billion", "99", "MiB"],
        ["grouped_einsum", "11", "129", "billion", "50", "MiB"],
    ]


def test_answer_without_remarks_gets_a_sentence() -> None:
    """An answer that did not run to its end gets another sentence."""
    cost = LESSON.cost
    good = "No remarks: no right answer of this pack does clearly better."
    bad = "The answer could not be measured."
    assert good in notes_in(Lesson("a call", cost))
    assert good in notes_in(Lesson())
    assert bad in notes_in(Lesson("a call"))
    assert bad in notes_in(Lesson(is_measured=False))
    assert bad not in notes_in(Lesson("a call", None, LESSON.notes))


def test_numbers_of_the_costs_stay_whole() -> None:
    """On a narrow screen a long name continues below."""
    answer = replace(GROUPED, name="a_long_name_of_an_answer")
    lines = notes_in(replace(LESSON, others=(REFERENCE, answer)), 50)
    assert max(map(len, lines)) <= 50
    assert all(any(word in line for line in lines) for word in ("multiply-adds", "129 billion"))
    assert "a_long_name_of_an_answer" in "".join(line[:15].strip() for line in lines[-3:])


@pytest.mark.parametrize("width", [50, 80, 200])
def test_notes_fit_the_screen(width: int) -> None:
    """Prose is at most 100 columns wide."""
    long = Note(2, "word " * 60, "reason " * 60)
    source = SOURCE.replace("# [4 L, M]", "# " + "x" * 300)
    rendered = render_notes(Lesson("a call", LESSON.cost, (long,), LESSON.others), source)
    lines = lines_of([rendered], width)
    assert max(map(len, lines)) <= width
    prose = [line.strip() for line in lines if "word" in line or "reason" in line]
    assert max(map(len, prose)) <= 100
    text = " ".join(" ".join(lines).split())
    assert (text.count("word"), text.count("reason")) == (60, 60)
    for words in ("multiply-adds", "140 billion", "64 MiB"):
        assert words in text


def test_note_on_a_line_that_the_file_does_not_have_names_no_line() -> None:
    """A submission can report false facts."""
    lines = notes_in(Lesson("a call", LESSON.cost, (Note(99, "A fact.", "A reason."),)))
    assert lines[2:4] == ["• A fact.", "  A reason."]


def test_text_of_a_file_and_names_are_shown_as_they_are() -> None:
    """No text is read as markup, and no character moves the cursor."""
    for text in HOSTILE:
        note = Note(1, f"None of the measured calls reads {text}.", "A reason.")
        lines = lines_of([render_notes(Lesson("", None, (note,)), f"x = '{text}'\n")], 80)
        assert any(text in line for line in lines[1:2])
        assert any(f"reads {text}." in line for line in lines[2:])
    note = Note(1, "It reads \x1b[2J.", "A reason.")
    assert "\x1b" not in "".join(
        lines_of([render_notes(Lesson("", None, (note,)), "'\x1b[2J'\n")], 80)
    )


def test_reference_is_shown_with_the_learners_code() -> None:
    """Both measured costs are in a sentence."""
    text = words_of([render_answer(REFERENCE, SOURCE, LESSON.cost, 80)])
    assert "13 operations, 129 billion multiply-adds, 99 MiB at the peak; yours: 14, 140" in text
    assert text.index("the reference") < text.index("yours ─") < text.index("x.repeat")


def test_other_answer_is_shown_with_its_difference_and_its_price() -> None:
    """The docstring says the same, so the code is shown without it."""
    text = words_of([render_answer(GROUPED, SOURCE, None, 80)])
    assert text.count("Make the group an axis.") == text.count("This saves memory.") == 1
    assert "50 MiB at the peak." in text
    assert text.endswith("import torch")
    assert "peak" not in words_of([render_answer(UNMEASURED, SOURCE, LESSON.cost, 80)])


def test_answer_alone_has_no_costs() -> None:
    """`solution --style` measures nothing."""
    assert words_of([render_answer(replace(GROUPED, cost=None), None, None, 80)]) == (
        "Make the group an axis. This saves memory. import torch"
    )
    assert (
        words_of([render_answer(replace(REFERENCE, cost=None), None, None, 80)])
        == "def f(x): return x"
    )


def test_own_mistakes_come_before_known_mistakes() -> None:
    """Each own mistake has its count."""
    text = words_of([render_mistakes([("The scale is missing.", 3)], ["The mask is late."])])
    assert text == (
        "Your mistakes here 3 x The scale is missing. "
        "Mistakes that are common here The mask is late."
    )
    assert words_of([render_mistakes([], ["The mask is late."])]).startswith("Mistakes that")


def test_attempts_are_shown_as_changes() -> None:
    """One attempt alone has nothing to compare."""
    attempts = [("attempt 1 (failed)", "a\n"), ("attempt 2 (failed)", "b\n"), ("last", "b\nc\n")]
    assert lines_of([render_attempts(attempts, 80)]) == [
        "from attempt 1 (failed) to attempt 2 (failed)",
        "-  a",
        "+  b",
        "",
        "from attempt 2 (failed) to last",
        "   b",
        "+  c",
    ]
    assert "nothing to compare" in words_of([render_attempts(attempts[:1], 80)])
    assert "nothing to compare" in words_of([render_attempts([], 80)])
