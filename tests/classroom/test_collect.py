"""What a class handed in: every layout, names of all kinds, hostile archives and folders; nothing is lost and nothing is read that must not be."""

import json
import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.support.collect import ONE, TWO, Files, a_class, check, lay, pack, texts
from trainer.classroom.collect import Collected, collect, collect_single
from trainer.classroom.records import StudentSubmission
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError

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
