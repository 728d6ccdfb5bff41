"""Tests of collecting the submissions of a class: whose file is it, and when did it come."""

import re
from datetime import datetime
from pathlib import Path

import pytest

from attn_drill.classroom.collect import (
    Collected,
    LmsName,
    blackboard_user,
    collect,
    collect_single,
    read_name,
    system_of_names,
)
from attn_drill.classroom.records import Student, System
from attn_drill.classroom.roster import read_roster
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from tests.support.classroom import (
    CACHE,
    GQA,
    ONE,
    TWO,
    Files,
    check,
    named_files,
    notebook,
    outcomes,
    write_files,
    write_zip,
    written,
    zipped,
)
from tests.support.rows import each_row

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


NEXT_DAY = "2026-11-21-10-11-12"
BROKEN = "class GroupedQueryAttention\n    pass\n"
UNREADABLE = "def (\n"
OTHER = "x = 1\n"
FITS_NONE = "does not define GroupedQueryAttention"


# The files of a class, and what becomes of each student: the path of the graded file, "missing",
# or `~` and a pattern for the reason why nothing is graded.
CLASSES = {
    "files and folders": (
        named_files("ana.py", "bob.PY", "Cai Lu/x.py", "dan/p/q/x.py"),
        {"ana": "ana.py", "bob": "bob.PY", "Cai Lu": "Cai Lu/x.py", "dan": "dan/p/q/x.py"},
    ),
    "notebooks": (
        {"ana.ipynb": notebook(GQA), "bob/hw.ipynb": notebook("import torch", GQA)},
        {"ana": "ana.ipynb", "bob": "bob/hw.ipynb"},
    ),
    "Canvas": (
        named_files("leeana_101_7_gqa.py", "lee_LATE_102_8_x.py"),
        {"leeana": "leeana_101_7_gqa.py", "lee": "lee_LATE_102_8_x.py"},
    ),
    "Canvas, two students of one name": (
        named_files("li_1_7_gqa.py", "li_2_8_gqa.py"),
        {"li (1)": "li_1_7_gqa.py", "li (2)": "li_2_8_gqa.py"},
    ),
    "Canvas, three uploads": (
        named_files("li_1_9_gqa.py", "li_1_10_gqa-1.py", "li_1_11_gqa-2.py"),
        {"li": "li_1_11_gqa-2.py"},
    ),
    "Canvas, two uploads of a zip": (
        {"li_1_9_hw.zip": zipped({"x.py": OTHER + GQA}), "li_1_10_hw-1.zip": zipped({"x.py": GQA})},
        {"li": "li_1_10_hw-1.zip/x.py"},
    ),
    "the name of the challenge, without its class": (
        {"li_1_9_gqa.py": "class GroupedQueryAttenton: ...", "li_1_10_other.py": OTHER},
        {"li": "li_1_9_gqa.py"},
    ),
    "Canvas, the name of the challenge": (
        named_files("li_1_9_gqa.py", "li_1_10_other.py"),
        {"li": "li_1_9_gqa.py"},
    ),
    "Moodle": (
        named_files("A B_1_assignsubmission_file/x.py", "A B_2_assignsubmission_file_y.py"),
        {
            "A B (1)": "A B_1_assignsubmission_file/x.py",
            "A B (2)": "A B_2_assignsubmission_file_y.py",
        },
    ),
    "Blackboard, two attempts": (
        {
            **named_files(f"HW_ana_attempt_{DAY}_gqa.py", f"HW_ana_attempt_{NEXT_DAY}_x.py"),
            f"HW_ana_attempt_{NEXT_DAY}.txt": "Name: Ana Lee (ana)\n",
        },
        {"ana": f"HW_ana_attempt_{NEXT_DAY}_x.py"},
    ),
    "Blackboard, only a receipt": (
        {f"HW_ana_attempt_{DAY}.txt": "Name: Ana Lee (ana)\nSubmission: my answer\n"},
        {"ana": "~Python file"},
    ),
    "a file name that looks like somebody else's": (
        {
            **named_files(f"HW_eve_attempt_{DAY}_HW_bob_attempt_{NEXT_DAY}_gqa.py"),
            **named_files(f"HW_bob_attempt_{DAY}_bob_1_2_gqa.py"),
        },
        {
            "bob": f"HW_bob_attempt_{DAY}_bob_1_2_gqa.py",
            "eve": f"HW_eve_attempt_{DAY}_HW_bob_attempt_{NEXT_DAY}_gqa.py",
        },
    ),
    "helpers next to the answer": (
        {"ana/gqa.py": GQA, "ana/util.py": OTHER, "ana/test.py": "from gqa import *\n"},
        {"ana": "ana/gqa.py"},
    ),
    "a stub": ({"ana/gqa.py": OTHER, "ana/final.py": GQA}, {"ana": "ana/final.py"}),
    "the name of the challenge decides": (
        {"ana/gqa.py": GQA, "ana/draft.py": GQA, "ana/gqa.ipynb": notebook(GQA)},
        {"ana": "ana/gqa.py"},
    ),
    "Python first, and the top level first": (
        {"ana/a.py": GQA, "ana/b.ipynb": notebook(GQA), "ana/old/c.py": GQA},
        {"ana": "ana/a.py"},
    ),
    "two answers": (
        {"ana/a.py": GQA, "ana/b.py": GQA + OTHER},
        {"ana": r"~2 answers to gqa: ana/a\.py, ana/b\.py\. Remove or rename all but one"},
    ),
    "one answer twice": (
        {"ana.py": GQA, "ana/gqa.py": GQA, "bob/a.py": GQA, "bob/b.py": GQA},
        {"ana": "ana/gqa.py", "bob": "bob/a.py"},
    ),
    "a file and a folder of one name": (
        named_files("ana.py", "ana/gqa.py"),
        {"ana": r"~2 answers to gqa: ana\.py, ana/gqa\.py"},
    ),
    "one name in two spellings": (
        named_files("Zoe\u0301.py", "ZO\u00c9/x.py"),
        {"Zoe\u0301": "~2 answers to gqa"},
    ),
    "a syntax error": ({"ana.py": BROKEN}, {"ana": "ana.py"}),
    "broken, by its name": ({"ana/gqa.py": UNREADABLE}, {"ana": "ana/gqa.py"}),
    "broken, the only file": ({"ana/x.py": UNREADABLE}, {"ana": "ana/x.py"}),
    "broken, one of two files": (
        {"ana/x.py": UNREADABLE, "ana/y.py": OTHER},
        {"ana": "~ana/x.py is not valid Python. Look at it, or ask for gqa.py"},
    ),
    "a letter is missing": (
        {"ana.py": GQA.replace("tion", "ton")},
        {"ana": "~ana.py defines GroupedQueryAttenton, and not GroupedQueryAttention: correct"},
    ),
    "another name in a notebook": (
        {"ana.ipynb": notebook("class GQA:\n    pass")},
        {"ana": f"~ana.ipynb {FITS_NONE}, only GQA. Look at"},
    ),
    "a PDF": (
        {"ana/work.pdf": "x", "ana/a.txt": "x"},
        {"ana": "~ana/a.txt is neither a Python file nor a notebook. Look at it"},
    ),
    "an empty file": ({"ana.py": ""}, {"ana": "~ana.py is empty"}),
    "a NUL byte": ({"ana.py": b"a\0"}, {"ana": "~holds a NUL byte"}),
    "not UTF-8": ({"ana.py": b"\xff"}, {"ana": "~is not UTF-8"}),
    "too large": ({"ana.py": "#" * 2_000_000}, {"ana": "~more than 1,048,576"}),
    "no notebook": ({"ana.ipynb": "{"}, {"ana": "~cannot be read as a notebook"}),
    "zips of students": (
        {"ana.zip": zipped({"hw/gqa.py": GQA, "x.py": OTHER}), "bob/b.zip": zipped({"b.py": GQA})},
        {"ana": "ana.zip/hw/gqa.py", "bob": "bob/b.zip/b.py"},
    ),
    "zips of students from Canvas": (
        {"li_1_7_hw.zip": zipped({"gqa.py": GQA}), "mo_2_8_hw.zip": zipped({"x.py": GQA})},
        {"li": "li_1_7_hw.zip/gqa.py", "mo": "mo_2_8_hw.zip/x.py"},
    ),
    "zips that are not read": (
        {"ana.zip": zipped({"in.zip": zipped({"gqa.py": GQA})}), "bob.zip": "no zip"},
        {"ana": "~ana.zip/in.zip is neither a Python file nor", "bob": "~bob.zip cannot be read"},
    ),
}


@pytest.mark.parametrize("form", ["folder", "zip"])
@each_row("files, expected", CLASSES)
def test_answer_of_a_challenge_is_chosen(
    form: str, files: Files, expected: dict[str, str], tmp_path: Path
) -> None:
    """A folder and a zip of a class give the same submissions."""
    collected = outcomes(collect(written(tmp_path, form, {**files, **others(files)}), ONE))
    check(collected, expected)
    assert collected.keys() - expected.keys() <= {"yan", "zoe"}


def others(files: Files) -> Files:
    """Return files of two more students, from the same system."""
    form = next(
        (
            form
            for mark, form in (
                ("_attempt_", f"HW_{{}}_attempt_{DAY}_gqa.py"),
                ("_assignsubmission_", "{}_77_assignsubmission_file/gqa.py"),
                (r"_\d+_\d+_", "{}_77_88_gqa.py"),
                ("", "{}/gqa.py"),
            )
            if any(re.search(mark, name) for name in files)
        )
    )
    return {form.format(name): GQA for name in ("yan", "zoe")}


@each_row(
    "files, gqa, cache",
    {
        "a file for each": ({"gqa.py": GQA, "kv-cache.py": CACHE}, "gqa.py", "kv-cache.py"),
        "any names": ({"a.py": CACHE, "b.py": GQA}, "b.py", "a.py"),
        "one file": ({"hw3.py": GQA + CACHE}, "hw3.py", "hw3.py"),
        "one notebook": ({"hw.ipynb": notebook(CACHE, GQA)}, "hw.ipynb", "hw.ipynb"),
        "a zip": ({"hw.zip": zipped({"x.py": GQA + CACHE})}, "hw.zip/x.py", "hw.zip/x.py"),
        "one answer": ({"gqa.py": GQA}, "gqa.py", "missing"),
        "one answer and a PDF": (
            {"gqa.py": GQA, "kv.pdf": ("x")},
            "gqa.py",
            "~kv.pdf is neither .* ask for kv_cache.py",
        ),
        "one answer and a near miss": (
            {"gqa.py": GQA, "kv.py": CACHE.replace("Multi", "Mutli")},
            "gqa.py",
            "~defines CachedMutliHeadAttention, and not CachedMultiHeadAttention",
        ),
        "a broken file": ({"hw.py": UNREADABLE}, "hw.py", "hw.py"),
        "broken": ({"gqa.py": UNREADABLE, "kv_cache.py": UNREADABLE}, "gqa.py", "kv_cache.py"),
        "an answer twice": ({"gqa.py": GQA, "x.py": GQA + CACHE}, "gqa.py", "x.py"),
        "no answer": ({"a.txt": "x"}, "~a.txt is neither", "~a.txt is neither"),
    },
)
def test_answers_of_two_challenges_are_chosen(
    files: Files, gqa: str, cache: str, tmp_path: Path
) -> None:
    """A file that fits no challenge may be the missing answer, so a person must look at it."""
    root = write_files(tmp_path / "in", {f"ana/{name}": text for name, text in files.items()})
    expected = {"ana: gqa": gqa, "ana: kv-cache": cache}
    check(
        {key: text.replace("ana/", "") for key, text in outcomes(collect(root, TWO)).items()},
        expected,
    )
    single = outcomes(collect_single(root / "ana", TWO))
    check(single, expected)


def test_number_in_the_name_of_a_challenge_is_not_an_upload_number(tmp_path: Path) -> None:
    """The files of the challenges step-1 and step-2 do not replace each other."""
    steps = [
        Challenge(**{**vars(ONE[0]), "id": f"step-{step}", "folder": Path(f"step_{step}")})
        for step in (1, 2)
    ]
    files = {"li_1_8_step-1.py": UNREADABLE, "li_1_9_step-2.py": UNREADABLE}
    assert outcomes(collect(write_files(tmp_path / "in", files), steps)) == {
        "li: step-1": "li_1_8_step-1.py",
        "li: step-2": "li_1_9_step-2.py",
    }


def test_nothing_is_lost(tmp_path: Path) -> None:
    """Files that are not graded are listed: alternatives, other files, and files of nobody."""
    files = {
        "ana/gqa.py": GQA,
        "ana/draft.py": GQA,
        "ana/notes.pdf": "x",
        "ana/util.py": OTHER,
        "bob.py": GQA,
        "Makefile": "x",
        "old/class.json": "{}",
        "old/results/a.json": "{}",
        ".hidden.py": GQA,
        "__MACOSX/ana/._gqa.py": GQA,
    }
    collected = collect(write_files(tmp_path / "in", files), ONE)
    assert collected.submissions[0].alternatives == ("ana/draft.py",)
    assert collected.ignored == [
        "Makefile",
        "ana/notes.pdf, ana/util.py",
        "old/ (results of an earlier run)",
    ]
    canvas = named_files("li_1_9_gqa.py", "li_1_10_gqa-1.py")
    collected = collect(write_files(tmp_path / "canvas", canvas), ONE)
    assert collected.ignored == ["li_1_9_gqa.py (an older upload)"]


BLACKBOARD = f"hw_eve_attempt_{DAY}"


@pytest.mark.parametrize(
    ("system", "name", "is_folder", "expected"),
    [
        (
            "canvas",
            "leeana_LATE_101_555_gqa-1.py",
            False,
            LmsName("canvas", "leeana", "101", "gqa-1.py", "", 555, is_marked_late=True),
        ),
        ("canvas", "a_1_2_b_3_4_x.py", False, LmsName("canvas", "a", "1", "b_3_4_x.py", upload=2)),
        ("canvas", "leeana_101_555_hw", True, None),
        ("canvas", "notes.pdf", False, None),
        ("moodle", "A_B_7_assignsubmission_file", True, LmsName("moodle", "A_B", "7", "")),
        (
            "moodle",
            "A B_7_assignsubmission_file_x.py",
            False,
            LmsName("moodle", "A B", "7", "x.py"),
        ),
        ("gradescope", "leeana_101_555_gqa.py", False, None),
        (
            "blackboard",
            f"{BLACKBOARD}_x_bob_attempt_{DAY}_gqa.py",
            False,
            LmsName("blackboard", "hw_eve", "", f"x_bob_attempt_{DAY}_gqa.py", DAY),
        ),
        ("blackboard", f"{BLACKBOARD}.txt", False, LmsName("blackboard", "hw_eve", "", "", DAY)),
        ("", "leeana_101_555_gqa.py", False, None),
    ],
)
def test_name_of_a_system_is_read(
    system: System, name: str, is_folder: bool, expected: LmsName | None
) -> None:
    """The first mark counts: the student chose the text after it."""
    assert read_name(name, is_folder, system) == expected


@pytest.mark.parametrize(
    ("names", "system"),
    [
        (["li_1_2_a.py", "bo_3_4_b.py", "notes.pdf"], "canvas"),
        (["A_1_assignsubmission_file_x.py", "B_2_assignsubmission_file_1_2_y.py"], "moodle"),
        ([f"Lab_3_1_{user}_attempt_{DAY}_x.py" for user in ("ana", "bo")], "blackboard"),
        ([f"eve_1_2_hw_bob_attempt_{DAY}_x.py", "bob_3_4_x.py"], "canvas"),
        (["ana.py", "bob.py", "plan_1_2_n.pdf"], ""),
        ([], ""),
    ],
)
def test_one_class_comes_from_one_system(names: list[str], system: System) -> None:
    """So eve cannot write a name in the form of another system."""
    assert system_of_names([(name, False) for name in names]) == system


def test_time_of_an_attempt() -> None:
    """It is local time. There is none if it is not a date."""
    name = read_name(f"{BLACKBOARD}_x.py", False, "blackboard")
    assert name.submitted == datetime(2026, 11, 20, 10, 11, 12).timestamp()
    other = read_name(f"{BLACKBOARD.replace('11-20', '99-20')}_x.py", False, "blackboard")
    assert other.submitted is None


@pytest.mark.parametrize(
    ("head", "user"),
    [("HW_doe", "doe"), ("HW_ANA", "ana"), ("ana", "ana"), ("HW_bob", "bob"), ("HW_", "HW_")],
)
def test_user_of_blackboard_begins_after_the_assignment(head: str, user: str) -> None:
    """Capitals make no difference."""
    assert blackboard_user(head, ["doe", "jane_doe", "ana", ""]) == user
