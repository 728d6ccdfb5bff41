"""Tests of drawing questions and judging answers."""

from collections import Counter
from random import Random

import pytest

from attn_drill.exercises.altered_reference import fair_mistakes, strip_comments
from attn_drill.exercises.questions import Choice, FindLine, draw, line_question, with_values
from attn_drill.model.challenge import Challenge
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.packs.question_bank import Question
from tests.support.exercises import BUILT_IN, CHALLENGES

COLOURS = Question(
    id="c",
    topic="t",
    kind="choice",
    asks="Which colour?",
    explains="It is.",
    right="blue",
    wrong=("orange", "a", "2"),
)

SHARE = Question(
    id="s",
    topic="t",
    kind="number",
    asks="{part} of {whole}, in percent?",
    explains="{part} / {whole} = {answer}.",
    unit="%",
    answer="100 * part / whole",
    tolerance=0.01,
    vary={"part": (1, 3), "whole": (40, 20000)},
)


def test_number_question_has_drawn_values_in_its_texts() -> None:
    """All possible values are drawn."""
    texts = {draw(SHARE, Random(seed)).text for seed in range(40)}
    assert texts == {
        f"{part} of {whole}, in percent?" for part in (1, 3) for whole in ("40", "20,000")
    }
    drawn = with_values(SHARE, {"part": 3, "whole": 40})
    assert (drawn.item, drawn.answer, drawn.value) == ("question:s", "7.5 %", 7.5)
    assert drawn.explanation == "3 / 40 = 7.5 %."


@pytest.mark.parametrize(
    ("given", "right", "says"),
    [
        pytest.param("7.5", True, "", id="right"),
        pytest.param("7.5 %", True, "", id="with its unit"),
        pytest.param("7.55", True, "", id="within the tolerance"),
        pytest.param("0.075", False, "read as 0.075 %, not as a share", id="a share"),
        pytest.param("15", False, "15 % is 2 times the answer.", id="twice"),
        pytest.param("2.5", False, "The answer is 3 times 2.5 %.", id="a third"),
        pytest.param("7.7", False, "", id="near"),
        pytest.param("-1", False, "", id="negative"),
        pytest.param("0", False, "", id="zero"),
        pytest.param("7.5 MiB", None, "another kind of unit", id="another unit"),
        pytest.param("", None, "in percent", id="nothing"),
    ],
)
def test_number_is_right_wrong_or_not_understood(given: str, right: bool | None, says: str) -> None:
    """The message about a wrong number says how far off it is."""
    judged = with_values(SHARE, {"part": 3, "whole": 40}).judge(given)
    assert judged.right is right
    assert says in judged.message
    assert bool(judged.message) == bool(says)


def test_right_option_comes_at_every_position() -> None:
    """Each position occurs often enough."""
    drawn = [draw(COLOURS, Random(seed)) for seed in range(200)]
    assert {question.answer.partition(") ")[2] for question in drawn} == {"blue"}
    positions = Counter("abcd".index(question.answer[0]) for question in drawn)
    assert set(positions) == {0, 1, 2, 3}
    assert min(positions.values()) > 20


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        *[
            pytest.param(given, 2, id=given)
            for given in ("c", "C", "c)", "(c)", " c. ", "3", "blue", "Blue", "  blue ")
        ],
        *[pytest.param(given, 0, id=given) for given in ("a", "orange", "1")],
        # "2" is the text of the last option, which counts before the second position.
        *[pytest.param(given, 3, id=given) for given in ("d", "4", "2")],
        *[
            pytest.param(given, None, id=given or "nothing")
            for given in ("e", "5", "0", "", "blu", "ab", "²")
        ],
    ],
)
def test_choice_is_answered_by_letter_text_or_position(given: str, chosen: int | None) -> None:
    """Any other text is not understood."""
    options = ("orange", "a", "blue", "2")
    for right in range(4):
        question = Choice(
            item="question:c", topic="t", text="", explanation="", options=options, right=right
        )
        judged = question.judge(given)
        assert judged.right is (None if chosen is None else chosen == right)
        assert judged.message == ("Answer with a letter, a to d." if chosen is None else "")


@pytest.mark.sampled(24)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=[challenge.id for challenge in CHALLENGES])
def test_right_lines_are_those_that_differ_from_the_reference(challenge: Challenge) -> None:
    """Nothing in the question shows the mistake."""
    source = pack_reader.solution(challenge)
    reference = Counter(strip_comments(source).splitlines())
    for mistake in fair_mistakes(read_mistakes(challenge)):
        question = line_question(challenge, mistake)
        shown = question.code.split("\n")
        assert question.item == f"line:{challenge.id}:{mistake.id}"
        assert question.topic == challenge.topic
        assert question.lines, mistake.id
        assert all(shown[number - 1].strip() for number in question.lines), mistake.id
        others = Counter(
            line
            for number, line in enumerate(shown, start=1)
            if line and number not in question.lines
        )
        assert not others - reference, mistake.id
        assert mistake.was not in question.code or mistake.was in mistake.now, mistake.id
        assert mistake.says not in question.text + question.code, mistake.id
        assert mistake.says in question.explanation, mistake.id
        assert [question.judge(str(number)).right for number in range(1, len(shown) + 1)] == [
            number in question.lines for number in range(1, len(shown) + 1)
        ]
        assert question.judge(str(len(shown) + 1)).right is None


def test_long_reference_is_cut_to_the_method_with_the_mistake() -> None:
    """The first lines of the class are shown above the method."""
    gqa = pack_reader.find_challenge(BUILT_IN, "gqa")
    mistakes = {mistake.id: mistake for mistake in read_mistakes(gqa)}
    question = line_question(gqa, mistakes["no-scale"])
    shown = question.code.split("\n")
    assert shown[0] == "class GroupedQueryAttention(nn.Module):"
    assert shown[2:4] == ["", "    def forward(self, x, mask=None):"]
    assert "def __init__" not in question.code
    assert "(next to a missing line)" in question.answer
    assert [shown[number - 1].strip() for number in question.lines] == [
        "scores = q @ k.transpose(-2, -1)",
        "if mask is not None:",
    ]
    assert "The reference has: scores = scores / math.sqrt(self.head_dim)" in question.explanation


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("2", True),
        ("line 2", True),
        ("Line 2.", True),
        ("l2", True),
        ("1", False),
        ("4", None),
        ("0", None),
        ("two", None),
        ("", None),
    ],
)
def test_line_is_answered_by_its_number(given: str, right: bool | None) -> None:
    """A line number that does not exist is not understood."""
    question = FindLine(
        item="line:a:b", topic="t", text="", explanation="", code="a\nb\nc", lines=(2,)
    )
    judged = question.judge(given)
    assert judged.right is right
    assert (judged.message == "Answer with the number of a line, 1 to 3.") == (right is None)


@pytest.mark.parametrize(
    ("lines", "missing", "answer"),
    [
        ((2,), False, "line 2"),
        ((2, 3, 5), False, "line 2, 3 or 5"),
        ((2, 3), True, "line 2 or 3 (next to a missing line)"),
    ],
)
def test_answer_names_all_right_lines(lines: tuple[int, ...], missing: bool, answer: str) -> None:
    """A missing line has two neighbours."""
    question = FindLine(
        item="line:a:b", topic="t", text="", explanation="", lines=lines, missing=missing
    )
    assert question.answer == answer
