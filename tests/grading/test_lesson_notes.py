"""Notes on answers that passed: each answer gets the notes that it deserves, and no others."""

from typing import Any

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.grading.lesson import MeasuredAnswer, notes
from attn_drill.worker.protocol import CopyFact, Facts, HeldFact
from tests.support.lessons import ANSWERS, kind_of, kinds_with_lines, notes_on

MIB = 1 << 20
TOO = " This is true of the reference, too."


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ANSWERS)
def test_answer_gets_the_notes_that_it_deserves(grader: Grader, name: str) -> None:
    """A near miss gets no note. Every note names its line, if a line is the reason."""
    answer = ANSWERS[name]
    found = kinds_with_lines(notes_on(grader, answer), answer.source)
    left = set(answer.deserves)
    for kind, code in found:
        deserved = [(wanted, part) for wanted, part in left if wanted == kind and part in code]
        assert deserved, (kind, code)
        left -= set(deserved)
    assert not left


def answer(name: str = "answer", **facts: Any) -> MeasuredAnswer:
    """Return an answer with these facts about its realistic call."""
    return MeasuredAnswer(name, Facts(**facts))


def said(own: MeasuredAnswer, *others: MeasuredAnswer) -> list[tuple[int, str]]:
    """Return the line and the fact of each note."""
    return [(note.line, note.says) for note in notes(own, others)]


def test_copies_of_a_line_are_one_note_and_equal_lines_share_it() -> None:
    """The note names an answer that needs no copy."""
    copies = [CopyFact(4, 8 * MIB, 32 * MIB), CopyFact(5, 8 * MIB, 32 * MIB)]
    own = answer(copies=[*copies, CopyFact(9, MIB, 4 * MIB), CopyFact(9, MIB, 4 * MIB)])
    found = notes(own, [answer("reference", copies=copies), answer("grouped")])
    assert [(note.line, note.says) for note in found] == [
        (4, f"This line (as line 5) copies repeated entries: 32 MiB instead of 8 MiB.{TOO}"),
        (9, f"This line copies repeated entries: 8 MiB instead of 2 MiB.{TOO}"),
    ]
    assert all("`grouped` needs no copy" in note.why for note in found)
    assert {note.recommends for note in found} == {"grouped"}
    (note, _) = notes(own, [answer("reference"), answer("grouped")])
    assert (TOO in note.says, note.recommends) == (False, "reference")
    (note, _) = notes(own, [MeasuredAnswer("reference"), answer("grouped")])
    assert TOO not in note.says, "nothing is known about the reference"


@pytest.mark.parametrize("fact", ["reads", "other_device", "default_dtype"])
def test_fact_of_the_reference_is_said_of_both(fact: str) -> None:
    """A reader would else believe that the reference is better."""
    own, reference = answer(**{fact: [3]}), answer("reference", **{fact: [7]})
    ((line, says),) = said(own, reference)
    assert (line, says.endswith(TOO)) == (3, True)
    ((_, says),) = said(own, answer("reference", **{fact: [0]}), reference)
    assert TOO not in says, "only the reference counts, and only lines of its file"


def test_copy_that_every_answer_needs_is_no_note() -> None:
    """There would be nothing to do better."""
    copies = [CopyFact(4, MIB, 4 * MIB)]
    assert said(answer(copies=copies), answer("reference", copies=copies)) == []
    assert said(answer(copies=copies), MeasuredAnswer("reference")) == []


def test_error_in_bfloat16_is_compared_with_the_most_accurate_answer() -> None:
    """The note names the line of the softmax, if it runs in half precision."""
    others = [
        MeasuredAnswer("reference", half_error=0.003),
        MeasuredAnswer("f32", half_error=0.002),
    ]
    softmax = [Facts(half_softmax=[7])]
    own = MeasuredAnswer("own", calls=softmax, half_error=0.004)
    (note,) = notes(own, others)
    assert (note.line, note.recommends) == (7, "f32")
    assert note.says == (
        "In bfloat16 the result is off by 0.40% (root mean square) in your answer, by 0.30% in the "
        "reference and by 0.20% in `f32`. The softmax of this line runs in bfloat16."
    )
    others[0] = MeasuredAnswer("reference", half_error=0.0021)
    ((_, says),) = said(own, *others)
    assert "in your answer, by 0.20% in `f32`." in says, "the reference is nearly as good"
    assert said(MeasuredAnswer("own", half_error=0.0029), *others) == []
    assert said(MeasuredAnswer("own", calls=softmax), *others) == []


@pytest.mark.parametrize(
    ("peak", "compared"),
    [
        (100 * MIB, ""),
        (124 * MIB, ""),
        (126 * MIB, "100 MiB by the reference and 70 MiB by `lean`"),
        (141 * MIB, "100 MiB by the reference and 70 MiB by `lean`"),
    ],
)
def test_memory_is_a_note_above_a_quarter_more_than_the_reference(peak: int, compared: str) -> None:
    """The note names the line of the largest tensor."""
    own = answer(peak_bytes=peak, held=[HeldFact(3, 50 * MIB), HeldFact(9, MIB)])
    others = answer("reference", peak_bytes=100 * MIB), answer("lean", peak_bytes=70 * MIB)
    found = said(own, *others)
    assert [line for line, _ in found] == ([3] if compared else [])
    assert all(compared in says for _, says in found)


def test_memory_of_twice_the_best_answer_is_a_note_even_for_the_reference() -> None:
    """A small peak is no note."""
    own = answer(peak_bytes=100 * MIB)
    (note,) = notes(own, [answer("reference", peak_bytes=100 * MIB), answer("lean", peak_bytes=49)])
    assert note.recommends == "lean"
    assert len(said(own, own, answer("lean", peak_bytes=49 * MIB))) == 1
    assert said(own, own, answer("lean", peak_bytes=51 * MIB)) == []
    assert said(answer(peak_bytes=1000), answer("reference", peak_bytes=100)) == []


def test_products_and_operations_are_compared_with_the_reference() -> None:
    """A few operations more than the reference are no note."""
    reference = answer("reference", operations=14, multiply_adds=10**9)
    own = answer(operations=25, multiply_adds=2 * 10**9)
    assert [says for _, says in said(own, reference)] == [
        "Your answer needs 2 billion multiply-adds, the reference 1 billion.",
        "Your answer runs 25 tensor operations that compute or copy, the reference 14.",
    ]
    assert said(answer(operations=24, multiply_adds=1_040_000_000), reference) == []
    small = answer("reference", multiply_adds=10**6)
    assert said(answer(multiply_adds=2 * 10**6), small) == [], "a million takes no time"


def test_state_is_unused_only_if_no_call_reads_it() -> None:
    """A table of masks is read only by a call with a mask."""
    calls = [Facts(unused=["mask", "low"]), Facts(unused=["low"])]
    own = MeasuredAnswer("own", calls=calls)
    assert said(own) == [(0, "None of the measured calls reads low.")]
    reference = MeasuredAnswer("reference", calls=[Facts(unused=["high"])])
    assert said(own, reference) == [(0, f"None of the measured calls reads low.{TOO}")]


def test_fact_without_a_line_of_the_file_is_no_note() -> None:
    """The line would be wrong. Such facts come from code that Python does not see."""
    own = MeasuredAnswer("own", Facts(reads=[0], other_device=[0], default_dtype=[0]))
    assert notes(own, []) == ()


def test_answer_without_facts_has_no_notes() -> None:
    """The worker may have died."""
    assert notes(MeasuredAnswer("own"), [answer("reference", peak_bytes=MIB)]) == ()
    assert notes(MeasuredAnswer("own"), []) == ()


def test_every_note_says_why_it_matters_in_a_sentence() -> None:
    """Reasons come first that stop a program, then those that cost."""
    own = MeasuredAnswer(
        "own",
        Facts(
            operations=99,
            multiply_adds=9 * 10**9,
            peak_bytes=9 * MIB,
            copies=[CopyFact(1, MIB, 2 * MIB)],
            reads=[2],
            other_device=[3],
            default_dtype=[4],
        ),
        [Facts(unused=["low"])],
        0.1,
    )
    found = notes(own, [MeasuredAnswer("reference", Facts(), half_error=0.01)])
    assert [kind_of(note) for note in found] == (
        "copy read device dtype precision memory products operations unused".split()
    )
    for note in found:
        assert note.why.endswith(".")
        assert note.why[0].isupper() or note.why.startswith(("bfloat16", "torch.compile"))
