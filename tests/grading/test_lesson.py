"""The lesson about an answer that passed: a worker measures it, the pack's answers are compared."""

from pathlib import Path

import pytest
import torch

from attn_drill.grading.grader import Grader, Judgement
from attn_drill.grading.lesson import MEASURED_KINDS, Teacher, measured_cases, relative_error
from attn_drill.model.challenge import Limits, Submission
from attn_drill.model.report import Lesson
from attn_drill.packs import pack_reader
from attn_drill.packs.pack_reader import other_answers
from attn_drill.worker.worker_client import SupersededError
from tests.support.lessons import ANSWERS, COMPARED, SEED, challenge_of, compared, kinds_with_lines
from tests.support.paths import TINY_PACK
from tests.support.running import RIGHT_SUM

SUMS = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
MASKS = challenge_of("masks")


def judged(grader: Grader, challenge: str, source: str, seed: int = SEED) -> Judgement:
    """Return the judgement of an answer that passes."""
    found = challenge_of(challenge) if challenge != SUMS.id else SUMS
    judgement = grader.grade(found, Submission(f"{challenge}.py", source), seed)
    assert judgement.report.verdict == "passed", judgement.report.first_failure()
    return judgement


def lesson_on(grader: Grader, challenge: str, source: str) -> Lesson:
    """Return the lesson about an answer that passes."""
    return Teacher(grader.workers).lesson(judged(grader, challenge, source))


def test_lesson_has_costs_notes_and_all_right_answers(grader: Grader) -> None:
    """The worker measures the same as the grading process."""
    lesson = lesson_on(grader, "masks", pack_reader.solution(MASKS))
    assert lesson.call == measured_cases(grader.case_set(MASKS, SEED)).content.realistic().name  # type: ignore[union-attr]
    assert [(other.name, other.does, other.source) for other in lesson.others] == [
        (other.name, other.does, other.source) for other in other_answers(MASKS)
    ]
    assert lesson.own == lesson.others[0].cost
    assert lesson.own is not None
    assert (lesson.notes, lesson.is_measured) == ((), True)


@pytest.mark.thorough
def test_challenge_without_a_realistic_call_still_has_a_lesson(grader: Grader) -> None:
    """Its cases are measured, so a read of a value is found."""
    source = RIGHT_SUM.format("assert torch.isfinite(x).all()")
    lesson = lesson_on(grader, SUMS.id, source)
    assert (lesson.call, lesson.own, lesson.is_measured) == ("", None, True)
    assert [(note.line, note.says[:19]) for note in lesson.notes] == [(3, "Python reads a valu")]


def test_measured_cases_are_plain_with_and_without_a_mask_in_both_dtypes(grader: Grader) -> None:
    """A bias without dtype= shows only with a mask in bfloat16."""
    case_set = measured_cases(grader.case_set(challenge_of("gqa"), SEED))
    kinds = [(prepared.case.dtype, prepared.case.check) for prepared in case_set.prepared]
    assert sorted(kinds) == sorted(MEASURED_KINDS)


# The first lines of a function that passes, and then does harm while it is measured.
HARM = {
    "raises": "raise SystemExit",
    "raises an exception without words": "raise type('E', (Exception,), {'__str__': None})",
    "prints": "print('\\x1b[2J' * 100_000)",
    "exits": "import os; os._exit(0)",
    "loops without end": "while True: pass",
    "loops on tensors without values": "while (lengths.max() > -1).item(): lengths = lengths * 2",
    "returns nonsense": "return [lengths.is_meta, {1: object()}]",
    "sleeps": "import time; time.sleep(3600)",
    "takes all memory": "torch.ones(1 << 40, device='cpu')",
}


@pytest.mark.thorough
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", HARM)
def test_harm_during_the_measurement_hurts_nothing_else(
    grader: Grader,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
) -> None:
    """The lesson has the pack's answers, nothing is printed, and the next answer is graded."""
    source = pack_reader.solution(MASKS)
    head = "def padding_mask(lengths, max_len):\n"
    assert source.count(head) == 1
    start = source.index(head) + len(head)
    body = f"    if lengths.is_meta:\n        {HARM[name]}\n"
    docstring_end = source.index('"""', source.index('"""', start) + 3) + 4
    judgement = judged(grader, "masks", source[:docstring_end] + body + source[docstring_end:])
    monkeypatch.setattr(grader.workers, "limits", Limits(seconds=1.0))
    monkeypatch.setattr(
        "attn_drill.grading.lesson.other_answers", lambda challenge: other_answers(challenge)[:1]
    )
    lesson = Teacher(grader.workers).lesson(judgement)
    assert [other.name for other in lesson.others] == ["reference"]
    assert lesson.others[0].cost is not None
    assert judgement.report.verdict == "passed"
    assert "\x1b[2J" not in "".join(capfd.readouterr())
    assert judged(grader, SUMS.id, RIGHT_SUM.format("pass"))


def test_file_of_the_pack_that_cannot_run_has_no_cost(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its code is shown all the same. The output of a file is not printed."""
    reference, other, *_ = other_answers(SUMS) * 2
    broken = [
        type(other)("broken", "", "", "1 / 0\n"),
        type(other)("wrong", "", "", "print('hello')\nprefix_sum = None\n"),
    ]
    monkeypatch.setattr(
        "attn_drill.grading.lesson.other_answers", lambda challenge: (reference, *broken)
    )
    lesson = lesson_on(grader, SUMS.id, RIGHT_SUM.format("pass"))
    assert [(other.name, other.cost) for other in lesson.others] == [
        ("reference", None),
        ("broken", None),
        ("wrong", None),
    ]


def test_answer_of_the_pack_with_too_many_operations_has_no_cost(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lesson would come too late."""
    case_set = measured_cases(grader.case_set(MASKS, SEED))
    measure = Teacher(grader.workers)._measured_content
    reference = other_answers(MASKS)[0]
    assert measure(case_set, reference).cost is not None
    monkeypatch.setattr("attn_drill.grading.lesson._MOST_OPERATIONS", 3)
    assert measure(case_set, reference).cost is None


def test_next_request_ends_the_measurement(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends at the next operation, not at the end of an answer of the pack."""
    case_set = measured_cases(grader.case_set(MASKS, SEED))
    checks = []

    def check() -> None:
        checks.append(1)
        if len(checks) > 2:
            raise SupersededError

    monkeypatch.setattr(grader.workers, "check_interrupt", check)
    measured = Teacher(grader.workers)._measured_content(case_set, other_answers(MASKS)[0])
    assert (len(checks), measured.cost) == (3, None)
    judgement = judged(grader, SUMS.id, RIGHT_SUM.format("pass"))
    with pytest.raises(SupersededError):
        Teacher(grader.workers).lesson(judgement)


def test_error_is_the_root_mean_square_of_the_errors_by_that_of_the_values(grader: Grader) -> None:
    """An output that is missing, or has another form, has no error."""
    expected = grader.case_set(SUMS, SEED).prepared[0].expected.outputs
    exact = {name: value.value for name, value in expected.items()}
    larger = {name: value * 1.25 for name, value in exact.items()}
    assert relative_error([(expected, exact)]) == 0
    assert relative_error([(expected, larger)]) == pytest.approx(0.25)
    both = [(expected, exact), (expected, larger)]
    assert relative_error(both) == pytest.approx(0.25 / 2**0.5), "all cases count together"
    assert relative_error([]) is None
    for bad in (
        {},
        {name: value[..., :-1] for name, value in exact.items()},
        {name: value * float("nan") for name, value in exact.items()},
        {name: value.to(torch.complex64) for name, value in exact.items()},
    ):
        assert relative_error([(expected, bad)]) is None


@pytest.mark.sampled(4)
@pytest.mark.thorough
@pytest.mark.parametrize("name", ANSWERS)
def test_answer_passes_and_its_lesson_has_the_deserved_notes(
    grader: Grader, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A worker measures the answer as the learner's file."""
    answer = ANSWERS[name]
    names = COMPARED[answer.challenge]
    monkeypatch.setattr(
        "attn_drill.grading.lesson.other_answers",
        lambda challenge: [other for other in other_answers(challenge) if other.name in names],
    )
    lesson = lesson_on(grader, answer.challenge, answer.source)
    found = kinds_with_lines(lesson.notes, answer.source)
    assert {kind for kind, _ in found} == {kind for kind, _ in answer.deserves}
    for kind, part in answer.deserves:
        assert any(kind == other and part in code for other, code in found)
    assert compared(grader, answer.challenge)[0].cost == lesson.others[0].cost


@pytest.mark.sampled(3)
@pytest.mark.thorough
@pytest.mark.parametrize("path", pack_reader.also_right(challenge_of("gqa")), ids=lambda p: p.stem)
def test_layers_keep_the_roles_that_the_verdict_found(grader: Grader, path: Path) -> None:
    """With other roles, the result in bfloat16 would be wrong by more than 100 %."""
    lesson = lesson_on(grader, "gqa", path.read_text())
    assert not any(note.says.startswith("In bfloat16") for note in lesson.notes)
