"""Tests of collecting a class's submissions: layouts, students' names, and several submissions."""

import json
import os
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.support.collect import (
    ONE,
    TWO,
    Files,
    check_collected,
    named_files,
    write_class,
    write_files,
    write_zip,
)
from trainer.classroom.collect import Collected, collect, collect_single
from trainer.classroom.records import StudentSubmission
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError

# Layouts that are the same in a folder and in a zip. The test adds the students yan and zoe, so
# that a folder in the table never holds the whole class.
LAYOUTS = [
    pytest.param(
        ONE,
        named_files("ana.py", "bob.PY"),
        {"ana": "ana.py", "bob": "bob.PY"},
        [],
        id="a file for each student",
    ),
    pytest.param(
        ONE,
        named_files("ana/gqa.py", "bob/x.py"),
        {"ana": "ana/gqa.py", "bob": "bob/x.py"},
        [],
        id="a folder for each student",
    ),
    pytest.param(
        ONE,
        named_files("ana/gqa.py", "ana/b.py"),
        {"ana": "ana/gqa.py"},
        ["ana/b.py (not requested)"],
        id="the requested file",
    ),
    pytest.param(
        ONE,
        named_files("ana/GQA.py", "ana/b.py"),
        {"ana": "ana/GQA.py"},
        ["ana/b.py (not requested)"],
        id="in capitals",
    ),
    pytest.param(
        ONE,
        named_files("ana/GQA.py", "ana/gqa.py"),
        {"ana": "ana/gqa.py"},
        ["ana/GQA.py (not requested)"],
        id="the exact spelling first",
    ),
    pytest.param(
        ONE,
        named_files("ana/GQA.py", "ana/Gqa.py"),
        {"ana": "~2 files for gqa.py: GQA.py, Gqa.py. Hand in only one"},
        [],
        id="two spellings",
    ),
    pytest.param(
        ONE,
        named_files("ana/a.py", "ana/b.py"),
        {"ana": "~2 Python files and none is called gqa.py: a.py, b.py"},
        [],
        id="several files with other names",
    ),
    pytest.param(
        ONE,
        named_files("ana/b-1.py", "ana/b-2.py"),
        {"ana": "~2 Python files and none is called gqa.py: b-1.py, b-2.py"},
        [],
        id="numbers in a student's own file names",
    ),
    pytest.param(
        ONE, named_files("ana/p/x.py"), {"ana": "ana/p/x.py"}, [], id="a folder in a folder"
    ),
    pytest.param(
        ONE,
        named_files("ana/p/q/gqa.py", "ana/p/x.py"),
        {"ana": "ana/p/q/gqa.py"},
        ["ana/p/x.py (not requested)"],
        id="the requested file in a deep folder",
    ),
    pytest.param(
        ONE,
        named_files("ana/p/x.py", "ana/q/y.py"),
        {"ana": r"~2 Python files .* p/x.py, q/y.py"},
        [],
        id="several files in deep folders",
    ),
    pytest.param(
        ONE,
        named_files("ana/p/gqa.py", "ana/q/gqa.py"),
        {"ana": r"~2 files for gqa.py: p/gqa.py, q/gqa.py"},
        [],
        id="the requested file in two folders",
    ),
    pytest.param(
        ONE,
        named_files("ana/x.py", "ana/p/gqa.py"),
        {"ana": "ana/p/gqa.py"},
        ["ana/x.py (not requested)"],
        id="the requested name comes before the top level",
    ),
    pytest.param(
        ONE,
        named_files("ana/gqa.py", "ana/a.pdf", "ana/b", "ana/c.txt", "ana/d/e.csv"),
        {"ana": "ana/gqa.py"},
        ["ana/a.pdf, CLASS/ana/b, CLASS/ana/c.txt and 1 more (not Python files)"],
        id="other files next to the answer",
    ),
    pytest.param(
        ONE,
        {"ana/n.pdf": "x", "ana/m": "y"},
        {"ana": "~^There is no Python file and no notebook, only m, n.pdf. Hand in gqa.py.$"},
        [],
        id="no Python file",
    ),
    pytest.param(
        ONE,
        {"ana": None},
        {"ana": "~There is no Python file and no notebook. Hand in gqa.py"},
        [],
        id="an empty folder",
    ),
    pytest.param(
        ONE,
        {"ana/.git/a.py": "x"},
        {"ana": "~There is no Python file and no notebook. Hand in gqa.py"},
        [],
        id="a folder with only junk",
    ),
    pytest.param(
        ONE,
        {"n.pdf": "x", "Makefile": "", "gqa.md": "{}"},
        {},
        ["Makefile", "gqa.md", "n.pdf"],
        id="loose files of other kinds",
    ),
    pytest.param(
        ONE,
        named_files(
            "ana/gqa.py",
            *(
                f"ana/{junk}/gqa.py"
                for junk in ("__pycache__", ".git", "__MACOSX", ".venv", "node_modules", "a/.b")
            ),
            "ana/._gqa.py",
            "._b.py",
            ".d/a.py",
            "__MACOSX/a.py",
        ),
        {"ana": "ana/gqa.py"},
        [
            ".d/ (hidden)",
            "ana/.venv/ (hidden)",
            "ana/a/.b/ (hidden)",
            "ana/node_modules/ (made by a tool)",
        ],
        id="junk",
    ),
    pytest.param(
        ONE,
        named_files("ana/.x.py", "ana/y.py", ".b.py"),
        {"ana": "ana/y.py"},
        [".b.py (hidden)", "ana/.x.py (hidden)"],
        id="hidden Python files",
    ),
    pytest.param(
        ONE,
        named_files("ana (2).py", "bob.py"),
        {"ana (2)": "ana (2).py", "bob": "bob.py"},
        [],
        id="a name with a number in brackets",
    ),
    pytest.param(
        ONE,
        named_files("out/class.json", "out/results/a.json", "out/results/x.py", "ana.py"),
        {"ana": "ana.py"},
        ["out/ (results of an earlier run)"],
        id="an earlier run's results",
    ),
    pytest.param(
        TWO,
        named_files("ana/gqa.py", "ana/kv_cache.py"),
        {"ana: gqa": "ana/gqa.py", "ana: kv-cache": "ana/kv_cache.py"},
        [],
        id="two challenges",
    ),
    pytest.param(
        TWO,
        named_files("ana/GQA.PY", "ana/Kv-Cache.py", "ana/x.py"),
        {"ana: gqa": "ana/GQA.PY", "ana: kv-cache": "ana/Kv-Cache.py"},
        ["ana/x.py (not requested)"],
        id="two challenges, other spellings",
    ),
    pytest.param(
        TWO,
        named_files("ana/gqa.py"),
        {
            "ana: gqa": "ana/gqa.py",
            "ana: kv-cache": "~There is no kv_cache.py, only gqa.py. Hand in kv_cache.py.",
        },
        [],
        id="two challenges, one answer",
    ),
    pytest.param(
        TWO,
        named_files("ana/p/gqa.py", "ana/kv_cache.py"),
        {"ana: gqa": "ana/p/gqa.py", "ana: kv-cache": "ana/kv_cache.py"},
        [],
        id="two challenges, one file in a deep folder",
    ),
    pytest.param(
        TWO,
        named_files("ana.py"),
        dict.fromkeys(
            ("ana: gqa", "ana: kv-cache"),
            "~ana.py is one file, but the assignment has 2 challenges. Hand in a folder for each"
            " student, with gqa.py, kv_cache.py",
        ),
        [],
        id="two challenges, a loose file",
    ),
    pytest.param(
        ONE,
        named_files("anab_12345_67890_gqa.py", "bob_LATE_1_2_gqa.py"),
        {"anab": "anab_12345_67890_gqa.py", "bob": "bob_LATE_1_2_gqa.py"},
        [],
        id="Canvas",
    ),
    pytest.param(
        ONE,
        named_files("li_12345_1_gqa.py", "li_67890_2_gqa.py"),
        {"li (12345)": "li_12345_1_gqa.py", "li (67890)": "li_67890_2_gqa.py"},
        [],
        id="Canvas, two students of the same name",
    ),
    pytest.param(
        ONE,
        named_files("li_1_9_gqa.py", "li_1_10_gqa-1.py", "li_LATE_1_11_gqa-2.py"),
        {"li": "li_LATE_1_11_gqa-2.py"},
        ["li_1_10_gqa-1.py (an older upload)", "li_1_9_gqa.py (an older upload)"],
        id="Canvas, three uploads",
    ),
    pytest.param(
        ONE,
        named_files("li_1_2_a-2.py", "li_1_2_a-10.py"),
        {"li": "li_1_2_a-10.py"},
        ["li_1_2_a-2.py (an older upload)"],
        id="Canvas, ten is more than two",
    ),
    pytest.param(
        ONE,
        named_files("li_1_2_a_1.py", "li_1_3_a_2.py"),
        {"li": "~2 Python files .* a_1.py, a_2.py"},
        [],
        id="Canvas, a student's own numbers",
    ),
    pytest.param(
        ONE,
        named_files("li_1_2_a.py", "li_1_3_b.py"),
        {"li": "~2 Python files and none is called gqa.py: a.py, b.py"},
        [],
        id="Canvas, several files",
    ),
    pytest.param(
        ONE,
        named_files("li_1_2_gqa.py", "li_1_3_b.py"),
        {"li": "li_1_2_gqa.py"},
        ["li_1_3_b.py (not requested)"],
        id="Canvas, an additional file",
    ),
    pytest.param(
        ONE,
        named_files("li_1_2_gqa.py", "mo_1_2_n.pdf"),
        {"li": "li_1_2_gqa.py", "mo": "~There is no Python file and no notebook, only n.pdf"},
        [],
        id="Canvas, a PDF",
    ),
    pytest.param(
        ONE,
        named_files("ana_1_2_hw/x.py"),
        {"ana_1_2_hw": "ana_1_2_hw/x.py"},
        [],
        id="a folder with a name like Canvas's",
    ),
    pytest.param(
        ONE,
        named_files("ana.py", "plan_1_2_n.pdf"),
        {"ana": "ana.py"},
        ["plan_1_2_n.pdf"],
        id="a PDF with a name like Canvas's",
    ),
    pytest.param(
        TWO,
        named_files("li_1_2_gqa.py", "li_1_3_kv-cache.py"),
        {"li: gqa": "li_1_2_gqa.py", "li: kv-cache": "li_1_3_kv-cache.py"},
        [],
        id="Canvas, two challenges",
    ),
    pytest.param(
        ONE,
        named_files(
            "Ana B_1234567_assignsubmission_file_/gqa.py",
            "Ana B_1234567_assignsubmission_onlinetext_/onlinetext.html",
        ),
        {"Ana B": "Ana B_1234567_assignsubmission_file_/gqa.py"},
        ["Ana B_1234567_assignsubmission_onlinetext_/onlinetext.html (not a Python file)"],
        id="Moodle",
    ),
    pytest.param(
        ONE,
        named_files("A B_1_assignsubmission_file/x.py", "A B_2_assignsubmission_file_/y.py"),
        {
            "A B (1)": "A B_1_assignsubmission_file/x.py",
            "A B (2)": "A B_2_assignsubmission_file_/y.py",
        },
        [],
        id="Moodle, two students of the same name",
    ),
    pytest.param(
        ONE,
        named_files("A_B_1_assignsubmission_file_gqa.py"),
        {"A_B": "A_B_1_assignsubmission_file_gqa.py"},
        [],
        id="Moodle without folders",
    ),
    pytest.param(
        ONE,
        named_files(
            "gqa_ana_attempt_2026-11-20-10-11-12_gqa.py",
            "gqa_ana_attempt_2026-11-20-10-11-12.txt",
            "HW 3_b.c_attempt_2026-01-02-03-04-05_x y.py",
        ),
        {
            "ana": "gqa_ana_attempt_2026-11-20-10-11-12_gqa.py",
            "b.c": "HW 3_b.c_attempt_2026-01-02-03-04-05_x y.py",
        },
        [],
        id="Blackboard",
    ),
    pytest.param(
        ONE,
        named_files(
            "q_ana_attempt_2026-11-20-10-11-12_gqa.py",
            "q_ana_attempt_2026-11-21-00-00-00_other.py",
            "q_ana_attempt_2026-11-19-10-11-12_gqa.py",
        ),
        {"ana": "q_ana_attempt_2026-11-21-00-00-00_other.py"},
        [
            "q_ana_attempt_2026-11-19-10-11-12_gqa.py (an older upload)",
            "q_ana_attempt_2026-11-20-10-11-12_gqa.py (an older upload)",
        ],
        id="Blackboard, the newest attempt",
    ),
    pytest.param(
        TWO,
        named_files(
            "q_ana_attempt_2026-11-20-10-11-12_gqa.py",
            "q_ana_attempt_2026-11-21-00-00-00_kv_cache.py",
        ),
        {
            "ana: gqa": "q_ana_attempt_2026-11-20-10-11-12_gqa.py",
            "ana: kv-cache": "q_ana_attempt_2026-11-21-00-00-00_kv_cache.py",
        },
        [],
        id="Blackboard, one challenge in each attempt",
    ),
    pytest.param(
        ONE,
        named_files(
            "q_x_ana_attempt_2026-11-20-10-11-12_gqa.py",
            "q_y_ana_attempt_2026-11-20-10-11-12_gqa.py",
        ),
        {
            "x_ana": "q_x_ana_attempt_2026-11-20-10-11-12_gqa.py",
            "y_ana": "q_y_ana_attempt_2026-11-20-10-11-12_gqa.py",
        },
        [],
        id="Blackboard, users with underscores",
    ),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("form", ["folder", "zip", "zip with a common folder"])
@pytest.mark.parametrize(("challenges", "files", "expected", "ignored"), LAYOUTS)
def test_layout_is_read(
    form: str,
    challenges: tuple[Challenge, ...],
    files: Files,
    expected: dict[str, str],
    ignored: list[str],
    tmp_path: Path,
) -> None:
    """The submissions are the same in a folder, in a zip, and in a zip with one common folder."""
    others = (
        ["yan_99_101_gqa.py", "zoe_99_100_gqa.py"]
        if any(re.match(r"(li|anab)_.*\.py", name) for name in files)
        else ["yan.py", "zoe/gqa.py"]
    )
    files = {**files, **named_files(*others)}
    top = "class/" if form.endswith("folder") and form != "folder" else ""
    if form == "folder":
        got = collect(write_files(tmp_path / "in", files), challenges)
    else:
        got = collect(
            write_zip(
                tmp_path / "in.ZIP", {top + name: content for name, content in files.items()}
            ),
            challenges,
        )
        read = [submission for submission in got.submissions if submission.source]
        assert all(submission.file.startswith(top) for submission in read)
    submissions = [
        submission for submission in got.submissions if submission.student not in ("yan", "zoe")
    ]
    assert len(got.submissions) - len(submissions) == 2 * len(challenges)
    check_collected(
        replace(got, submissions=submissions),
        expected,
        [top + path.replace("CLASS/", top) for path in ignored],
    )


def test_zip_of_a_student_is_read_like_a_folder(tmp_path: Path) -> None:
    """The zip is in the class's folder or alone in the student's folder.

    A zip inside a zip is refused.
    """
    root = write_files(tmp_path / "in", {"dan/n.pdf": "x"})
    write_zip(root / "ana.zip", named_files("gqa.py", "x.py"))
    write_zip(root / "bob.ZIP", named_files("bob/gqa.py", "bob/._gqa.py"))
    (root / "cai").mkdir()
    write_zip(root / "cai" / "work.zip", named_files("x.py"))
    write_zip(root / "li_1_2_work.zip", named_files("old/gqa.py"))
    write_zip(root / "li_1_3_work-1.zip", named_files("new/gqa.py"))
    (root / "cal").mkdir()
    (root / "cal" / "gqa.py").write_text("# cal")
    write_zip(root / "cal" / "work.zip", named_files("gqa.py"))
    write_zip(root / "dan" / "a.zip", named_files("gqa.py"))
    write_zip(root / "dan" / "b.zip", named_files("gqa.py"))
    write_zip(root / "eve.zip", {"in.zip": (root / "ana.zip").read_bytes()})
    (root / "fay.zip").write_text("not a zip")
    got = collect(root, ONE)
    check_collected(
        got,
        {
            "ana": "gqa.py",
            "bob": "bob/gqa.py",
            "cai": "x.py",
            "cal": "cal",
            "dan": "~There is no Python file and no notebook, only a.zip, b.zip, n.pdf",
            "eve": "~in.zip is an archive inside an archive",
            "fay": "~fay.zip cannot be read as a zip: File is not a zip file",
            "li": "new/gqa.py",
        },
        [
            "ana.zip/x.py (not requested)",
            "cal/work.zip (not requested)",
            "li_1_2_work.zip/old/gqa.py (an older upload)",
        ],
    )
    assert [submission.file for submission in got.submissions] == [
        "ana.zip/gqa.py",
        "bob.ZIP/bob/gqa.py",
        "cai/work.zip/x.py",
        "cal/gqa.py",
        "dan/",
        "eve.zip",
        "fay.zip",
        "li_1_3_work-1.zip/new/gqa.py",
    ]


def test_zip_in_the_zip_of_a_class_is_refused(tmp_path: Path) -> None:
    """A student who hands in only a zip gets an error. Next to a Python file, a zip is ignored."""
    inner = write_zip(tmp_path / "inner.zip", named_files("gqa.py")).read_bytes()
    files = {
        **named_files("ana.py", "dan/gqa.py"),
        "bob.zip": inner,
        "cai/w.zip": inner,
        "li_1_2_w.zip": inner,
        "dan/w.zip": inner,
    }
    nested = "~{} is an archive inside an archive"
    got = collect(write_zip(tmp_path / "in.zip", files), ONE)
    expected = {
        "ana": "ana.py",
        "bob": nested.format("bob.zip"),
        "cai": nested.format("cai/w.zip"),
        "dan": "dan/gqa.py",
        "li": nested.format("li_1_2_w.zip"),
    }
    check_collected(
        got,
        expected,
        ["dan/w.zip (dan/w.zip is an archive inside an archive. Hand in the Python file itself.)"],
    )


def test_message_about_a_missing_file_names_unreadable_files(tmp_path: Path) -> None:
    """The file that cannot be read may hold the missing answer."""
    files = named_files("ana/gqa.py", "ana/w.zip", "bob/w.zip", "zoe/x.py")
    expected = {
        "ana: gqa": "ana/gqa.py",
        "ana: kv-cache": (
            "~There is no kv_cache.py, only gqa.py, w.zip. Hand in kv_cache.py."
            " ana/w.zip is an archive inside"
        ),
    }
    for challenge in TWO:
        name = challenge.file_name
        expected[f"bob: {challenge.id}"] = f"~^There is no {name}: bob/w.zip is an archive inside"
        expected[f"zoe: {challenge.id}"] = f"~^There is no {name}, only x.py. Hand in {name}.$"
    check_collected(
        collect(write_zip(tmp_path / "in.zip", files), TWO), dict(sorted(expected.items()))
    )


def test_number_in_the_name_of_a_challenge_is_not_an_upload_number(tmp_path: Path) -> None:
    """The files of the challenges step-1 and step-2 do not replace each other."""
    steps = [replace(ONE[0], id=f"step-{step}", folder=Path(f"step_{step}")) for step in (1, 2)]
    got = collect(
        write_files(tmp_path / "in", named_files("li_1_8_step-1.py", "li_1_9_step-2.py")), steps
    )
    check_collected(got, {"li: step-1": "li_1_8_step-1.py", "li: step-2": "li_1_9_step-2.py"})


NAMES = [
    pytest.param("Ana Bée", id="space and accent"),
    pytest.param(" ana ", id="spaces around"),
    pytest.param('O\'Neil "x"', id="quotes"),
    pytest.param("🙂👩‍🔬", id="emoji"),
    pytest.param("a\nb\tc\r", id="newlines"),
    pytest.param('=cmd|" C calc"!A0', id="a formula"),
    pytest.param("-rf", id="an option"),
    pytest.param("a,b;c", id="commas"),
    pytest.param("<b>x&[red]", id="markup"),
    pytest.param("\x1b[31m", id="a terminal's colour"),
    pytest.param("a" * 250, id="250 bytes"),
    pytest.param("注意力", id="Chinese"),
    pytest.param("a.b.c", id="dots"),
    pytest.param("a%00b", id="percent"),
]


@pytest.mark.parametrize("name", NAMES)
def test_name_of_a_student_does_not_change(name: str, tmp_path: Path) -> None:
    """The name of a student is exactly the name of the file, the folder or the archive."""
    for index, files in enumerate(
        (named_files(f"{name}.py", "zoe.py"), named_files(f"{name}/x.py", "zoe.py"))
    ):
        folder = write_files(tmp_path / str(index), files)
        archive = write_zip(tmp_path / f"{index}.zip", files)
        for path in (folder, archive):
            submissions = collect(path, ONE).submissions
            assert {submission.student: submission.file for submission in submissions} == {
                name: next(iter(files)),
                "zoe": "zoe.py",
            }


def test_bytes_that_are_not_utf_8_are_replaced_in_names(tmp_path: Path) -> None:
    """The bytes become U+FFFD. If names are equal then, a person must choose a submission."""
    folder = os.fsencode(write_files(tmp_path / "in", {}))
    for name in (b"\xff.py", b"\xfe.py", b"n\xff.pdf", b"li\xff_1_2_gqa.py"):
        Path(os.fsdecode(os.path.join(folder, name))).write_bytes(
            b"\xff" if name == b"\xfe.py" else b"x = 1\n"
        )
    os.mkdir(os.path.join(folder, b"\xfd"))
    Path(os.fsdecode(os.path.join(folder, b"\xfd", b"\xfc.pdf"))).write_text("x")
    got = collect(tmp_path / "in", ONE)
    assert [
        (submission.student, submission.source, submission.is_ungraded)
        for submission in got.submissions
    ] == [
        ("li\ufffd", "x = 1\n", False),
        ("\ufffd", None, True),
    ]
    assert got.ignored == ["n\ufffd.pdf"]
    (root := tmp_path / "one").mkdir()
    Path(os.fsdecode(os.path.join(os.fsencode(root), b"\xfd"))).mkdir()
    Path(os.fsdecode(os.path.join(os.fsencode(root), b"\xfd", b"\xfc.pdf"))).write_text("x")
    submissions = [*got.submissions, *collect(root, ONE).submissions]
    for submission in submissions:
        texts_of_student = (submission.student, submission.file, submission.trouble)
        for text in (*texts_of_student, submission.source or ""):
            text.encode("utf-8")
    assert any("only \ufffd.pdf" in submission.trouble for submission in submissions)
    for name, shown in ((b"no\xff", "no\ufffd"), (b"empty\xff", "empty\ufffd")):
        path = Path(os.fsdecode(os.path.join(folder, name)))
        if name.startswith(b"empty"):
            path.mkdir()
        with pytest.raises(DrillError, match=shown):
            collect(path, ONE)
    archive = Path(os.fsdecode(os.path.join(folder, b"zip\xff.zip")))
    archive.write_bytes(b"not a zip")
    with pytest.raises(DrillError, match="zip\ufffd"):
        collect(archive, ONE)


CONFLICTS = [
    pytest.param(
        ONE,
        named_files("ana.py", "ana/x.py"),
        "ana",
        ("ana.py", "ana/x.py"),
        [],
        id="a file and a folder",
    ),
    pytest.param(
        ONE, named_files("ana.py", "ana.PY"), "ana", ("ana.PY", "ana.py"), [], id="two endings"
    ),
    pytest.param(
        ONE,
        named_files("Ana.py", "ana.py", "ANA/x.py"),
        "ANA",
        ("ANA/x.py", "Ana.py", "ana.py"),
        [],
        id="case",
    ),
    pytest.param(
        ONE,
        named_files("Zoe\u0301.py", "Zo\u00e9.py", "ZO\u00c9/x.py"),
        "ZO\u00c9",
        ("ZO\u00c9/x.py", "Zoe\u0301.py", "Zo\u00e9.py"),
        [],
        id="Unicode forms",
    ),
    pytest.param(
        ONE,
        named_files("Straße.py", "STRASSE.py"),
        "STRASSE",
        ("STRASSE.py", "Straße.py"),
        [],
        id="sharp s",
    ),
    pytest.param(
        ONE,
        named_files("ana.py", "\uff41na.py"),
        "ana",
        ("ana.py", "\uff41na.py"),
        [],
        id="a full-width letter",
    ),
    pytest.param(
        ONE,
        named_files("ana b.py", "ana  b .py"),
        "ana  b ",
        ("ana  b .py", "ana b.py"),
        [],
        id="blanks",
    ),
    pytest.param(
        ONE,
        named_files("ana.py", "ana (2).py", "ana/x.py"),
        "ana",
        ("ana.py", "ana/x.py"),
        [],
        id="next to a name with a number in brackets",
    ),
    pytest.param(
        ONE,
        {**named_files("ana.py"), "ana/n.pdf": "x"},
        "ana",
        ("ana.py", "ana/"),
        [],
        id="a folder without an answer",
    ),
    pytest.param(
        ONE,
        named_files("ana.py", "ana/a.py", "ana/b.py"),
        "ana",
        ("ana.py", "ana/"),
        [
            "ana/a.py (2 submissions have the name ana)",
            "ana/b.py (2 submissions have the name ana)",
        ],
        id="a folder with several answers",
    ),
    pytest.param(
        ONE,
        named_files("ana.py", "ana/gqa.py", "ana/b.py"),
        "ana",
        ("ana.py", "ana/gqa.py"),
        ["ana/b.py (2 submissions have the name ana)"],
        id="a file that is not requested",
    ),
    pytest.param(
        ONE,
        named_files("li_1_2_gqa.py", "li.py"),
        "li",
        ("li.py", "li_1_2_gqa.py"),
        [],
        id="Canvas and a file",
    ),
    pytest.param(
        ONE,
        named_files("li_1_2_gqa.py", "li_3_4_gqa.py", "li.py"),
        "li",
        ("li.py", "li_1_2_gqa.py", "li_3_4_gqa.py"),
        [],
        id="a file that may belong to two students",
    ),
    pytest.param(
        ONE,
        named_files("li_1_2_gqa.py", "li_3_4_gqa.py", "li (3).py"),
        "li (3)",
        ("li (3).py", "li_3_4_gqa.py"),
        [],
        id="a file with a name like a student with an id",
    ),
    pytest.param(
        ONE,
        named_files("li_1_2_gqa.py", "li_1_assignsubmission_file_/gqa.py"),
        "li",
        ("li_1_2_gqa.py", "li_1_assignsubmission_file_/gqa.py"),
        [],
        id="the same id in two systems",
    ),
    pytest.param(
        ONE,
        named_files(
            "hw_ana_attempt_2026-11-20-10-11-12_gqa.py", "hw_ANA_attempt_2026-11-20-10-11-12_gqa.py"
        ),
        "ANA",
        ("hw_ANA_attempt_2026-11-20-10-11-12_gqa.py", "hw_ana_attempt_2026-11-20-10-11-12_gqa.py"),
        [],
        id="Blackboard, case",
    ),
    pytest.param(
        ONE,
        named_files(
            "a_ana_attempt_2026-11-20-10-11-12_gqa.py", "b_ana_attempt_2026-11-21-10-11-12_gqa.py"
        ),
        "ana",
        ("a_ana_attempt_2026-11-20-10-11-12_gqa.py", "b_ana_attempt_2026-11-21-10-11-12_gqa.py"),
        [],
        id="Blackboard, two assignments",
    ),
    pytest.param(
        TWO,
        named_files("ana/gqa.py", "Ana/gqa.py", "ana/kv_cache.py", "Ana/kv_cache.py"),
        "Ana",
        ("Ana/{}.py", "ana/{}.py"),
        [],
        id="two challenges",
    ),
]


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize(("challenges", "files", "name", "places", "ignored"), CONFLICTS)
def test_several_submissions_of_the_same_name_are_not_read(
    form: str,
    challenges: tuple[Challenge, ...],
    files: Files,
    name: str,
    places: tuple[str, ...],
    ignored: list[str],
    tmp_path: Path,
) -> None:
    """The message names all files of the name. The files of other students are read."""
    others = (
        ["yan_99_101_gqa.py", "zoe_99_100_gqa.py"]
        if "li_1_2_gqa.py" in files
        else ["yan/gqa.py", "zoe/gqa.py"]
    )
    files = {**files, **named_files(*others)}
    path = (
        write_files(tmp_path / "in", files)
        if form == "folder"
        else write_zip(tmp_path / "in.zip", files)
    )
    got = collect(path, challenges)
    stems = {challenge.id: Path(challenge.file_name).stem for challenge in challenges}
    ungraded = [
        submission for submission in got.submissions if "None of them" in submission.trouble
    ]
    assert [(submission.student, submission.challenge) for submission in ungraded] == [
        (name, challenge) for challenge in stems
    ]
    for submission in ungraded:
        expected = tuple(place.format(stems[submission.challenge]) for place in places)
        assert (submission.source, submission.submitted) == (None, None)
        assert submission.is_ungraded
        assert submission.trouble.startswith(
            f"{len(places)} submissions have the name {name}: {', '.join(expected)}. "
        )
        assert submission.trouble.endswith(
            " None of them is graded. Remove or rename all but one, then run grade again with"
            " --resume."
        )
    assert got.ignored == ignored
    graded = [submission for submission in got.submissions if submission.source]
    students = {submission.student for submission in graded}
    assert {"yan", "zoe"} <= students
    names = {Path(place).stem for place in files}
    assert all(student in names or re.match(r"(li|yan|zoe)", student) for student in students)
    stated = " ".join(submission.trouble for submission in ungraded)
    assert not any(submission.file in stated.split(", ") for submission in graded)


def test_settled_name_is_read_again(tmp_path: Path) -> None:
    """If one of two files with the same name is removed, the other is the submission."""
    root = write_files(tmp_path / "in", named_files("ana.py", "Ana/gqa.py", "zoe.py"))
    assert [submission.is_ungraded for submission in collect(root, ONE).submissions] == [
        True,
        False,
    ]
    (root / "ana.py").unlink()
    check_collected(collect(root, ONE), {"Ana": "Ana/gqa.py", "zoe": "zoe.py"})


@pytest.mark.parametrize(
    ("files", "is_explained"),
    [(("ana.py", "Ana.py"), True), (("ana.py", "ana/x.py"), False)],
    ids=["two spellings", "one spelling"],
)
def test_message_explains_spellings_of_the_same_name(
    files: tuple[str, ...], is_explained: bool, tmp_path: Path
) -> None:
    """If the names of two files look different but count as the same name, the message says why."""
    explanation = (
        "Names that differ only in capitals, blanks or the encoding of an accent are one name."
    )
    (submission,) = collect(write_files(tmp_path / "in", named_files(*files)), ONE).submissions
    assert (explanation in submission.trouble) == is_explained


def test_message_names_ten_files_of_the_same_name(tmp_path: Path) -> None:
    """The other files of the name are ignored with a reason."""
    names = []
    for bits in range(13):
        letters = [
            letter.upper() if bits >> index & 1 else letter for index, letter in enumerate("anab")
        ]
        names.append("".join(letters) + ".py")
    names.sort()
    got = collect(write_files(tmp_path / "in", named_files(*names)), ONE)
    (submission,) = got.submissions
    assert submission.is_ungraded
    assert f"{names[9]} and 3 more." in submission.trouble
    assert got.ignored == [
        f"{name} (13 submissions have the name {names[0][:-3]})" for name in names[10:]
    ]


@pytest.mark.parametrize("challenges", [pytest.param(ONE, id="one"), pytest.param(TWO, id="two")])
def test_submissions_are_sorted_by_student(
    challenges: tuple[Challenge, ...], tmp_path: Path
) -> None:
    """Capitals do not change the order. A student's challenges are in the assignment's order."""
    names = ["bob", "Zoe", "ana", "Cai", "éva", "ana2"]
    root = write_files(tmp_path / "in", named_files(*(f"{name}/gqa.py" for name in names)))
    got = collect(root, challenges)
    students = [submission.student for submission in got.submissions[:: len(challenges)]]
    assert students == ["ana", "ana2", "bob", "Cai", "Zoe", "éva"]
    ids = [submission.challenge for submission in got.submissions]
    assert ids == [challenge.id for challenge in challenges] * len(names)
    assert collect(root, challenges) == got


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda path: None, "cannot be read: No such file", id="not there"),
        pytest.param(lambda path: path.mkdir(), "holds no submission", id="an empty folder"),
        pytest.param(
            lambda path: write_files(path, {"n.pdf": "x", ".a.py": "x"}),
            "holds no submission",
            id="only other files",
        ),
        pytest.param(
            lambda path: path.write_text("x = 1\n"), "is neither a folder nor a .zip", id="a file"
        ),
        pytest.param(lambda path: os.mkfifo(path), "is neither a folder nor a .zip", id="a pipe"),
        pytest.param(
            lambda path: path.symlink_to(path),
            "cannot be read: Too many levels",
            id="a link to itself",
        ),
    ],
)
def test_class_without_submissions_is_refused(
    make: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    """The message has the cause and the possible layouts."""
    make(tmp_path / "in")
    layouts = r"DIR/<student>\.py or DIR/<student>/<any>\.py, or the \.zip"
    with pytest.raises(DrillError, match=rf"in {message}.*{layouts}"):
        collect(tmp_path / "in", ONE)


@pytest.mark.parametrize(
    ("files", "challenges", "expected", "ignored"),
    [
        pytest.param(
            named_files("gqa.py", "x.py", "n.pdf"),
            ONE,
            {"li_1_2_hw": "gqa.py"},
            ["n.pdf (not a Python file)", "x.py (not requested)"],
            id="a file among others",
        ),
        pytest.param(
            named_files("my/gqa.py", "__MACOSX/gqa.py"),
            ONE,
            {"li_1_2_hw": "my/gqa.py"},
            [],
            id="a folder inside",
        ),
        pytest.param(
            named_files("a.py", "b.py"),
            ONE,
            {"li_1_2_hw": "~There are 2 Python files and none is called gqa.py: a.py, b.py"},
            [],
            id="several",
        ),
        pytest.param(
            {"n.pdf": ""},
            ONE,
            {"li_1_2_hw": "~There is no Python file and no notebook, only n.pdf"},
            [],
            id="no Python file",
        ),
        pytest.param(
            {},
            ONE,
            {"li_1_2_hw": "~There is no Python file and no notebook. Hand in gqa.py"},
            [],
            id="nothing",
        ),
        pytest.param(
            named_files("gqa.py"),
            TWO,
            {
                "li_1_2_hw: gqa": "gqa.py",
                "li_1_2_hw: kv-cache": "~There is no kv_cache.py, only gqa.py",
            },
            [],
            id="one of two challenges",
        ),
    ],
)
def test_all_files_of_a_single_student_are_collected(
    files: Files,
    challenges: tuple[Challenge, ...],
    expected: dict[str, str],
    ignored: list[str],
    tmp_path: Path,
) -> None:
    """The student hands in a folder or a zip. The name of the student is its name.

    If nothing can be graded, the student gets a message.
    """
    check_collected(
        collect_single(write_files(tmp_path / "li_1_2_hw", files), challenges), expected, ignored
    )
    got = collect_single(write_zip(tmp_path / "li_1_2_hw.zip", files), challenges)
    check_collected(got, expected, [f"li_1_2_hw.zip/{path}" for path in ignored])


ANSWER = "class GroupedQueryAttention:\n    pass\n"
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": ANSWER}]})


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        pytest.param({"hw.ipynb": NOTEBOOK, "utils.py": "x = 1\n"}, "hw.ipynb", id="helpers"),
        pytest.param({"hw.ipynb": NOTEBOOK, "d/make.py": "x = 1\n"}, "hw.ipynb", id="a folder"),
        pytest.param({"gqa.ipynb": NOTEBOOK, "hw.py": ANSWER}, "gqa.ipynb", id="the name"),
        pytest.param({"hw.ipynb": NOTEBOOK, "hw.py": ANSWER}, "hw.py", id="a Python file"),
        pytest.param({"a.py": "x = 1\n", "b.py": ANSWER}, "b.py", id="two Python files"),
        pytest.param({"a.py": ANSWER, "d/a.py": ANSWER}, "a.py", id="the top level"),
        pytest.param({"a.py": "x = (\n", "d/b.py": "x = 1\n"}, "a.py", id="no answer"),
        pytest.param({"a.py": ANSWER, "b.py": ANSWER}, "", id="two answers"),
        pytest.param(
            {"a.py": ANSWER, "test_a.py": "from a import GroupedQueryAttention\n"},
            "a.py",
            id="a test",
        ),
        pytest.param({"a.ipynb": "{", "b.ipynb": NOTEBOOK}, "b.ipynb", id="a broken notebook"),
    ],
)
def test_file_that_defines_the_answer_is_graded(files: Files, chosen: str, tmp_path: Path) -> None:
    """A student may hand in helpers next to the answer."""
    (got,) = collect_single(write_files(tmp_path / "ana", files), ONE).submissions
    assert got.file.removeprefix("ana/") == chosen
    assert (got.source is None) == (chosen == "")


def test_other_files_with_an_answer_are_known(tmp_path: Path) -> None:
    """The stub may have the right name, and the answer another."""
    files = {"gqa.py": "x = 1\n", "gqa_final.py": ANSWER, "util.py": "y = 1\n"}
    (got,) = collect_single(write_files(tmp_path / "ana", files), ONE).submissions
    assert (got.file, got.alternatives) == ("gqa.py", ("gqa_final.py",))


def test_only_files_of_canvas_have_late_marks(tmp_path: Path) -> None:
    """A roster of Canvas says nothing about files that were collected in another way."""
    for name, expected in (("li_1_2_gqa.py", True), ("li.py", False)):
        root = write_files(tmp_path / name, {name: ANSWER, "mo_3_4_gqa.py": ANSWER})
        submissions = collect(root, ONE).submissions
        assert submissions[0].has_late_marks is expected


def test_file_that_is_missing_is_marked(tmp_path: Path) -> None:
    """A file that cannot be read was handed in."""
    files = {"gqa.py": ANSWER}
    got = collect_single(write_files(tmp_path / "ana", files), TWO).submissions
    assert [submission.is_missing for submission in got] == [False, True]
    root = write_files(tmp_path / "bob", files)
    (root / "link.py").symlink_to("nothing")
    assert not collect_single(root, TWO).submissions[1].is_missing


def test_message_names_ten_of_many_files(tmp_path: Path) -> None:
    """The other files are ignored with a reason."""
    names = [f"ana/f{index:02}.py" for index in range(13)]
    got = collect(write_files(tmp_path / "in", named_files(*names)), ONE)
    message = (
        "~There are 13 Python files and none is called gqa.py: f00.py, .*, f09.py and 3 more."
        " Hand in gqa.py"
    )
    check_collected(got, {"ana": message}, [f"{name} (not requested)" for name in names[10:]])


def test_zips_of_students_are_unpacked_one_after_the_other(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk holds the files of only one student at a time."""
    held: list[int] = []
    write_bytes = Path.write_bytes

    def written(path: Path, data: bytes) -> int:
        size = write_bytes(path, data)
        held.append(sum(file.stat().st_size for file in scratch.rglob("*") if file.is_file()))
        return size

    folder = write_class(tmp_path, "folder")
    monkeypatch.setattr(Path, "write_bytes", written)
    collect(folder, ONE)
    assert held == [len("# gqa.py\n")] * 2


def random_files(random: Random) -> dict[str, str]:
    """Return random files with names of all layouts. No name is both a file and a folder."""
    tops = [
        "ana",
        "Ana",
        "bob",
        "li_1_2_",
        "li_1_3_",
        "A_7_assignsubmission_file_",
        "q_cai_attempt_2026-01-02-03-04-05_",
        "é",
    ]
    names = [
        "gqa.py",
        "GQA.py",
        "a.py",
        "aa.py",
        "b-1.py",
        "b-2.py",
        "n.pdf",
        "kv_cache.py",
        ".h.py",
        "kv-cache.py",
    ]
    files: dict[str, str] = {}
    for _ in range(random.randrange(1, 14)):
        top, name = random.choice(tops), random.choice(names)
        path = random.choice(
            [
                f"{top}{name}",
                f"{top}/{name}",
                f"{top}/p/{name}",
                f"{top}/p/q/{name}",
                f"{top.rstrip('_')}.py",
            ]
        )
        files[path] = f"# {path}\n"
    return files


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("challenges", [pytest.param(ONE, id="one"), pytest.param(TWO, id="two")])
def test_no_python_file_is_lost(
    challenges: tuple[Challenge, ...], seed: int, tmp_path: Path
) -> None:
    """Every Python file is a submission, is named in a message, or is ignored with a reason."""
    random = Random(seed)
    for index in range(25):
        files = random_files(random)
        folder = write_files(tmp_path / str(index), files)
        archive = write_zip(tmp_path / f"{index}.zip", files)
        for path in (folder, archive):
            try:
                got = collect(path, challenges)
            except DrillError as error:
                assert "holds no submission" in str(error)  # noqa: PT017 -- most hold some
                assert not any(
                    name.endswith(".py") and not name.rpartition("/")[2].startswith(".")
                    for name in files
                )
                continue
            check_nothing_is_lost(got, files, challenges)


def check_nothing_is_lost(
    got: Collected, files: Mapping[str, str], challenges: tuple[Challenge, ...]
) -> None:
    """Check that names are unique, texts are right, and each Python file is accounted for once."""
    read = [submission for submission in got.submissions if submission.source is not None]
    assert all(submission.source == files[submission.file] for submission in read)
    assert len({submission.file for submission in read}) == len(read)
    folded = {
        (unicodedata.normalize("NFC", submission.student).casefold(), submission.challenge)
        for submission in got.submissions
    }
    students = {submission.student for submission in got.submissions}
    assert len(folded) == len(got.submissions) == len(challenges) * len(students)
    for name in files:
        if name.endswith(".py"):
            count = [submission.file for submission in read].count(name)
            count += sum(path.startswith(f"{name} (") for path in got.ignored)
            is_named = count == 0 and named_in_trouble(name, got.submissions)
            assert count == 1 or is_named, (name, got)


def named_in_trouble(path: str, submissions: Sequence[StudentSubmission]) -> bool:
    """Return whether a message names the file by its path within its student's files."""
    prefix = r"^(li_1_\d_|A_7_assignsubmission_file_|q_cai_attempt_[\d-]+_)(?!/|\.py)|^[^/]*/"
    tail = re.escape(re.sub(prefix, "", path))
    return any(
        re.search(rf"(^|[\s:])({tail}|{re.escape(path)})([,.\s]|$)", submission.trouble)
        or path == submission.file
        for submission in submissions
    )
