"""Tests of the grading of one student on Gradescope."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from attn_drill.cli.autograde import main
from attn_drill.packs import pack_reader
from tests.support.paths import TINY_PACK

RIGHT = pack_reader.solution(pack_reader.find_challenge(TINY_PACK, "prefix-sum"))
Run = Callable[..., tuple[int, dict[str, object] | None]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that grades files. It returns the exit code and the results."""

    def grade(settings: str, **files: str) -> tuple[int, dict[str, object] | None]:
        (tmp_path / "submission").mkdir()
        for name, text in files.items():
            (tmp_path / "submission" / f"{name}.py").write_text(text)
        (tmp_path / "a.toml").write_text(f'{settings}\n[[challenge]]\nid = "prefix-sum"\n')
        results = tmp_path / "work" / "results.json"
        words = [tmp_path / "submission", tmp_path / "a.toml", results, "--pack", TINY_PACK]
        code = main([str(word) for word in words])
        return code, json.loads(results.read_text()) if results.exists() else None

    return grade


def test_submission_gets_its_points(tmp_path: Path, run: Run) -> None:
    """Gradescope knows the times, so the penalty of the file needs no due time."""
    (tmp_path / "submission_metadata.json").write_text(
        json.dumps(
            {
                "created_at": "2026-12-01T10:00:00Z",
                "assignment": {"due_date": "2026-12-01T09:00:00Z"},
                "users": [{"name": "Ana", "email": "a@u.example", "id": 1}],
            }
        )
    )
    code, results = run("penalty = 10", prefix_sum=RIGHT)
    assert code == 0
    assert results["score"] == 90.0


def test_submission_that_a_person_must_settle_has_no_score(run: Run) -> None:
    """The student reads the reason."""
    code, results = run("", prefix_sum="")
    assert code == 0
    assert results is not None
    assert "score" not in results


def test_failure_of_the_grader_writes_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """run_autograder then tells the student that this costs no points."""
    monkeypatch.setenv("ATTN_DRILL_ISOLATION", "limits")
    assert run("", prefix_sum=RIGHT) == (3, None)
    assert "a submission could open a network socket" in capsys.readouterr().err


def test_wrong_assignment_is_a_wrong_use(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """The log of the autograder has the sentence."""
    assert run("penalty = 101", prefix_sum=RIGHT) == (2, None)
    assert "`penalty` is 101" in capsys.readouterr().err
