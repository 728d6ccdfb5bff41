"""Tests of collecting the submissions of a class: whose file is it, and when did it come."""

from datetime import datetime
from pathlib import Path

import pytest

from attn_drill.classroom.collect import Collected, collect, collect_single
from attn_drill.classroom.records import Student
from attn_drill.classroom.roster import read_roster
from attn_drill.model.errors import DrillError
from tests.support.classroom import (
    GQA,
    ONE,
    Files,
    check,
    named_files,
    outcomes,
    write_files,
    write_zip,
    written,
    zipped,
)

DAY = "2026-11-20-10-11-12"


@pytest.mark.parametrize(
    ("files", "students"),
    [
        (named_files("class/ana.py", "class/bob.py"), ["ana", "bob"]),
        (named_files("class/ana/x.py", "class/bob/x.py"), ["ana", "bob"]),
        (named_files("class/ana_1_2_gqa.py"), ["ana"]),
        (named_files("ana/gqa.py", "ana/x.py"), ["ana"]),
        (named_files("ana/p/x.py"), ["ana"]),
        (named_files("A B_1_assignsubmission_file_/a.py"), ["A B"]),
        (named_files("./ana.py", "bob//x.py", "../eve.py"), ["ana", "bob"]),
    ],
)
def test_common_folder_of_a_zip_is_recognised(
    files: Files, students: list[str], tmp_path: Path
) -> None:
    """The folder of a class is not confused with the folder of a student."""
    collected = collect(write_zip(tmp_path / "in.zip", files), ONE)
    assert [student.name for student in collected.students] == students
    assert collected.ignored == (
        ["../eve.py leads out of the archive."] if "../eve.py" in files else []
    )


def test_system_gives_times_and_marks(tmp_path: Path) -> None:
    """Blackboard writes the time into the name, and Moodle into the zip. Canvas marks late files.

    The time of a file on the disk, and of a zip that a person made, never counts.
    """
    day = datetime(2026, 11, 20, 10, 11, 12).timestamp()
    blackboard = named_files(f"q_bob_attempt_{DAY}_hw_bob_attempt_2020-01-01-00-00-00_x.py")
    moodle = named_files("Ana Lee_7_assignsubmission_file_/gqa.py")
    in_zip = {"Bo Li_8_assignsubmission_file_/my.zip": zipped({"gqa.py": GQA})}
    table: list[tuple[str, Files, float | None]] = [
        ("folder", blackboard, day),
        ("folder", moodle, None),
        ("zip", moodle, day),
        ("zip", in_zip, day),
        ("zip", named_files("ana.py"), None),
    ]
    for number, (form, files, time) in enumerate(table):
        folder = write_files(tmp_path / str(number), {})
        (submission,) = collect(written(folder, form, files), ONE).submissions
        assert submission.submitted == time, files
    canvas = named_files("li_LATE_1_10_gqa.py", "bo_2_11_x_LATE_3_4_gqa.py")
    collected = collect(write_files(tmp_path / "canvas", canvas), ONE).submissions
    assert [(each.student, each.is_marked_late) for each in collected] == [
        ("bo", False),
        ("li", True),
    ]
    assert all(each.has_late_marks for each in collected)


def test_blackboards_users_are_known_or_noted(tmp_path: Path) -> None:
    """The roster decides where a user name begins. Otherwise there is a note."""
    files = named_files(*(f"HW_3_{user}_attempt_{DAY}_x.py" for user in ("j_ray", "a_b")))
    (tmp_path / "roster.csv").write_text("username,name\nj_ray,Jo Ray\n")
    roster = read_roster(tmp_path / "roster.csv")
    collected = collect(write_files(tmp_path / "in", files), ONE, roster)
    assert [student.name for student in collected.students] == ["Jo Ray", "b"]
    (note,) = collected.notes
    assert "Guessed: b from HW_3_a_b. If a guess is wrong" in note


def test_bytes_that_are_not_utf_8_are_replaced_in_names(tmp_path: Path) -> None:
    """The file is read under its true name, and results hold a name that can be written."""
    folder = write_files(tmp_path / "in", {"zoe.py": GQA})
    (folder / b"n\xff.py".decode(errors="surrogateescape")).write_text(GQA)
    assert outcomes(collect(folder, ONE)) == {"n\ufffd": "n\ufffd.py", "zoe": "zoe.py"}


@pytest.mark.parametrize("files", [{}, {".a.py": "x"}, {"n.pdf": "x", "Makefile": ""}])
def test_class_without_submissions_is_refused(files: Files, tmp_path: Path) -> None:
    """The sentence has the possible layouts."""
    with pytest.raises(DrillError, match=r"in holds no submission\. Name a folder with DIR/<stud"):
        collect(write_files(tmp_path / "in", files), ONE)


def test_single_student_hands_in_a_file_a_zip_or_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the student is the name of the path, also if the path is `.`."""
    root = write_files(tmp_path / "ana", named_files("gqa.py", "n.pdf"))
    monkeypatch.chdir(root)
    for path in (root, Path()):
        assert outcomes(collect_single(path, ONE)) == {"ana": "gqa.py"}
    assert outcomes(collect_single(root / "gqa.py", ONE)) == {"gqa": "gqa.py"}
    archive = write_zip(tmp_path / "bo.zip", named_files("x.py"))
    assert outcomes(collect_single(archive, ONE)) == {"bo": "x.py"}
    empty = outcomes(collect_single(write_files(tmp_path / "cy", {}), ONE))
    check(empty, {"cy": "~There is no gqa.py, and no other file defines GroupedQueryAttention"})
    for name in ("no", "no.py", "n.pdf"):
        with pytest.raises(DrillError, match=r"There is no folder or \.zip"):
            collect_single(root / name, ONE)


# The roster

PLAIN = "id,name,email\n1,Ana Lee,ana@x.example\n2,Bo Li,bo@x.example\n3,Bo Li,bo2@x.example\n"
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section\n"
    '    Points Possible,,,,\n"Lee, Ana",101,S1,alee,A\n"Lee, Ana",102,S2,alee2,B\n'
)


def with_roster(tmp_path: Path, roster: str, *files: str) -> Collected:
    """Return the submissions of a folder with these files and of a roster."""
    (tmp_path / "roster.csv").write_text(roster)
    folder = write_files(tmp_path / "in", named_files(*files))
    return collect(folder, ONE, read_roster(tmp_path / "roster.csv"))


def test_students_get_the_names_of_the_roster(tmp_path: Path) -> None:
    """All rows of the roster are students. A file of nobody is graded under its own name."""
    collected = with_roster(
        tmp_path, PLAIN, "lee_ana.py", "bo2@x.example/gqa.py", "zoe.py", "ana.pdf"
    )
    assert {student.name: student.is_in_roster for student in collected.students} == {
        "Ana Lee": True,
        "Bo Li (2)": True,
        "Bo Li (3)": True,
        "zoe": False,
    }
    assert outcomes(collected) == {
        "Ana Lee": "lee_ana.py",
        "Bo Li (3)": "bo2@x.example/gqa.py",
        "zoe": "zoe.py",
    }
    assert collected.students[0].row["email"] == "ana@x.example"


def test_pdf_of_a_student_of_the_roster_is_not_overlooked(tmp_path: Path) -> None:
    """A loose file of another kind belongs to a student only if the roster knows the name."""
    collected = with_roster(tmp_path, PLAIN, "Ana Lee.pdf", "notes.pdf", "bo2.py")
    check(outcomes(collected), {"Ana Lee": "~Ana Lee.pdf is neither a Python file nor a notebook"})
    assert collected.ignored == ["notes.pdf"]


def test_name_that_fits_two_students_belongs_to_neither(tmp_path: Path) -> None:
    """Both students have handed in nothing, and their notes name the file."""
    collected = with_roster(tmp_path, PLAIN, "boli.py")
    notes = {student.name: student.notes for student in collected.students}
    assert notes == {
        "Ana Lee": (),
        "Bo Li (2)": ("boli.py may belong to this student",),
        "Bo Li (3)": ("boli.py may belong to this student",),
        "boli": ("the name fits Bo Li (2) and Bo Li (3)",),
    }


def test_two_files_of_one_student_are_settled_by_a_person(tmp_path: Path) -> None:
    """Their names differ, and the roster knows that they are one student."""
    collected = with_roster(tmp_path, PLAIN, "ana.py", "Lee, Ana.py")
    check(outcomes(collected), {"Ana Lee": "~2 answers to gqa: Lee, Ana.py, ana.py"})


def test_id_of_the_system_decides_before_the_name(tmp_path: Path) -> None:
    """Canvas writes its own id into the file names and into its export."""
    files = ["leeana_102_7_gqa.py", "leeana_101_8_gqa.py", "leeana_999_9_gqa.py"]
    collected = with_roster(tmp_path, CANVAS, *files)
    assert {student.name: student.upload for student in collected.students} == {
        "Ana Lee (101)": "leeana_101_8_gqa.py",
        "Ana Lee (102)": "leeana_102_7_gqa.py",
        "leeana": "leeana_999_9_gqa.py",
    }


def test_students_without_a_roster_have_the_ids_of_the_file_names(tmp_path: Path) -> None:
    """The name of the newest upload is kept, so that feedback can be returned."""
    files = named_files("leeana_101_7_gqa.py", "leeana_LATE_101_12_gqa-1.py")
    (student,) = collect(write_files(tmp_path / "in", files), ONE).students
    assert student == Student(
        "leeana", id="101", system="canvas", system_id="101", upload="leeana_LATE_101_12_gqa-1.py"
    )
