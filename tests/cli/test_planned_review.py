"""The command `review --minutes`: its plan and its light parts."""

import json
from pathlib import Path
from random import Random

import pytest

from attn_drill.cli._command_line import Desk
from attn_drill.cli._review import PlannedReview, hold_review
from attn_drill.exercises.questions import line_question
from attn_drill.model.challenge import Challenge
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import rated_reviews
from attn_drill.practice.schedule import Form, ReviewPart, ReviewPlan
from tests.support.cli import drill
from tests.support.known_packs import make_pack
from tests.support.menu import record_pass
from tests.support.typing_lines import type_lines


@pytest.fixture
def due(home: Path) -> Journal:
    """Return a journal in which two challenges and two follow-up questions are due."""
    record_pass(home, "gqa", 1e9)
    record_pass(home, "mha", 1.1e9)
    journal = Journal(home)
    journal.add(Reviewed("follow-up:gqa:1", 1.2e9, rating=3, reason="own rating"))
    journal.add(Reviewed("follow-up:gqa:99", 1.2e9, rating=3, reason="own rating"))
    return journal


def test_light_parts_come_before_the_full_rewrite(tmp_path: Path, due: Journal) -> None:
    """The plan names all parts with their minutes. A question that is gone is left out.

    The number of gaps is drawn. `?` is an answer of a gap, and no rating of a follow-up question.
    """
    given = "?\n" * 8 + "2\n"
    shown = drill(
        "review", "--minutes", "26", cwd=tmp_path, given=given, COLUMNS="50", NO_COLOR="1"
    ).stdout
    plan, _, rest = shown.partition("\n\n")
    assert [line.split(maxsplit=3) for line in plan.splitlines()] == [
        ["25", "of", "26", "minutes:"],
        ["mha", "4", "min", "fill the gaps"],
        ["gqa", "1", "min", "follow-up question"],
        ["gqa", "20", "min", "write it in full"],
    ]
    parts = ["1 of 2  mha", "2 of 2  gqa", "Now write gqa in full", "gqa.py is the stub"]
    assert [rest.index(part) for part in parts] == sorted(rest.index(part) for part in parts)
    assert max(map(len, rest.partition("Now write")[0].splitlines())) <= 50
    assert [(review.item, review.rating) for review in rated_reviews(due.facts())[4:]] == [
        ("challenge:mha", 1),
        ("follow-up:gqa:1", 2),
    ]
    assert (tmp_path / "gqa.py").exists()


@pytest.mark.thorough
def test_stopped_review_hands_out_no_stub(tmp_path: Path, due: Journal) -> None:
    """The end of the input ends the review too."""
    for given in ("quit\n", ""):
        shown = drill("review", "--minutes", "26", cwd=tmp_path, given=given).stdout
        assert shown.endswith("Stopped. All grades so far are recorded.\n")
    assert list(tmp_path.glob("*.py")) == []
    assert len(rated_reviews(due.facts())) == 4


def test_plan_can_be_shown_only(tmp_path: Path, due: Journal) -> None:
    """The longest due comes first, and items without time stay due."""
    due.add(Reviewed("follow-up:gqa:2", 0.9e9, rating=3, reason="own rating"))
    shown = drill("review", "--minutes", "5", "--list", cwd=tmp_path).stdout
    assert shown.splitlines() == [
        "5 of 5 minutes:",
        "  gqa    1 min  follow-up question",
        "  gqa    4 min  fill the gaps",
        "2 more items stay due.",
    ]
    assert list(tmp_path.glob("*.py")) == []
    shown = drill("review", "--minutes", "5", "--list", "--json", cwd=tmp_path).stdout
    assert json.loads(shown) == {
        "minutes": 5,
        "parts": [
            {"challenge": "gqa", "form": "follow-up", "minutes": 1},
            {"challenge": "gqa", "form": "gaps", "minutes": 4},
        ],
        "left_out": ["challenge:mha", "follow-up:gqa:1"],
    }


def test_settings_may_have_the_minutes(tmp_path: Path, due: Journal, home: Path) -> None:
    """They hold for a review of what is due, and not for a named challenge."""
    (home / "config.toml").write_text("review_minutes = 5\n")
    assert drill("review", cwd=tmp_path).stdout.startswith("5 of 5 minutes:\n")
    assert "minutes:" not in drill("review", "sdpa", cwd=tmp_path).stdout
    assert drill("review", "--list", cwd=tmp_path).stdout.startswith("gqa  ")


def test_named_challenge_is_reviewed_in_short(tmp_path: Path, due: Journal) -> None:
    """It need not be due. If there is time, it is written in full."""
    shown = drill("review", "sdpa", "--minutes", "5", "--list", cwd=tmp_path).stdout
    assert shown.splitlines() == ["4 of 5 minutes:", "  sdpa    4 min  fill the gaps"]
    shown = drill("review", "sdpa", "--minutes", "60", cwd=tmp_path).stdout
    assert "Now write sdpa in full" in shown
    assert (tmp_path / "sdpa.py").exists()


def test_nothing_is_due(tmp_path: Path) -> None:
    """A sentence says so."""
    assert "Nothing is due today." in drill("review", "--minutes", "30", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--minutes", "4"], "4 is not in the range 5<=x<=240"),
        (["--minutes", "241"], "241 is not in the range 5<=x<=240"),
        (["--minutes", "30", "--grade", "good"], "Give only one of these two options."),
    ],
)
def test_bad_minutes(arguments: list[str], says: str, tmp_path: Path) -> None:
    """Exit with 2 and print one sentence."""
    refused = drill("review", *arguments, cwd=tmp_path, code=2)
    assert says in refused.stderr
    assert refused.stdout == ""


def test_unreadable_answers_are_warned_about(tmp_path: Path, home: Path) -> None:
    """The rest of the review goes on."""
    pack = make_pack(tmp_path / "pack", "few")
    (pack / "solutions" / "few" / "follow_up.toml").write_text("[[")
    record_pass(home, "few", 1e9)
    Journal(home).add(Reviewed("follow-up:few:1", 1e9, rating=3, reason="own rating"))
    arguments = ("review", "--list", "--pack", str(pack))
    shown = drill(*arguments, cwd=tmp_path)
    assert "The answers of few are left out" in shown.stderr
    assert "few                due" in shown.stdout
    assert "follow-up question" not in shown.stdout


@pytest.fixture
def small(tmp_path: Path) -> Challenge:
    """Return a challenge with two lines of code and two known mistakes."""
    return pack_reader.find_challenge(make_pack(tmp_path / "pack", "few"), "few")


def hold(challenge: Challenge, *forms: Form) -> None:
    """Review a challenge in these forms."""
    parts = tuple(ReviewPart(f"challenge:{challenge.id}", form, 4) for form in forms)
    review = PlannedReview(ReviewPlan(parts, (), ()), {challenge.id: challenge}, {})
    hold_review(review, Desk(), Random(3))


@pytest.mark.parametrize(("found", "rating"), [(True, 3), (False, 1)])
def test_planted_line_grades_the_line_and_the_challenge(
    found: bool, rating: int, small: Challenge, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A due line comes first. A reference with too few places for gaps has a line instead."""
    journal = Journal(home)
    journal.add(Reviewed("line:few:matrix", 1e9, rating=3, reason=""))
    matrix = next(mistake for mistake in read_mistakes(small) if mistake.id == "matrix")
    type_lines(monkeypatch, str(line_question(small, matrix).lines[0]) if found else "1")
    hold(small, "gaps")
    line, challenge = rated_reviews(journal.facts())[1:]
    assert (line.item, line.rating) == ("line:few:matrix", rating)
    assert (challenge.item, challenge.rating) == ("challenge:few", rating)
    assert challenge.reason == ("planted line found" if found else "planted line not found")


def test_challenge_with_a_bad_file_is_left_out(
    small: Challenge,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A sentence says so, and the review goes on."""
    journal = Journal(home)
    (small.solutions / "mistakes.toml").write_text("mistake = []\n")
    type_lines(monkeypatch)
    hold(small, "gaps", "line")
    assert "few is left out: it has no known mistakes." in capsys.readouterr().err
    (small.solutions / "mistakes.toml").unlink()
    hold(small, "gaps")
    assert "mistakes.toml is missing" in capsys.readouterr().err
    assert rated_reviews(journal.facts()) == []
