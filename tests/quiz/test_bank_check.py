"""Tests of the check of a question bank, and the check of the built-in bank."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from trainer.model.errors import PackError
from trainer.packs import pack_reader
from trainer.packs.question_bank import Question, read_questions, read_topics
from trainer.quiz.bank_check import bank_troubles, draws, question_troubles

BUILT_IN = pack_reader.built_in_pack()

CHALLENGES = pack_reader.read_pack(BUILT_IN)

QUESTIONS = read_questions(BUILT_IN)

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
    ("no such challenge", {"challenges": ("nowhere",)}, "'nowhere', which the pack does not have"),
    ("tolerance", {"tolerance": 0.5}, "tolerance 0.5"),
    ("negative", {"answer": "c - 20"}, "more than 0"),
    ("zero in one draw", {"answer": "10 - c"}, "a = 3, b = 7 has the answer"),
    ("divides by zero in one draw", {"answer": "1 / (10 - c)"}, "cannot be computed"),
    ("not computable", {"answer": "d"}, "cannot be computed"),
    ("not finite", {"answer": "c * 1e308 * 10"}, "has the answer inf"),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("question", QUESTIONS, ids=[question.id for question in QUESTIONS])
def test_built_in_question_has_no_trouble(question: Question) -> None:
    """Every draw can be computed, and its answer as shown is judged right."""
    assert question_troubles(question, {challenge.id for challenge in CHALLENGES}) == []


def test_built_in_bank_is_complete() -> None:
    """It has at least 60 questions, both kinds, and questions for every topic and challenge."""
    assert len(QUESTIONS) >= 60
    assert {question.kind for question in QUESTIONS} == {"number", "choice"}
    assert {challenge.topic for challenge in CHALLENGES} <= set(read_topics(BUILT_IN))
    assert {challenge.id for challenge in CHALLENGES} <= {
        name for question in QUESTIONS for name in question.challenges
    }
    assert bank_troubles(BUILT_IN) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [(changes, says) for _, changes, says in WRONG],
    ids=[name for name, *_ in WRONG],
)
def test_fault_of_a_question_is_reported(changes: Mapping[str, object], says: str) -> None:
    """A fault in only one of the draws is reported too."""
    assert question_troubles(RIGHT, ()) == []
    (trouble,) = question_troubles(replace(RIGHT, **changes), ())
    assert "question 'sum'" in trouble
    assert says in trouble


def test_too_many_options_are_reported() -> None:
    """There are letters for eight options."""
    assert question_troubles(CHOICE, ()) == []
    assert (
        "more than 8 options" in question_troubles(replace(CHOICE, wrong=tuple("stuvwxyz")), ())[0]
    )


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
    assert list(draws(replace(RIGHT, vary={}), 10)) == [{}]


def pack(folder: Path, topic: str, text: str) -> Path:
    """Write a pack with a challenge of this topic, and a question bank with the file `t.toml`."""
    challenge = folder / "challenges" / "one"
    challenge.mkdir(parents=True)
    (challenge / "challenge.toml").write_text(
        'title = "One"\nlevel = "easy"\nminutes = 5\nkind = "function"\nentry = ["one"]\n'
        f'hints = ["a", "b", "c"]\ntopic = "{topic}"\n'
    )
    if text:
        (folder / "challenges" / "_questions").mkdir()
        (folder / "challenges" / "_questions" / "t.toml").write_text(text)
    return folder


def test_topic_of_a_challenge_needs_a_file(tmp_path: Path) -> None:
    """A pack without a question bank has no trouble."""
    text = (
        'title = "T"\n[[question]]\nid = "q"\nkind = "number"\n'
        'asks = "2?"\nexplains = "{answer}"\nanswer = "2"\n'
    )
    assert bank_troubles(pack(tmp_path / "right", "t", text)) == []
    (trouble,) = bank_troubles(pack(tmp_path / "wrong", "u", text))
    assert "called u.toml" in trouble
    assert bank_troubles(pack(tmp_path / "none", "u", "")) == []
    (trouble,) = bank_troubles(pack(tmp_path / "zero", "t", text.replace('"2"', '"2 - 2"')))
    assert "more than 0" in trouble
    with pytest.raises(PackError, match="cannot be computed"):
        bank_troubles(pack(tmp_path / "broken", "t", text.replace('"2"', '"2 /"')))
