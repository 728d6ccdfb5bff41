"""TOML files of packs are read into types. A broken file gives one sentence with its path."""

from pathlib import Path

import msgspec
import pytest

from trainer.model.errors import PackError
from trainer.packs.toml_file import read_toml


class Small(msgspec.Struct):
    """A file with one key."""

    count: int


def test_file_is_read_into_its_type(tmp_path: Path) -> None:
    """The keys become attributes."""
    path = tmp_path / "small.toml"
    path.write_text("count = 3\n")
    assert read_toml(path, Small) == Small(3)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(None, "is missing", id="no file"),
        pytest.param(b"count = ", "is not valid TOML", id="no TOML"),
        pytest.param(b"\xff", "is not valid TOML", id="no UTF-8"),
        pytest.param(b'count = "three"', r"count", id="wrong type"),
    ],
)
def test_error_names_the_file(tmp_path: Path, content: bytes | None, says: str) -> None:
    """Every problem is one sentence."""
    path = tmp_path / "small.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PackError, match=rf"small\.toml.*{says}"):
        read_toml(path, Small)
