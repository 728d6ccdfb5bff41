"""The begin of a mock interview, its continuation, and its score sheet."""

from pathlib import Path

import pytest

from attn_drill.app.open_packs import KnownPacks
from attn_drill.model.errors import DrillError
from attn_drill.practice.facts import InterviewBegan
from attn_drill.practice.journal import Journal
from attn_drill.session.interviews import begun, last_interview, plan_interview, resumed, sheet_of

KNOWN = KnownPacks().catalogue()


def test_interview_is_begun_once_in_a_folder_and_resumed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default each interview gets a new folder. No file is overwritten."""
    monkeypatch.chdir(tmp_path)
    journal = Journal(home)
    assert last_interview(journal, KNOWN) is None
    plan = plan_interview(journal, KNOWN, 20, "sdpa", 0)
    assert [stage.challenge for stage in plan.stages if stage.role == "main problem"] == ["sdpa"]
    assert plan.questions
    run = begun(journal, KNOWN, plan, None)
    again = begun(journal, KNOWN, plan, None)
    assert run.path(0).exists()
    assert again.path(0).parent.name == f"{run.path(0).parent.name}-2"
    with pytest.raises(DrillError, match="Choose another folder with --dir"):
        begun(journal, KNOWN, plan, run.path(0).parent)
    last = last_interview(journal, KNOWN)
    assert last is not None
    assert (last.id, last.plan) == (again.id, again.plan)
    assert resumed(last) is last
    assert last.news == [
        "The interview goes on. 0:00 of 20:00 min are spent; the pause does not count."
    ]
    last.finish()
    assert len(sheet_of(last).problems) == len(plan.stages)


def test_interview_of_an_older_version_cannot_go_on(home: Path) -> None:
    """Its questions had other answers."""
    stages = [{"challenge": "sdpa", "role": "main problem", "seconds": 270.0}]
    plan = {"minutes": 5, "seed": 1, "stages": stages, "questions": ["x"], "folder": "."}
    Journal(home).add(InterviewBegan("", 1.0, plan=plan))
    assert last_interview(Journal(home), KNOWN) is None
    with pytest.raises(DrillError, match="No interview is under way"):
        resumed(None)


def test_challenge_that_is_gone_is_named(home: Path, tmp_path: Path) -> None:
    """The interview cannot go on."""
    plan = plan_interview(Journal(home), KNOWN, 20, "sdpa", 0)
    run = begun(Journal(home), KNOWN, plan, tmp_path)
    run.challenges = {}
    with pytest.raises(DrillError, match="which no pack has any more"):
        resumed(run)
