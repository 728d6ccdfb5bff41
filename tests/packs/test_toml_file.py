"""TOML files of packs are read into types. A broken file gives one sentence with its path."""

from pathlib import Path
from typing import Literal

import msgspec
import pytest

from trainer.model.errors import PackError
from trainer.packs.toml_file import read_toml


class Part(msgspec.Struct, forbid_unknown_fields=True):
    """A table that a file may have several times."""

    level: Literal["a", "b"] = "a"
    sizes: dict[str, int] = {}


class Small(msgspec.Struct, forbid_unknown_fields=True):
    """A file with one required key."""

    count: int
    part: tuple[Part, ...] = ()
    pair: tuple[int, int] = (1, 2)


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
        pytest.param(
            b'count = "three"', r"`count` is a text in quotes. Write a whole number", id="type"
        ),
        pytest.param(b"", r"has no key `count`. Add it", id="missing key"),
        pytest.param(
            b"count = 1\ncont = 2", r"`cont` is not a key. Did you mean `count`", id="key"
        ),
        pytest.param(
            b"count = 1\n[[part]]\n[[part]]\nlevel = 'x'",
            r'`level` of \[\[part\]\] number 2 is .x.. Write "a" or "b"',
            id="word",
        ),
        pytest.param(
            b"count = 1\n[[part]]\nsizes = {a = 'b'}",
            r"`sizes` \(one of its values\) of \[\[part\]\] number 1 is a text",
            id="value of a table",
        ),
        pytest.param(b"count = 1\npair = [1]", r"`pair` has 1 entries. Write 2", id="length"),
        pytest.param(
            b"count = 1\npair = [1, 'b']", r"`pair` \(entry 2\) is a text", id="entry of a list"
        ),
    ],
)
def test_error_names_the_file(tmp_path: Path, content: bytes | None, says: str) -> None:
    """Every problem is one sentence."""
    path = tmp_path / "small.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PackError, match=rf"small\.toml.*{says}"):
        read_toml(path, Small)
