"""Tests of the check of a question bank, and the check of the built-in bank."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from attn_drill.exercises.questions import bank_problems, draws, question_faults
from attn_drill.packs import pack_reader
from attn_drill.packs.question_bank import Question, read_bank

BUILT_IN = pack_reader.built_in_pack()

CHALLENGES = pack_reader.read_pack(BUILT_IN)

BANK = read_bank([BUILT_IN])

RIGHT = Question(
    id="sum",
    topic="t",
    kind="number",
    asks="{a} + {b}?",
    explains="{a} + {b} = {answer}",
    answer="c",
    vary={"a": (1, 2, 3), "b": (4, 5, 6, 7)},
    derive={"c": "a + b"},
)

CHOICE = Question(
    id="pick",
    topic="t",
    kind="choice",
    asks="Which?",
    explains="This.",
    right="this",
    wrong=("that", "those"),
)

WRONG: list[tuple[str, Mapping[str, object], str]] = [
    ("no such challenge", {"challenges": ("nowhere",)}, "'nowhere', which no pack has"),
    ("negative", {"answer": "c - 20"}, "more than 0"),
    ("zero in one draw", {"answer": "10 - c"}, "a = 3, b = 7 has the answer"),
    ("divides by zero in one draw", {"answer": "1 / (10 - c)"}, "cannot be computed"),
    ("not finite", {"answer": "c * 1e308 * 10"}, "has the answer inf"),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "question", BANK.questions, ids=[question.id for question in BANK.questions]
)
def test_built_in_question_has_no_fault(question: Question) -> None:
    """Every draw can be computed, and its answer as shown is judged right."""
    assert question_faults(question, {challenge.id for challenge in CHALLENGES}) == []


def test_built_in_bank_is_complete() -> None:
    """It has at least 60 questions, both kinds, and questions for every topic and challenge."""
    assert len(BANK.questions) >= 60
    assert {question.kind for question in BANK.questions} == {"number", "choice"}
    assert {challenge.topic for challenge in CHALLENGES} <= set(BANK.titles)
    assert {challenge.id for challenge in CHALLENGES} <= {
        name for question in BANK.questions for name in question.challenges
    }
    assert bank_problems(BUILT_IN) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [(changes, says) for _, changes, says in WRONG],
    ids=[name for name, *_ in WRONG],
)
def test_fault_of_a_question_is_reported(changes: Mapping[str, object], says: str) -> None:
    """A fault in only one of the draws is reported too."""
    assert question_faults(RIGHT, ()) == []
    (fault,) = question_faults(replace(RIGHT, **changes), ())
    assert says in fault


def test_too_many_options_are_reported() -> None:
    """There are letters for eight options."""
    assert question_faults(CHOICE, ()) == []
    assert "more than 8 options" in question_faults(replace(CHOICE, wrong=tuple("stuvwxyz")), ())[0]


def test_draws_reach_every_value() -> None:
    """All draws are made if there are few. Otherwise, a part in which every value occurs."""
    assert len(list(draws(RIGHT, 12))) == 12
    many = replace(
        RIGHT, vary={"a": tuple(range(12)), "b": tuple(range(10)), "c": tuple(range(35))}
    )
    part = list(draws(many, 100))
    assert 50 <= len(part) <= 100
    for name, values in (many.vary or {}).items():
        assert {values_of_draw[name] for values_of_draw in part} == set(values)
    fixed = replace(RIGHT, asks="1?", explains="1", answer="1", vary={}, derive={})
    assert list(draws(fixed, 10)) == [{}]


TOPIC = """title = "T"
[[question]]
id = "q"
kind = "number"
asks = "2?"
explains = "{answer}"
answer = "2"
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(TOPIC, "", id="right"),
        pytest.param(
            TOPIC.replace('"2"', '"2 - 2"'), "line 2: question 'q' has the answer 0", id="zero"
        ),
        pytest.param(TOPIC.replace('"2"', '"2 /"'), "line 2: Question 'q' cannot be", id="formula"),
        pytest.param(
            TOPIC.replace("title", "titel"), "line 1: `titel` is not a key here", id="key"
        ),
        pytest.param(
            TOPIC + 'challenges = ["gqb"]', "follows up 'gqb', which no pack has", id="challenge"
        ),
        pytest.param(TOPIC + 'challenges = ["gqa"]', "", id="challenge of another pack"),
    ],
)
def test_problem_of_a_bank_has_its_line(tmp_path: Path, text: str, says: str) -> None:
    """The files are checked one by one, and an id may occur in only one of them."""
    folder = tmp_path / "challenges" / "_questions"
    folder.mkdir(parents=True)
    (folder / "t.toml").write_text(text)
    problems = bank_problems(tmp_path, [BUILT_IN])
    assert [says in problem for problem in problems] == ([True] if says else [])
    (folder / "u.toml").write_text(TOPIC)
    problems = [problem for problem in bank_problems(tmp_path, [BUILT_IN]) if "u.toml" in problem]
    is_read = "cannot be" not in says and "titel" not in says
    assert ["has the id of a question in t.toml" in problem for problem in problems] == (
        [True] if is_read else []
    )
