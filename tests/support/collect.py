"""Helpers of the tests of collect."""

import os
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from trainer.classroom.collect import Collected
from trainer.packs import pack_reader

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


def a_class(root: Path, form: str) -> Path:
    """A class of three, as a zip or as a folder with two zips."""
    if form == "zip":
        return pack(root / "in.zip", texts("ana.py", "bob.py", "zoe.py"))
    lay(root / "in", texts("zoe.py"))
    pack(root / "in" / "ana.zip", texts("gqa.py"))
    pack(root / "in" / "bob.zip", texts("gqa.py"))
    return root / "in"
