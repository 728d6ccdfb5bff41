"""The command `review`."""

import json
import re
from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import counted_attempts, rated_reviews
from tests.support.cli import BUILT_IN, drill, record_pass


def test_review_hands_out_the_longest_due_challenge(tmp_path: Path, home: Path) -> None:
    """The stub has signatures only, and an old file is renamed. A second call changes nothing."""
    assert "nothing is due" in drill("review", cwd=tmp_path).stdout
    record_pass(home, "gqa", 1_000_000_000.0)
    record_pass(home, "mha", 1_100_000_000.0)
    (tmp_path / "gqa.py").write_text("old work\n")
    assert re.search(r"gqa +due\nmha +due", drill("review", "--list", cwd=tmp_path).stdout)
    drill("review", cwd=tmp_path)
    gqa = pack_reader.find_challenge(BUILT_IN, "gqa")
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(gqa, "blank")
    assert '"""' not in (tmp_path / "gqa.py").read_text()
    assert (tmp_path / "gqa.old-1.py").read_text() == "old work\n"
    (tmp_path / "gqa.py").write_text("new work\n")
    drill("review", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == "new work\n"
    assert not (tmp_path / "gqa.old-2.py").exists()


def test_due_follow_up_questions_are_counted(tmp_path: Path, home: Path) -> None:
    """They are due without a due challenge too. The next step is named."""
    journal = Journal(home)
    for number in (1, 2, 99):
        journal.add(Reviewed(f"follow-up:gqa:{number}", 1e9, rating=3, reason="own rating"))
    for arguments in ([], ["--list"]):
        shown = drill("review", *arguments, cwd=tmp_path, COLUMNS="50").stdout
        assert shown.splitlines() == [
            "gqa                2 follow-up questions due",
            "In short: `attn-drill review --minutes 15`.",
        ]
    record_pass(home, "mha", 1e9)
    listed = json.loads(drill("review", "--list", "--json", cwd=tmp_path).stdout)
    assert listed["follow_up_questions"] == {"gqa": 2}
    assert [(row["challenge"], row["section"]) for row in listed["challenges"]] == [("mha", "due")]


def test_full_rewrite_names_the_short_review(tmp_path: Path, home: Path) -> None:
    """A named challenge is handed out without this line."""
    record_pass(home, "gqa", 1e9)
    assert "--minutes 15" in drill("review", cwd=tmp_path).stdout
    assert "--minutes" not in drill("review", "gqa", cwd=tmp_path).stdout


@pytest.mark.thorough
def test_grade_of_a_pass_can_be_overruled(tmp_path: Path, home: Path) -> None:
    """`check` grades the first pass. A second pass is no second review."""
    norm = pack_reader.find_challenge(BUILT_IN, "rmsnorm")
    drill("start", "rmsnorm", cwd=tmp_path)
    drill("hint", "rmsnorm", cwd=tmp_path)
    (tmp_path / "rmsnorm.py").write_text(pack_reader.solution(norm))
    drill("check", "rmsnorm", cwd=tmp_path)
    drill("check", "rmsnorm", cwd=tmp_path)
    (review,) = rated_reviews(Journal(home).facts())
    assert (review.rating, "1 hint" in review.reason) == (3, True)
    attempt = counted_attempts(Journal(home).facts())[0]
    assert attempt.hints == 1
    assert attempt.seconds is not None
    assert 0 <= attempt.seconds < 600
    assert (
        "graded hard, as you say (was good"
        in drill("review", "rmsnorm", "--grade", "hard", cwd=tmp_path).stdout
    )
    assert [entry.rating for entry in rated_reviews(Journal(home).facts())] == [2]
    assert (
        "no review of mha" in drill("review", "mha", "--grade", "hard", cwd=tmp_path, code=2).stderr
    )
