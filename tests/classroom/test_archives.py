"""Tests of unpacking zips: names, damaged and hostile archives, limits, and temporary folders."""

import os
import re
import struct
import warnings
import zipfile
import zlib
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.collect import (
    ONE,
    TWO,
    Entry,
    check_collected,
    end_record,
    named_files,
    write_class,
    write_files,
    write_zip,
    zip_bytes,
)
from trainer.classroom import archives
from trainer.classroom.collect import collect, collect_single
from trainer.model.errors import DrillError
from trainer.practice.learner_files import MOST_SOURCE_BYTES


def test_names_in_a_zip_without_a_flag(tmp_path: Path) -> None:
    """Without the UTF-8 flag, a name is read as UTF-8 if possible, otherwise as code page 437.

    A name with the flag that is not UTF-8 makes the whole archive unreadable.
    """
    path = tmp_path / "in.zip"
    for name, student in ((b"Zo\xc3\xa9", "Zoé"), (b"Zo\x82", "Zoé"), (b"\xff", "\xa0")):
        path.write_bytes(zip_bytes(Entry(name + b".py")))
        assert [submission.student for submission in collect(path, ONE).submissions] == [student]
    # In code page 437, these characters are the bytes of é.
    path.write_bytes(zip_bytes(Entry("├⌐.py".encode(), flags=0x800)))
    assert [submission.student for submission in collect(path, ONE).submissions] == ["├⌐"]
    path.write_bytes(zip_bytes(Entry(b"\xff.py", flags=0x800)))
    with pytest.raises(DrillError, match=r"in\.zip cannot be read as a zip: .*utf-8"):
        collect(path, ONE)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "is not a zip", id="empty"),
        pytest.param(b"x = 1\n", "is not a zip", id="text"),
        pytest.param(b"PK\5\6" + bytes(18), "holds no submission", id="no members"),
    ],
)
def test_zip_without_members_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    """A file with the name of a zip that holds nothing gives an error in one sentence."""
    (tmp_path / "in.zip").write_bytes(data)
    with pytest.raises(DrillError, match=rf"in\.zip .*{message}"):
        collect(tmp_path / "in.zip", ONE)
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(DrillError, match=r"pipe\.zip is not a regular file"):
        collect(tmp_path / "pipe.zip", ONE)


def deflated(data: bytes) -> bytes:
    """Return the data as a raw deflate stream."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def zeros(size: int) -> bytes:
    """Return a deflate stream of zeros that repeats one block.

    Args:
        size: the number of zeros, a multiple of 64 MiB.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 26)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (size >> 26) + deflated(b"")


TEXT = b"y = 2\n"
BZ2 = b"BZh9" + bytes(40)
BAD_MEMBERS = [
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
        id="not a deflate stream",
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
        id="claims to be longer",
    ),
    pytest.param(
        Entry(b"bad.py", deflated(TEXT), method=8, plain=TEXT, size=3),
        "~bad.py in in.zip is damaged: Bad CRC-32",
        id="claims to be shorter",
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


@pytest.mark.parametrize(("entry", "expected"), BAD_MEMBERS)
def test_bad_member_is_refused_alone(entry: Entry, expected: str, tmp_path: Path) -> None:
    """Only the student of a bad member gets an error; the members before and after it are read.

    A student's own zip with such a member is refused too.
    """
    (tmp_path / "in.zip").write_bytes(zip_bytes(Entry(b"ana.py"), entry, Entry(b"zoe.py")))
    submissions = collect(tmp_path / "in.zip", ONE).submissions
    assert len(submissions) == 3
    good = [submission for submission in submissions if submission.student in ("ana", "zoe")]
    assert [submission.source for submission in good] == ["x = 1\n"] * 2
    (bad,) = [submission for submission in submissions if submission not in good]
    assert bad.source is None
    assert re.search(expected[1:], bad.trouble), bad.trouble
    (write_files(tmp_path / "in", {}) / "in.zip").write_bytes(zip_bytes(entry))
    (own,) = collect(tmp_path / "in", ONE).submissions
    assert own.source is None
    assert re.search(expected[1:].replace("~bad", "bad"), own.trouble), own.trouble


def test_path_out_of_the_archive_does_not_change_another_student(tmp_path: Path) -> None:
    """A path that leads out of the archive and back to a student's folder is a separate student."""
    honest = (Entry(b"ana/gqa.py"), Entry(b"li_1_2_gqa.py"))
    strays = [b"../ana/gqa.py", b"../li_1_3_gqa.py", b"../n.pdf", b"..", b"../eve/", b"/ana/gqa.py"]
    (tmp_path / "in.zip").write_bytes(zip_bytes(*honest, *map(Entry, strays)))
    sentence = "leads out of the archive. Hand in the Python file itself."
    check_collected(
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
    troubles = {submission.trouble for submission in several if submission.student == "../ana/gqa"}
    assert troubles == {f"../ana/gqa.py {sentence}"}


def test_two_spellings_of_a_path_are_the_same_name(tmp_path: Path) -> None:
    """`bad/gqa.py` and `bad//./gqa.py` are the same file, so neither is read."""
    entries = (Entry(b"ana.py"), Entry(b"bad/gqa.py", TEXT), Entry(b"bad//./gqa.py"))
    (tmp_path / "in.zip").write_bytes(zip_bytes(*entries))
    expected = {"ana": "x = 1", "bad": "~bad/gqa.py is 2 times in in.zip"}
    check_collected(collect(tmp_path / "in.zip", ONE), expected)


ODD_NAMES = [
    pytest.param("n" * 300 + "/gqa.py", id="longer than a file name on a disk"),
    pytest.param("d/" * 500 + "gqa.py", id="500 folders deep"),
    pytest.param("ana.py/gqa.py", id="below a file"),
    pytest.param("nul/gqa.py", id="a device of Windows"),
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_that_a_disk_cannot_hold_are_read(name: str, tmp_path: Path) -> None:
    """Members with names that no file on the disk can have are read like other members."""
    files = named_files("bob.py", "eve.py", name)
    got = collect(write_zip(tmp_path / "in.zip", files), ONE)
    assert {submission.file: submission.source for submission in got.submissions} == files


def test_path_that_occurs_twice_is_not_read(tmp_path: Path) -> None:
    """Neither of two members with the same path is read, and a person must choose.

    In a student's own zip, the student must hand in again.
    """
    (tmp_path / "in.zip").write_bytes(
        zip_bytes(
            Entry(b"ana.py"), Entry(b"bad/gqa.py", TEXT), Entry(b"bad/gqa.py"), Entry(b"bad/x.py")
        )
    )
    got = collect(tmp_path / "in.zip", ONE)
    check_collected(
        got,
        {
            "ana": "x = 1",
            "bad": "~bad/gqa.py is 2 times in in.zip.* None of them is graded. Remove or rename",
        },
        ["bad/x.py (not requested)"],
    )
    assert [submission.is_ungraded for submission in got.submissions] == [False, True]
    write_files(tmp_path / "class", {})
    (tmp_path / "class" / "bad.zip").write_bytes(
        zip_bytes(Entry(b"gqa.py", TEXT), Entry(b"gqa.py"))
    )
    (own,) = collect(tmp_path / "class", ONE).submissions
    assert own.is_ungraded
    assert own.trouble.startswith("gqa.py is 2 times in bad.zip")


def zip64(size: int, offset: int, data: bytes) -> bytes:
    """Return a zip that claims this size of its table of contents, in 64 bits."""
    record = b"PK\6\6" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, 1, 1, size, offset)
    return (
        data
        + record
        + b"PK\6\7"
        + struct.pack("<LQL", 0, len(data), 1)
        + end_record(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
    )


GOOD = zip_bytes(Entry(b"ana.py"), Entry(b"bob/gqa.py", deflated(TEXT), method=8, plain=TEXT))
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
        zip_bytes(Entry(b"ana.py", version=255)), "zip file version 25.5", id="a future version"
    ),
    pytest.param(
        GOOD[:-22] + end_record(2, 0xFFFFFFF0, 0),
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
        + end_record(2, archives.MOST_CONTENTS_BYTES + 1, 0),
        "16,777,217 bytes; at most 16,777,216",
        id="contents of 16 MiB and one byte",
    ),
    pytest.param(
        GOOD[:-22] + end_record(1, 10, len(GOOD) - 32),
        "Truncated central directory",
        id="contents that end within a line",
    ),
    pytest.param(
        zip_bytes(Entry(b"ana.py", size=0xFFFFFFFF, extra=struct.pack("<2H", 1, 8))),
        "orrupt|unpack",
        id="zip64, half a field",
    ),
]


@pytest.mark.parametrize(("data", "message"), BROKEN)
def test_broken_archive_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    """One sentence names the archive and the cause. A student's zip affects only the student."""
    (tmp_path / "in.zip").write_bytes(data)
    with pytest.raises(DrillError, match=rf"in\.zip .*{message}"):
        collect(tmp_path / "in.zip", ONE)
    root = write_files(tmp_path / "in", named_files("zoe.py"))
    (root / "bad.zip").write_bytes(data)
    check_collected(collect(root, ONE), {"bad": rf"~bad\.zip .*{message}", "zoe": "zoe.py"})


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members, including folders, are counted during unpacking. The archive claims fewer here."""
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    data = zip_bytes(*(Entry(f"{index}.py".encode()) for index in range(4)))
    (tmp_path / "in.zip").write_bytes(data[:-14] + struct.pack("<2H", 1, 1) + data[-10:])
    with pytest.raises(DrillError, match=r"in\.zip holds more than 3 files and folders"):
        collect(tmp_path / "in.zip", ONE)
    root = write_files(tmp_path / "in", named_files("zoe.py"))
    write_zip(root / "ana.zip", named_files("a/b/c/gqa.py"))
    write_zip(root / "bob.zip", named_files("a/b/gqa.py"))
    check_collected(
        collect(root, ONE),
        {"ana": "~^ana.zip holds more than 3 files", "bob": "a/b/gqa.py", "zoe": "zoe.py"},
    )


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the sizes of all pieces that zipfile unpacked, in bytes."""
    sizes: list[int] = []
    read = zipfile.ZipExtFile._read1  # type: ignore[attr-defined]

    def counted(file: zipfile.ZipExtFile, size: int) -> bytes:
        data: bytes = read(file, size)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(zipfile.ZipExtFile, "_read1", counted)
    return sizes


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(0xFFFFFFFE, id="claims to be large"),
        pytest.param(100, id="claims to be small"),
        pytest.param(1 << 20, id="claims to be as large as allowed"),
    ],
)
def test_a_bomb_is_not_unpacked(claim: int, unpacked: list[int], tmp_path: Path) -> None:
    """Of 10 GiB of zeros, at most the bytes of one submission are unpacked."""
    (tmp_path / "in.zip").write_bytes(
        zip_bytes(Entry(b"ana.py"), Entry(b"bad.py", zeros(10 << 30), method=8, size=claim, crc=0))
    )
    check_collected(
        collect(tmp_path / "in.zip", ONE),
        {"ana": "x = 1", "bad": "~unpacks to more than 1,048,576|damaged"},
    )
    assert sum(unpacked) <= MOST_SOURCE_BYTES + 2 * (1 << 16)
    assert max(unpacked) <= 1 << 16


@pytest.mark.thorough
def test_members_that_share_their_bytes_are_refused(unpacked: list[int], tmp_path: Path) -> None:
    """An archive is refused if its members unpack to more bytes than deflate can produce.

    Here, many members share one stream, and each member quotes the header of the next.
    """
    names = [f"{index:03}.py".encode() for index in range(200)]
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
    (tmp_path / "in.zip").write_bytes(
        data + contents + end_record(len(names), len(contents), len(data))
    )
    most = 1032 * (tmp_path / "in.zip").stat().st_size
    try:
        got = collect(tmp_path / "in.zip", ONE).submissions
    except DrillError as error:
        bomb = r"in\.zip has [\d,]+ bytes and unpacks to more than [\d,]+: it would fill the disk"
        assert re.match(bomb, str(error))  # noqa: PT017 -- the other outcome is below
        assert most < sum(unpacked)
    else:  # later releases of Python refuse all members except the last
        assert all("Overlapped entries" in submission.trouble for submission in got[:-1])
    assert sum(unpacked) <= most + len(names) * (1 << 16) < 200 << 20


@pytest.mark.thorough
def test_best_possible_compression_is_accepted(tmp_path: Path) -> None:
    """Thirty submissions of the largest size, compressed a thousand times, are all read."""
    text = b"#" * MOST_SOURCE_BYTES
    entries = [
        Entry(f"{index:02}.py".encode(), deflated(text), method=8, plain=text)
        for index in range(30)
    ]
    (tmp_path / "in.zip").write_bytes(zip_bytes(*entries))
    submissions = collect(tmp_path / "in.zip", ONE).submissions
    sizes = [len(submission.source or "") for submission in submissions]
    assert sizes == [MOST_SOURCE_BYTES] * 30


def test_class_larger_than_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes of all members together have a limit, too."""
    monkeypatch.setattr(archives, "MOST_BYTES", 10)
    write_zip(tmp_path / "in.zip", {"ana.py": "x = 1\n", "bob.py": "x = 2\n"})
    with pytest.raises(DrillError, match="unpacks to more than 10"):
        collect(tmp_path / "in.zip", ONE)
    root = write_files(tmp_path / "in", named_files("ana.py"))
    write_zip(root / "bob.zip", {"gqa.py": "x = 1 # bob\n"})
    check_collected(
        collect(root, ONE),
        {"ana": "ana.py", "bob": "~bob.zip has .* bytes and unpacks to more than 10"},
    )


def test_members_that_nobody_reads_are_not_unpacked(unpacked: list[int], tmp_path: Path) -> None:
    """Only Python files and receipts are unpacked, and none in folders that tools make."""
    unread = ("ana/n.pdf", "ana/data.txt", "ana/venv/x.py", "ana/.h.py", "class.json")
    read = ("ana/gqa.py", "ana/other.py", "hw_bob_attempt_2026-11-20-10-11-12.txt")
    files = {**dict.fromkeys(unread, "x" * 5000), **dict.fromkeys(read, "x = 1\n")}
    collect(write_zip(tmp_path / "in.zip", files), ONE)
    assert sum(unpacked) == 6 * len(read)


@pytest.mark.parametrize("form", ["zip", "folder"])
@pytest.mark.parametrize("error", [None, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("place", ["zipfile.ZipFile.open", "pathlib.Path.read_bytes"])
def test_no_temporary_folder_remains(
    place: str,
    error: type[BaseException] | None,
    form: str,
    scratch: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The temporary folder is removed, also after an error or Ctrl-C while unpacking or reading."""
    class_path = write_class(tmp_path, form)
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
        collect(class_path, ONE)
    assert max(seen) == 1
    assert list(scratch.iterdir()) == []


def test_no_temporary_folder_remains_of_a_refused_zip(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The zip of a class or of a student is too large here, which shows only during unpacking."""
    monkeypatch.setattr(archives, "MOST_BYTES", 10)
    with pytest.raises(DrillError, match="unpacks to more than 10"):
        collect(write_class(tmp_path, "zip"), ONE)
    check_collected(
        collect_single(write_zip(tmp_path / "eve.zip", named_files("a/b/gqa.py")), ONE),
        {"eve": "~unpacks to more than 10"},
    )
    assert list(scratch.iterdir()) == []


def test_full_disk_gives_an_error(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence names the zip and the next step, also if there is no temporary folder."""
    class_path = write_class(tmp_path, "zip")

    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(DrillError, match=r"in\.zip cannot be unpacked: No space left.*TMPDIR"):
            collect(class_path, ONE)
    assert list(scratch.iterdir()) == []
    scratch.rmdir()
    with pytest.raises(DrillError, match=r"in\.zip cannot be unpacked: No such file.*TMPDIR"):
        collect(class_path, ONE)


@pytest.mark.thorough
def test_random_damage(tmp_path: Path) -> None:
    """A zip with random changes is read, or refused in one sentence without other errors."""
    random = Random(1)
    entries = []
    for count in range(1, 5):
        text = TEXT * count
        entries.append(Entry(f"s{count}/gqa.py".encode(), deflated(text), method=8, plain=text))
    data = zip_bytes(*entries)
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
            message = r"in\.zip |.*in\.zip holds no submission"
            assert re.match(message, str(error), re.DOTALL)  # noqa: PT017 -- most are read
            outcomes["refused"] += 1
            continue
        outcomes["trouble" if any(submission.trouble for submission in got) else "read"] += 1
        for submission in got:
            assert set((submission.source or "y = 2").split("\n")) <= {"y = 2", ""}
    assert min(outcomes.values()) > 20


def test_path_that_occurs_twice_gives_no_warning(tmp_path: Path) -> None:
    """zipfile warns about a path that occurs twice when it writes, and must not when it reads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
            for _ in range(2):
                archive.writestr("ana.py", "x = 1\n")
    check_collected(collect(tmp_path / "in.zip", ONE), {"ana": "~ana.py is 2 times in in.zip"})
