"""Tests of reading and writing `overrides.toml`."""

from pathlib import Path

import pytest

from trainer.classroom.overrides import add_override, read_overrides, remove_override
from trainer.classroom.records import Override
from trainer.model.errors import DrillError

BY_HAND = """\
# Appeals of week 3

# Ana came on Monday.
[[override]]
student = "Ana Lee"   # id 12345
points = 85
comment = '''
Two lines,
# and no comment'''

[[ override ]]
student = "Bob"
challenge = "gqa"
points = 33.5

# Still open: Cleo
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a file that a person wrote."""
    file = tmp_path / "overrides.toml"
    file.write_bytes(BY_HAND.encode())
    return file


def test_every_key_is_read(path: Path) -> None:
    """A missing file and an empty file hold no overrides."""
    assert read_overrides(path) == [
        Override("Ana Lee", "", 85.0, "Two lines,\n# and no comment"),
        Override("Bob", "gqa", 33.5),
    ]
    path.write_text("")
    assert read_overrides(path) == read_overrides(path.parent / "no.toml") == []


def test_added_override_keeps_what_a_person_wrote(path: Path) -> None:
    """Removing it brings back the same file."""
    add_override(path, Override("Cleo", "gqa", 100.0, "Right."))
    text = path.read_bytes().decode()
    assert text.startswith(BY_HAND)
    assert text.removeprefix(BY_HAND) == (
        '\n[[override]]\nstudent = "Cleo"\nchallenge = "gqa"\npoints = 100\ncomment = "Right."\n'
    )
    assert read_overrides(path)[-1] == Override("Cleo", "gqa", 100.0, "Right.")
    assert remove_override(path, "Cleo", "gqa")
    assert path.read_bytes().decode() == BY_HAND


def test_last_override_counts(path: Path) -> None:
    """It counts for its student and challenge. Its place is that of the last entry."""
    add_override(path, Override("Ana Lee", "", 90.0))
    add_override(path, Override("Ana Lee", "gqa", 12.25))
    assert read_overrides(path) == [
        Override("Bob", "gqa", 33.5),
        Override("Ana Lee", "", 90.0),
        Override("Ana Lee", "gqa", 12.25),
    ]


def test_new_file_explains_itself(tmp_path: Path) -> None:
    """The folder is made, too. The head stays when the last override is removed."""
    path = tmp_path / "grades" / "overrides.toml"
    add_override(path, Override("Ana", "", 0.0))
    assert "the last one counts" in path.read_text().replace("\n# ", " ")
    assert read_overrides(path) == [Override("Ana", "", 0.0)]
    assert remove_override(path, "Ana", "")
    assert path.read_text().startswith("# Points")
    assert read_overrides(path) == []


def test_all_overrides_of_a_student_are_removed(path: Path) -> None:
    """Comments on lines of their own and the other overrides stay."""
    add_override(path, Override("Ana Lee", "", 90.0))
    assert remove_override(path, "Ana Lee", "")
    assert path.read_text() == BY_HAND.replace(
        BY_HAND[BY_HAND.index("[[") : BY_HAND.index("\n[[ ")], ""
    )
    assert read_overrides(path) == [Override("Bob", "gqa", 33.5)]
    assert not remove_override(path, "Ana Lee", "")
    assert not remove_override(path, "Bob", "")
    assert not remove_override(path.parent / "no.toml", "Bob", "")


def test_line_ends_and_byte_order_mark_stay(path: Path) -> None:
    """An editor of Windows writes them. A last line may lack its end."""
    windows = b"\xef\xbb\xbf" + BY_HAND.rstrip().replace("\n", "\r\n").encode()
    path.write_bytes(windows)
    add_override(path, Override("Cleo", "", 1.0))
    assert path.read_bytes().startswith(windows + b"\r\n\r\n[[override]]\r\n")
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")
    assert len(read_overrides(path)) == 3
    assert remove_override(path, "Cleo", "")
    assert path.read_bytes() == windows + b"\r\n"


@pytest.mark.parametrize(
    "name",
    ['O\'Neil "Bo"', "a\\b", "".join(map(chr, range(1, 0xA0))), "李 Łukasz", "a\u2028b", "]]", "#"],
)
def test_every_name_can_be_written(name: str, path: Path) -> None:
    """Quotation marks, control characters and line ends are escaped."""
    override = Override(name, name, 50.0, f"{name}\r\n'''\"\"\"")
    add_override(path, override)
    assert read_overrides(path)[-1] == override
    assert remove_override(path, name, name)
    assert path.read_text() == BY_HAND


def test_name_that_is_not_unicode_can_be_written(path: Path) -> None:
    """It comes from a file name. TOML holds U+FFFD instead."""
    add_override(path, Override("Ren\udce9", "", 50.0))
    assert read_overrides(path)[-1].student == "Ren\ufffd"
    assert remove_override(path, "Ren\udce9", "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[ override ]]", "[[overide]]", ', line 11: The key `overide` .* mean "override"'),
        ("[[ override ]]", "[override.x]", ", line 11: The key `x` is unknown"),
        ("# Appeals of week 3", "points = 3", r", line 1: The key `points` .* below .*\[\[overr"),
        ("challenge =", "chalenge =", ', line 13: The key `chalenge` .* mean "challenge"'),
        ('student = "Bob"', "", r", line 11: The entry has no `student`"),
        ('student = "Bob"', 'student = " "', ", line 12: `student` is empty"),
        ('"Bob"', "12345", r', line 12: `student` is 12345; .*Write student = "12345"'),
        ("points = 85", "", r", line 4: The entry has no `points`"),
        ("points = 85", "points = 101", ", line 6: `points` is 101; it must be 0 to 100"),
        ("points = 85", "points = nan", ", line 6: `points` is nan"),
        ("points = 85", 'points = "85"', ", line 6: .* must be a number. Write points = 85"),
        ('"gqa"', '"gqq"', ', line 13: `challenge` is "gqq", .* mean "gqa"'),
        (BY_HAND, "override = []", r", line 1: Write each entry below a header \[\[override\]\]"),
        (BY_HAND, 'override = [{student = "x", points = 1}]', r", line 1: Write each entry"),
        (BY_HAND, "[override]", r", line 1: `override` is a table; .*two brackets"),
        (BY_HAND, "[[override", " is not valid TOML"),
    ],
)
def test_wrong_file_is_refused(old: str, new: str, message: str, path: Path) -> None:
    """The message names the file, the line and the key. Nothing is written."""
    wrong = BY_HAND.replace(old, new, 1)
    path.write_text(wrong)
    with pytest.raises(DrillError, match=rf"overrides\.toml({message})"):
        read_overrides(path, ("gqa", "mha"))
    if "gqq" not in new:
        with pytest.raises(DrillError):
            add_override(path, Override("Cleo", "", 1.0))
        with pytest.raises(DrillError):
            remove_override(path, "Ana Lee", "")
    assert path.read_text() == wrong


@pytest.mark.parametrize("points", [-0.1, 100.5, float("nan"), float("inf")])
def test_wrong_points_are_not_written(points: float, path: Path) -> None:
    """They would make the file unreadable."""
    with pytest.raises(DrillError, match="they must be 0 to 100"):
        add_override(path, Override("Ana", "", points))
    assert path.read_text() == BY_HAND
