"""The question bank: every question can be asked, computed and answered; and the check for that can fail."""

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


@pytest.mark.parametrize("question", QUESTIONS, ids=[one.id for one in QUESTIONS])
def test_a_question_holds(question: Question) -> None:
    """Every draw is computable, finite and positive, fills its texts, and its answer as shown is judged right."""
    assert question_troubles(question, {one.id for one in CHALLENGES}) == []


def test_the_bank_is_large_and_complete() -> None:
    """At least 60 questions, both kinds, and questions for every topic of a challenge."""
    assert len(QUESTIONS) >= 60
    assert {one.kind for one in QUESTIONS} == {"number", "choice"}
    assert {one.topic for one in CHALLENGES} <= set(read_topics(BUILT_IN))
    assert {one.id for one in CHALLENGES} <= {name for one in QUESTIONS for name in one.challenges}
    assert bank_troubles(BUILT_IN) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [(changes, says) for _, changes, says in WRONG],
    ids=[name for name, *_ in WRONG],
)
def test_what_is_wrong_is_said(changes: Mapping[str, object], says: str) -> None:
    """One fault at a time in a question that is right otherwise, also where it shows in one draw only."""
    assert question_troubles(RIGHT, ()) == []
    (trouble,) = question_troubles(replace(RIGHT, **changes), ())
    assert "question 'sum'" in trouble
    assert says in trouble


def test_too_many_options_are_said() -> None:
    """There are eight letters."""
    assert question_troubles(CHOICE, ()) == []
    assert (
        "more than 8 options" in question_troubles(replace(CHOICE, wrong=tuple("stuvwxyz")), ())[0]
    )


def test_draws_reach_every_value() -> None:
    """All of them where they are few; of many a part, in which every value stands."""
    assert len(list(draws(RIGHT, 12))) == 12
    many = replace(
        RIGHT, vary={"a": tuple(range(12)), "b": tuple(range(10)), "c": tuple(range(35))}
    )
    some = list(draws(many, 100))
    assert 50 <= len(some) <= 100
    for name, values in (many.vary or {}).items():
        assert {one[name] for one in some} == set(values)
    assert list(draws(replace(RIGHT, vary={}), 10)) == [{}]


def pack(folder: Path, topic: str, text: str) -> Path:
    """A pack of one challenge of this topic, and a bank of one file, `t.toml`."""
    challenge = folder / "challenges" / "one"
    challenge.mkdir(parents=True)
    (challenge / "challenge.toml").write_text(
        f'title = "One"\nlevel = "easy"\nminutes = 5\nkind = "function"\nentry = ["one"]\nhints = ["a", "b", "c"]\ntopic = "{topic}"\n'
    )
    if text:
        (folder / "challenges" / "_questions").mkdir()
        (folder / "challenges" / "_questions" / "t.toml").write_text(text)
    return folder


def test_a_topic_needs_a_file(tmp_path: Path) -> None:
    """A challenge whose topic has no questions is named; a pack without a bank has no trouble."""
    text = 'title = "T"\n[[question]]\nid = "q"\nkind = "number"\nasks = "2?"\nexplains = "{answer}"\nanswer = "2"\n'
    assert bank_troubles(pack(tmp_path / "right", "t", text)) == []
    (trouble,) = bank_troubles(pack(tmp_path / "wrong", "u", text))
    assert "called u.toml" in trouble
    assert bank_troubles(pack(tmp_path / "none", "u", "")) == []
    (trouble,) = bank_troubles(pack(tmp_path / "zero", "t", text.replace('"2"', '"2 - 2"')))
    assert "more than 0" in trouble
    with pytest.raises(PackError, match="cannot be computed"):
        bank_troubles(pack(tmp_path / "broken", "t", text.replace('"2"', '"2 /"')))
