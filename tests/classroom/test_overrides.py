"""Tests of reading and extending `overrides.toml`."""

import re
import tomllib
from pathlib import Path

import pytest

from trainer.classroom.overrides import Entry, append_entry, read_overrides
from trainer.classroom.records import Override, Student
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
"""
BOTH = ("gqa", "mha")


def find(words: str) -> Student:
    """Return the student with this name or id."""
    if words not in ("Ana Lee", "12345", "Bob", "Cleo"):
        raise DrillError(f"No student is called {words!r}.")
    return Student("Ana Lee" if words == "12345" else words)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a file that a person wrote."""
    file = tmp_path / "overrides.toml"
    file.write_text(BY_HAND)
    return file


def test_every_key_is_read(path: Path) -> None:
    """A missing file and an empty file hold no overrides."""
    ana = Override("Ana Lee", "", 85.0, "Two lines,\n# and no comment")
    assert read_overrides(path, BOTH, find) == [ana, Override("Bob", "gqa", 33.5)]
    path.write_text("")
    missing = path.parent / "no.toml"
    assert read_overrides(path, BOTH, find) == read_overrides(missing, BOTH, find) == []


def test_last_entry_counts_and_what_a_person_wrote_stays(path: Path) -> None:
    """An entry may name the student by id, and may take the decision back."""
    append_entry(path, Entry("12345", "", 90.0, "Right.", "digest"))
    append_entry(path, Entry("Bob", "gqa", removed=True))
    append_entry(path, Entry("Cleo", "mha", 0.0))
    assert path.read_text().startswith(BY_HAND)
    assert path.read_text().endswith(
        '\n[[override]]\nstudent = "Bob"\nchallenge = "gqa"\nremoved = true\n'
        '\n[[override]]\nstudent = "Cleo"\nchallenge = "mha"\npoints = 0\n'
    )
    assert read_overrides(path, BOTH, find) == [
        Override("Ana Lee", "", 90.0, "Right.", "digest"),
        Override("Cleo", "mha", 0.0),
    ]


def test_total_of_one_challenge_is_its_points(path: Path) -> None:
    """An entry with the challenge and an entry without it are about the same mark."""
    append_entry(path, Entry("Bob", "", 1.0))
    append_entry(path, Entry("Ana Lee", "gqa", removed=True))
    assert read_overrides(path, ["gqa"], find) == [Override("Bob", "gqa", 1.0)]


@pytest.mark.parametrize(
    "words",
    ['O\'Neil "Bo"', "a\\b", "".join(map(chr, range(1, 0xA0))), "李 Łukasz", "a\u2028b", "]]", "#"],
)
def test_every_text_can_be_written_into_a_new_file(words: str, tmp_path: Path) -> None:
    """The file explains itself, and its folder is made, too."""
    path = tmp_path / "grades" / "overrides.toml"
    append_entry(path, Entry(words, "", 50.0, f"{words}\r\n'''\"\"\""))
    (entry,) = tomllib.loads(path.read_text())["override"]
    assert entry == {"student": words, "points": 50, "comment": f"{words}\r\n'''\"\"\""}
    assert "The last entry for a student and a challenge counts" in path.read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[ override ]]", "[[overide]]", ": `overide` is not a key.*`override`"),
        ("# Appeals of week 3", "points = 3", r", line 1: `points` .* below a header \[\[overr"),
        ("challenge =", "chalenge =", ", line 13: `chalenge` is not a key .*`challenge`"),
        ('student = "Bob"', "", r", line 11: .*has no key `student`"),
        ('student = "Bob"', 'student = ""', ", line 12: `student`"),
        ('"Bob"', "12345", ", line 12: `student` .*text in quotes"),
        ('"Bob"', '"Bo"', r", line 11: No student is called 'Bo'\. Correct the entry, or"),
        ("points = 85", "", r", line 4: The entry of 'Ana Lee' needs `points`, or removed = true"),
        ("points = 85", "points = 101", ", line 6: `points` .*is 101.*at most 100"),
        ("points = 85", "points = nan", ", line 6: `points`"),
        ("points = 85", 'points = "85"', ", line 6: .*Write a number"),
        ('"gqa"', '"gqq"', ', line 11: `challenge` is "gqq", .* mean "gqa"'),
        (BY_HAND, "[override]", r", line 1: `override`"),
        (BY_HAND, "[[override", " is not valid TOML"),
    ],
)
def test_wrong_file_is_refused(old: str, new: str, message: str, path: Path) -> None:
    """The message names the file, the line, the key and the next step."""
    path.write_text(BY_HAND.replace(old, new, 1))
    with pytest.raises(DrillError) as caught:
        read_overrides(path, BOTH, find)
    assert re.search(rf"overrides\.toml({message})", str(caught.value)), caught.value
