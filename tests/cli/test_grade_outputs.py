"""Tests of the formats of `grade`, of resuming a grading, and of the summary."""

import csv
import json
from pathlib import Path

import pytest

from tests.support.class_results import assignment, make_class, result
from trainer.classroom.result_store import ClassFile
from trainer.cli.grade_outputs import open_results, parse_formats, write_outputs
from trainer.model.errors import DrillError


def opened(out: Path, seed: int | None = None, *, resume: bool = False) -> ClassFile:
    """Open the results of a class and write their settings. A fresh seed is 7."""
    settings = assignment(("first", "second"))
    store, record = open_results(
        out, settings, seed, per_student_seed=False, resume=resume, fresh=lambda: 7
    )
    store.write_class_file(record)
    return record


def test_formats_are_read_in_order_without_repetition() -> None:
    """Capitals, spaces and empty parts do not count."""
    assert parse_formats(" HTML,csv,,html, junit ") == ("html", "csv", "junit")


def test_unknown_formats_are_refused() -> None:
    """The message has the unknown formats and the possible formats."""
    message = "--format names pdf, xlsx; the formats are csv, html, junit, gradescope, github"
    with pytest.raises(DrillError, match=message):
        parse_formats("csv,pdf,xlsx")


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


def test_outputs_of_several_challenges_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables have a row for each result, and platforms get a file for each student."""
    challenges = ("first", "second")
    settings = assignment(challenges)
    store, _ = open_results(
        tmp_path, settings, 3, per_student_seed=False, resume=False, fresh=lambda: 7
    )
    class_ = [*make_class(challenges, 5), result("zoe", "first", None)]
    failed = write_outputs(store, lambda: class_, settings, ("csv", "gradescope", "github"))
    assert failed == sum(found.verdict is None for found in class_) > 0
    with (tmp_path / "grades.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(class_) == 11
    assert len(list((tmp_path / "gradescope").glob("*/results.json"))) == 6
    (zoe,) = (tmp_path / "github").glob("zoe*.json")
    assert json.loads(zoe.read_text())["status"] == "error"
    printed = capsys.readouterr().out
    assert "11 results" in printed
    assert f"written: {tmp_path / 'results'}, {tmp_path / 'grades.csv'}, " in printed
