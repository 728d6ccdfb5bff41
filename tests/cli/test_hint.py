"""The commands `hint` and `solution`."""

from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from attn_drill.packs.pack_reader import other_answers
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import rated_reviews, since_start
from tests.support.cli import GQA, drill, record_pass


def test_each_call_shows_the_next_hint(tmp_path: Path) -> None:
    """--level shows a certain hint. An unknown level is refused."""
    texts = [drill("hint", "gqa", cwd=tmp_path).stdout for _ in range(4)]
    assert [text[:6] for text in texts] == ["Hint 1", "Hint 2", "Hint 3", "Hint 3"]
    assert GQA.hints[0] in drill("hint", "gqa", "--level", "1", cwd=tmp_path).stdout
    assert "hints 1 to 3" in drill("hint", "gqa", "--level", "4", cwd=tmp_path, code=2).stderr


def test_solution_needs_a_pass_or_give_up(solved: Path) -> None:
    """The refusal names the next step."""
    refused = drill("solution", "gqa", cwd=solved, code=2)
    assert refused.stdout == ""
    assert "--give-up" in refused.stderr
    assert (
        drill("solution", "gqa", "--give-up", cwd=solved).stdout.strip()
        == pack_reader.solution(GQA).strip()
    )
    drill("check", "gqa", cwd=solved)
    assert drill("solution", "gqa", cwd=solved).stdout.strip() == pack_reader.solution(GQA).strip()


@pytest.mark.thorough
def test_giving_up_grades_the_challenge_as_again(tmp_path: Path, home: Path) -> None:
    """It does so once, and in a later review again. After a pass it gives no grade."""
    for _ in range(2):
        drill("solution", "gqa", "--give-up", cwd=tmp_path)
    (review,) = rated_reviews(Journal(home).facts())
    assert (review.rating, review.reason) == (1, "given up")
    record_pass(home, "mha", 1_100_000_000.0)
    drill("solution", "mha", cwd=tmp_path)
    assert len(rated_reviews(Journal(home).facts())) == 2
    drill("review", "mha", cwd=tmp_path)
    drill("solution", "mha", cwd=tmp_path)
    reasons = [review.reason for review in rated_reviews(Journal(home).facts(), "challenge:mha")]
    assert reasons[1:] == ["given up"]


def test_style_shows_another_right_answer_after_a_pass(tmp_path: Path, home: Path) -> None:
    """Before the pass, the refusal names no other answer."""
    refused = drill("solution", "gqa", "--style", "grouped_einsum", cwd=tmp_path, code=2)
    assert refused.stdout == ""
    assert "unnamed_layers" not in refused.stderr
    record_pass(home, "gqa", 1_100_000_000.0)
    (answer,) = [answer for answer in other_answers(GQA) if answer.name == "grouped_einsum"]
    shown = drill("solution", "gqa", "--style", "grouped_einsum", cwd=tmp_path).stdout
    assert shown.strip() == answer.source.strip()
    reference = drill("solution", "gqa", "--style", "reference", cwd=tmp_path).stdout
    assert reference.strip() == pack_reader.solution(GQA).strip()


def test_unknown_style_is_refused_with_the_names_and_gives_nothing_up(
    tmp_path: Path, home: Path
) -> None:
    """A mistyped name must not cost a grade."""
    refused = drill("solution", "gqa", "--give-up", "--style", "einsum", cwd=tmp_path, code=2)
    assert refused.stdout == ""
    words = " ".join(refused.stderr.split())
    assert "gqa has no answer called einsum; it has reference, batched_by_hand" in words
    assert rated_reviews(Journal(home).facts()) == []
    assert not since_start(Journal(home).facts(subject="gqa")).solution
