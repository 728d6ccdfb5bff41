"""What a class handed in: every layout, names of all kinds, hostile archives and folders; nothing is lost and nothing is read that must not be."""

import os
import re
import stat
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.collect import ONE, TWO, Entry, Files, check, lay, made, pack, texts
from trainer.classroom import uploads
from trainer.classroom.collect import collect, collect_single
from trainer.model.errors import DrillError
from trainer.practice.learner_files import MOST_SOURCE_BYTES


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


def test_a_stray_next_to_the_folder_of_a_class(tmp_path: Path) -> None:
    """It does not stop the folder from being recognised."""
    files = texts("class/ana.py", "class/bob.py", "../eve.py")
    expected = {"ana": "class/ana.py", "bob": "class/bob.py"}
    sentence = "../eve.py leads out of the archive. Hand in the Python file itself."
    check(collect(pack(tmp_path / "in.zip", files), ONE), expected, [sentence])
