"""Tests of reading and extending `overrides.toml`."""

import re
import tomllib
from pathlib import Path

import pytest

from attn_drill.classroom.gradebook import Entry, append_entry, decided_file, read_overrides
from attn_drill.classroom.records import Override
from attn_drill.classroom.result_store import ClassRecord
from attn_drill.model.errors import DrillError
from tests.support.classroom import assignment, class_record

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
BOTH = class_record(assignment(("gqa", "mha")), "Ana Lee", "Bob", "Cleo")


def read(path: Path, record: ClassRecord = BOTH) -> list[Override]:
    """Return the decisions that count."""
    return read_overrides(path.parent, record)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a file that a person wrote."""
    file = tmp_path / "overrides.toml"
    file.write_text(BY_HAND)
    return file


def test_every_key_is_read(path: Path) -> None:
    """A missing file and an empty file hold no overrides."""
    ana = Override("Ana Lee", "", 85.0, "Two lines,\n# and no comment")
    assert read(path) == [ana, Override("Bob", "gqa", 33.5)]
    path.write_text("")
    assert read(path) == read(path.parent / "other" / path.name) == []


def test_last_entry_counts_and_what_a_person_wrote_stays(path: Path) -> None:
    """An entry may name the student by id."""
    append_entry(path, Entry("id-Ana Lee", 90.0, "", "Right.", "digest"))
    append_entry(path, Entry("Bob", 0.0, "gqa"))
    assert path.read_text().startswith(BY_HAND)
    assert path.read_text().endswith(
        '\n[[override]]\nstudent = "Bob"\npoints = 0\nchallenge = "gqa"\n'
    )
    assert read(path) == [
        Override("Ana Lee", "", 90.0, "Right.", is_outdated=True),
        Override("Bob", "gqa", 0.0),
    ]


def test_total_of_one_challenge_is_its_points(path: Path) -> None:
    """An entry with the challenge and an entry without it are about the same mark."""
    append_entry(path, Entry("Bob", 1.0))
    only = class_record(assignment(("gqa",)), "Ana Lee", "Bob")
    assert read(path, only)[1:] == [Override("Bob", "gqa", 1.0)]


def test_decision_for_another_file_says_so(path: Path) -> None:
    """A digest in the file tells for which text the points were decided."""
    path.write_text("")
    append_entry(path, Entry("Bob", 77.0, "gqa", file=decided_file(BOTH, "Bob", "gqa")))
    append_entry(path, Entry("Bob", 77.0, "mha", file="old"))
    assert [own.is_outdated for own in read(path)] == [False, True]


@pytest.mark.parametrize(
    "words",
    ['O\'Neil "Bo"', "a\\b", "".join(map(chr, range(1, 0xA0))), "李 Łukasz", "a\u2028b", "]]", "#"],
)
def test_every_text_can_be_written_into_a_new_file(words: str, tmp_path: Path) -> None:
    """The file explains itself, and its folder is made, too."""
    path = tmp_path / "grades" / "overrides.toml"
    append_entry(path, Entry(words, 50.0, "", f"{words}\r\n'''\"\"\""))
    (entry,) = tomllib.loads(path.read_text())["override"]
    assert entry == {"student": words, "points": 50, "comment": f"{words}\r\n'''\"\"\""}
    assert "The last entry for a student and a challenge counts" in path.read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[ override ]]", "[[overide]]", ", line 11: `overide` is not a key here.*`override`"),
        ("# Appeals of week 3", "points = 3", r", line 1: `points` .*choices are override"),
        ("challenge =", "chalenge =", ", line 13: `chalenge` is not a key here.*`challenge`"),
        ('student = "Bob"', "", r", line 11: the key `student` is missing"),
        ('student = "Bob"', 'student = ""', ", line 12: `student`"),
        ('"Bob"', "12345", ", line 12: `student` .*text in quotes"),
        (
            '"Bob"',
            '"Bo"',
            r", line 11: No student .*'Bo'.*Correct the entry, or",
        ),
        ("points = 85", "", r", line 4: the key `points` is missing"),
        ("points = 85", "points = 101", ", line 6: `points` .*is 101.*<= 100"),
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
        read(path)
    assert re.search(rf"overrides\.toml({message})", str(caught.value)), caught.value
