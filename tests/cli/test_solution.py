"""The command `solution`."""

from pathlib import Path

from tests.support.cli import GQA, drill
from tests.support.menu import record_pass
from trainer.packs import pack_reader
from trainer.practice.journal import Journal


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


def test_giving_up_grades_the_challenge_as_again(tmp_path: Path, home: Path) -> None:
    """It does so once, and in a later review again. After a pass it gives no grade."""
    for _ in range(2):
        drill("solution", "gqa", "--give-up", cwd=tmp_path)
    (review,) = Journal(home).reviews()
    assert (review.rating, review.reason) == (1, "given up")
    record_pass(home, "mha", 1_100_000_000.0)
    drill("solution", "mha", cwd=tmp_path)
    assert len(Journal(home).reviews()) == 2
    drill("review", "mha", cwd=tmp_path)
    drill("solution", "mha", cwd=tmp_path)
    reasons = [review.reason for review in Journal(home).reviews("challenge:mha")]
    assert reasons[1:] == ["given up"]
