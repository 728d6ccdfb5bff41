"""The commands as a user types them: what they print, where, and the exit code."""

from pathlib import Path

from tests.support.cli import GQA, drill
from tests.support.menu import passed
from trainer.packs import pack_reader
from trainer.practice.journal import Journal


def test_solution_only_after_a_pass_or_given_up(solved: Path) -> None:
    """The reference is not shown before; the refusal says what to do."""
    refused = drill("solution", "gqa", cwd=solved, code=2)
    assert refused.stdout == ""
    assert "--give-up" in refused.stderr
    assert (
        drill("solution", "gqa", "--give-up", cwd=solved).stdout.strip()
        == pack_reader.solution(GQA).strip()
    )
    drill("check", "gqa", cwd=solved)
    assert drill("solution", "gqa", cwd=solved).stdout.strip() == pack_reader.solution(GQA).strip()


def test_giving_up_is_a_lapse(tmp_path: Path, home: Path) -> None:
    """The solution seen before a pass is the grade `again`, once; in a review too, though it was passed long ago; after a pass it is none."""
    for _ in range(2):
        drill("solution", "gqa", "--give-up", cwd=tmp_path)
    assert [(one.rating, one.reason) for one in Journal(home).reviews()] == [(1, "given up")]
    passed(home, "mha", 1_100_000_000.0)
    drill("solution", "mha", cwd=tmp_path)
    assert len(Journal(home).reviews()) == 2
    drill("review", "mha", cwd=tmp_path)
    drill("solution", "mha", cwd=tmp_path)
    assert [one.reason for one in Journal(home).reviews("challenge:mha")][1:] == ["given up"]
