"""Tests of beginning and resuming a grading: whose files and options count."""

from pathlib import Path

import pytest
from msgspec import structs

from attn_drill.app.open_packs import open_packs
from attn_drill.classroom.result_store import SavedOptions, read_record
from attn_drill.cli import _class_run
from attn_drill.cli._class_run import ClassRun, begin
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.model.report import Outcome, Report
from attn_drill.server.clients import pool
from attn_drill.server.messages import Grade, Refused, Verdict
from tests.support.paths import TINY_PACK

PACKS = open_packs([TINY_PACK])
SOURCE = "def prefix_sum(x, reverse=False):\n    return x\n"


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SavedOptions:
    """Return the options of a class with one student. Every fresh seed is 7."""
    monkeypatch.setattr(_class_run, "fresh_seed", lambda: 7)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ana.py").write_text(SOURCE)
    packs = [str(TINY_PACK)]
    return SavedOptions(folder=str(tmp_path / "class"), challenge="prefix-sum", packs=packs)


def begun(options: SavedOptions, out: str = "out", **changes: object) -> ClassRun:
    """Begin a grading with some other options."""
    return begin(structs.replace(options, **changes), Path(out), PACKS)


def resumed(**options: object) -> ClassRun:
    """Resume the grading in the folder `out`, with the packs of the earlier run."""
    folder = str(Path("out").absolute())
    return begin(SavedOptions(folder=folder, **options), None, open_packs(), resume=True)  # type: ignore[arg-type]


def test_record_has_everything_that_resume_needs(options: SavedOptions, tmp_path: Path) -> None:
    """It has absolute paths, and the submissions without their text."""
    run = begun(options)
    record = read_record(Path("out"))
    assert record == run.record
    assert record is not None
    saved = record.options
    assert (saved.folder, saved.challenge) == (str(tmp_path / "class"), "prefix-sum")
    assert (saved.packs, saved.write) == ([str(TINY_PACK)], ["csv", "html"])
    (job,) = record.jobs
    assert (job.submission.student, job.submission.source, bool(job.text)) == ("ana", None, True)
    again = resumed()
    assert again.before == record
    assert (again.record, again.jobs) == (record, run.jobs)


def test_options_of_a_resumed_run_count_before_those_of_the_record(options: SavedOptions) -> None:
    """Formats of earlier runs are written again, so that no table is outdated."""
    begun(options)
    Path("roster.csv").write_text("id,name\n1,Ana\n2,Bo\n")
    run = resumed(roster="roster.csv", write=["canvas"])
    assert run.record.options.write == ["csv", "html", "canvas"]
    assert [student.id for student in resumed().record.students] == ["1", "2"]
    Path("a.toml").write_text('seed = 3\nwrite = ["junit"]\n[[challenge]]\nid = "prefix-sum"\n')
    run = resumed(assignment="a.toml")
    assert (run.record.seed, run.record.options.write[-1]) == (3, "junit")
    assert run.jobs[0].seed == 3
    Path("a.toml").write_text('due = 2030-01-01\n[[challenge]]\nid = "prefix-sum"\n')
    assert resumed().record.assignment.due is not None


def test_assignment_names_the_formats_of_a_first_run(options: SavedOptions) -> None:
    """The option counts before the file."""
    Path("a.toml").write_text('write = ["junit"]\n[[challenge]]\nid = "prefix-sum"\n')
    options = structs.replace(options, challenge="", assignment="a.toml")
    assert begun(options).record.options.write == ["junit"]
    assert begun(options, "other", write=["csv"]).record.options.write == ["csv"]


@pytest.mark.parametrize("out", ["class", "class/grades", "class/../class/a/b"])
def test_results_inside_the_submissions_are_refused(options: SavedOptions, out: str) -> None:
    """They would look like the submission of a student called "grades"."""
    with pytest.raises(DrillError, match="is inside the folder with the submissions"):
        begun(options, out)


def test_weights_of_missing_checks_are_refused(
    options: SavedOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server grades the reference, whose report has all checks of the challenge."""
    Path("a.toml").write_text('[[challenge]]\nid = "prefix-sum"\nweights = { masks = 2 }\n')
    report = Report("prefix-sum", "f", 1, "passed", (Outcome("values", "passed"),))
    replies = [Verdict(0, report), Refused(0, "No sandbox.")]
    asked: list[Grade] = []

    def ask(packs: object, request: Grade) -> object:
        asked.append(request)
        return replies.pop(0)

    monkeypatch.setattr(pool, "ask", ask)
    options = structs.replace(options, challenge="", assignment="a.toml")
    with pytest.raises(DrillError, match=r"line 3.*masks.*values"):
        begun(options)
    with pytest.raises(GraderError, match=r"No sandbox\."):
        begun(options)
    assert [(request.challenge, request.seed) for request in asked] == [("prefix-sum", 7)] * 2
    assert not Path("out").exists()


def test_new_results_know_the_extensions_of_their_students(
    options: SavedOptions, tmp_path: Path
) -> None:
    """A result is written as soon as it is known, so an interrupted grading has it, too."""
    (tmp_path / "roster.csv").write_text("id,name\n12,ana\n")
    (tmp_path / "a.toml").write_text(
        'due = 2026-12-01\n[[challenge]]\nid = "prefix-sum"\n[extensions]\n12 = 2\n'
    )
    assignment, roster = str(tmp_path / "a.toml"), str(tmp_path / "roster.csv")
    run = begun(options, challenge="", assignment=assignment, roster=roster)
    assert list(run.plan.assignment.extensions) == ["ana"]
