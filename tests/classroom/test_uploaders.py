"""Tests of the student whom each upload belongs to, with and without a roster."""

from pathlib import Path

from tests.support.collect import ONE, named_files, write_files
from trainer.classroom.collect import Collected, collect
from trainer.classroom.records import Student
from trainer.classroom.roster import read_roster

PLAIN = (
    "id,name,email\n1,Ana Lee,ana@uni.example\n2,Bo Li,bo@uni.example\n3,Bo Li,bo2@uni.example\n"
)


def collected(tmp_path: Path, *files: str, roster: str = "") -> Collected:
    """Return the submissions of a folder with these files.

    Args:
        tmp_path: an empty folder.
        files: the paths of the files.
        roster: the text of the roster, or "" for none.
    """
    folder = write_files(tmp_path / "in", named_files(*files))
    if not roster:
        return collect(folder, ONE)
    (tmp_path / "roster.csv").write_text(roster)
    return collect(folder, ONE, read_roster(tmp_path / "roster.csv"))


def by_name(found: Collected) -> dict[str, Student]:
    """Return the students by name, in order."""
    return {student.name: student for student in found.students}


def test_students_without_a_roster_have_the_ids_of_the_file_names(tmp_path: Path) -> None:
    """The name of the newest upload is kept, so that feedback can be returned."""
    files = ["leeana_101_7_gqa.py", "leeana_LATE_101_12_gqa-1.py", "ngzoe_103_9_gqa.py"]
    found = by_name(collected(tmp_path, *files))
    assert found["leeana"] == Student(
        "leeana",
        id="101",
        system="canvas",
        system_id="101",
        upload="leeana_LATE_101_12_gqa-1.py",
    )
    assert list(found) == ["leeana", "ngzoe"]


def test_a_user_of_blackboard_has_a_user_name(tmp_path: Path) -> None:
    """The user name is the id, too."""
    files = [f"HW_{user}_attempt_2026-11-20-10-11-12_gqa.py" for user in ("alee", "zng")]
    alee = by_name(collected(tmp_path, *files))["alee"]
    assert (alee.id, alee.login, alee.system_id, alee.system) == ("alee",) * 3 + ("blackboard",)


def test_students_get_the_names_of_the_roster(tmp_path: Path) -> None:
    """A file may have the id, the address or the name. All rows of the roster are students."""
    found = collected(tmp_path, "lee_ana.py", "bo2@uni.example/gqa.py", roster=PLAIN)
    students = by_name(found)
    assert {name: (each.id, each.is_in_roster) for name, each in students.items()} == {
        "Ana Lee": ("1", True),
        "Bo Li (2)": ("2", True),
        "Bo Li (3)": ("3", True),
    }
    assert [each.student for each in found.submissions] == ["Ana Lee", "Bo Li (3)"]
    assert students["Ana Lee"].email == "ana@uni.example"
    assert students["Ana Lee"].row["email"] == "ana@uni.example"
    assert students["Bo Li (2)"].notes == ()


def test_a_file_that_belongs_to_nobody_keeps_its_name(tmp_path: Path) -> None:
    """The file is graded all the same."""
    found = collected(tmp_path, "ana.py", "zoe.py", roster=PLAIN)
    zoe = by_name(found)["zoe"]
    assert (zoe.is_in_roster, zoe.id) == (False, "")
    assert [each.student for each in found.submissions] == ["Ana Lee", "zoe"]


def test_a_name_that_fits_two_students_belongs_to_neither(tmp_path: Path) -> None:
    """Both students have handed in nothing, and their notes name the file."""
    students = by_name(collected(tmp_path, "boli.py", roster=PLAIN))
    assert students["boli"].is_in_roster is False
    assert students["boli"].notes == ("the name fits Bo Li (2) and Bo Li (3)",)
    for name in ("Bo Li (2)", "Bo Li (3)"):
        assert students[name].notes == ("boli.py may belong to this student",)


def test_two_files_of_one_student_are_settled_by_a_person(tmp_path: Path) -> None:
    """Their names differ, and the roster knows that they are one student."""
    found = collected(tmp_path, "ana.py", "Lee, Ana.py", roster=PLAIN)
    (submission,) = found.submissions
    assert submission.student == "Ana Lee"
    assert "Lee, Ana.py, ana.py" in submission.trouble
    assert [student.name for student in found.students] == ["Ana Lee", "Bo Li (2)", "Bo Li (3)"]


def test_the_id_of_the_system_decides_before_the_name(tmp_path: Path) -> None:
    """Canvas writes its own id into the file names and into its export."""
    roster = (
        "Student,ID,SIS User ID,SIS Login ID,Section\n"
        '    Points Possible,,,,\n"Lee, Ana",101,S1,alee,A\n"Lee, Ana",102,S2,alee2,B\n'
    )
    files = ["leeana_102_7_gqa.py", "leeana_101_8_gqa.py", "leeana_999_9_gqa.py"]
    found = by_name(collected(tmp_path, *files, roster=roster))
    uploads = {name: each.upload for name, each in found.items()}
    assert {upload: name for name, upload in uploads.items()} == {
        "leeana_101_8_gqa.py": "Ana Lee (101)",
        "leeana_102_7_gqa.py": "Ana Lee (102)",
        "leeana_999_9_gqa.py": "leeana",
    }
    assert found["leeana"].is_in_roster is False
