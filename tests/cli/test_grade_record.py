"""Tests of opening the folder for results, of resuming, and of the record of a grading."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.support.class_results import assignment
from tests.support.classroom import plan, submission
from trainer.classroom.collect import Collected
from trainer.classroom.grading_jobs import jobs_of
from trainer.classroom.records import Student
from trainer.classroom.result_store import ClassFile
from trainer.cli import grade_record
from trainer.cli.grade_inputs import ClassInputs
from trainer.cli.grade_record import (
    check_out,
    check_same_inputs,
    open_results,
    record_of,
    seed_of,
)
from trainer.model.errors import DrillError

CHALLENGES = ("first", "second")


@pytest.fixture(autouse=True)
def _fresh_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every fresh seed 7."""
    monkeypatch.setattr(grade_record, "fresh_seed", lambda: 7)


def opened(out: Path, seed: int | None = None, *, resume: bool = False) -> ClassFile:
    """Open the results of a class and write their record."""
    store, before = open_results(out, CHALLENGES, seed, per_student_seed=False, resume=resume)
    class_seed, is_per_student = seed_of(before, seed, per_student_seed=False)
    class_plan = replace(
        plan(class_seed, per_student_seed=is_per_student), assignment=assignment(CHALLENGES)
    )
    ana = submission("ana")
    inputs = ClassInputs(
        class_plan.assignment, [], Collected([Student("ana")], [ana], ["notes.txt"]), True
    )
    record = record_of(
        inputs,
        class_plan,
        jobs_of(plan(class_seed), [ana]),
        ["csv"],
        before,
        is_anonymous=True,
        is_released=False,
    )
    store.write_class_file(record)
    return record


def test_resumed_grading_keeps_its_seed(tmp_path: Path) -> None:
    """A new grading takes the seed from the command line, or a fresh seed."""
    assert opened(tmp_path / "fresh").seed == 7
    assert opened(tmp_path / "given", 3).seed == 3
    resumed = opened(tmp_path / "given", resume=True)
    assert (resumed.seed, resumed.challenges) == (3, ["first", "second"])


def test_earlier_grading_with_another_seed_is_refused(tmp_path: Path) -> None:
    """The message has both seeds. Without --resume, an earlier grading is refused, too."""
    opened(tmp_path, 3)
    with pytest.raises(DrillError, match=r"seed: 3\. This command has seed: 4\."):
        opened(tmp_path, 4, resume=True)
    with pytest.raises(DrillError, match="--resume continues it"):
        opened(tmp_path)


def test_file_in_place_of_the_output_folder_is_refused(tmp_path: Path) -> None:
    """Results need a folder."""
    (tmp_path / "out").write_text("")
    with pytest.raises(DrillError, match="out is a file; results go into a folder"):
        opened(tmp_path / "out")


def test_record_holds_the_submissions_without_their_text(tmp_path: Path) -> None:
    """The salt of the anonymous ids stays the same in a resumed grading."""
    first = opened(tmp_path)
    (task,) = first.tasks
    assert (task.submission.student, task.submission.source) == ("ana", None)
    assert (first.other_files, first.has_roster, first.is_anonymous) == (["notes.txt"], True, True)
    assert first.salt
    assert opened(tmp_path, resume=True).salt == first.salt


def test_files_of_an_earlier_run_are_written_again(tmp_path: Path) -> None:
    """No table keeps outdated points."""
    first = opened(tmp_path)
    store, before = open_results(tmp_path, CHALLENGES, None, per_student_seed=False, resume=True)
    assert before == first
    store.write_class_file(msgspec.structs.replace(first, formats=["html"], is_released=True))
    again = opened(tmp_path, resume=True)
    assert (again.formats, again.is_released, again.is_anonymous) == (["html", "csv"], True, True)


def test_roster_and_times_of_the_first_run_are_needed_again(tmp_path: Path) -> None:
    """Without them, students would lose names, extensions and penalties."""
    record = msgspec.structs.replace(opened(tmp_path), has_times=True)
    check_same_inputs(None, has_roster=False, has_times=False)
    check_same_inputs(record, has_roster=True, has_times=True)
    with pytest.raises(DrillError, match=r"had --roster\. Give the same --roster again"):
        check_same_inputs(record, has_roster=False, has_times=True)
    with pytest.raises(DrillError, match=r"had --submitted\. Give the same"):
        check_same_inputs(record, has_roster=True, has_times=False)


@pytest.mark.parametrize("out", ["subs", "subs/grades", "subs/../subs/a/b", "./subs/"])
def test_results_inside_the_submissions_are_refused(tmp_path: Path, out: str) -> None:
    """They would look like the submission of a student called "grades"."""
    (tmp_path / "subs").mkdir()
    with pytest.raises(DrillError, match="is inside the folder with the submissions"):
        check_out(tmp_path / out, tmp_path / "subs")


def test_results_next_to_the_submissions_are_fine(tmp_path: Path) -> None:
    """A zip holds no folder of results."""
    check_out(tmp_path / "subs2", tmp_path / "subs")
    check_out(tmp_path, tmp_path / "subs.zip")
