"""The inputs of a class, and beginning and resuming a grading and its outputs."""

import zipfile
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from attn_drill.app.open_packs import open_packs
from attn_drill.classroom.assignment import plain_assignment
from attn_drill.classroom.records import StudentResult
from attn_drill.classroom.result_store import ClassRecord, ResultStore, SavedOptions, read_record
from attn_drill.cli import _class_run
from attn_drill.cli._class_run import ClassInputs, ClassRun, begin, read_class, write_outputs
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.model.report import Outcome, Report
from attn_drill.packs import pack_reader
from attn_drill.server.clients import pool
from attn_drill.server.messages import Grade, Refused, Verdict
from tests.support.classroom import (
    ONE,
    assignment,
    class_record,
    make_class,
    named_files,
    result,
    table,
    write_files,
)
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


CHALLENGES = ("first", "second")


def graded(tmp_path: Path, *formats: str) -> tuple[ResultStore, ClassRecord]:
    """Write results of six students for two challenges. Zoe's second is not graded yet."""
    store = ResultStore(tmp_path, list(CHALLENGES))
    class_: list[StudentResult] = [*make_class(CHALLENGES, 5), result("zoe", "first", None)]
    for each in class_:
        store.write(each)
    record = class_record(assignment(CHALLENGES), *dict.fromkeys(each.student for each in class_))
    options = msgspec.structs.replace(record.options, write=list(formats))
    return store, msgspec.structs.replace(record, options=options)


def test_outputs_of_several_challenges_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables have a row for each student or result, and platforms get a file for each student."""
    store, record = graded(tmp_path, "csv", "gradescope")
    assert write_outputs(store, record, None) > 0  # the results without a verdict
    assert len(table(tmp_path / "grades.csv")) == 6
    assert len(table(tmp_path / "grades_by_challenge.csv")) == 11
    assert len(list((tmp_path / "gradescope").glob("*/results.json"))) == 6
    printed = capsys.readouterr().out
    assert "11 results" in printed
    assert f"written: {tmp_path / 'results'}, {tmp_path / 'grades.csv'}, " in printed
    marks = read_record(tmp_path)
    assert set(marks.marks) == {student.name for student in record.students}


def test_many_changed_marks_are_in_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The terminal shows the first ten."""
    names = [f"student {index:02}" for index in range(12)]
    store, record = ResultStore(tmp_path, ["first"]), class_record(assignment(), *names)
    for name in names:
        store.write(result(name))
    write_outputs(store, record, None)
    (tmp_path / "overrides.toml").write_text(
        "".join(f'[[override]]\nstudent = "{name}"\npoints = 1\n' for name in names)
    )
    write_outputs(store, record, read_record(tmp_path))
    printed = capsys.readouterr().out
    assert "12 marks changed:\n  student 00, first: 100 → 1, override\n" in printed
    assert "student 09, first" in printed
    assert "student 10, first" not in printed
    assert {row["reason"] for row in table(tmp_path / "changed_marks.csv")} == {"override"}


def test_copy_of_an_answer_in_another_style_is_listed(tmp_path: Path) -> None:
    """All right answers of a pack are public, not only the reference."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    answer = pack_reader.also_right(challenge)[0]
    store = ResultStore(tmp_path, ["gqa"])
    store.write(result("Ann", "gqa", source=f"# my work\n{pack_reader.read_text(answer)}"))
    record = class_record(assignment(["gqa"]), "Ann")
    options = msgspec.structs.replace(record.options, write=["html"])
    write_outputs(store, msgspec.structs.replace(record, options=options), None)
    assert f"the text of {answer.name}" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_an_import_file_needs_the_export_of_its_system(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sentence says the next step, and no file is written."""
    store, record = graded(tmp_path, "canvas")
    write_outputs(store, record, None)
    assert "canvas.csv: Nothing is written" in capsys.readouterr().err
    assert not (tmp_path / "canvas.csv").exists()


def test_markers_get_files_without_names(tmp_path: Path) -> None:
    """The names that belong to the ids are outside of the folder for markers."""
    store, record = graded(tmp_path, "csv", "markers")
    write_outputs(store, record, None)
    ids = {row["student"]: row["anonymous_id"] for row in table(tmp_path / "anonymous_ids.csv")}
    totals = {row["student"]: row["total"] for row in table(tmp_path / "grades.csv")}
    assert {row["student"]: row["total"] for row in table(tmp_path / "markers" / "grades.csv")} == {
        ids[name]: total for name, total in totals.items()
    }
    assert "zoe" not in (tmp_path / "markers" / "report.html").read_text()


def test_files_of_a_student_who_left_are_removed(tmp_path: Path) -> None:
    """The zip of the feedback holds the pages of its folder. Files of other programs stay."""
    store, record = graded(tmp_path, "gradescope", "feedback")
    write_outputs(store, record, None)
    pages = {path.name for path in (tmp_path / "feedback").iterdir()}
    assert len(pages) == 6
    with zipfile.ZipFile(tmp_path / "feedback.zip") as archive:
        assert set(archive.namelist()) == pages
    (tmp_path / "feedback" / "notes.txt").touch()
    others = [student for student in record.students if student.name != "zoe"]
    jobs = [job for job in record.jobs if job.submission.student != "zoe"]
    write_outputs(store, msgspec.structs.replace(record, students=others, jobs=jobs), None)
    assert not list(tmp_path.rglob("*zoe*"))
    assert len(list((tmp_path / "gradescope").iterdir())) == 5
    assert (tmp_path / "feedback" / "notes.txt").exists()


def inputs(folder: Path, **more: object) -> ClassInputs:
    """Read the class of a folder."""
    settings: dict[str, object] = {"assignment": plain_assignment("gqa"), "challenges": ONE} | more
    return read_class(folder, **settings)  # type: ignore[arg-type]


def test_everything_unclear_is_said_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other files, strangers, times and extensions of nobody, and clashes of names."""
    files = named_files("ana.py", "Ana/gqa.py", "zoe.py", "notes.txt")
    folder = write_files(tmp_path / "in", files)
    (tmp_path / "roster.csv").write_text("id,name\n1,Ana\n2,Bo\n")
    (tmp_path / "times.csv").write_text("student,submitted\nDi,2026-12-01 10:00\n")
    found = inputs(
        folder,
        assignment=replace(
            plain_assignment("gqa"),
            extensions={"Cy": 1e9, "1": 2e9},
            times=str(tmp_path / "times.csv"),
        ),
        roster_file=str(tmp_path / "roster.csv"),
    )
    said = capsys.readouterr().err
    for sentence in (
        "Not graded, because nobody asked for it: notes.txt.",
        "The roster does not have these students: zoe.",
        "times.csv names nobody of this class: Di.",
        "[extensions] names nobody of this class: Cy.",
    ):
        assert sentence in said
    assert found.roster
    assert found.assignment.extensions == {"Ana": 2e9}
    assert [student.name for student in found.collected.students] == ["Ana", "Bo", "zoe"]


def test_a_clear_class_needs_no_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a roster, nobody is a stranger."""
    found = inputs(write_files(tmp_path / "in", named_files("ana.py", "bo.py")))
    assert found.roster is None
    assert capsys.readouterr().err == ""
