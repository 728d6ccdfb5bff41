"""Tests of grading a file, as the commands do."""

from pathlib import Path

import pytest

from attn_drill.app.grade_file import (
    MOST_SEED,
    check_seed,
    fresh_seed,
    grade_file,
    hunted_mistakes,
    last_seed,
)
from attn_drill.app.open_packs import open_packs
from attn_drill.model.challenge import Submission
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.practice.facts import Attempted, Hunted
from attn_drill.practice.journal import Journal
from attn_drill.server.clients import ServerProcess
from attn_drill.server.messages import Grade
from tests.support.packs import BUILT_IN, install_pack, make_pack


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder on sys.path, which can have installed packs."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def test_grader_hides_all_packs(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submission cannot read the pack of its challenge, nor any other known pack."""
    make_pack(site / "hiding_pack", "extra")
    install_pack(site, "hiding", "[attn_drill.packs]\nhiding = hiding_pack\n")
    named, other = make_pack(tmp_path / "named", "a"), make_pack(tmp_path / "other", "b")
    monkeypatch.setenv("ATTN_DRILL_PACK", str(other))
    told: list[Path] = []
    monkeypatch.setattr(ServerProcess, "greet", lambda server, packs: told.extend(packs))
    monkeypatch.setattr(ServerProcess, "send", lambda server, request: False)
    packs = open_packs([named])
    with pytest.raises(GraderError):
        grade_file(packs, Grade("gqa", Submission("gqa.py", ""), 1))
    assert told == [named, other, BUILT_IN, site / "hiding_pack"]


def test_seed_outside_the_range_is_refused() -> None:
    """Fresh seeds are inside the range."""
    for seed in (-1, MOST_SEED + 1):
        with pytest.raises(DrillError, match=f"--seed is {seed}"):
            check_seed(seed)
    for seed in (0, MOST_SEED, fresh_seed()):
        check_seed(seed)


def test_last_seed_is_that_of_the_last_attempt(journal: Journal) -> None:
    """Without an attempt the seed is a fresh one."""
    gqa = open_packs().find("gqa")
    assert last_seed(journal, gqa) != last_seed(journal, gqa)
    for when, seed in ((1.0, 5), (2.0, 7)):
        journal.add(Attempted("gqa", when, seed=seed, verdict="failed", source="text"))
    assert last_seed(journal, gqa) == 7


def test_mistakes_belong_to_the_file_of_the_last_hunt(tmp_path: Path, journal: Journal) -> None:
    """Another file of the same challenge has no planted mistakes."""
    gqa = open_packs().find("gqa")
    path = tmp_path / "gqa_hunt.py"
    assert hunted_mistakes(journal, gqa, path) == ()
    journal.add(Hunted("gqa", 1.0, mistakes=("no-scale",), path=str(path)))
    assert hunted_mistakes(journal, gqa, path) == ("no-scale",)
    assert hunted_mistakes(journal, gqa, tmp_path / "gqa.py") == ()
