"""Helpers for the tests that collect submissions: folders, zips, and zips written byte by byte."""

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


def write_files(root: Path, files: Files) -> Path:
    """Write a folder with these files. The content None makes a folder."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = Path(os.fsdecode(os.path.join(os.fsencode(root), os.fsencode(name))))
        (path if content is None else path.parent).mkdir(parents=True, exist_ok=True)
        if content is not None:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def write_zip(path: Path, files: Files, **options: int) -> Path:
    """Write a zip with these members. The content None makes a folder."""
    with zipfile.ZipFile(path, "w", **options) as archive:  # type: ignore[arg-type]
        for name, content in files.items():
            archive.writestr(
                zipfile.ZipInfo(
                    name + "/" if content is None else name, (2026, 11, 20, 10, 11, 12)
                ),
                content or "",
            )
    return path


def named_files(*names: str) -> dict[str, str]:
    """Return files that hold their own name, so that a test sees which file was read."""
    return {name: f"# {name}\n" for name in names}


def read_texts(got: Collected) -> dict[str, str]:
    """Return the text or the trouble of each submission, by student or by student and challenge."""
    keys = {(submission.student, submission.challenge) for submission in got.submissions}
    assert len(keys) == len(got.submissions)
    several = len({submission.challenge for submission in got.submissions}) > 1
    found = {}
    for submission in got.submissions:
        key = f"{submission.student}: {submission.challenge}" if several else submission.student
        text = submission.source or submission.trouble
        found[key] = text.removeprefix("# ").rstrip()
    return found


def check_collected(
    got: Collected, expected: Mapping[str, str], ignored: Sequence[str] = ()
) -> None:
    """Compare collected submissions with the expected submissions.

    Args:
        got: the collected submissions.
        expected: by student, the name of the file that was read, or `~` and a pattern that the
            trouble must contain.
        ignored: the paths of the ignored files.
    """
    found = read_texts(got)
    assert list(found) == list(expected)
    for student, text in expected.items():
        if text.startswith("~"):
            assert re.search(text[1:], found[student]), found[student]
        else:
            assert found[student] == text
    assert got.ignored == sorted(ignored), got.ignored


class Entry:
    """A member of a zip that is written byte by byte, so that its data can be wrong."""

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
        """Return the header before the data."""
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
        """Return the entry in the table of contents."""
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


def zip_bytes(*entries: Entry) -> bytes:
    """Return the bytes of a zip with these members."""
    data, contents = b"", b""
    for entry in entries:
        contents += entry.central(len(data))
        data += entry.local() + entry.data
    return data + contents + end_record(len(entries), len(contents), len(data))


def end_record(count: int, size: int, offset: int) -> bytes:
    """Return the last record of a zip, for a number of members."""
    return b"PK\5\6" + struct.pack("<4H2LH", 0, 0, count & 0xFFFF, count & 0xFFFF, size, offset, 0)


def write_class(root: Path, form: str) -> Path:
    """Write a class of three students, as a zip or as a folder with two zips."""
    if form == "zip":
        return write_zip(root / "in.zip", named_files("ana.py", "bob.py", "zoe.py"))
    write_files(root / "in", named_files("zoe.py"))
    write_zip(root / "in" / "ana.zip", named_files("gqa.py"))
    write_zip(root / "in" / "bob.zip", named_files("gqa.py"))
    return root / "in"
