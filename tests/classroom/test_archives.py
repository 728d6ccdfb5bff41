"""What a class handed in: every layout, names of all kinds, hostile archives and folders; nothing is lost and nothing is read that must not be."""

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

from tests.support.collect import ONE, TWO, Entry, a_class, check, end, lay, made, pack, texts
from trainer.classroom import archives
from trainer.classroom.collect import collect, collect_single
from trainer.model.errors import DrillError
from trainer.practice.learner_files import MOST_SOURCE_BYTES


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


def test_no_warning_is_raised_for_odd_archives(tmp_path: Path) -> None:
    """zipfile warns of names that stand twice when it writes, and must not when it reads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
            for _ in range(2):
                archive.writestr("ana.py", "x = 1\n")
    check(collect(tmp_path / "in.zip", ONE), {"ana": "~ana.py is 2 times in in.zip"})
