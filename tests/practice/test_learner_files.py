"""Tests of reading and writing the learner's files."""

import os
from pathlib import Path

import pytest

from attn_drill.model.errors import DrillError
from attn_drill.practice.learner_files import (
    MOST_SOURCE_BYTES,
    decode_source,
    keep_aside,
    read_source,
    write_afresh,
    write_new,
)


def test_source_is_read_without_a_byte_order_mark(tmp_path: Path) -> None:
    """The rest of the text stays as it is, including Windows line ends."""
    (tmp_path / "gqa.py").write_bytes(b"\xef\xbb\xbfx = '\xc3\xa9'\r\n")
    assert read_source(tmp_path / "gqa.py") == "x = 'é'\r\n"


def test_unreadable_sources_are_refused(tmp_path: Path) -> None:
    """The message names the file and the reason."""
    with pytest.raises(DrillError, match=r"There is no file .*absent\.py"):
        read_source(tmp_path / "absent.py")
    with pytest.raises(DrillError, match="is a folder"):
        read_source(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DrillError, match="is not a regular file"):
        read_source(tmp_path / "pipe")
    (tmp_path / "large.py").write_bytes(b"#" * (MOST_SOURCE_BYTES + 1))
    with pytest.raises(DrillError, match="has 1,048,577 bytes; at most 1,048,576"):
        read_source(tmp_path / "large.py")
    (tmp_path / "large.py").write_bytes(b"#" * MOST_SOURCE_BYTES)
    assert len(read_source(tmp_path / "large.py")) == MOST_SOURCE_BYTES


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b" \n", "The cell is empty. Write an answer.", id="empty"),
        pytest.param(b"x\0", "NUL byte at offset 1", id="NUL"),
        pytest.param(
            "# -*- coding: latin-1 -*-\nx = 'größe'\n".encode("latin-1"),
            "not UTF-8: byte 0xf6 at offset 33. Save it as UTF-8",
            id="a declared encoding does not matter",
        ),
    ],
)
def test_data_that_is_no_text_is_refused(data: bytes, message: str) -> None:
    """The message has the given name, and the given advice about an empty text."""
    with pytest.raises(DrillError, match=message):
        decode_source(data, "The cell", "Write an answer.")


def test_write_new_never_replaces_a_file(tmp_path: Path) -> None:
    """Missing folders are created."""
    path = tmp_path / "deep" / "er" / "gqa.py"
    write_new(path, "first\n")
    with pytest.raises(DrillError, match="is left unchanged"):
        write_new(path, "second\n")
    assert path.read_text() == "first\n"


def test_keep_aside_uses_the_first_free_name(tmp_path: Path) -> None:
    """A file that already has such a name is not replaced."""
    (tmp_path / "gqa.py").write_text("new\n")
    (tmp_path / "gqa.old-1.py").write_text("old\n")
    assert keep_aside(tmp_path / "gqa.py") == tmp_path / "gqa.old-2.py"
    assert not (tmp_path / "gqa.py").exists()
    assert (tmp_path / "gqa.old-1.py").read_text() == "old\n"
    assert (tmp_path / "gqa.old-2.py").read_text() == "new\n"


def test_write_afresh_renames_the_old_file(tmp_path: Path) -> None:
    """Without an old file, no name is returned."""
    path = tmp_path / "gqa.py"
    assert write_afresh(path, "first\n") is None
    assert write_afresh(path, "second\n") == tmp_path / "gqa.old-1.py"
    assert (path.read_text(), (tmp_path / "gqa.old-1.py").read_text()) == ("second\n", "first\n")
    with pytest.raises(DrillError, match="is a folder"):
        write_afresh(tmp_path, "")


def test_write_afresh_restores_the_old_file_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old file has its name again, and the new file does not exist."""
    path = tmp_path / "gqa.py"
    path.write_text("my work\n")

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(DrillError, match="No space left on device"):
        write_afresh(path, "stub\n")
    assert [file.name for file in tmp_path.iterdir()] == ["gqa.py"]
    assert path.read_text() == "my work\n"
