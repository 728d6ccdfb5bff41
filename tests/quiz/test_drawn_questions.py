"""The quiz: what is asked and when, what is right, and the command as a user meets it."""

from collections import Counter
from random import Random

import pytest

from tests.support.quiz import BUILT_IN, CHALLENGES
from trainer.hunt.planted_mistakes import bare, fair
from trainer.model.challenge import Challenge
from trainer.packs import pack_reader
from trainer.packs.mistakes import read_mistakes
from trainer.packs.question_bank import Question
from trainer.quiz.drawn_questions import (
    DrawnQuestion,
    draw,
    judge,
    line_question,
    lines,
    with_values,
)

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
    explains="{part} / {whole} = {answer}, and {what} stays.",
    unit="%",
    answer="100 * part / whole",
    tolerance=0.01,
    vary={"part": (1, 3), "whole": (40, 20000)},
)


def test_numbers_are_drawn_anew() -> None:
    """Every draw is among those that are varied, all come, and the texts are filled in with them."""
    texts = {draw(SHARE, Random(seed)).text for seed in range(40)}
    assert texts == {
        f"{part} of {whole}, in percent?" for part in (1, 3) for whole in ("40", "20,000")
    }
    asked = with_values(SHARE, {"part": 3, "whole": 40})
    assert (asked.item, asked.answer, asked.value, asked.options) == (
        "question:s",
        "7.5 %",
        7.5,
        (),
    )
    assert asked.explanation == "3 / 40 = 7.5 %, and {what} stays."


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
        pytest.param("?", False, "", id="not known"),
        pytest.param("7.5 MiB", None, "another kind of unit", id="another unit"),
        pytest.param("", None, "in percent", id="nothing"),
    ],
)
def test_a_number_is_judged(given: str, right: bool | None, says: str) -> None:
    """Right, wrong with how far off it is, or not understood."""
    judged = judge(with_values(SHARE, {"part": 3, "whole": 40}), given)
    assert judged.right is right
    assert says in judged.message
    assert bool(judged.message) == bool(says)


def test_options_are_shuffled() -> None:
    """The right one comes at every place."""
    places = Counter(draw(COLOURS, Random(seed)).options.index("blue") for seed in range(200))
    assert set(places) == {0, 1, 2, 3}
    assert min(places.values()) > 20


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        *[
            pytest.param(given, 2, id=given)
            for given in ("c", "C", "c)", "(c)", " c. ", "3", "blue", "Blue", "  blue ")
        ],
        *[pytest.param(given, 0, id=given) for given in ("a", "orange", "1")],
        *[
            pytest.param(given, 3, id=given) for given in ("d", "4", "2")
        ],  # the text "2" goes before the second place
        *[
            pytest.param(given, None, id=given or "nothing")
            for given in ("e", "5", "0", "", "blu", "ab", "²")
        ],
    ],
)
def test_a_choice_is_judged(given: str, chosen: int | None) -> None:
    """By letter, by text or by number; of anything else nothing is made."""
    options = ("orange", "a", "blue", "2")
    for index, option in enumerate(options):
        asked = DrawnQuestion(
            "question:c", "t", "choice", "Which?", f"{'abcd'[index]}) {option}", "", options=options
        )
        judged = judge(asked, given)
        assert judged.right is (None if chosen is None else chosen == index)
        assert judged.message == ("Answer with a letter, a to d." if chosen is None else "")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=[one.id for one in CHALLENGES])
def test_lines_of_every_mistake(challenge: Challenge) -> None:
    """The numbers that are right are of the lines that differ from the reference, and nothing shown gives them away."""
    reference = Counter(bare(pack_reader.solution(challenge)).splitlines())
    for mistake in fair(read_mistakes(challenge)):
        asked = line_question(challenge, mistake)
        shown = asked.code.split("\n")
        assert asked.item == f"line:{challenge.id}:{mistake.id}"
        assert asked.topic == challenge.topic
        assert asked.lines, mistake.id
        assert all(shown[number - 1].strip() for number in asked.lines), mistake.id
        others = Counter(
            line for number, line in enumerate(shown, start=1) if line and number not in asked.lines
        )
        assert not others - reference, mistake.id
        assert mistake.was not in asked.code or mistake.was in mistake.now, mistake.id
        assert mistake.says not in asked.text + asked.code, mistake.id
        assert mistake.says in asked.explanation, mistake.id
        assert [judge(asked, str(number)).right for number in range(1, len(shown) + 1)] == [
            number in asked.lines for number in range(1, len(shown) + 1)
        ]
        assert judge(asked, str(len(shown) + 1)).right is None


def test_a_long_reference_is_cut() -> None:
    """Of a class the method that holds the line, below the head of the class; of several functions the one."""
    gqa = pack_reader.find_challenge(BUILT_IN, "gqa")
    asked = line_question(gqa, next(one for one in read_mistakes(gqa) if one.id == "no-scale"))
    shown = asked.code.split("\n")
    assert shown[0] == "class GroupedQueryAttention(nn.Module):"
    assert shown[2:4] == ["", "    def forward(self, x, mask=None):"]
    assert "def __init__" not in asked.code
    assert "beside which something is missing" in asked.answer
    assert [shown[number - 1].strip() for number in asked.lines] == [
        "scores = q @ k.transpose(-2, -1)",
        "if mask is not None:",
    ]
    assert "The reference has: scores = scores / math.sqrt(self.head_dim)" in asked.explanation


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("2", True),
        ("line 2", True),
        ("Line 2.", True),
        ("l2", True),
        ("1", False),
        ("?", False),
        ("4", None),
        ("0", None),
        ("two", None),
        ("", None),
    ],
)
def test_a_line_is_judged(given: str, right: bool | None) -> None:
    """By its number; one that is not there asks again."""
    judged = judge(
        DrawnQuestion("line:a:b", "t", "line", "Which?", "line 2", "", code="a\nb\nc", lines=(2,)),
        given,
    )
    assert judged.right is right
    assert (judged.message == "Answer with the number of a line, 1 to 3.") == (right is None)


def test_lines_come_from_every_challenge() -> None:
    """Of those that are given, and the same with the same chance."""
    rng = Random(1)
    found = Counter(lines(CHALLENGES[:3], rng).item.split(":")[1] for _ in range(60))
    assert set(found) == {one.id for one in CHALLENGES[:3]}
    assert lines(CHALLENGES, Random(4)) == lines(CHALLENGES, Random(4))
