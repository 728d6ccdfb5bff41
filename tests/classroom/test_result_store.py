"""A class's grading: results on disk, what is left to do, stations that are lost, the seam to executors."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.classroom import BARE, TINY, WRONG_SUM
from tests.support.grading import report_of
from trainer.classroom.result_store import (
    CLASS_FILE,
    ClassFile,
    ResultStore,
    safe_name,
    write_whole,
)
from trainer.classroom.result_store import packed as packed_result
from trainer.classroom.result_store import unpacked as unpacked_result
from trainer.export.student_results import with_report, with_trouble
from trainer.model.errors import DrillError, GraderError


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        pytest.param("ana", "ana", id="plain"),
        pytest.param("Ana López", "Ana López", id="a space and an accent"),
        pytest.param("漢字 😀", "漢字 😀", id="other scripts"),
        pytest.param("O'Brien", "O'Brien", id="a quote"),
    ],
)
def test_ordinary_names_are_kept(name: str, kept: str) -> None:
    """A result is found under the student's own name wherever file systems take it."""
    assert safe_name(name) == kept


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../../etc/passwd",
        "a/b",
        "a\\b",
        "new\nline",
        'quote"',
        "CON",
        "lpt1.x",
        "x" * 300,
        " ana",
        "ana.",
        "\u202egnp",
        "a\0b",
        "😀" * 80,
    ],
)
def test_other_names_become_safe_ones(name: str) -> None:
    """One component, short enough, no control characters, and no two names the same."""
    made = safe_name(name)
    assert made not in ("", ".", "..")
    assert not set(made) & set('/\\\n\0\u202e"')
    assert len(made.encode()) <= 130
    assert made != safe_name(name + "_")
    assert made.split(".")[0].lower() not in ("con", "lpt1")


def test_a_result_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no room, the old file stays, nothing else is left, and the sentence says what to do."""
    path = tmp_path / "results" / "ana.json"
    write_whole(path, b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(GraderError, match=r"ana\.json cannot be written: No space left.*--resume"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in path.parent.iterdir()] == ["ana.json"]


def test_a_result_of_somebody_else_is_none(tmp_path: Path) -> None:
    """A file that was renamed, cut off or is no result is graded again, not believed."""
    kept = ResultStore(tmp_path, ["prefix-sum"])
    result = with_trouble(BARE, "It is empty.")
    kept.write(result)
    assert kept.read("ana", "prefix-sum") == result
    path = kept.path("ana", "prefix-sum")
    path.rename(kept.path("ben", "prefix-sum"))
    assert kept.read("ben", "prefix-sum") is None
    path.write_bytes(packed_result(result)[:100])
    assert kept.read("ana", "prefix-sum") is None
    path.write_text("[" * 100_000)
    assert kept.read("ana", "prefix-sum") is None


def test_several_challenges_have_a_folder_each(tmp_path: Path) -> None:
    """One student's results do not take each other's place."""
    kept = ResultStore(tmp_path, ["a", "b"])
    assert kept.path("ana", "a") != kept.path("ana", "b")


def test_a_record_that_cannot_be_read_is_no_fresh_start(tmp_path: Path) -> None:
    """Nothing is written over what may be somebody's grades."""
    (tmp_path / CLASS_FILE).write_text("{}")
    with pytest.raises(DrillError, match="cannot be read"):
        ResultStore(tmp_path, ["a"]).class_file()
    (tmp_path / CLASS_FILE).write_text(
        json.dumps(
            {
                "schema": "attn-drill.class/9",
                "title": "",
                "challenges": [],
                "seed": 1,
                "per_student_seed": False,
                "seconds": 1,
                "memory_mib": 1,
                "version": "",
            }
        )
    )
    with pytest.raises(DrillError, match=r"schema attn-drill\.class/9"):
        ResultStore(tmp_path, ["a"]).class_file()


def test_the_record_comes_back(tmp_path: Path) -> None:
    """What a resumed grading has to hold to."""
    record = ClassFile(
        title="t",
        challenges=["a"],
        seed=7,
        per_student_seed=True,
        seconds=3.0,
        memory_mib=99,
        version="1",
    )
    ResultStore(tmp_path, ["a"]).begin(record)
    assert ResultStore(tmp_path, ["a"]).class_file() == record


def test_kept_report(grader: object) -> None:
    """The object of `check --json`, whose it is, the text without the mistake, and the lines around the fault."""
    from trainer.grading.grader import Grader

    assert isinstance(grader, Grader)
    report = report_of(grader, TINY, WRONG_SUM, "ana.py", 5, diagnosed=True)
    result = with_report(replace(BARE, score=12.5), report, WRONG_SUM)
    text = packed_result(result)
    assert json.loads(text)["schema"] == "attn-drill.report/1"
    assert (result.student, result.verdict, result.score) == ("ana", "failed", 12.5)
    read = unpacked_result(text)
    assert packed_result(read) == text
    assert read.report is not None
    assert read.report.first_failure().message == report.first_failure().message
    assert result.text.startswith("FAILED  prefix-sum")
    assert "LIKELY" not in result.text
    assert result.excerpt is not None
    assert result.excerpt.marked == 3
    assert text.isascii()
