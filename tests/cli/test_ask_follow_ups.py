"""Tests of follow-up questions on a plain terminal."""

from pathlib import Path

import pytest

from tests.support.cli import GQA, drill
from tests.support.known_packs import make_pack
from tests.support.menu import record_pass
from tests.support.typing_lines import type_lines
from trainer.cli.ask_follow_ups import ask
from trainer.packs.follow_up import FollowUp, follow_ups
from trainer.practice.journal import Journal
from trainer.practice.progress import rated_reviews

QUESTIONS = [
    FollowUp("a", 1, "Why is it\nfast?", "It reads `few`\nbytes."),
    FollowUp("a", 2, "Why is it small?", "It keeps little."),
]


def test_answer_is_shown_after_enter(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The learner's rating is recorded. A number that is no rating is asked again."""
    journal = Journal(home)
    type_lines(monkeypatch, "", "5", "3", "my answer", "Easy")
    assert ask(QUESTIONS, journal) == 2
    shown = capsys.readouterr().out
    parts = ["Why is it fast?", "Think, then press Enter.", "It reads few bytes.", "1 again"]
    assert [shown.index(part) for part in parts] == sorted(shown.index(part) for part in parts)
    assert "Answer with a number, 1 to 4." in shown
    assert [
        (review.item, review.rating, review.reason) for review in rated_reviews(journal.facts())
    ] == [
        ("follow-up:a:1", 3, "own rating"),
        ("follow-up:a:2", 4, "own rating"),
    ]


@pytest.mark.parametrize("lines", [["q"], [], ["", "q"], [""]])
def test_questions_end_early(
    lines: list[str],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing is recorded for the question. The answer is shown only after Enter."""
    journal = Journal(home)
    type_lines(monkeypatch, *lines)
    assert ask(QUESTIONS, journal) == 0
    assert rated_reviews(journal.facts()) == []
    assert ("It reads" in capsys.readouterr().out) == (lines[:1] == [""])


def test_quiz_asks_the_follow_up_questions_of_a_passed_challenge(
    tmp_path: Path, home: Path
) -> None:
    """Chinese has no blanks, and still fits the terminal."""
    record_pass(home, "gqa", 1e9)
    count = len(follow_ups(GQA))
    shown = drill(
        *("quiz", "--follow-up", "gqa"),
        cwd=tmp_path,
        given="\n3\n" * count,
        COLUMNS="50",
        ATTN_DRILL_LANG="zh",
    ).stdout
    assert f"{count} of {count} rated." in shown
    chinese = [line for line in shown.splitlines() if not line.isascii()]
    assert len(chinese) > count
    assert max(len(line) + sum(ord(sign) > 0x2FFF for sign in line) for line in chinese) <= 50
    reviews = rated_reviews(Journal(home).facts(), "follow-up:gqa:")
    assert [review.item for review in reviews] == [entry.item for entry in follow_ups(GQA)]


def test_answers_are_hidden_until_the_pass_or_the_solution(tmp_path: Path, home: Path) -> None:
    """The message names the next step."""
    drill("start", "gqa", cwd=tmp_path)
    refused = drill("quiz", "--follow-up", "gqa", cwd=tmp_path, code=2)
    assert "The answers come after the pass: `attn-drill start gqa`." in refused.stderr
    assert refused.stdout == ""
    drill("solution", "gqa", "--give-up", cwd=tmp_path)
    assert "Think, then press Enter." in drill("quiz", "--follow-up", "gqa", cwd=tmp_path).stdout


def test_pack_without_answers_is_refused(tmp_path: Path, home: Path) -> None:
    """The message names other questions."""
    pack = make_pack(tmp_path / "pack", "few")
    record_pass(home, "few", 1e9)
    arguments = ("quiz", "--follow-up", "few", "--pack", str(pack))
    refused = drill(*arguments, cwd=tmp_path, code=2)
    assert "few has no follow-up questions with answers." in refused.stderr
