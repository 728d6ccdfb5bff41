"""What a class handed in: every layout, names of all kinds, hostile archives and folders; nothing is lost and nothing is read that must not be."""

import json
import os
import re
import stat
import struct
import tempfile
import unicodedata
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from trainer.classroom import archives, uploads
from trainer.classroom.collect import Collected, collect, collect_single
from trainer.classroom.records import StudentSubmission
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.practice.learner_files import MOST_SOURCE_BYTES

PACK = pack_reader.built_in_pack()
ONE = (pack_reader.find_challenge(PACK, "gqa"),)
TWO = (*ONE, pack_reader.find_challenge(PACK, "kv-cache"))
Files = Mapping[str, bytes | str | None]


def lay(root: Path, files: Files) -> Path:
    """A folder with these files; None makes a folder."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = Path(os.fsdecode(os.path.join(os.fsencode(root), os.fsencode(name))))
        (path if content is None else path.parent).mkdir(parents=True, exist_ok=True)
        if content is not None:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def pack(path: Path, files: Files, **options: int) -> Path:
    """A zip with these members; None makes a folder."""
    with zipfile.ZipFile(path, "w", **options) as archive:  # type: ignore[arg-type]
        for name, content in files.items():
            archive.writestr(
                zipfile.ZipInfo(
                    name + "/" if content is None else name, (2026, 11, 20, 10, 11, 12)
                ),
                content or "",
            )
    return path


def texts(*names: str) -> dict[str, str]:
    """Files that hold their own name, so that a test sees which was read."""
    return {name: f"# {name}\n" for name in names}


def said(got: Collected) -> dict[str, str]:
    """For each submission what was read, or the trouble; students are told apart by name."""
    assert len({(one.student, one.challenge) for one in got.submissions}) == len(got.submissions)
    several = len({one.challenge for one in got.submissions}) > 1
    return {
        f"{one.student}: {one.challenge}" if several else one.student: (one.source or one.trouble)
        .removeprefix("# ")
        .rstrip()
        for one in got.submissions
    }


def check(got: Collected, expected: Mapping[str, str], ignored: Sequence[str] = ()) -> None:
    """Every student has what is expected: the file that was read, or `~` and words of the trouble."""
    told = said(got)
    assert list(told) == list(expected)
    for student, what in expected.items():
        if what.startswith("~"):
            assert re.search(what[1:], told[student]), told[student]
        else:
            assert told[student] == what
    assert got.ignored == sorted(ignored)


# Layouts that are the same in a folder and in a zip. yan and zoe are always there, so that no folder holds all.
LAYOUTS = [
    pytest.param(
        ONE, texts("ana.py", "bob.PY"), {"ana": "ana.py", "bob": "bob.PY"}, [], id="a file each"
    ),
    pytest.param(
        ONE,
        texts("ana/gqa.py", "bob/x.py"),
        {"ana": "ana/gqa.py", "bob": "bob/x.py"},
        [],
        id="a folder each",
    ),
    pytest.param(
        ONE,
        texts("ana/gqa.py", "ana/b.py"),
        {"ana": "ana/gqa.py"},
        ["ana/b.py (not asked for)"],
        id="the file that was asked for",
    ),
    pytest.param(
        ONE,
        texts("ana/GQA.py", "ana/b.py"),
        {"ana": "ana/GQA.py"},
        ["ana/b.py (not asked for)"],
        id="in capitals",
    ),
    pytest.param(
        ONE,
        texts("ana/GQA.py", "ana/gqa.py"),
        {"ana": "ana/gqa.py"},
        ["ana/GQA.py (not asked for)"],
        id="the exact spelling first",
    ),
    pytest.param(
        ONE,
        texts("ana/GQA.py", "ana/Gqa.py"),
        {"ana": "~2 files for gqa.py: GQA.py, Gqa.py. Hand in one"},
        [],
        id="two spellings",
    ),
    pytest.param(
        ONE,
        texts("ana/a.py", "ana/b.py"),
        {"ana": "~2 Python files and none is called gqa.py: a.py, b.py"},
        [],
        id="several and none is it",
    ),
    pytest.param(
        ONE,
        texts("ana/b-1.py", "ana/b-2.py"),
        {"ana": "~2 Python files and none is called gqa.py: b-1.py, b-2.py"},
        [],
        id="numbers that a student gave",
    ),
    pytest.param(ONE, texts("ana/p/x.py"), {"ana": "ana/p/x.py"}, [], id="a folder in a folder"),
    pytest.param(
        ONE,
        texts("ana/p/q/gqa.py", "ana/p/x.py"),
        {"ana": "ana/p/q/gqa.py"},
        ["ana/p/x.py (not asked for)"],
        id="the name that was asked for, deep",
    ),
    pytest.param(
        ONE,
        texts("ana/p/x.py", "ana/q/y.py"),
        {"ana": r"~2 Python files .* p/x.py, q/y.py"},
        [],
        id="several deep",
    ),
    pytest.param(
        ONE,
        texts("ana/p/gqa.py", "ana/q/gqa.py"),
        {"ana": r"~2 files for gqa.py: p/gqa.py, q/gqa.py"},
        [],
        id="twice deep",
    ),
    pytest.param(
        ONE,
        texts("ana/x.py", "ana/p/gqa.py"),
        {"ana": "ana/x.py"},
        ["ana/p/gqa.py (not asked for)"],
        id="what is on top first",
    ),
    pytest.param(
        ONE,
        {"ana/n.pdf": "x", "ana/m": "y"},
        {"ana": "~^ana did not hand in a Python file, only m, n.pdf. Hand in gqa.py.$"},
        [],
        id="no Python file",
    ),
    pytest.param(
        ONE,
        {"ana": None},
        {"ana": "~did not hand in a Python file or any other file. Hand in gqa.py"},
        [],
        id="an empty folder",
    ),
    pytest.param(
        ONE,
        {"ana/.git/a.py": "x"},
        {"ana": "~did not hand in a Python file or any other file. Hand in gqa.py"},
        [],
        id="a folder with only junk",
    ),
    pytest.param(
        ONE,
        {"n.pdf": "x", "Makefile": "", "gqa.ipynb": "{}"},
        {},
        ["Makefile", "gqa.ipynb", "n.pdf"],
        id="loose files of other kinds",
    ),
    pytest.param(
        ONE,
        texts(
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
        [],
        id="junk",
    ),
    pytest.param(
        ONE,
        texts("ana/.x.py", "ana/y.py", ".b.py"),
        {"ana": "ana/y.py"},
        [".b.py (hidden)", "ana/.x.py (hidden)"],
        id="hidden Python files",
    ),
    pytest.param(
        ONE,
        texts("ana (2).py", "bob.py"),
        {"ana (2)": "ana (2).py", "bob": "bob.py"},
        [],
        id="a name that looks like a counted one",
    ),
    pytest.param(
        ONE,
        texts("out/class.json", "out/results/a.json", "out/results/x.py", "ana.py"),
        {"ana": "ana.py"},
        ["out/ (results of an earlier run)"],
        id="an earlier run's results",
    ),
    pytest.param(
        TWO,
        texts("ana/gqa.py", "ana/kv_cache.py"),
        {"ana: gqa": "ana/gqa.py", "ana: kv-cache": "ana/kv_cache.py"},
        [],
        id="two challenges",
    ),
    pytest.param(
        TWO,
        texts("ana/GQA.PY", "ana/Kv-Cache.py", "ana/x.py"),
        {"ana: gqa": "ana/GQA.PY", "ana: kv-cache": "ana/Kv-Cache.py"},
        ["ana/x.py (not asked for)"],
        id="two challenges, other spellings",
    ),
    pytest.param(
        TWO,
        texts("ana/gqa.py"),
        {
            "ana: gqa": "ana/gqa.py",
            "ana: kv-cache": "~ana did not hand in kv_cache.py, only gqa.py. Hand in kv_cache.py.",
        },
        [],
        id="one of two",
    ),
    pytest.param(
        TWO,
        texts("ana/p/gqa.py", "ana/kv_cache.py"),
        {"ana: gqa": "ana/p/gqa.py", "ana: kv-cache": "ana/kv_cache.py"},
        [],
        id="two challenges, one of them deep",
    ),
    pytest.param(
        TWO,
        texts("ana.py"),
        {
            f"ana: {one}": "~ana.py is one file, but 2 challenges are asked. Hand in a folder for each student, with gqa.py, kv_cache.py"
            for one in ("gqa", "kv-cache")
        },
        [],
        id="a loose file where two are asked",
    ),
    pytest.param(
        ONE,
        texts("anab_12345_67890_gqa.py", "bob_LATE_1_2_gqa.py"),
        {"anab": "anab_12345_67890_gqa.py", "bob": "bob_LATE_1_2_gqa.py"},
        [],
        id="Canvas",
    ),
    pytest.param(
        ONE,
        texts("li_12345_1_gqa.py", "li_67890_2_gqa.py"),
        {"li (12345)": "li_12345_1_gqa.py", "li (67890)": "li_67890_2_gqa.py"},
        [],
        id="Canvas, two of one name",
    ),
    pytest.param(
        ONE,
        texts("li_1_9_gqa.py", "li_1_10_gqa-1.py", "li_LATE_1_11_gqa-2.py"),
        {"li": "li_LATE_1_11_gqa-2.py"},
        ["li_1_10_gqa-1.py (an older upload)", "li_1_9_gqa.py (an older upload)"],
        id="Canvas, three uploads",
    ),
    pytest.param(
        ONE,
        texts("li_1_2_a-2.py", "li_1_2_a-10.py"),
        {"li": "li_1_2_a-10.py"},
        ["li_1_2_a-2.py (an older upload)"],
        id="Canvas, ten is more than two",
    ),
    pytest.param(
        ONE,
        texts("li_1_2_a_1.py", "li_1_3_a_2.py"),
        {"li": "~2 Python files .* a_1.py, a_2.py"},
        [],
        id="Canvas, a student's own numbers",
    ),
    pytest.param(
        ONE,
        texts("li_1_2_a.py", "li_1_3_b.py"),
        {"li": "~2 Python files and none is called gqa.py: a.py, b.py"},
        [],
        id="Canvas, several files",
    ),
    pytest.param(
        ONE,
        texts("li_1_2_gqa.py", "li_1_3_b.py"),
        {"li": "li_1_2_gqa.py"},
        ["li_1_3_b.py (not asked for)"],
        id="Canvas, a file beside",
    ),
    pytest.param(
        ONE,
        texts("li_1_2_gqa.py", "mo_1_2_n.pdf"),
        {"li": "li_1_2_gqa.py", "mo": "~mo did not hand in a Python file, only n.pdf"},
        [],
        id="Canvas, a PDF",
    ),
    pytest.param(
        ONE,
        texts("ana_1_2_hw/x.py"),
        {"ana_1_2_hw": "ana_1_2_hw/x.py"},
        [],
        id="no Canvas, a folder",
    ),
    pytest.param(
        ONE,
        texts("ana.py", "plan_1_2_n.pdf"),
        {"ana": "ana.py"},
        ["plan_1_2_n.pdf"],
        id="no Canvas, a PDF",
    ),
    pytest.param(
        TWO,
        texts("li_1_2_gqa.py", "li_1_3_kv-cache.py"),
        {"li: gqa": "li_1_2_gqa.py", "li: kv-cache": "li_1_3_kv-cache.py"},
        [],
        id="Canvas, two challenges",
    ),
    pytest.param(
        ONE,
        texts(
            "Ana B_1234567_assignsubmission_file_/gqa.py",
            "Ana B_1234567_assignsubmission_onlinetext_/onlinetext.html",
        ),
        {"Ana B": "Ana B_1234567_assignsubmission_file_/gqa.py"},
        [],
        id="Moodle",
    ),
    pytest.param(
        ONE,
        texts("A B_1_assignsubmission_file/x.py", "A B_2_assignsubmission_file_/y.py"),
        {
            "A B (1)": "A B_1_assignsubmission_file/x.py",
            "A B (2)": "A B_2_assignsubmission_file_/y.py",
        },
        [],
        id="Moodle, two of one name",
    ),
    pytest.param(
        ONE,
        texts("A_B_1_assignsubmission_file_gqa.py"),
        {"A_B": "A_B_1_assignsubmission_file_gqa.py"},
        [],
        id="Moodle without folders",
    ),
    pytest.param(
        ONE,
        texts(
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
        texts(
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
        texts(
            "q_ana_attempt_2026-11-20-10-11-12_gqa.py",
            "q_ana_attempt_2026-11-21-00-00-00_kv_cache.py",
        ),
        {
            "ana: gqa": "q_ana_attempt_2026-11-20-10-11-12_gqa.py",
            "ana: kv-cache": "q_ana_attempt_2026-11-21-00-00-00_kv_cache.py",
        },
        [],
        id="Blackboard, a challenge an attempt",
    ),
    pytest.param(
        ONE,
        texts(
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


@pytest.mark.parametrize("form", ["folder", "zip", "zip with a common folder"])
@pytest.mark.parametrize(("challenges", "files", "expected", "ignored"), LAYOUTS)
def test_layouts(
    form: str,
    challenges: tuple[Challenge, ...],
    files: Files,
    expected: dict[str, str],
    ignored: list[str],
    tmp_path: Path,
) -> None:
    """What each student handed in, and what was not looked at; the same in a folder, in a zip and in a zip with one folder on top."""
    others = (
        ["yan_99_101_gqa.py", "zoe_99_100_gqa.py"]
        if any(re.match(r"(li|anab)_.*\.py", name) for name in files)
        else ["yan.py", "zoe/gqa.py"]
    )
    files = {**files, **texts(*others)}
    top = "class/" if form.endswith("folder") and form != "folder" else ""
    if form == "folder":
        got = collect(lay(tmp_path / "in", files), challenges)
    else:
        got = collect(
            pack(tmp_path / "in.ZIP", {top + name: content for name, content in files.items()}),
            challenges,
        )
        assert all(one.file.startswith(top) for one in got.submissions if one.source)
    submissions = [one for one in got.submissions if one.student not in ("yan", "zoe")]
    assert len(got.submissions) - len(submissions) == 2 * len(challenges)
    check(Collected(submissions, got.ignored), expected, [top + one for one in ignored])


@pytest.mark.parametrize(
    ("files", "students"),
    [
        pytest.param(texts("ana/gqa.py"), ["ana"], id="one student's folder"),
        pytest.param(texts("ana/gqa.py", "ana/x.py"), ["ana"], id="and a file beside"),
        pytest.param(texts("ana/p/x.py"), ["ana"], id="a folder in a folder"),
        pytest.param(
            texts("class/ana.py", "class/bob.py"), ["ana", "bob"], id="two files in a folder"
        ),
        pytest.param(
            texts("class/ana/x.py", "class/bob/n.pdf"), ["ana", "bob"], id="two folders in a folder"
        ),
        pytest.param(texts("class/ana_1_2_gqa.py"), ["ana"], id="one Canvas file in a folder"),
        pytest.param(
            texts("A B_1_assignsubmission_file_/a.py", "A B_1_assignsubmission_file_/b.py"),
            ["A B"],
            id="one Moodle folder",
        ),
        pytest.param(
            texts("class/A B_1_assignsubmission_file_/a.py"),
            ["A B"],
            id="one Moodle folder in a folder",
        ),
        pytest.param(
            {**texts("__MACOSX/class/._ana.py", "class/ana.py", "class/bob.py"), ".DS_Store": ""},
            ["ana", "bob"],
            id="junk beside the folder",
        ),
        pytest.param(
            texts("ana", "ana/a.py", "ana/b.py"), ["ana"], id="a file and a folder of one name"
        ),
        pytest.param(
            {"class": None, "class/ana": None, "class/bob": None},
            ["ana", "bob"],
            id="nothing but folders",
        ),
        pytest.param(
            texts("./ana.py", "./bob/x.py", "cai//y.py"),
            ["ana", "bob", "cai"],
            id="dots and double slashes",
        ),
    ],
)
def test_one_folder_on_top_of_a_zip(files: Files, students: list[str], tmp_path: Path) -> None:
    """A folder that holds all students is not taken for a student, nor a student's for the class's."""
    assert [
        one.student for one in collect(pack(tmp_path / "in.zip", files), ONE).submissions
    ] == students


def test_a_students_zip(tmp_path: Path) -> None:
    """It is read like a folder, whether it lies in the class's folder or alone in the student's; one inside another is refused."""
    root = lay(tmp_path / "in", {"dan/n.pdf": "x"})
    pack(root / "ana.zip", texts("gqa.py", "x.py"))
    pack(root / "bob.ZIP", texts("bob/gqa.py", "bob/._gqa.py"))
    (root / "cai").mkdir()
    pack(root / "cai" / "work.zip", texts("x.py"))
    pack(root / "li_1_2_work.zip", texts("old/gqa.py"))
    pack(root / "li_1_3_work-1.zip", texts("new/gqa.py"))
    (root / "cal").mkdir()
    (root / "cal" / "gqa.py").write_text("# cal")
    pack(root / "cal" / "work.zip", texts("gqa.py"))
    pack(root / "dan" / "a.zip", texts("gqa.py"))
    pack(root / "dan" / "b.zip", texts("gqa.py"))
    pack(root / "eve.zip", {"in.zip": (root / "ana.zip").read_bytes()})
    (root / "fay.zip").write_text("no zip")
    got = collect(root, ONE)
    check(
        got,
        {
            "ana": "gqa.py",
            "bob": "bob/gqa.py",
            "cai": "x.py",
            "cal": "cal",
            "dan": "~did not hand in a Python file, only a.zip, b.zip, n.pdf",
            "eve": "~in.zip is an archive inside an archive",
            "fay": "~fay.zip cannot be read as a zip: File is not a zip file",
            "li": "new/gqa.py",
        },
        [
            "ana.zip/x.py (not asked for)",
            "cal/work.zip (not asked for)",
            "li_1_2_work.zip/old/gqa.py (an older upload)",
        ],
    )
    assert [one.file for one in got.submissions] == [
        "ana.zip/gqa.py",
        "bob.ZIP/bob/gqa.py",
        "cai/work.zip/x.py",
        "cal/gqa.py",
        "dan/",
        "eve.zip",
        "fay.zip",
        "li_1_3_work-1.zip/new/gqa.py",
    ]


def test_a_zip_in_a_class_zip_is_that_students_trouble(tmp_path: Path) -> None:
    """As is one in a student's folder there; beside a Python file it does not matter."""
    inner = pack(tmp_path / "inner.zip", texts("gqa.py")).read_bytes()
    files = {
        **texts("ana.py", "dan/gqa.py"),
        "bob.zip": inner,
        "cai/w.zip": inner,
        "li_1_2_w.zip": inner,
        "dan/w.zip": inner,
    }
    nested = "~{} is an archive inside an archive"
    got = collect(pack(tmp_path / "in.zip", files), ONE)
    expected = {
        "ana": "ana.py",
        "bob": nested.format("bob.zip"),
        "cai": nested.format("cai/w.zip"),
        "dan": "dan/gqa.py",
        "li": nested.format("li_1_2_w.zip"),
    }
    check(
        got,
        expected,
        ["dan/w.zip (dan/w.zip is an archive inside an archive. Hand in the Python file itself.)"],
    )


def test_what_cannot_be_read_is_told_with_what_is_missing(tmp_path: Path) -> None:
    """With several challenges as well: there may be an answer in it."""
    got = collect(
        pack(tmp_path / "in.zip", texts("ana/gqa.py", "ana/w.zip", "bob/w.zip", "zoe/x.py")), TWO
    )
    expected = {
        "ana: gqa": "ana/gqa.py",
        "ana: kv-cache": "~ana did not hand in kv_cache.py, only gqa.py, w.zip. Hand in kv_cache.py. ana/w.zip is an archive inside",
        **{
            f"bob: {one.id}": f"~^bob did not hand in {one.file_name}: bob/w.zip is an archive inside"
            for one in TWO
        },
        **{
            f"zoe: {one.id}": f"~^zoe did not hand in {one.file_name}, only x.py. Hand in {one.file_name}.$"
            for one in TWO
        },
    }
    check(got, expected)


def test_a_challenge_that_has_a_number_itself(tmp_path: Path) -> None:
    """Its files are no later uploads of each other."""
    steps = [
        replace(ONE[0], id=f"step-{number}", folder=Path(f"step_{number}")) for number in (1, 2)
    ]
    got = collect(lay(tmp_path / "in", texts("li_1_8_step-1.py", "li_1_9_step-2.py")), steps)
    check(got, {"li: step-1": "li_1_8_step-1.py", "li: step-2": "li_1_9_step-2.py"})


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
def test_names_are_kept(name: str, tmp_path: Path) -> None:
    """A student is called what the file, the folder or the archive says, to the letter."""
    for number, files in enumerate(
        (texts(f"{name}.py", "zoe.py"), texts(f"{name}/x.py", "zoe.py"))
    ):
        for where in (lay(tmp_path / str(number), files), pack(tmp_path / f"{number}.zip", files)):
            assert {one.student: one.file for one in collect(where, ONE).submissions} == {
                name: next(iter(files)),
                "zoe": "zoe.py",
            }


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 become U+FFFD; names that are then equal are for a person to settle."""
    folder = os.fsencode(lay(tmp_path / "in", {}))
    for name in (b"\xff.py", b"\xfe.py", b"n\xff.pdf", b"li\xff_1_2_gqa.py"):
        Path(os.fsdecode(os.path.join(folder, name))).write_bytes(
            b"\xff" if name == b"\xfe.py" else b"x = 1\n"
        )
    os.mkdir(os.path.join(folder, b"\xfd"))
    Path(os.fsdecode(os.path.join(folder, b"\xfd", b"\xfc.pdf"))).write_text("x")
    got = collect(tmp_path / "in", ONE)
    assert [(one.student, one.source, one.unsettled) for one in got.submissions] == [
        ("li\ufffd", "x = 1\n", ()),
        ("\ufffd", None, ("\ufffd/", "\ufffd.py", "\ufffd.py")),
    ]
    assert got.ignored == ["n\ufffd.pdf"]
    (root := tmp_path / "one").mkdir()
    Path(os.fsdecode(os.path.join(os.fsencode(root), b"\xfd"))).mkdir()
    Path(os.fsdecode(os.path.join(os.fsencode(root), b"\xfd", b"\xfc.pdf"))).write_text("x")
    got = replace(got, submissions=[*got.submissions, *collect(root, ONE).submissions])
    for one in got.submissions:
        json.dumps([one.student, one.file, one.trouble, one.source], ensure_ascii=False).encode(
            "utf-8"
        )
    assert any("only \ufffd.pdf" in one.trouble for one in got.submissions)
    for name in (b"no\xff", b"empty\xff", b"zip\xff.zip"):
        where = Path(os.fsdecode(os.path.join(folder, name)))
        if name.startswith(b"zip"):
            where.write_bytes(b"no zip")
        elif name.startswith(b"empty"):
            where.mkdir()
        with pytest.raises(
            DrillError,
            match=name[:-1].removesuffix(b"\xff.zi").removesuffix(b"\xff").decode() + "\ufffd",
        ):
            collect(where, ONE)


# Several submissions under one name

CONFLICTS = [
    pytest.param(
        ONE,
        texts("ana.py", "ana/x.py"),
        "ana",
        ("ana.py", "ana/x.py"),
        [],
        id="a file and a folder",
    ),
    pytest.param(ONE, texts("ana.py", "ana.PY"), "ana", ("ana.PY", "ana.py"), [], id="two endings"),
    pytest.param(
        ONE,
        texts("Ana.py", "ana.py", "ANA/x.py"),
        "ANA",
        ("ANA/x.py", "Ana.py", "ana.py"),
        [],
        id="case",
    ),
    pytest.param(
        ONE,
        texts("Zoe\u0301.py", "Zo\u00e9.py", "ZO\u00c9/x.py"),
        "ZO\u00c9",
        ("ZO\u00c9/x.py", "Zoe\u0301.py", "Zo\u00e9.py"),
        [],
        id="Unicode forms",
    ),
    pytest.param(
        ONE,
        texts("Straße.py", "STRASSE.py"),
        "STRASSE",
        ("STRASSE.py", "Straße.py"),
        [],
        id="sharp s",
    ),
    pytest.param(
        ONE,
        texts("ana.py", "\uff41na.py"),
        "ana",
        ("ana.py", "\uff41na.py"),
        [],
        id="a full-width letter",
    ),
    pytest.param(
        ONE, texts("ana b.py", "ana  b .py"), "ana  b ", ("ana  b .py", "ana b.py"), [], id="blanks"
    ),
    pytest.param(
        ONE,
        texts("ana.py", "ana (2).py", "ana/x.py"),
        "ana",
        ("ana.py", "ana/x.py"),
        [],
        id="beside a name like a counted one",
    ),
    pytest.param(
        ONE,
        {**texts("ana.py"), "ana/n.pdf": "x"},
        "ana",
        ("ana.py", "ana/"),
        [],
        id="a folder without an answer",
    ),
    pytest.param(
        ONE,
        texts("ana.py", "ana/a.py", "ana/b.py"),
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
        texts("ana.py", "ana/gqa.py", "ana/b.py"),
        "ana",
        ("ana.py", "ana/gqa.py"),
        ["ana/b.py (2 submissions have the name ana)"],
        id="a file that is not asked for",
    ),
    pytest.param(
        ONE,
        texts("li_1_2_gqa.py", "li.py"),
        "li",
        ("li.py", "li_1_2_gqa.py"),
        [],
        id="Canvas and a file",
    ),
    pytest.param(
        ONE,
        texts("li_1_2_gqa.py", "li_3_4_gqa.py", "li.py"),
        "li",
        ("li.py", "li_1_2_gqa.py", "li_3_4_gqa.py"),
        [],
        id="a file that may be either student's",
    ),
    pytest.param(
        ONE,
        texts("li_1_2_gqa.py", "li_3_4_gqa.py", "li (3).py"),
        "li (3)",
        ("li (3).py", "li_3_4_gqa.py"),
        [],
        id="a file called like a student with number",
    ),
    pytest.param(
        ONE,
        texts("li_1_2_gqa.py", "li_1_assignsubmission_file_/gqa.py"),
        "li",
        ("li_1_2_gqa.py", "li_1_assignsubmission_file_/gqa.py"),
        [],
        id="one number in two systems",
    ),
    pytest.param(
        ONE,
        texts(
            "hw_ana_attempt_2026-11-20-10-11-12_gqa.py", "hw_ANA_attempt_2026-11-20-10-11-12_gqa.py"
        ),
        "ANA",
        ("hw_ANA_attempt_2026-11-20-10-11-12_gqa.py", "hw_ana_attempt_2026-11-20-10-11-12_gqa.py"),
        [],
        id="Blackboard, case",
    ),
    pytest.param(
        ONE,
        texts(
            "a_ana_attempt_2026-11-20-10-11-12_gqa.py", "b_ana_attempt_2026-11-21-10-11-12_gqa.py"
        ),
        "ana",
        ("a_ana_attempt_2026-11-20-10-11-12_gqa.py", "b_ana_attempt_2026-11-21-10-11-12_gqa.py"),
        [],
        id="Blackboard, two assignments",
    ),
    pytest.param(
        TWO,
        texts("ana/gqa.py", "Ana/gqa.py", "ana/kv_cache.py", "Ana/kv_cache.py"),
        "Ana",
        ("Ana/{}.py", "ana/{}.py"),
        [],
        id="two challenges",
    ),
]


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize(("challenges", "files", "name", "places", "ignored"), CONFLICTS)
def test_one_name_twice_is_for_a_person_to_settle(
    form: str,
    challenges: tuple[Challenge, ...],
    files: Files,
    name: str,
    places: tuple[str, ...],
    ignored: list[str],
    tmp_path: Path,
) -> None:
    """None of the files is read as the answer, all are named, no name is invented, the others are read."""
    others = (
        ["yan_99_101_gqa.py", "zoe_99_100_gqa.py"]
        if "li_1_2_gqa.py" in files
        else ["yan/gqa.py", "zoe/gqa.py"]
    )
    files = {**files, **texts(*others)}
    where = lay(tmp_path / "in", files) if form == "folder" else pack(tmp_path / "in.zip", files)
    got = collect(where, challenges)
    asked = {challenge.id: Path(challenge.file_name).stem for challenge in challenges}
    unsettled = [made for made in got.submissions if made.unsettled]
    assert [(made.student, made.challenge) for made in unsettled] == [
        (name, challenge) for challenge in asked
    ]
    for made in unsettled:
        expected = tuple(place.format(asked[made.challenge]) for place in places)
        assert (made.source, made.unsettled, made.modified) == (None, expected, None)
        assert made.trouble.startswith(
            f"{len(places)} submissions have the name {name}: {', '.join(expected)}. "
        )
        assert made.trouble.endswith(
            " None of them is graded. Remove or rename all but one, then run grade again with --resume."
        )
    assert got.ignored == ignored
    graded = [made for made in got.submissions if not made.unsettled and made.source]
    assert {"yan", "zoe"} <= {made.student for made in graded}
    names = {Path(place).stem for place in files}
    assert all(made.student in names or re.match(r"(li|yan|zoe)", made.student) for made in graded)
    assert not {place for made in graded for place in (made.file,)} & {
        place for made in unsettled for place in made.unsettled
    }


def test_a_settled_name_is_read_again(tmp_path: Path) -> None:
    """Once one of the two files is gone, the other is the student's."""
    root = lay(tmp_path / "in", texts("ana.py", "Ana/gqa.py", "zoe.py"))
    assert [made.unsettled for made in collect(root, ONE).submissions] == [
        ("Ana/gqa.py", "ana.py"),
        (),
    ]
    (root / "ana.py").unlink()
    check(collect(root, ONE), {"Ana": "Ana/gqa.py", "zoe": "zoe.py"})


def test_spellings_that_count_as_one_name_are_explained(tmp_path: Path) -> None:
    """Two files that look different, or alike, under one name: the sentence says why."""
    explained = (
        "Names that differ only in capitals, blanks or the encoding of an accent are one name."
    )
    for number, (files, expected) in enumerate(
        ((("ana.py", "Ana.py"), True), (("ana.py", "ana/x.py"), False))
    ):
        (made,) = collect(lay(tmp_path / str(number), texts(*files)), ONE).submissions
        assert (explained in made.trouble) == expected


def test_many_files_of_one_name(tmp_path: Path) -> None:
    """The sentence names ten of them; the others are among what was ignored."""
    names = sorted(
        "".join(
            letter.upper() if number >> place & 1 else letter for place, letter in enumerate("anab")
        )
        + ".py"
        for number in range(13)
    )
    got = collect(lay(tmp_path / "in", texts(*names)), ONE)
    (made,) = got.submissions
    assert made.unsettled == tuple(names)
    assert f"{names[9]} and 3 more." in made.trouble
    assert got.ignored == [
        f"{name} (13 submissions have the name {names[0][:-3]})" for name in names[10:]
    ]


# Names of learning management systems that a student would like to decide

DAY = "2026-11-20-10-11-12"
POSED = [
    pytest.param(
        texts(f"hw_eve_attempt_{DAY}_x_bob_attempt_{DAY}_gqa.py", f"hw_bob_attempt_{DAY}_gqa.py"),
        {
            "bob": f"hw_bob_attempt_{DAY}_gqa.py",
            "eve": f"hw_eve_attempt_{DAY}_x_bob_attempt_{DAY}_gqa.py",
        },
        id="Blackboard in Blackboard",
    ),
    pytest.param(
        texts(
            f"hw_eve_attempt_{DAY}_hw_bob_attempt_2026-11-19-00-00-00_gqa.py",
            f"hw_yan_attempt_{DAY}_gqa.py",
        ),
        {
            "eve": f"hw_eve_attempt_{DAY}_hw_bob_attempt_2026-11-19-00-00-00_gqa.py",
            "yan": f"hw_yan_attempt_{DAY}_gqa.py",
        },
        id="Blackboard in Blackboard, an earlier date",
    ),
    pytest.param(
        texts(
            f"hw_eve_attempt_{DAY}_Bob_7_assignsubmission_file_gqa.py",
            f"hw_bob_attempt_{DAY}_gqa.py",
        ),
        {
            "bob": f"hw_bob_attempt_{DAY}_gqa.py",
            "eve": f"hw_eve_attempt_{DAY}_Bob_7_assignsubmission_file_gqa.py",
        },
        id="Moodle in Blackboard",
    ),
    pytest.param(
        texts(f"hw_eve_attempt_{DAY}_bob_1_2_gqa.py", f"hw_bob_attempt_{DAY}_gqa.py"),
        {"bob": f"hw_bob_attempt_{DAY}_gqa.py", "eve": f"hw_eve_attempt_{DAY}_bob_1_2_gqa.py"},
        id="Canvas in Blackboard",
    ),
    pytest.param(
        texts(f"eve_11_12_hw_bob_attempt_{DAY}_gqa.py", "bob_13_14_gqa.py"),
        {"bob": "bob_13_14_gqa.py", "eve": f"eve_11_12_hw_bob_attempt_{DAY}_gqa.py"},
        id="Blackboard in Canvas",
    ),
    pytest.param(
        texts(f"eve_11_12_hw_bob_attempt_{DAY}_gqa.py", f"eve_11_13_hw_bob_attempt_{DAY}.txt"),
        {"eve": f"eve_11_12_hw_bob_attempt_{DAY}_gqa.py"},
        id="Blackboard with a receipt in Canvas",
    ),
    pytest.param(
        texts(
            "eve_11_12_assignsubmission_file_gqa.py",
            "eve_LATE_11_12_Bob_7_assignsubmission_file_a.py",
            "bob_13_14_gqa.py",
        ),
        {"bob": "bob_13_14_gqa.py", "eve": "eve_11_12_assignsubmission_file_gqa.py"},
        id="Moodle in Canvas",
    ),
    pytest.param(
        texts("eve_11_12_bob_13_14_gqa.py", "bob_13_14_gqa.py"),
        {"bob": "bob_13_14_gqa.py", "eve": "eve_11_12_bob_13_14_gqa.py"},
        id="Canvas in Canvas",
    ),
    pytest.param(
        texts(
            "Eve_6_assignsubmission_file_Bob_7_assignsubmission_file_gqa.py",
            "Bob_7_assignsubmission_file_gqa.py",
        ),
        {
            "Bob": "Bob_7_assignsubmission_file_gqa.py",
            "Eve": "Eve_6_assignsubmission_file_Bob_7_assignsubmission_file_gqa.py",
        },
        id="Moodle in Moodle",
    ),
    pytest.param(
        texts(
            f"Eve_6_assignsubmission_file_hw_bob_attempt_{DAY}_gqa.py",
            "Bob_7_assignsubmission_file_gqa.py",
        ),
        {
            "Bob": "Bob_7_assignsubmission_file_gqa.py",
            "Eve": f"Eve_6_assignsubmission_file_hw_bob_attempt_{DAY}_gqa.py",
        },
        id="Blackboard in Moodle",
    ),
    pytest.param(
        texts("Eve_6_assignsubmission_file_bob_1_2_gqa.py", "Bob_7_assignsubmission_file_gqa.py"),
        {
            "Bob": "Bob_7_assignsubmission_file_gqa.py",
            "Eve": "Eve_6_assignsubmission_file_bob_1_2_gqa.py",
        },
        id="Canvas in Moodle",
    ),
]


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize(("files", "expected"), POSED)
def test_no_student_is_graded_as_another(
    form: str, files: Files, expected: dict[str, str], tmp_path: Path
) -> None:
    """Only what the system wrote says whose a file is, whatever name the student gave the file."""
    got = collect(
        lay(tmp_path / "in", files) if form == "folder" else pack(tmp_path / "in.zip", files), ONE
    )
    assert {made.student: made.file for made in got.submissions} == expected
    assert not any(made.unsettled for made in got.submissions)


def test_the_date_of_an_attempt_is_the_systems(tmp_path: Path) -> None:
    """A date in the student's own file name makes no late file early."""
    (made,) = collect(
        lay(
            tmp_path / "in",
            texts(f"hw_eve_attempt_{DAY}_hw_eve_attempt_2026-01-01-00-00-00_gqa.py"),
        ),
        ONE,
    ).submissions
    assert made.modified == datetime(2026, 11, 20, 10, 11, 12).timestamp()


def receipt(head: str, user: str, name: str = "Some Body") -> dict[str, str]:
    """A file of Blackboard's, with the text that Blackboard writes next to it."""
    return {
        f"{head}_attempt_{DAY}_gqa.py": f"# {head}\n",
        f"{head}_attempt_{DAY}.txt": f"Name: {name} ({user})\r\nAssignment: x\r\nDate Submitted: y\r\n\r\nSubmission Field:\r\nName: Bob (bob)\r\n",
    }


def bare(*heads: str) -> dict[str, str]:
    """Blackboard's files without receipts."""
    return texts(*(f"{head}_attempt_{DAY}_gqa.py" for head in heads))


USERS = [
    pytest.param(
        bare("Homework 1_jane_doe", "Homework 1_john_roe"),
        {"jane_doe", "john_roe"},
        False,
        id="users share letters",
    ),
    pytest.param(
        bare("hw_jane_doe", "hw_ana"), {"jane_doe", "ana"}, False, id="some users have underscores"
    ),
    pytest.param(
        bare("HW_3_ana", "HW_3_bob_lee"),
        {"ana", "bob_lee"},
        True,
        id="the assignment has underscores",
    ),
    pytest.param(
        bare("hw_a", "hw_a_b"), {"a", "a_b"}, False, id="a user is the beginning of another"
    ),
    pytest.param(bare("hw_a_", "hw_a_b"), {"a_", "a_b"}, False, id="a user ends in an underscore"),
    pytest.param(bare("hw_ana"), {"ana"}, False, id="a single user"),
    pytest.param(bare("hw_jane_doe"), {"jane_doe"}, True, id="a single user, with underscores"),
    pytest.param(
        bare("gqa_jane_doe"), {"jane_doe"}, False, id="a single user, the challenge's name"
    ),
    pytest.param(
        bare("Grouped-query attention_jane_doe"),
        {"jane_doe"},
        False,
        id="a single user, the challenge's title",
    ),
    pytest.param(bare("hw1_jane_doe", "hw2_ana"), {"jane_doe", "ana"}, True, id="two assignments"),
    pytest.param(bare("ana"), {"ana"}, False, id="no assignment"),
    pytest.param(bare("_ana", "hw_"), {"ana", "hw_"}, False, id="underscores at the ends"),
    pytest.param(
        bare("Lab_3_1_bob", "Lab_3_1_ana"),
        {"bob", "ana"},
        True,
        id="an assignment like Canvas's numbers",
    ),
    pytest.param(
        bare("hw_bob_1_2", "hw_ana"), {"bob_1_2", "ana"}, False, id="a user like Canvas's numbers"
    ),
    pytest.param(receipt("HW_3_1_jane_doe", "jane_doe"), {"jane_doe"}, False, id="a receipt"),
    pytest.param(
        receipt("HW_3_jane_doe", "jane_doe") | bare("HW_3_van_dam"),
        {"jane_doe", "van_dam"},
        False,
        id="a receipt of another",
    ),
    pytest.param(
        receipt("hw_van_dam", "van_dam") | bare("hw_van_berg"),
        {"van_dam", "van_berg"},
        False,
        id="all users share a part",
    ),
    pytest.param(
        receipt("hw_eve", "eve", "Eve (bob)") | receipt("hw_bob", "bob"),
        {"eve", "bob"},
        False,
        id="a name with another user in it",
    ),
    pytest.param(
        receipt("hw_van_eve", "bob") | bare("hw_bob"),
        {"van_eve", "bob"},
        False,
        id="a receipt of somebody else",
    ),
    pytest.param(
        {**bare("hw_jane_doe"), f"hw_jane_doe_attempt_{DAY}.txt": b"\xff("},
        {"jane_doe"},
        True,
        id="a receipt that cannot be read",
    ),
]


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize(("files", "users", "guessed"), USERS)
def test_blackboards_users(
    form: str, files: Files, users: set[str], guessed: bool, tmp_path: Path
) -> None:
    """User names with underscores stay whole; a guess is told."""
    got = collect(
        lay(tmp_path / "in", files) if form == "folder" else pack(tmp_path / "in.zip", files), ONE
    )
    assert {made.student for made in got.submissions} == users
    assert all(made.source for made in got.submissions)
    assert bool(got.notes) == guessed


def test_guessed_users_are_told(tmp_path: Path) -> None:
    """The note says what was read from what, and what settles it; of many it names three."""
    got = collect(lay(tmp_path / "in", bare(*(f"HW_3_s{number}" for number in range(5)))), ONE)
    assert [made.student for made in got.submissions] == [f"s{number}" for number in range(5)]
    (note,) = got.notes
    assert "s0 from HW_3_s0, s1 from HW_3_s1, s2 from HW_3_s2 and 2 more" in note
    assert note.endswith("If that is wrong, put Blackboard's .txt receipts next to the files.")


def test_names_in_a_zip_without_a_flag(tmp_path: Path) -> None:
    """Names that do not say how they are encoded are read as UTF-8 where they are that, else as code page 437; a half-truth spoils the archive."""
    for name, reads in ((b"Zo\xc3\xa9", "Zoé"), (b"Zo\x82", "Zoé"), (b"\xff", "\xa0")):
        (path := tmp_path / "in.zip").write_bytes(made(Entry(name + b".py")))
        assert [one.student for one in collect(path, ONE).submissions] == [reads]
    path.write_bytes(
        made(Entry("├⌐.py".encode(), flags=0x800))
    )  # in code page 437 these are the bytes of é
    assert [one.student for one in collect(path, ONE).submissions] == ["├⌐"]
    path.write_bytes(made(Entry(b"\xff.py", flags=0x800)))
    with pytest.raises(DrillError, match=r"in\.zip cannot be read as a zip: .*utf-8"):
        collect(path, ONE)


@pytest.mark.parametrize("challenges", [pytest.param(ONE, id="one"), pytest.param(TWO, id="two")])
def test_order(challenges: tuple[Challenge, ...], tmp_path: Path) -> None:
    """By student, whatever the case of letters, then as the challenges are asked; a second look gives the same."""
    names = ["bob", "Zoe", "ana", "Cai", "éva", "ana2"]
    root = lay(tmp_path / "in", texts(*(f"{name}/gqa.py" for name in names)))
    got = collect(root, challenges)
    assert [one.student for one in got.submissions[:: len(challenges)]] == [
        "ana",
        "ana2",
        "bob",
        "Cai",
        "Zoe",
        "éva",
    ]
    assert [one.challenge for one in got.submissions] == [one.id for one in challenges] * len(names)
    assert collect(root, challenges) == got


def test_modified(tmp_path: Path) -> None:
    """The file's own time; a zip's, as local time; the one in a Blackboard name; none where a zip's date is none."""
    root = lay(
        tmp_path / "in",
        texts(
            "ana.py",
            "q_bob_attempt_2026-11-20-10-11-12_x.py",
            "q_cai_attempt_2026-99-20-10-11-12_x.py",
        ),
    )
    os.utime(root / "ana.py", (1, 1_700_000_000.5))
    os.utime(root / "q_cai_attempt_2026-99-20-10-11-12_x.py", (1, 2))
    handed_in = datetime(2026, 11, 20, 10, 11, 12).timestamp()
    assert [one.modified for one in collect(root, ONE).submissions] == [
        1_700_000_000.5,
        handed_in,
        2,
    ]
    assert [
        one.modified for one in collect(pack(tmp_path / "in.zip", texts("ana.py")), ONE).submissions
    ] == [handed_in]
    (tmp_path / "raw.zip").write_bytes(made(Entry(b"ana.py", date=0)))
    assert [one.modified for one in collect(tmp_path / "raw.zip", ONE).submissions] == [None]


CONTENTS = [
    pytest.param(b"x = 1\r\n", "x = 1\r\n", id="text"),
    pytest.param(b"\xef\xbb\xbfx = 1\n", "x = 1\n", id="with a byte-order mark"),
    pytest.param(b"#" * MOST_SOURCE_BYTES, "#" * MOST_SOURCE_BYTES, id="as large as may be"),
    pytest.param(b"", "~gqa.py is empty", id="empty"),
    pytest.param(b" \n\t", "~gqa.py is empty", id="blank"),
    pytest.param(b"x\0y", "~gqa.py holds a NUL byte at offset 1", id="a NUL byte"),
    pytest.param(b"ab\xff", "~gqa.py is not UTF-8: byte 0xff at offset 2", id="no UTF-8"),
    pytest.param(b"#" * (MOST_SOURCE_BYTES + 1), "~gqa.py.* 1,048,57[67]", id="too large"),
]


@pytest.mark.parametrize(("content", "expected"), CONTENTS)
def test_contents(content: bytes, expected: str, tmp_path: Path) -> None:
    """The same is read, or refused for the same reason, from a folder, a class's zip and a student's zip; sentences name no folder of this machine."""
    root = lay(tmp_path / "in", {"ana/gqa.py": content})
    pack(root / "bob.zip", {"gqa.py": content}, compression=zipfile.ZIP_DEFLATED)
    got = [
        *collect(root, ONE).submissions,
        *collect(
            pack(tmp_path / "in.zip", {"ana/gqa.py": content}, compression=zipfile.ZIP_DEFLATED),
            ONE,
        ).submissions,
    ]
    assert len(got) == 3
    for one in got:
        if expected.startswith("~"):
            assert one.source is None
            assert re.search(expected[1:], one.trouble), one.trouble
            assert str(tmp_path) not in one.trouble
        else:
            assert (one.source, one.trouble) == (expected, "")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(lambda path: None, "cannot be read: No such file", id="not there"),
        pytest.param(lambda path: path.mkdir(), "holds no submission", id="an empty folder"),
        pytest.param(
            lambda path: lay(path, {"n.pdf": "x", ".a.py": "x"}),
            "holds no submission",
            id="nothing but other files",
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
def test_nothing_to_grade(make: Callable[[Path], object], says: str, tmp_path: Path) -> None:
    """One sentence says what is wrong and which layouts there are."""
    make(tmp_path / "in")
    with pytest.raises(
        DrillError, match=rf"in {says}.*DIR/<student>\.py or DIR/<student>/<any>\.py, or the \.zip"
    ):
        collect(tmp_path / "in", ONE)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(b"", "is not a zip", id="empty"),
        pytest.param(b"x = 1\n", "is not a zip", id="text"),
        pytest.param(b"PK\5\6" + bytes(18), "holds no submission", id="no members"),
    ],
)
def test_a_zip_with_nothing_in_it(data: bytes, says: str, tmp_path: Path) -> None:
    """What is called a zip and holds nothing is answered with a sentence."""
    (tmp_path / "in.zip").write_bytes(data)
    with pytest.raises(DrillError, match=rf"in\.zip .*{says}"):
        collect(tmp_path / "in.zip", ONE)
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(DrillError, match=r"pipe\.zip is not a regular file"):
        collect(tmp_path / "pipe.zip", ONE)


@pytest.mark.parametrize(
    ("files", "challenges", "expected", "ignored"),
    [
        pytest.param(
            texts("gqa.py", "x.py", "n.pdf"),
            ONE,
            {"li_1_2_hw": "gqa.py"},
            ["x.py (not asked for)"],
            id="a file among others",
        ),
        pytest.param(
            texts("my/gqa.py", "__MACOSX/gqa.py"),
            ONE,
            {"li_1_2_hw": "my/gqa.py"},
            [],
            id="a folder in it",
        ),
        pytest.param(
            texts("a.py", "b.py"),
            ONE,
            {"li_1_2_hw": "~handed in 2 Python files and none is called gqa.py: a.py, b.py"},
            [],
            id="several",
        ),
        pytest.param(
            {"n.pdf": ""},
            ONE,
            {"li_1_2_hw": "~did not hand in a Python file, only n.pdf"},
            [],
            id="no Python file",
        ),
        pytest.param(
            {},
            ONE,
            {"li_1_2_hw": "~did not hand in a Python file or any other file. Hand in gqa.py"},
            [],
            id="nothing",
        ),
        pytest.param(
            texts("gqa.py"),
            TWO,
            {
                "li_1_2_hw: gqa": "gqa.py",
                "li_1_2_hw: kv-cache": "~did not hand in kv_cache.py, only gqa.py",
            },
            [],
            id="one of two challenges",
        ),
    ],
)
def test_one_students_work(
    files: Files,
    challenges: tuple[Challenge, ...],
    expected: dict[str, str],
    ignored: list[str],
    tmp_path: Path,
) -> None:
    """A folder or a zip that is one student's, whatever it is called and whatever lies in it; there is always something to say to that student."""
    check(collect_single(lay(tmp_path / "li_1_2_hw", files), challenges), expected, ignored)
    got = collect_single(pack(tmp_path / "li_1_2_hw.zip", files), challenges)
    check(got, expected, [f"li_1_2_hw.zip/{one}" for one in ignored])


def test_one_students_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file alone may be named too; a folder is called like itself, also as `.`; what is not there, or nothing of the kind, is said."""
    root = lay(tmp_path / "ana", texts("gqa.py", "n.pdf"))
    check(collect_single(root / "gqa.py", ONE), {"gqa": "gqa.py"})
    missing = "~^gqa did not hand in kv_cache.py, only gqa.py"
    check(collect_single(root / "gqa.py", TWO), {"gqa: gqa": "gqa.py", "gqa: kv-cache": missing})
    monkeypatch.chdir(root)
    check(collect_single(Path(), ONE), {"ana": "gqa.py"})
    monkeypatch.setattr(uploads, "MOST_FILES", 1)
    check(collect_single(root, ONE), {"ana": "~^The folder holds more than 1 files"})
    for name, says in (
        ("no", "cannot be read: No such file"),
        ("n.pdf", "is neither a folder nor a .zip nor a .py"),
    ):
        with pytest.raises(DrillError, match=rf"{name} {says}"):
            collect_single(root / name, ONE)
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    (root / "gqa.py").unlink()
    (root / "n.pdf").unlink()
    check(collect_single(root, ONE), {"ana": r"~^link\.py is a symbolic link"})


# Folders that want more than to be read


def test_links_lead_nowhere(tmp_path: Path) -> None:
    """No link is followed out of what its student handed in: not to a file, not to a folder, not to another student."""
    lay(tmp_path, {"secret.py": "SECRET = 1\n", "else/gqa.py": "SECRET = 2\n"})
    root = lay(
        tmp_path / "in",
        {
            "zoe/gqa.py": "z = 1\n",
            "bob/x.py": "b = 1\n",
            "own/answer.py": "o = 1\n",
            "deep/n.pdf": "",
            "gone/n.pdf": "",
            "zip/n.pdf": "",
        },
    )
    pack(tmp_path / "secret.zip", {"gqa.py": "SECRET = 3\n"})
    (root / "ana.py").symlink_to(tmp_path / "secret.py")
    (root / "bob" / "gqa.py").symlink_to(root / "zoe" / "gqa.py")
    (root / "cai").symlink_to(tmp_path / "else")
    (root / "dan.py").symlink_to("zoe/gqa.py")
    (root / "deep" / "d").symlink_to(tmp_path / "else")
    (root / "eve").symlink_to("zoe")
    (root / "fay.zip").symlink_to(tmp_path / "secret.zip")
    (root / "gone" / "gqa.py").symlink_to("nothing.py")
    (root / "notes").symlink_to(tmp_path / "secret.py")
    (root / "own" / "gqa.py").symlink_to("answer.py")
    (root / "zip" / "w.zip").symlink_to(tmp_path / "secret.zip")
    got = collect(root, ONE)
    link = "~symbolic link that does not lead to a file of the same student"
    refused = ("ana", "bob", "cai", "dan", "deep", "eve", "fay", "gone", "zip")
    check(
        got,
        dict(sorted({**dict.fromkeys(refused, link), "own": "o = 1", "zoe": "z = 1"}.items())),
        [
            "bob/x.py (not asked for)",
            "notes (notes is a symbolic link that does not lead to a file of the same student. Hand in the file itself.)",
            "own/answer.py (not asked for)",
        ],
    )
    assert "SECRET" not in repr(got)
    assert next(one.trouble for one in got.submissions if one.student == "ana").startswith(
        "ana.py is a symbolic link"
    )


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    """Whoever grades named it."""
    (tmp_path / "link").symlink_to(lay(tmp_path / "in", texts("ana/gqa.py")))
    check(collect(tmp_path / "link", ONE), {"ana": "ana/gqa.py"})


def test_pipes_and_sockets(tmp_path: Path) -> None:
    """Nothing that is no regular file is opened: a pipe would wait for a writer for ever."""
    root = lay(tmp_path / "in", texts("zoe.py", "eve/gqa.py"))
    for name in ("ana.py", "bob/gqa.py", "cai.zip", "dan/w.zip", "eve/notes", "loose"):
        (root / name).parent.mkdir(exist_ok=True)
        os.mkfifo(root / name)
    check(
        collect(root, ONE),
        {
            "ana": "~ana.py is not a regular file",
            "bob": "~bob/gqa.py is not a regular file",
            "cai": "~cai.zip is not a regular file",
            "dan": "~dan/w.zip is not a regular file",
            "eve": "eve/gqa.py",
            "zoe": "zoe.py",
        },
        ["loose"],
    )


def forbid(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take all permissions from what is called `no`, in a way that holds for root as well."""
    for name in ("scandir", "listdir"):
        real = getattr(os, name)

        def asked(path: str | Path, real: Callable[[str | Path], object] = real) -> object:
            if Path(path).name.startswith("no"):
                raise PermissionError(13, "Permission denied")
            return real(path)

        monkeypatch.setattr(os, name, asked)
    read_bytes = Path.read_bytes

    def read(path: Path) -> bytes:
        if path.name.startswith("no"):
            raise PermissionError(13, "Permission denied")
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", read)
    if os.geteuid() != 0:
        for path in sorted(root.rglob("no*"), reverse=True):
            path.chmod(0)


def test_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or folder that may not be read is its student's trouble; beside the right file it is only named."""
    root = lay(
        tmp_path / "in",
        texts(
            "no.py",
            "ana/no.py",
            "bob/no/x.py",
            "cai/gqa.py",
            "cai/no/x.py",
            "nodir/gqa.py",
            "zoe.py",
        ),
    )
    forbid(root, monkeypatch)
    try:
        got = collect(root, ONE)
    finally:
        for path in root.rglob("no*"):
            path.chmod(stat.S_IRWXU)
    denied = "~^{} cannot be read: Permission denied"
    expected = {
        "ana": denied.format("ana/no.py"),
        "bob": denied.format("bob/no/"),
        "cai": "cai/gqa.py",
        "no": denied.format("no.py"),
    }
    check(
        got,
        {**expected, "nodir": denied.format("nodir/"), "zoe": "zoe.py"},
        ["cai/no/ (cai/no/ cannot be read: Permission denied. Check its permissions.)"],
    )
    with pytest.raises(DrillError, match="notes cannot be read: Permission denied"):
        collect(lay(tmp_path / "notes", {}), ONE)
    with pytest.raises(DrillError, match="notes cannot be read: Permission denied"):
        collect_single(tmp_path / "notes", ONE)


def test_a_folder_with_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A student who hands in a whole disk is told so; the number that is looked at has a limit, wherever the files lie."""
    monkeypatch.setattr(uploads, "MOST_FILES", 6)
    root = lay(
        tmp_path / "in",
        texts(
            "zoe/gqa.py",
            *(f"ana/{number}.txt" for number in range(7)),
            *(f"bob/{number}/x.txt" for number in range(5)),
            *(f"cai/{number}.py" for number in range(5)),
            "cai/gqa.py",
        ),
    )
    expected = {
        name: f"~{name}/ holds more than 6 files. Hand in the Python file itself"
        for name in ("ana", "bob")
    }
    check(
        collect(root, ONE),
        {**expected, "cai": "cai/gqa.py", "zoe": "zoe/gqa.py"},
        [f"cai/{number}.py (not asked for)" for number in range(5)],
    )


def test_long_lists_are_cut_and_nothing_is_lost(tmp_path: Path) -> None:
    """A sentence names ten files; the others are among what was ignored."""
    names = [f"ana/f{number:02}.py" for number in range(13)]
    got = collect(lay(tmp_path / "in", texts(*names)), ONE)
    check(
        got,
        {
            "ana": "~handed in 13 Python files and none is called gqa.py: f00.py, .*, f09.py and 3 more. Hand in gqa.py"
        },
        [f"{name} (not asked for)" for name in names[10:]],
    )


def test_results_of_an_earlier_run_need_both(tmp_path: Path) -> None:
    """A student may call a folder `results` or a file `class.json`."""
    files = {
        **texts("ana/results/gqa.py", "bob/class.json", "bob/gqa.py"),
        "out/class.json": "{}",
        "out/results/a.json": "{}",
        "begun/class.json": "{}",
        "begun/results": None,
        "zoe/class.json": "{}",
        "zoe/results": "{}",
        **texts("zoe/gqa.py"),
    }
    for where in (lay(tmp_path / "in", files), pack(tmp_path / "in.zip", files)):
        check(
            collect(where, ONE),
            {"ana": "ana/results/gqa.py", "bob": "bob/gqa.py", "zoe": "zoe/gqa.py"},
            ["begun/ (results of an earlier run)", "out/ (results of an earlier run)"],
        )


# Archives that want more than to be read


class Entry:
    """One member of a zip that is written byte by byte, so that it can say what zipfile would not."""

    def __init__(
        self,
        name: bytes,
        data: bytes = b"x = 1\n",
        *,
        method: int = 0,
        flags: int = 0,
        size: int | None = None,
        packed: int | None = None,
        offset: int | None = None,
        crc: int | None = None,
        mode: int = 0,
        date: int = 0x5D74,
        extra: bytes = b"",
        version: int = 20,
        local_name: bytes | None = None,
        plain: bytes | None = None,
    ) -> None:
        plain = data if plain is None else plain
        self.name, self.data, self.extra, self.mode, self.version = name, data, extra, mode, version
        self.size = len(plain) if size is None else size
        self.packed = len(data) if packed is None else packed
        self.crc = zlib.crc32(plain) if crc is None else crc
        self.middle = struct.pack("<4H", flags, method, 0, date)
        self.offset = offset
        self.local_name = name if local_name is None else local_name

    def local(self) -> bytes:
        """The header before the data."""
        return (
            b"PK\3\4"
            + struct.pack("<H", self.version)
            + self.middle
            + struct.pack(
                "<3L2H",
                self.crc,
                self.packed & 0xFFFFFFFF,
                self.size & 0xFFFFFFFF,
                len(self.local_name),
                0,
            )
            + self.local_name
        )

    def central(self, offset: int) -> bytes:
        """The line in the table of contents."""
        head = b"PK\1\2" + struct.pack("<2H", 0x0314, self.version) + self.middle
        tail = struct.pack(
            "<3L5H2L",
            self.crc,
            self.packed,
            self.size,
            len(self.name),
            len(self.extra),
            0,
            0,
            0,
            self.mode << 16,
            offset if self.offset is None else self.offset,
        )
        return head + tail + self.name + self.extra


def made(*entries: Entry) -> bytes:
    """A zip of these."""
    data, contents = b"", b""
    for entry in entries:
        contents += entry.central(len(data))
        data += entry.local() + entry.data
    return data + contents + end(len(entries), len(contents), len(data))


def end(number: int, size: int, offset: int) -> bytes:
    """What closes a zip."""
    return b"PK\5\6" + struct.pack(
        "<4H2LH", 0, 0, number & 0xFFFF, number & 0xFFFF, size, offset, 0
    )


def deflated(data: bytes) -> bytes:
    """The data as a raw deflate stream."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def zeros(size: int) -> bytes:
    """A deflate stream of so many zeros, made of one block again and again; `size` is a multiple of 64 MiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 26)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (size >> 26) + deflated(b"")


TEXT = b"y = 2\n"
BZ2 = b"BZh9" + bytes(40)

SPOILT = [
    pytest.param(Entry(b"../bad.py"), "~leads out of the archive", id="a path upwards"),
    pytest.param(
        Entry(b"bad/../../gqa.py"), "~leads out of the archive", id="a path upwards in the middle"
    ),
    pytest.param(Entry(b"/bad.py"), "~leads out of the archive", id="an absolute path"),
    pytest.param(Entry(b"C:/bad.py"), "~leads out of the archive", id="a drive"),
    pytest.param(Entry(b"C:bad.py"), "~leads out of the archive", id="a drive without a root"),
    pytest.param(Entry(b"bad\\gqa.py"), "~has a backslash in its name", id="a backslash"),
    pytest.param(
        Entry(b"..\\..\\bad.py"),
        "~has a backslash in its name",
        id="a path upwards with backslashes",
    ),
    pytest.param(Entry(b"\\\\bad\\c$\\x.py"), "~has a backslash in its name", id="a network path"),
    pytest.param(Entry(b"bad\0.py"), "~has a NUL byte in its name", id="a NUL byte"),
    pytest.param(
        Entry(b"bad.py", b"/etc/passwd", mode=0o120777), "~bad.py is a symbolic link", id="a link"
    ),
    pytest.param(Entry(b"bad.py", mode=0o010644), "~bad.py is not a regular file", id="a pipe"),
    pytest.param(Entry(b"bad.py", mode=0o020644), "~bad.py is not a regular file", id="a device"),
    pytest.param(Entry(b"bad.py", flags=1), "~bad.py is encrypted", id="encrypted"),
    pytest.param(Entry(b"bad.py", flags=0x40), "~bad.py is encrypted", id="strongly encrypted"),
    pytest.param(Entry(b"bad.py", flags=0x20), "~bad.py .*damaged: .*patched", id="a patch"),
    pytest.param(
        Entry(b"bad.py", method=12, data=BZ2),
        r"~bad.py is compressed by method 12; only 0 and 8",
        id="bzip2, which unpacks without limit",
    ),
    pytest.param(Entry(b"bad.py", method=14), "~bad.py is compressed by method 14", id="LZMA"),
    pytest.param(
        Entry(b"bad.py", method=99), "~bad.py is compressed by method 99", id="an unknown method"
    ),
    pytest.param(Entry(b"bad.zip"), "~bad.zip is an archive inside an archive", id="a zip"),
    pytest.param(
        Entry(b"bad/w.tar.gz"), "~bad/w.tar.gz is an archive inside an archive", id="a tar file"
    ),
    pytest.param(
        Entry(b"bad.py", crc=1), "~bad.py in in.zip is damaged: Bad CRC-32", id="a wrong checksum"
    ),
    pytest.param(
        Entry(b"bad.py", b"\xff" * 9, method=8),
        "~bad.py in in.zip is damaged",
        id="no deflate stream",
    ),
    pytest.param(
        Entry(b"bad.py", deflated(TEXT)[:-3], method=8, plain=TEXT),
        "~bad.py in in.zip is damaged",
        id="a stream that is cut off",
    ),
    pytest.param(
        Entry(b"bad.py", packed=10**6, size=10**6),
        "~bad.py in in.zip is damaged: EOFError",
        id="longer than the archive",
    ),
    pytest.param(
        Entry(b"bad.py", deflated(TEXT), method=8, plain=TEXT, size=100),
        "~damaged: it claims 100 bytes and has 6",
        id="said to be longer",
    ),
    pytest.param(
        Entry(b"bad.py", deflated(TEXT), method=8, plain=TEXT, size=3),
        "~bad.py in in.zip is damaged: Bad CRC-32",
        id="said to be shorter",
    ),
    pytest.param(
        Entry(b"bad.py", local_name=b"ana.py"),
        "~bad.py in in.zip is damaged: File name",
        id="another name before the data",
    ),
    pytest.param(
        Entry(
            b"bad.py",
            size=0xFFFFFFFF,
            packed=0xFFFFFFFF,
            extra=struct.pack("<2H2Q", 1, 16, 1 << 60, 1 << 60),
        ),
        "~bad.py",
        id="zip64, an exabyte",
    ),
    pytest.param(
        Entry(b"bad.py", offset=0xFFFFFFFF, extra=struct.pack("<2HQ", 1, 8, 1 << 63)),
        "~bad.py in in.zip is damaged",
        id="zip64, beyond all files",
    ),
    pytest.param(
        Entry(b"bad.py", offset=1 << 31),
        "~bad.py in in.zip is damaged: Truncated",
        id="beyond the archive",
    ),
    pytest.param(
        Entry(b"bad.py", deflated(bytes(1 << 21)), method=8, plain=bytes(1 << 21)),
        "~unpacks to more than 1,048,576 bytes",
        id="2 MiB of zeros",
    ),
]


@pytest.mark.parametrize(("entry", "expected"), SPOILT)
def test_what_spoils_one_member_spoils_no_other(
    entry: Entry, expected: str, tmp_path: Path
) -> None:
    """The student whose member it is has the trouble, and whoever comes before and after is read. The same member in a student's own zip is refused too."""
    (tmp_path / "in.zip").write_bytes(made(Entry(b"ana.py"), entry, Entry(b"zoe.py")))
    got = collect(tmp_path / "in.zip", ONE)
    names = [one.student for one in got.submissions]
    assert len(names) == 3
    assert [one.source for one in got.submissions if one.student in ("ana", "zoe")] == [
        "x = 1\n"
    ] * 2
    (bad,) = [one for one in got.submissions if one.student not in ("ana", "zoe")]
    assert bad.source is None
    assert re.search(expected[1:], bad.trouble), bad.trouble
    (lay(tmp_path / "in", {}) / "in.zip").write_bytes(made(entry))
    (own,) = collect(tmp_path / "in", ONE).submissions
    assert own.source is None
    assert re.search(expected[1:].replace("~bad", "bad"), own.trouble), own.trouble


def test_a_stray_takes_nothing_from_an_honest_student(tmp_path: Path) -> None:
    """A path that leads out of the archive and back to another's folder is a student of its own."""
    honest = (Entry(b"ana/gqa.py"), Entry(b"li_1_2_gqa.py"))
    strays = [b"../ana/gqa.py", b"../li_1_3_gqa.py", b"../n.pdf", b"..", b"../eve/", b"/ana/gqa.py"]
    (tmp_path / "in.zip").write_bytes(made(*honest, *map(Entry, strays)))
    sentence = "leads out of the archive. Hand in the Python file itself."
    check(
        collect(tmp_path / "in.zip", ONE),
        {
            "../ana/gqa": f"~^../ana/gqa.py {sentence}",
            "../li": f"~^../li_1_3_gqa.py {sentence}",
            "/ana/gqa": f"~^/ana/gqa.py {sentence}",
            "ana": "x = 1",
            "li": "x = 1",
        },
        [f"{name} ({name} {sentence})" for name in ("../eve/", "../n.pdf")],
    )
    several = collect(tmp_path / "in.zip", TWO).submissions
    troubles = {made.trouble for made in several if made.student == "../ana/gqa"}
    assert troubles == {f"../ana/gqa.py {sentence}"}


def test_a_stray_next_to_the_folder_of_a_class(tmp_path: Path) -> None:
    """It does not stop the folder from being recognised."""
    files = texts("class/ana.py", "class/bob.py", "../eve.py")
    expected = {"ana": "class/ana.py", "bob": "class/bob.py"}
    sentence = "../eve.py leads out of the archive. Hand in the Python file itself."
    check(collect(pack(tmp_path / "in.zip", files), ONE), expected, [sentence])


def test_two_spellings_of_one_path_are_one_name(tmp_path: Path) -> None:
    """`bad/gqa.py` and `bad//./gqa.py` are the same file, so neither is read."""
    entries = (Entry(b"ana.py"), Entry(b"bad/gqa.py", TEXT), Entry(b"bad//./gqa.py"))
    (tmp_path / "in.zip").write_bytes(made(*entries))
    expected = {"ana": "x = 1", "bad": "~bad/gqa.py is 2 times in in.zip"}
    check(collect(tmp_path / "in.zip", ONE), expected)


ODD_NAMES = [
    pytest.param("n" * 300 + "/gqa.py", id="longer than a disk takes"),
    pytest.param("d/" * 500 + "gqa.py", id="500 folders deep"),
    pytest.param("ana.py/gqa.py", id="below a file"),
    pytest.param("nul/gqa.py", id="a device of Windows"),
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_that_no_disk_takes(name: str, tmp_path: Path) -> None:
    """A zip may hold names that no file can have; they are read like others."""
    files = texts("bob.py", "eve.py", name)
    got = collect(pack(tmp_path / "in.zip", files), ONE)
    assert {made.file: made.source for made in got.submissions} == files


def test_a_name_that_stands_twice(tmp_path: Path) -> None:
    """Nobody can tell which of the two is meant: neither is read, and a person settles it. In a student's own zip it is the student's trouble."""
    (tmp_path / "in.zip").write_bytes(
        made(Entry(b"ana.py"), Entry(b"bad/gqa.py", TEXT), Entry(b"bad/gqa.py"), Entry(b"bad/x.py"))
    )
    got = collect(tmp_path / "in.zip", ONE)
    check(
        got,
        {
            "ana": "x = 1",
            "bad": "~bad/gqa.py is 2 times in in.zip.* None of them is graded. Remove or rename",
        },
        ["bad/x.py (not asked for)"],
    )
    assert [one.unsettled for one in got.submissions] == [(), ("bad/gqa.py", "bad/gqa.py")]
    lay(tmp_path / "class", {})
    (tmp_path / "class" / "bad.zip").write_bytes(made(Entry(b"gqa.py", TEXT), Entry(b"gqa.py")))
    (own,) = collect(tmp_path / "class", ONE).submissions
    assert own.unsettled == ()
    assert own.trouble.startswith("gqa.py is 2 times in bad.zip")


def zip64(size: int, offset: int, data: bytes) -> bytes:
    """A zip whose table of contents is said to be of this size, in 64 bits."""
    record = b"PK\6\6" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, 1, 1, size, offset)
    return (
        data
        + record
        + b"PK\6\7"
        + struct.pack("<LQL", 0, len(data), 1)
        + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
    )


GOOD = made(Entry(b"ana.py"), Entry(b"bob/gqa.py", deflated(TEXT), method=8, plain=TEXT))

BROKEN = [
    pytest.param(GOOD[:-1], "cannot be read as a zip", id="cut off at the end"),
    pytest.param(GOOD[: len(GOOD) // 2], "cannot be read as a zip", id="cut off in the middle"),
    pytest.param(GOOD[-22:], "cannot be read as a zip", id="only the end"),
    pytest.param(
        GOOD.replace(b"PK\1\2", b"PK\1\3"),
        "Bad magic number for central directory",
        id="no table of contents",
    ),
    pytest.param(
        made(Entry(b"ana.py", version=255)), "zip file version 25.5", id="a version to come"
    ),
    pytest.param(
        GOOD[:-22] + end(2, 0xFFFFFFF0, 0),
        "cannot be read as a zip",
        id="contents larger than the file",
    ),
    pytest.param(
        zip64(1 << 50, 0, GOOD), "cannot be read as a zip", id="zip64, contents of a petabyte"
    ),
    pytest.param(
        zip64(1 << 62, 1 << 63, GOOD),
        "cannot be read as a zip",
        id="zip64, contents beyond the file",
    ),
    pytest.param(
        bytes(archives.MOST_CONTENTS_BYTES)
        + GOOD[:-22]
        + end(2, archives.MOST_CONTENTS_BYTES + 1, 0),
        "16,777,217 bytes; at most 16,777,216",
        id="contents of 16 MiB and one",
    ),
    pytest.param(
        GOOD[:-22] + end(1, 10, len(GOOD) - 32),
        "Truncated central directory",
        id="contents that end within a line",
    ),
    pytest.param(
        made(Entry(b"ana.py", size=0xFFFFFFFF, extra=struct.pack("<2H", 1, 8))),
        "orrupt|unpack",
        id="zip64, half a field",
    ),
]


@pytest.mark.parametrize(("data", "says"), BROKEN)
def test_what_spoils_an_archive(data: bytes, says: str, tmp_path: Path) -> None:
    """One sentence names the archive and the cause; where it is one student's own, it is that student's trouble."""
    (tmp_path / "in.zip").write_bytes(data)
    with pytest.raises(DrillError, match=rf"in\.zip .*{says}"):
        collect(tmp_path / "in.zip", ONE)
    root = lay(tmp_path / "in", texts("zoe.py"))
    (root / "bad.zip").write_bytes(data)
    check(collect(root, ONE), {"bad": rf"~bad\.zip .*{says}", "zoe": "zoe.py"})


def test_too_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted while they are unpacked, whatever the archive says; folders count too."""
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    data = made(*(Entry(f"{number}.py".encode()) for number in range(4)))
    (tmp_path / "in.zip").write_bytes(data[:-14] + struct.pack("<2H", 1, 1) + data[-10:])
    with pytest.raises(DrillError, match=r"in\.zip holds more than 3 files and folders"):
        collect(tmp_path / "in.zip", ONE)
    root = lay(tmp_path / "in", texts("zoe.py"))
    pack(root / "ana.zip", texts("a/b/c/gqa.py"))
    pack(root / "bob.zip", texts("a/b/gqa.py"))
    check(
        collect(root, ONE),
        {"ana": "~^ana.zip holds more than 3 files", "bob": "a/b/gqa.py", "zoe": "zoe.py"},
    )


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes zipfile and zlib gave, piece by piece."""
    sizes: list[int] = []
    read = zipfile.ZipExtFile._read1  # type: ignore[attr-defined]

    def counted(file: zipfile.ZipExtFile, size: int) -> bytes:
        data: bytes = read(file, size)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(zipfile.ZipExtFile, "_read1", counted)
    return sizes


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(0xFFFFFFFE, id="said to be large"),
        pytest.param(100, id="said to be small"),
        pytest.param(1 << 20, id="said to be just right"),
    ],
)
def test_a_bomb_is_not_unpacked(claim: int, unpacked: list[int], tmp_path: Path) -> None:
    """Of 10 GiB of zeros no more than one submission's bytes are ever made, whatever the archive says."""
    (tmp_path / "in.zip").write_bytes(
        made(Entry(b"ana.py"), Entry(b"bad.py", zeros(10 << 30), method=8, size=claim, crc=0))
    )
    check(
        collect(tmp_path / "in.zip", ONE),
        {"ana": "x = 1", "bad": "~unpacks to more than 1,048,576|damaged"},
    )
    assert sum(unpacked) <= MOST_SOURCE_BYTES + 2 * (1 << 16)
    assert max(unpacked) <= 1 << 16


def test_members_that_lie_over_each_other(unpacked: list[int], tmp_path: Path) -> None:
    """Many members share one stream, each quoting the header of the next: what all come to is more than deflate can do, and the archive is refused."""
    names = [f"{number:03}.py".encode() for number in range(200)]
    stream = zeros(1 << 26)
    size = (1 << 26) + 1000
    data, starts = stream, [0]
    for name in reversed(names):
        if data is not stream:
            quoted = 30 + len(name)
            data = b"\0" + struct.pack("<2H", quoted, quoted ^ 0xFFFF) + data
        data = Entry(name, data, method=8, size=size, crc=0).local() + data
        starts.append(len(data))
    contents = b"".join(
        Entry(name, method=8, size=size, packed=start - 30 - len(name), crc=0).central(
            len(data) - start
        )
        for name, start in zip(names, reversed(starts), strict=False)
    )
    (tmp_path / "in.zip").write_bytes(data + contents + end(len(names), len(contents), len(data)))
    most = 1032 * (tmp_path / "in.zip").stat().st_size
    try:
        got = collect(tmp_path / "in.zip", ONE).submissions
    except DrillError as error:
        bomb = r"in\.zip has [\d,]+ bytes and unpacks to more than [\d,]+: it would fill the disk"
        assert re.match(bomb, str(error))  # noqa: PT017 -- the other outcome is below
        assert most < sum(unpacked)
    else:  # later releases of Python see it themselves, in all members but the last
        assert all("Overlapped entries" in one.trouble for one in got[:-1])
    assert sum(unpacked) <= most + len(names) * (1 << 16) < 200 << 20


def test_what_compresses_best_is_no_bomb(tmp_path: Path) -> None:
    """Thirty submissions of the greatest size, which deflate makes a thousand times smaller, are all read."""
    text = b"#" * MOST_SOURCE_BYTES
    entries = [
        Entry(f"{number:02}.py".encode(), deflated(text), method=8, plain=text)
        for number in range(30)
    ]
    (tmp_path / "in.zip").write_bytes(made(*entries))
    assert [len(one.source or "") for one in collect(tmp_path / "in.zip", ONE).submissions] == [
        MOST_SOURCE_BYTES
    ] * 30


def test_a_class_may_be_no_larger_than_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes of all members together have a limit too."""
    monkeypatch.setattr(archives, "MOST_BYTES", 10)
    pack(tmp_path / "in.zip", {"ana.py": "x = 1\n", "bob.py": "x = 2\n"})
    with pytest.raises(DrillError, match="unpacks to more than 10"):
        collect(tmp_path / "in.zip", ONE)
    root = lay(tmp_path / "in", texts("ana.py"))
    pack(root / "bob.zip", {"gqa.py": "x = 1 # bob\n"})
    check(
        collect(root, ONE),
        {"ana": "ana.py", "bob": "~bob.zip has .* bytes and unpacks to more than 10"},
    )


def test_members_that_nobody_reads_are_not_unpacked(unpacked: list[int], tmp_path: Path) -> None:
    """Only Python files and receipts are unpacked, outside of folders that tools make."""
    unread = ("ana/n.pdf", "ana/data.txt", "ana/venv/x.py", "ana/.h.py", "class.json")
    read = ("ana/gqa.py", "ana/other.py", "hw_bob_attempt_2026-11-20-10-11-12.txt")
    files = {**dict.fromkeys(unread, "x" * 5000), **dict.fromkeys(read, "x = 1\n")}
    collect(pack(tmp_path / "in.zip", files), ONE)
    assert sum(unpacked) == 6 * len(read)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files."""
    folder = lay(tmp_path / "scratch", {})
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def a_class(root: Path, form: str) -> Path:
    """A class of three, as a zip or as a folder with two zips."""
    if form == "zip":
        return pack(root / "in.zip", texts("ana.py", "bob.py", "zoe.py"))
    lay(root / "in", texts("zoe.py"))
    pack(root / "in" / "ana.zip", texts("gqa.py"))
    pack(root / "in" / "bob.zip", texts("gqa.py"))
    return root / "in"


@pytest.mark.parametrize("form", ["zip", "folder"])
@pytest.mark.parametrize("error", [None, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("place", ["zipfile.ZipFile.open", "pathlib.Path.read_bytes"])
def test_nothing_is_left_behind(
    place: str,
    error: type[BaseException] | None,
    form: str,
    scratch: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No temporary folder survives: not an error or Ctrl-C while a zip is unpacked or read."""
    where = a_class(tmp_path, form)
    owner, name = place.rsplit(".", 1)
    real = getattr(zipfile.ZipFile if "zip" in owner else Path, name)
    seen: list[int] = []

    def called(*args: Any) -> Any:
        seen.append(len(list(scratch.iterdir())))
        if error and len(seen) == 2:
            raise error
        return real(*args)

    monkeypatch.setattr(place, called)
    with pytest.raises(error) if error else nullcontext():
        collect(where, ONE)
    assert max(seen) == 1
    assert list(scratch.iterdir()) == []


def test_a_refused_zip_leaves_nothing_behind(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a class's nor a student's, when it turns out to be too large."""
    monkeypatch.setattr(archives, "MOST_BYTES", 10)
    with pytest.raises(DrillError, match="unpacks to more than 10"):
        collect(a_class(tmp_path, "zip"), ONE)
    check(
        collect_single(pack(tmp_path / "eve.zip", texts("a/b/gqa.py")), ONE),
        {"eve": "~unpacks to more than 10"},
    )
    assert list(scratch.iterdir()) == []


def test_zips_of_students_are_unpacked_in_turn(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk holds the files of one student at a time."""
    held: list[int] = []
    write_bytes = Path.write_bytes

    def written(path: Path, data: bytes) -> int:
        size = write_bytes(path, data)
        held.append(sum(file.stat().st_size for file in scratch.rglob("*") if file.is_file()))
        return size

    where = a_class(tmp_path, "folder")
    monkeypatch.setattr(Path, "write_bytes", written)
    collect(where, ONE)
    assert held == [len("# gqa.py\n")] * 2


def test_a_full_disk_is_told(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence names the zip and the way out; so it does where no temporary folder can be."""
    where = a_class(tmp_path, "zip")

    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(DrillError, match=r"in\.zip cannot be unpacked: No space left.*TMPDIR"):
            collect(where, ONE)
    assert list(scratch.iterdir()) == []
    scratch.rmdir()
    with pytest.raises(DrillError, match=r"in\.zip cannot be unpacked: No such file.*TMPDIR"):
        collect(where, ONE)


def test_random_damage(tmp_path: Path) -> None:
    """Whatever bytes of a zip are changed, it is read or refused in a sentence: nothing else is raised."""
    random = Random(1)
    data = made(
        *(
            Entry(
                f"s{number}/gqa.py".encode(), deflated(TEXT * number), method=8, plain=TEXT * number
            )
            for number in range(1, 5)
        )
    )
    outcomes = {"read": 0, "refused": 0, "trouble": 0}
    for _ in range(400):
        changed = bytearray(data)
        for _ in range(random.choice((1, 1, 2, 8))):
            changed[random.randrange(len(changed))] = random.choice(
                (0, 1, 0x7F, 0xFF, random.randrange(256))
            )
        cut = random.choice((None, None, random.randrange(len(changed))))
        (tmp_path / "in.zip").write_bytes(changed[:cut])
        try:
            got = collect(tmp_path / "in.zip", ONE).submissions
        except DrillError as error:
            assert re.match(r"in\.zip |.*in\.zip holds no submission", str(error), re.DOTALL)  # noqa: PT017 -- most are read
            outcomes["refused"] += 1
            continue
        outcomes["trouble" if any(one.trouble for one in got) else "read"] += 1
        assert all(set((one.source or "y = 2").split("\n")) <= {"y = 2", ""} for one in got)
    assert min(outcomes.values()) > 20


# Nothing is lost


def tree(random: Random) -> dict[str, str]:
    """Files with names of all layouts, in folders of all kinds; no name is a file and a folder."""
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


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("challenges", [pytest.param(ONE, id="one"), pytest.param(TWO, id="two")])
def test_nothing_is_lost(challenges: tuple[Challenge, ...], seed: int, tmp_path: Path) -> None:
    """Every Python file is one submission's, or is named in a trouble or among what was ignored; what was read is that file; names are unique."""
    random = Random(seed)
    for number in range(25):
        files = tree(random)
        for where in (lay(tmp_path / str(number), files), pack(tmp_path / f"{number}.zip", files)):
            try:
                got = collect(where, challenges)
            except DrillError as error:
                assert "holds no submission" in str(error)  # noqa: PT017 -- most hold some
                assert not any(
                    name.endswith(".py") and not name.rpartition("/")[2].startswith(".")
                    for name in files
                )
                continue
            read = [one for one in got.submissions if one.source is not None]
            assert all(one.source == files[one.file] for one in read)
            assert len({one.file for one in read}) == len(read)
            folded = {
                (unicodedata.normalize("NFC", one.student).casefold(), one.challenge)
                for one in got.submissions
            }
            assert (
                len(folded)
                == len(got.submissions)
                == len(challenges) * len({one.student for one in got.submissions})
            )
            for name in files:
                if name.endswith(".py"):
                    places = (
                        [one.file for one in read].count(name),
                        sum(one.startswith(f"{name} (") for one in got.ignored),
                    )
                    assert sum(places) == 1 or (
                        sum(places) == 0 and named_in_trouble(name, got.submissions)
                    ), (name, got)


def named_in_trouble(path: str, submissions: Sequence[StudentSubmission]) -> bool:
    """Whether a sentence names the file, by its path within what its student handed in."""
    tail = re.escape(
        re.sub(
            r"^(li_1_\d_|A_7_assignsubmission_file_|q_cai_attempt_[\d-]+_)(?!/|\.py)|^[^/]*/",
            "",
            path,
        )
    )
    return any(
        re.search(rf"(^|[\s:]){tail}([,.\s]|$)", one.trouble) or path in one.unsettled
        for one in submissions
    )


def test_no_warning_is_raised_for_odd_archives(tmp_path: Path) -> None:
    """zipfile warns of names that stand twice when it writes, and must not when it reads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
            for _ in range(2):
                archive.writestr("ana.py", "x = 1\n")
    check(collect(tmp_path / "in.zip", ONE), {"ana": "~ana.py is 2 times in in.zip"})
