"""The file of a hunt."""

from pathlib import Path

from attn_drill.exercises.altered_reference import hunt_file_text, write_hunt
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.practice.facts import Hunted
from attn_drill.practice.journal import Journal
from tests.support.exercises import BY_ID

GQA = BY_ID["gqa"]
FIRST, SECOND = read_mistakes(GQA)[:2]


def test_only_work_of_the_learner_is_kept(tmp_path: Path, home: Path) -> None:
    """The journal has the hunt. An untouched file is replaced."""
    journal = Journal(home)
    path = tmp_path / "gqa_hunt.py"
    assert write_hunt(GQA, [FIRST], tmp_path, journal) == (path, None)
    assert write_hunt(GQA, [SECOND], tmp_path, journal) == (path, None)
    assert path.read_text() == hunt_file_text(GQA, [SECOND])
    path.write_text("my work\n")
    kept = tmp_path / "gqa_hunt.old-1.py"
    assert write_hunt(GQA, [FIRST], tmp_path, journal) == (path, kept)
    assert kept.read_text() == "my work\n"
    hunt = journal.last(Hunted, subject="gqa")
    assert hunt is not None
    assert (hunt.mistakes, hunt.path) == ((FIRST.id,), str(path))
