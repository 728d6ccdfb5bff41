"""Tests of finding and reading files in a folder and in a zip: odd names, limits, hostile zips."""

import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from attn_drill.classroom import handed_in
from attn_drill.classroom.handed_in import HandedIn, files_in, inside, single_file
from attn_drill.model.errors import DrillError
from attn_drill.practice.learner_files import MOST_SOURCE_BYTES
from tests.support.classroom import Files, write_files, write_zip
from tests.support.rows import each_row

TEXT = b"x = 1\n"


class Member:
    """A member of a zip that is written byte by byte, so that its data can be wrong."""

    def __init__(
        self,
        name: bytes,
        data: bytes = TEXT,
        *,
        method: int = 0,
        flags: int = 0,
        size: int | None = None,
        crc: int | None = None,
    ) -> None:
        self.name, self.data = name, data
        crc = zlib.crc32(data) if crc is None else crc
        size = len(data) if size is None else size
        date = 0x5D74
        self.middle = struct.pack("<5H3L", 20, flags, method, 0, date, crc, len(data), size)

    def local(self) -> bytes:
        """Return the header and the data."""
        return (
            b"PK\3\4" + self.middle + struct.pack("<2H", len(self.name), 0) + self.name + self.data
        )

    def central(self, offset: int) -> bytes:
        """Return the entry in the table of contents."""
        numbers = (len(self.name), 0, 0, 0, 0, 0, offset)
        head = b"PK\1\2" + struct.pack("<H", 0x0314) + self.middle
        return head + struct.pack("<5H2L", *numbers) + self.name


def zip_bytes(*members: Member) -> bytes:
    """Return the bytes of a zip with these members."""
    data, contents = b"", b""
    for member in members:
        contents += member.central(len(data))
        data += member.local()
    end = struct.pack("<4H2LH", 0, 0, len(members), len(members), len(contents), len(data), 0)
    return data + contents + b"PK\5\6" + end


def zeros(size: int) -> bytes:
    """Return a deflate stream of zeros that repeats one block of 64 MiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 26)) + packer.flush(zlib.Z_FULL_FLUSH)
    end = zlib.compressobj(9, zlib.DEFLATED, -15)
    return block * (size >> 26) + end.flush()


def read(file: HandedIn) -> str:
    """Return the text of a file, or `~` and the reason why it cannot be read."""
    try:
        return file.read().decode()
    except DrillError as error:
        return f"~{error}"


@pytest.mark.parametrize("form", ["folder", "zip", "zip of a student"])
def test_a_folder_and_a_zip_look_alike(form: str, tmp_path: Path) -> None:
    """Hidden files and files of tools are left out."""
    kept = {"ana.py": "a", "Zoë/p/q/x.py": "z", "n.pdf": "n"}
    junk = [".h.py", ".git/x.py", "ana/__pycache__/x.py", "venv/x.py", "__MACOSX/._ana.py"]
    files: Files = {**kept, **dict.fromkeys(junk, "junk")}
    if form == "folder":
        listed = files_in(write_files(tmp_path / "in", files))
    elif form == "zip":
        listed = files_in(write_zip(tmp_path / "in.ZIP", files))
    else:
        listed = inside(single_file(write_zip(tmp_path / "in.zip", files)))
    top = "in.zip/" if form == "zip of a student" else ""
    assert {file.path.removeprefix(top): read(file) for file in listed} == kept
    assert [file.path for file in listed] == sorted(file.path for file in listed)
    assert listed[-1].suffix == ".pdf"
    assert [bool(file.modified) for file in listed] == [form == "zip"] * 3


@each_row(
    "member, expected",
    {
        "upwards": (Member(b"../bad.py"), r"\.\./bad.py leads out of the archive"),
        "upwards, later": (Member(b"a/../../x.py"), "leads out of the archive"),
        "absolute": (Member(b"/bad.py"), "leads out of the archive"),
        "a drive": (Member(b"C:\\bad.py"), "leads out of the archive"),
        "with backslashes": (Member(b"..\\bad.py"), "leads out of the archive"),
        "encrypted": (Member(b"bad.py", flags=1), "bad.py .* encrypted"),
        "bzip2, which has no limit": (Member(b"bad.py", method=12), "compressed by a method"),
        "a wrong checksum": (Member(b"bad.py", crc=1), "Bad CRC-32"),
        "no deflate": (Member(b"bad.py", b"\xff" * 9, method=8), "cannot be read"),
        "a bomb": (Member(b"bad.py", zeros(10 << 30), method=8, size=100), "Bad CRC-32"),
        "a bomb that says its size": (
            Member(b"bad.py", zeros(10 << 30), method=8, size=0xFFFFFFFE),
            "more than 1,048,576 bytes",
        ),
    },
)
def test_bad_member_is_refused_alone(member: Member, expected: str, tmp_path: Path) -> None:
    """The members before and after it are read, in the zip of a class and of a student."""
    archive = tmp_path / "in.zip"
    archive.write_bytes(zip_bytes(Member(b"ana.py"), member, Member(b"zoe.py")))
    for listed in (files_in(archive), inside(single_file(archive))):
        with unpacked() as sizes:
            texts = [read(file) for file in listed]
        assert texts.count("x = 1\n") == 2
        (problem,) = [text for text in texts if text.startswith("~")]
        assert re.search(expected, problem)
        assert sum(sizes) <= MOST_SOURCE_BYTES + (1 << 16)


@contextmanager
def unpacked() -> Iterator[list[int]]:
    """Note the sizes of all pieces that zipfile unpacks."""
    sizes: list[int] = []
    real = zipfile.ZipExtFile._read1  # type: ignore[attr-defined]

    def counted(file: zipfile.ZipExtFile, size: int) -> bytes:
        data: bytes = real(file, size)
        sizes.append(len(data))
        return data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zipfile.ZipExtFile, "_read1", counted)
        yield sizes


GOOD = zip_bytes(Member(b"ana.py"), Member(b"bob.py"))


@each_row(
    "data",
    {
        "empty": b"",
        "text": TEXT,
        "cut off": GOOD[: len(GOOD) // 2],
        "no table of contents": GOOD.replace(b"PK\1\2", b"PK\1\3"),
        "a table beyond the file": GOOD[:-10] + b"\xff" * 8 + GOOD[-2:],
        "a name that is not UTF-8": zip_bytes(Member(b"\xff.py", flags=0x800)),
    },
)
def test_broken_archive_is_refused(data: bytes, tmp_path: Path) -> None:
    """One sentence names the archive. A student's zip affects only the student."""
    archive = tmp_path / "in.zip"
    archive.write_bytes(data)
    with pytest.raises(DrillError, match=r"in\.zip cannot be read: .*\. Name a folder"):
        files_in(archive)
    (zipped,) = inside(single_file(archive))
    assert zipped.path == "in.zip"
    assert zipped.problem.startswith("in.zip cannot be read: ")


def test_names_in_a_zip_without_a_flag(tmp_path: Path) -> None:
    """Without the UTF-8 flag, a name is read as UTF-8 if possible, otherwise as code page 437."""
    archive = tmp_path / "in.zip"
    for name, path in ((b"Zo\xc3\xa9", "Zoé"), (b"Zo\x82", "Zoé"), (b"a\\b", "a/b")):
        archive.write_bytes(zip_bytes(Member(name + b".py")))
        assert [file.path for file in files_in(archive)] == [f"{path}.py"]


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A student's zip with too many members is not even opened."""
    monkeypatch.setattr(handed_in, "MOST_FILES", 2)
    files = dict.fromkeys(("a.py", "b.py", "c.py"), "x")
    for place in (write_files(tmp_path / "in", files), write_zip(tmp_path / "in.zip", files)):
        with pytest.raises(DrillError, match=r"in(\.zip)? holds more than 2 files"):
            files_in(place)
    (zipped,) = inside(single_file(tmp_path / "in.zip"))
    assert zipped.problem == "in.zip holds too many files."


def test_links_and_pipes_are_not_opened(tmp_path: Path) -> None:
    """A link may lead to the files of somebody else, and a pipe waits for a writer forever."""
    write_files(tmp_path, {"secret.py": "SECRET", "else/gqa.py": "SECRET"})
    root = write_files(tmp_path / "in", {"zoe.py": "z"})
    (root / "ana.py").symlink_to(tmp_path / "secret.py")
    (root / "cai").symlink_to(tmp_path / "else")
    (root / "dan.py").symlink_to("nothing")
    os.mkfifo(root / "pipe.py")
    (tmp_path / "link").symlink_to(root)  # the teacher named it, so it is followed
    for place in (root, tmp_path / "link"):
        listed = {file.path: read(file) for file in files_in(place)}
        assert listed.pop("zoe.py") == "z"
        assert listed == {
            name: f"~{name} is a link or no regular file. Hand in the file itself."
            for name in ("ana.py", "cai", "dan.py", "pipe.py")
        }


def test_folder_without_permission_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The teacher can change its permissions."""

    def refused(path: str) -> object:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(DrillError, match=r"ana cannot be read: .*Permission denied: '.*/ana'\."):
        files_in(write_files(tmp_path / "ana", {"x.py": "x"}))


@pytest.mark.parametrize("name", ["no", "x.py"])
def test_other_places_are_refused(name: str, tmp_path: Path) -> None:
    """The sentence has the possible layouts."""
    write_files(tmp_path, {"x.py": "x"})
    with pytest.raises(DrillError, match=rf"no folder or \.zip .*{name}\. .*DIR/<student>\.py"):
        files_in(tmp_path / name)
