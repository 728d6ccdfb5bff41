"""TOML files are read into types. A wrong file gives one sentence with its line and key."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from attn_drill.model.errors import DrillError, PackError
from attn_drill.packs.toml import as_toml, key_error, line_of, read_toml, suggestion


class Day:
    """A type that msgspec does not know."""

    def __init__(self, value: Any) -> None:
        if not isinstance(value, date):
            raise ValueError("Write a day: 2026-12-01.")
        self.day = value.day


class Part(msgspec.Struct, forbid_unknown_fields=True):
    """A table that a file may have several times."""

    level: Literal["a", "b"] = "a"
    sizes: dict[str, int] = {}
    shares: dict[str, Annotated[float, Meta(ge=0)]] = {}

    def __post_init__(self) -> None:
        if len(self.sizes) > 1:
            raise ValueError("A part has at most 1 size. Remove the others.")


class Small(msgspec.Struct, forbid_unknown_fields=True):
    """A file with one required key."""

    count: Annotated[int, Meta(ge=1)]
    part: tuple[Part, ...] = ()
    pair: tuple[int, int] = (1, 2)
    names: Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1)] = ("a",)
    truth: bool = False
    due: Day | None = None
    days: dict[str, Day] = {}
    value: int | str = 0


def test_file_is_read_into_its_type(tmp_path: Path) -> None:
    """A byte order mark is skipped, as editors on Windows write one."""
    path = tmp_path / "small.toml"
    path.write_bytes(b'\xef\xbb\xbfcount = 3\ndue = 2026-12-01\npart = [{level = "b"}]')
    small = read_toml(path, Small)
    assert (small.count, small.part) == (3, (Part("b"),))
    assert small.due.day == 1


TWO_PARTS = "count = 1\n[[part]]\n[[part]]\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, " is missing. Add it."),
        ("count = ", "not valid TOML: Invalid value (at end of"),
        ("due = 2026-12-01 23:59", '). Put text in quotes, also a key like "ana@uni'),
        ("count = '\udcff'", " is not UTF-8 text. Save the file as UTF-8."),
        ('count = "three"', ', line 1: `count` is "three". Write a whole number.'),
        ("# no key", "small.toml: the key `count` is missing. Add it."),
        ("count = 1\n\ncont = 2", ", line 3: `cont` is not a key here. Did you mean `count`?"),
        ("count = 1\nzzz = 2", "The choices are count, part, pair, names,"),
        (
            TWO_PARTS + "truth = true",
            ", line 4: `truth` is not a key here. Move it to the top of the file",
        ),
        (TWO_PARTS + "level = 'x'", ', line 4: `level` is "x". Write "a" or "b".'),
        (TWO_PARTS + "[part.sizes]\na = 1\nb = 'c'", ', line 6: `b` is "c". Write a whole number.'),
        (TWO_PARTS + "shares = {a = 1, b = -1}", ", line 4: `b` is -1. Write a number >= 0.0."),
        ("count = 1\n[[patr]]", ", line 2: `patr` is not a key here."),
        (
            TWO_PARTS + "sizes = {a = 1, b = 2}",
            ", line 3: A part has at most 1 size. Remove the others.",
        ),
        (
            "count = 1\npair = [1]",
            "`pair` is a list of length 1. Write a list ([…], or headers in [[…]]) of length 2.",
        ),
        ("count = 1\nnames = []", "`names` is a list of length 0. Write a list ([…], or headers"),
        (
            "count = 1\nnames = ['']",
            'entry 1 of `names` is "". Write text in quotes of length >= 1.',
        ),
        (
            "count = 1\npair = [\n1, 'b']",
            ', line 2: entry 2 of `pair` is "b". Write a whole number.',
        ),
        ("count = 0", "`count` is 0. Write a whole number >= 1."),
        ("count = 1\ntruth = 0", "`truth` is 0. Write true or false."),
        ("count = 1\npart = [1]", "entry 1 of `part` is 1. Write a table."),
        ("count = 1\n[part]", "`part` is a table. Write a list ([…], or headers in [[…]])."),
        ("count = 1\nvalue = 2.5", "`value` is 2.5. Write a whole number or text in quotes."),
        (
            "count = 1\ndue = '2026-12-01'",
            ', line 2: `due` is "2026-12-01". Write a day: 2026-12-01.',
        ),
        (
            'count = 1\n[days]\n"ana@uni" = 2026-12-01\nLi = 3',
            ", line 4: `Li` is 3. Write a day: 2026-12-01.",
        ),
    ],
)
def test_error_is_one_sentence_with_the_next_step(
    tmp_path: Path, content: str | None, says: str
) -> None:
    """Each error names the file and, if there is one, the line of the key."""
    path = tmp_path / "small.toml"
    if content is not None:
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(PackError) as caught:
        read_toml(path, Small, PackError)
    assert str(caught.value).startswith(str(path))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_folder_cannot_be_read(tmp_path: Path) -> None:
    """The default class of the error is that of an error of use."""
    with pytest.raises(DrillError, match="cannot be read: Is a directory"):
        read_toml(tmp_path, Small)


TEXT = '''\
title = """a
[[challenge]]
b"""   # the end
[[challenge]]
id = "a # [[no]]"   # [[no]]
weights = { values = 5, "train/eval" = [1,
  2, 3] }
x.y.z = 2026-12-01 23:59:00.5

[[ challenge ]]
'id' = 'b'
[challenge.weights]
values = 3
[[challenge.part]]
[[challenge.part]]
name = "second"
[extensions]
"a@uni.example" = 2'''


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("title",), 1),
        (("challenge", 0), 4),
        (("challenge", 0, "id"), 5),
        (("challenge", 0, "weights", "values"), 6),  # of the inline table
        (("challenge", 0, "x", "y", "z"), 8),
        (("challenge", 1), 10),
        (("challenge", 1, "id"), 11),
        (("challenge", 1, "worth"), 10),  # of the table without this key
        (("challenge", 1, "weights", "values"), 13),
        (("challenge", 1, "part", 1, "name"), 16),
        (("extensions", "a@uni.example"), 18),
        (("due",), None),
    ],
)
def test_line_of_a_key(tmp_path: Path, keys: tuple[str | int, ...], line: int | None) -> None:
    """Also with the line ends of Windows. The error of a key has the same line."""
    tomllib.loads(TEXT)
    assert line_of(TEXT, keys) == line
    assert line_of(TEXT.replace("\n", "\r\n"), keys) == line
    path = tmp_path / "a.toml"
    path.write_text(TEXT)
    place = f", line {line}" if line else ""
    assert str(key_error(path, keys, "It is wrong.")) == f"{path}{place}: It is wrong."


@pytest.mark.parametrize(
    "value",
    ["\"\\'", "a\r\n\tb", "".join(map(chr, range(0x120))), "李 🙂", 0, 85.0, 33.3, 1e300, -2, True],
)
def test_value_survives_toml(value: object) -> None:
    """A whole number has no decimal point, and the value is on one line."""
    assert tomllib.loads(f"key = {as_toml(value)}") == {"key": value}
    assert "\n" not in as_toml(value)


def test_suggestion_without_a_similar_choice_names_all() -> None:
    """The docstring has an example of a similar choice."""
    assert (
        suggestion("zzz", ("train/eval", "bad sizes")) == "The choices are train/eval, bad sizes."
    )
