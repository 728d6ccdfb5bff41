"""Tests of the light parts of a review on a plain terminal."""

from pathlib import Path
from random import Random

import pytest

from tests.support.cli import GQA
from tests.support.known_packs import make_pack
from tests.support.typing_lines import type_lines
from trainer.app.open_packs import KnownPacks
from trainer.cli.light_review import ReviewMaterial, ask_light_parts
from trainer.model.challenge import Challenge
from trainer.packs import pack_reader
from trainer.packs.follow_up import FollowUp
from trainer.packs.mistakes import read_mistakes
from trainer.practice.facts import Reviewed
from trainer.practice.journal import Journal
from trainer.practice.progress import rated_reviews
from trainer.practice.review_plan import Form, ReviewPart
from trainer.quiz.drawn_questions import line_question
from trainer.quiz.gap_exercise import GapExercise, gap_exercise

SEED = 3


@pytest.fixture
def journal(home: Path) -> Journal:
    """Return the journal of this home."""
    return Journal(home)


@pytest.fixture
def small(tmp_path: Path) -> Challenge:
    """Return a challenge with two lines of code and two known mistakes."""
    pack = make_pack(tmp_path / "pack", "few")
    return pack_reader.find_challenge(pack, "few")


def ask(journal: Journal, challenge: Challenge, *forms: Form) -> bool:
    """Ask for a challenge in these forms."""
    parts = tuple(ReviewPart(f"challenge:{challenge.id}", form, 4) for form in forms)
    material = ReviewMaterial({challenge.id: challenge}, {}, KnownPacks())
    return ask_light_parts(parts, material, journal, Random(SEED))


def reviews(journal: Journal) -> list[tuple[str, int, str]]:
    """Return the reviews in the journal."""
    return [
        (review.item, review.rating, review.reason) for review in rated_reviews(journal.facts())
    ]


def exercise() -> GapExercise:
    """Return the exercise that the tests answer."""
    drawn = gap_exercise(pack_reader.solution(GQA), read_mistakes(GQA), Random(SEED))
    assert drawn is not None
    return drawn


@pytest.mark.thorough
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("wrong", "rating"), [(1, 2), (0, 3), (2, 1)])
def test_gaps_grade_the_challenge(
    wrong: int,
    rating: int,
    journal: Journal,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The code of the reference is right. `?` is wrong, and shows the code of the reference."""
    gaps = exercise().gaps
    answers = ["?"] * wrong + [gap.right for gap in gaps[wrong:]]
    type_lines(monkeypatch, *answers)
    assert ask(journal, GQA, "gaps")
    reason = f"gaps, {len(gaps) - wrong} of {len(gaps)} right"
    assert reviews(journal) == [("challenge:gqa", rating, reason)]
    shown = capsys.readouterr().out
    assert shown.count("Right.") == len(gaps) - wrong
    assert shown.count("Noted as not known.") == wrong
    assert shown.count("The reference has:") == wrong


@pytest.mark.parametrize(
    ("other", "says"),
    [
        pytest.param("self.head_dim**0.5", "Right.", id="other code that is right"),
        pytest.param("3.3", "values of out differ", id="wrong values"),
        pytest.param("foo", "Wrong. NameError: name 'foo' is not defined. The", id="crash"),
        pytest.param("self.head_dim +", "That is no Python expression. Type", id="no Python"),
        pytest.param("", "That is no Python expression. Type", id="nothing"),
    ],
)
def test_every_answer_is_graded(
    other: str,
    says: str,
    journal: Journal,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Text that is no expression is asked again."""
    answers = [other if gap.right == "math.sqrt(self.head_dim)" else "?" for gap in exercise().gaps]
    assert other in answers
    type_lines(monkeypatch, *answers, "?")
    assert ask(journal, GQA, "gaps")
    assert says in " ".join(capsys.readouterr().out.split())


def test_known_mistake_is_named(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its sentence is the reason."""
    wrong = {"math.sqrt(self.head_dim)": "self.head_dim"}
    gaps = exercise().gaps
    type_lines(monkeypatch, *(wrong.get(gap.right, gap.right) for gap in gaps))
    assert ask(journal, GQA, "gaps")
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("Right.") == len(gaps) - 1
    says = "The scores are divided by head_dim instead of its square root."
    assert f"Wrong. {says} The reference has:" in shown
    assert [review.rating for review in rated_reviews(journal.facts())] == [2]


@pytest.mark.parametrize("lines", [[], ["quit"], ["?", "quit"], ["a b"]])
def test_part_that_is_not_complete_is_not_recorded(
    lines: list[str], journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next part is not asked."""
    type_lines(monkeypatch, *lines)
    assert not ask(journal, GQA, "gaps", "line")
    assert reviews(journal) == []


def test_name_q_is_an_answer(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most references have a tensor with this name, so it does not end the gaps."""
    type_lines(monkeypatch, "q", "?", "?", "?", "?")
    assert ask(journal, GQA, "gaps")
    assert [review.rating for review in rated_reviews(journal.facts())] == [1]


@pytest.mark.parametrize(("found", "rating"), [(True, 3), (False, 1)])
def test_planted_line_grades_the_line_and_the_challenge(
    found: bool,
    rating: int,
    small: Challenge,
    journal: Journal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A due line comes first. A reference with too few places for gaps has a line instead."""
    journal.add(Reviewed("line:few:matrix", 1e9, rating=3, reason=""))
    matrix = next(mistake for mistake in read_mistakes(small) if mistake.id == "matrix")
    type_lines(monkeypatch, str(line_question(small, matrix).lines[0]) if found else "1")
    assert ask(journal, small, "gaps")
    line, challenge = rated_reviews(journal.facts())[1:]
    assert (line.item, line.rating) == ("line:few:matrix", rating)
    assert (challenge.item, challenge.rating) == ("challenge:few", rating)
    assert challenge.reason == ("planted line found" if found else "planted line not found")


def test_challenge_with_a_bad_file_is_left_out(
    small: Challenge,
    journal: Journal,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A sentence says so, and the review goes on."""
    (small.solutions / "mistakes.toml").write_text("mistake = []\n")
    type_lines(monkeypatch)
    assert ask(journal, small, "gaps", "line")
    assert "few is left out: it has no known mistakes." in capsys.readouterr().err
    (small.solutions / "mistakes.toml").unlink()
    assert ask(journal, small, "gaps")
    assert "mistakes.toml is missing" in capsys.readouterr().err
    assert reviews(journal) == []


def test_follow_up_question_is_a_part(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its title names the challenge."""
    question = FollowUp("gqa", 2, "Why?", "So.")
    part = ReviewPart(question.item, "follow-up", 1)
    material = ReviewMaterial({}, {question.item: question}, KnownPacks())
    type_lines(monkeypatch, "", "2")
    assert ask_light_parts((part,), material, journal, Random(1))
    assert "1 of 1  gqa: follow-up question" in capsys.readouterr().out
    assert reviews(journal) == [("follow-up:gqa:2", 2, "own rating")]
