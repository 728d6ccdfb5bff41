"""Tests of finding the uploads of a class: common folders, dates, links, and unreadable files."""

import io
import os
import re
import stat
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.collect import (
    ONE,
    TWO,
    Entry,
    Files,
    check_collected,
    named_files,
    write_files,
    write_zip,
    zip_bytes,
)
from trainer.classroom import uploads
from trainer.classroom.collect import collect, collect_single
from trainer.model.errors import DrillError
from trainer.practice.learner_files import MOST_SOURCE_BYTES


@pytest.mark.parametrize(
    ("files", "students"),
    [
        pytest.param(named_files("ana/gqa.py"), ["ana"], id="one student's folder"),
        pytest.param(named_files("ana/gqa.py", "ana/x.py"), ["ana"], id="and an additional file"),
        pytest.param(named_files("ana/p/x.py"), ["ana"], id="a folder in a folder"),
        pytest.param(
            named_files("class/ana.py", "class/bob.py"), ["ana", "bob"], id="two files in a folder"
        ),
        pytest.param(
            named_files("class/ana/x.py", "class/bob/n.pdf"),
            ["ana", "bob"],
            id="two folders in a folder",
        ),
        pytest.param(
            named_files("class/ana_1_2_gqa.py"), ["ana"], id="one Canvas file in a folder"
        ),
        pytest.param(
            named_files("A B_1_assignsubmission_file_/a.py", "A B_1_assignsubmission_file_/b.py"),
            ["A B"],
            id="one Moodle folder",
        ),
        pytest.param(
            named_files("class/A B_1_assignsubmission_file_/a.py"),
            ["A B"],
            id="one Moodle folder in a folder",
        ),
        pytest.param(
            {
                **named_files("__MACOSX/class/._ana.py", "class/ana.py", "class/bob.py"),
                ".DS_Store": "",
            },
            ["ana", "bob"],
            id="junk next to the folder",
        ),
        pytest.param(
            named_files("ana", "ana/a.py", "ana/b.py"),
            ["ana"],
            id="a file and a folder of the same name",
        ),
        pytest.param(
            {"class": None, "class/ana": None, "class/bob": None},
            ["ana", "bob"],
            id="only folders",
        ),
        pytest.param(
            named_files("./ana.py", "./bob/x.py", "cai//y.py"),
            ["ana", "bob", "cai"],
            id="dots and double slashes",
        ),
    ],
)
def test_common_folder_of_a_zip_is_recognised(
    files: Files, students: list[str], tmp_path: Path
) -> None:
    """The folder of a class is not confused with the folder of a student."""
    submissions = collect(write_zip(tmp_path / "in.zip", files), ONE).submissions
    assert [submission.student for submission in submissions] == students


def test_only_a_learning_management_system_gives_a_time(tmp_path: Path) -> None:
    """Blackboard writes the time into the name, and Moodle into the zip, which has local time.

    The time of a file on the disk, and of a zip that a person made, never counts. There is no time
    if the date in a zip is invalid.
    """
    day = datetime(2026, 11, 20, 10, 11, 12).timestamp()
    blackboard = "q_bob_attempt_2026-11-20-10-11-12_x.py"
    invalid = "q_cai_attempt_2026-99-20-10-11-12_x.py"
    moodle = "Ana Lee_7_assignsubmission_file_/gqa.py"
    own_zip = io.BytesIO()
    with zipfile.ZipFile(own_zip, "w") as archive:
        archive.writestr(zipfile.ZipInfo("gqa.py", (2030, 1, 1, 0, 0, 0)), "x = 1")
    in_moodle = {"Bo Li_8_assignsubmission_file_/my.zip": own_zip.getvalue()}
    raw = tmp_path / "raw.zip"
    raw.write_bytes(zip_bytes(Entry(moodle.encode(), date=0)))
    for path, times in (
        (
            write_files(tmp_path / "in", named_files("ana.py", blackboard, invalid)),
            [None, day, None],
        ),
        (write_files(tmp_path / "moodle", named_files(moodle)), [None]),
        (write_zip(tmp_path / "plain.zip", named_files("ana.py")), [None]),
        (write_zip(tmp_path / "moodle.zip", named_files(moodle)), [day]),
        (write_zip(tmp_path / "nested.zip", in_moodle), [None]),
        (raw, [None]),
    ):
        assert [submission.submitted for submission in collect(path, ONE).submissions] == times


def test_canvas_marks_late_files(tmp_path: Path) -> None:
    """The student's own name of the file does not count."""
    files = named_files("leeana_LATE_1_10_gqa.py", "libo_2_11_x_LATE_3_4_gqa.py")
    submissions = collect(write_files(tmp_path / "in", files), ONE).submissions
    assert [(each.student, each.is_marked_late) for each in submissions] == [
        ("leeana", True),
        ("libo", False),
    ]


CONTENTS = [
    pytest.param(b"x = 1\r\n", "x = 1\r\n", id="text"),
    pytest.param(b"\xef\xbb\xbfx = 1\n", "x = 1\n", id="with a byte-order mark"),
    pytest.param(b"#" * MOST_SOURCE_BYTES, "#" * MOST_SOURCE_BYTES, id="the largest allowed file"),
    pytest.param(b"", "~gqa.py is empty", id="empty"),
    pytest.param(b" \n\t", "~gqa.py is empty", id="blank"),
    pytest.param(b"x\0y", "~gqa.py holds a NUL byte at offset 1", id="a NUL byte"),
    pytest.param(b"ab\xff", "~gqa.py is not UTF-8: byte 0xff at offset 2", id="not UTF-8"),
    pytest.param(b"#" * (MOST_SOURCE_BYTES + 1), "~gqa.py.* 1,048,57[67]", id="too large"),
]


@pytest.mark.parametrize(("content", "expected"), CONTENTS)
def test_content_is_read_or_refused(content: bytes, expected: str, tmp_path: Path) -> None:
    """A folder, the zip of a class and the zip of a student give the same text or message.

    Messages do not name folders of this machine.
    """
    root = write_files(tmp_path / "in", {"ana/gqa.py": content})
    write_zip(root / "bob.zip", {"gqa.py": content}, compression=zipfile.ZIP_DEFLATED)
    files = {"ana/gqa.py": content}
    archive = write_zip(tmp_path / "in.zip", files, compression=zipfile.ZIP_DEFLATED)
    submissions = [*collect(root, ONE).submissions, *collect(archive, ONE).submissions]
    assert len(submissions) == 3
    for submission in submissions:
        if expected.startswith("~"):
            assert submission.source is None
            assert re.search(expected[1:], submission.trouble), submission.trouble
            assert str(tmp_path) not in submission.trouble
        else:
            assert (submission.source, submission.trouble) == (expected, "")


def test_single_student_hands_in_a_file_or_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the student is the name of the file or the folder, also if the path is `.`.

    A missing path and other files give an error.
    """
    root = write_files(tmp_path / "ana", named_files("gqa.py", "n.pdf"))
    check_collected(collect_single(root / "gqa.py", ONE), {"gqa": "gqa.py"})
    missing = "~^There is no kv_cache.py, only gqa.py"
    check_collected(
        collect_single(root / "gqa.py", TWO), {"gqa: gqa": "gqa.py", "gqa: kv-cache": missing}
    )
    monkeypatch.chdir(root)
    check_collected(collect_single(Path(), ONE), {"ana": "gqa.py"}, ["n.pdf (not a Python file)"])
    monkeypatch.setattr(uploads, "MOST_FILES", 1)
    check_collected(collect_single(root, ONE), {"ana": "~^The folder holds more than 1 files"})
    for name, message in (
        ("no", "cannot be read: No such file"),
        ("n.pdf", "is neither a folder nor a .zip nor a .py"),
    ):
        with pytest.raises(DrillError, match=rf"{name} {message}"):
            collect_single(root / name, ONE)
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    (root / "gqa.py").unlink()
    (root / "n.pdf").unlink()
    check_collected(collect_single(root, ONE), {"ana": r"~^link\.py is a symbolic link"})


def test_links_out_of_a_students_files_are_refused(tmp_path: Path) -> None:
    """A link to another file, to a folder or to another student is not followed."""
    write_files(tmp_path, {"secret.py": "SECRET = 1\n", "else/gqa.py": "SECRET = 2\n"})
    root = write_files(
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
    write_zip(tmp_path / "secret.zip", {"gqa.py": "SECRET = 3\n"})
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
    check_collected(
        got,
        dict(sorted({**dict.fromkeys(refused, link), "own": "o = 1", "zoe": "z = 1"}.items())),
        [
            "bob/x.py (not requested)",
            "gone/n.pdf (not a Python file)",
            "notes (notes is a symbolic link that does not lead to a file of the same student."
            " Hand in the file itself.)",
            "own/answer.py (not requested)",
        ],
    )
    assert "SECRET" not in repr(got)
    (ana,) = [submission for submission in got.submissions if submission.student == "ana"]
    assert ana.trouble.startswith("ana.py is a symbolic link")


def test_folder_of_the_class_may_be_a_link(tmp_path: Path) -> None:
    """The teacher named the folder on the command line, so the link is followed."""
    (tmp_path / "link").symlink_to(write_files(tmp_path / "in", named_files("ana/gqa.py")))
    check_collected(collect(tmp_path / "link", ONE), {"ana": "ana/gqa.py"})


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    """Only regular files are opened. Opening a pipe would wait for a writer forever."""
    root = write_files(tmp_path / "in", named_files("zoe.py", "eve/gqa.py"))
    for name in ("ana.py", "bob/gqa.py", "cai.zip", "dan/w.zip", "eve/notes", "loose"):
        (root / name).parent.mkdir(exist_ok=True)
        os.mkfifo(root / name)
    check_collected(
        collect(root, ONE),
        {
            "ana": "~ana.py is not a regular file",
            "bob": "~bob/gqa.py is not a regular file",
            "cai": "~cai.zip is not a regular file",
            "dan": "~dan/w.zip is not a regular file",
            "eve": "eve/gqa.py",
            "zoe": "zoe.py",
        },
        ["eve/notes (not a Python file)", "loose"],
    )


def forbid(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all permissions from files whose names begin with `no`, also for the user root."""
    for name in ("scandir", "listdir"):
        real = getattr(os, name)

        def refused(path: str | Path, real: Callable[[str | Path], object] = real) -> object:
            if Path(str(path)).name.startswith("no"):
                raise PermissionError(13, "Permission denied")
            return real(path)

        monkeypatch.setattr(os, name, refused)
    read_bytes = Path.read_bytes

    def read(path: Path) -> bytes:
        if path.name.startswith("no"):
            raise PermissionError(13, "Permission denied")
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", read)
    if os.geteuid() != 0:
        for path in sorted(root.rglob("no*"), reverse=True):
            path.chmod(0)


def test_file_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the student of an unreadable file or folder gets an error.

    Next to the requested file, an unreadable file is ignored with a reason.
    """
    root = write_files(
        tmp_path / "in",
        named_files(
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
    check_collected(
        got,
        {**expected, "nodir": denied.format("nodir/"), "zoe": "zoe.py"},
        ["cai/no/ (cai/no/ cannot be read: Permission denied. Check its permissions.)"],
    )
    with pytest.raises(DrillError, match="notes cannot be read: Permission denied"):
        collect(write_files(tmp_path / "notes", {}), ONE)
    with pytest.raises(DrillError, match="notes cannot be read: Permission denied"):
        collect_single(tmp_path / "notes", ONE)


def test_folder_with_too_many_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of files of a student has a limit, in all folders together."""
    monkeypatch.setattr(uploads, "MOST_FILES", 6)
    root = write_files(
        tmp_path / "in",
        named_files(
            "zoe/gqa.py",
            *(f"ana/{index}.txt" for index in range(7)),
            *(f"bob/{index}/x.txt" for index in range(5)),
            *(f"cai/{index}.py" for index in range(5)),
            "cai/gqa.py",
        ),
    )
    expected = {
        name: f"~{name}/ holds more than 6 files. Hand in the Python file itself"
        for name in ("ana", "bob")
    }
    check_collected(
        collect(root, ONE),
        {**expected, "cai": "cai/gqa.py", "zoe": "zoe/gqa.py"},
        [f"cai/{index}.py (not requested)" for index in range(5)],
    )


def test_folder_of_an_earlier_run_is_ignored(tmp_path: Path) -> None:
    """The folder has both `class.json` and `results/`. A student's folder may have one of them."""
    files = {
        **named_files("ana/results/gqa.py", "bob/class.json", "bob/gqa.py"),
        "out/class.json": "{}",
        "out/results/a.json": "{}",
        "begun/class.json": "{}",
        "begun/results": None,
        "zoe/class.json": "{}",
        "zoe/results": "{}",
        **named_files("zoe/gqa.py"),
    }
    for path in (write_files(tmp_path / "in", files), write_zip(tmp_path / "in.zip", files)):
        check_collected(
            collect(path, ONE),
            {"ana": "ana/results/gqa.py", "bob": "bob/gqa.py", "zoe": "zoe/gqa.py"},
            [
                "begun/ (results of an earlier run)",
                "bob/class.json (not a Python file)",
                "out/ (results of an earlier run)",
                "zoe/class.json, zoe/results (not Python files)",
            ],
        )


def test_common_folder_is_recognised_next_to_a_path_out_of_the_archive(tmp_path: Path) -> None:
    """The path that leads out of the archive is ignored with a reason."""
    files = named_files("class/ana.py", "class/bob.py", "../eve.py")
    expected = {"ana": "class/ana.py", "bob": "class/bob.py"}
    sentence = "../eve.py leads out of the archive. Hand in the Python file itself."
    check_collected(collect(write_zip(tmp_path / "in.zip", files), ONE), expected, [sentence])
