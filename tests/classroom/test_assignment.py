"""Tests of reading `assignment.toml`."""

import re
import time
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from attn_drill.classroom.assignment import (
    DAY,
    check_weights,
    parse_formats,
    plain_assignment,
    read_assignment,
)
from attn_drill.classroom.records import AssignedChallenge, Assignment
from attn_drill.model.checks import CHECK_ORDER
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from tests.support.rows import each_row

KNOWN = partial(pack_reader.find_challenge, pack_reader.built_in_pack())
WEEK = """
title = "Week 3"
due = 2026-12-01T23:59:00+01:00
grace = 15
penalty = 10
seconds = 5
memory_mib = 512
students_see = "checks"
why = false
one_mistake = 60
ungraded = "zero"
roster = "roster.csv"
times = "times.csv"
write = ["csv", "canvas"]
seed = 7
cases = "own"

[[challenge]]
id = "gqa"
worth = 2
weights = { values = 4, masks = 2.5, memory = 0, "train/eval" = 3 }

[[challenge]]
id = "kv_cache"

[extensions]
"ana@uni.example" = 2026-12-05T23:59:00+01:00
12345 = 2
"Bo Li" = 1.5
"""
GQA = '[[challenge]]\nid = "gqa"\n'


@pytest.fixture
def paris(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the time zone of Paris: one hour ahead of UTC in winter, two hours in summer."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def read(folder: Path, text: str, *, needs_due: bool = True) -> Assignment:
    """Return the assignment that a text describes."""
    path = folder / "assignment.toml"
    path.write_text(text, encoding="utf-8")
    return read_assignment(path, KNOWN, needs_due=needs_due)


def test_every_key_is_read(tmp_path: Path) -> None:
    """Files are relative to this file. An id may have underscores."""
    weights = {"values": 4.0, "masks": 2.5, "memory": 0.0, "train/eval": 3.0}
    due, later = (
        datetime.fromisoformat(f"2026-12-0{day}T22:59:00+00:00").timestamp() for day in (1, 5)
    )
    assert read(tmp_path, WEEK) == Assignment(
        "Week 3",
        (AssignedChallenge("gqa", weights, 2.0), AssignedChallenge("kv-cache")),
        5.0,
        512,
        due,
        "checks",
        False,
        grace=900.0,
        penalty=10.0,
        extensions={"ana@uni.example": later, "12345": due + 2 * DAY, "Bo Li": due + 1.5 * DAY},
        utc_offset=3600.0,
        ungraded="zero",
        one_mistake=60.0,
        roster=str(tmp_path / "roster.csv"),
        times=str(tmp_path / "times.csv"),
        write=("csv", "canvas"),
        seed=7,
        cases="own",
    )


def test_file_with_only_an_id_has_default_settings(tmp_path: Path) -> None:
    """The assignment is the same as that of `class grade --challenge`."""
    assert read(tmp_path, GQA) == plain_assignment("gqa")
    assert read(tmp_path, GQA + GQA.replace("gqa", "mha")).title == "gqa, mha"


@each_row(
    "due, utc",
    {
        "with an offset": ("2026-12-01T23:59:00+01:00", "2026-12-01T22:59:00+00:00"),
        "UTC": ("2026-12-01T23:59:00Z", "2026-12-01T23:59:00+00:00"),
        "local, in winter": ("2026-12-01T23:59:00", "2026-12-01T22:59:00+00:00"),
        "local, in summer": ("2026-07-01 23:59:00", "2026-07-01T21:59:00+00:00"),
        "the end of a day": ("2026-12-01", "2026-12-01T22:59:59.999999+00:00"),
        "a day of 23 hours": ("2026-03-29", "2026-03-29T21:59:59.999999+00:00"),
    },
)
@pytest.mark.usefixtures("paris")
def test_due_time_without_an_offset_is_local(due: str, utc: str, tmp_path: Path) -> None:
    """A day without a time lasts until its end."""
    settings = read(tmp_path, WEEK.replace("2026-12-01T23:59:00+01:00", due))
    assert settings.due == datetime.fromisoformat(utc).timestamp()


# The line of WEEK that is replaced, the new line, and the message.
WRONG = [
    ("title", 'tittle = "x"', "`tittle` is not a key here. Did you mean `title`?"),
    ("worth", 'title = "x"', "`title` is not a key here. Move it to the top"),
    ("title", "worth = 2", "`worth` is not a key here. "),
    ("title", "title = 3", "`title` is 3. Write text in quotes."),
    ("why", "why = 0", "`why` is 0. Write true or false."),
    ("memory_mib", "memory_mib = 15", "`memory_mib` is 15. Write a whole number >= 16."),
    ("seconds", "seconds = nan", "`seconds` is nan. Write a number > 0.0."),
    ("students_see", 'students_see = "all"', 'Write "report" or "checks" or "verdict".'),
    ("write", 'write = ["excel"]', 'Write "csv" or "html" or "canvas"'),
    ("cases", 'cases = "other"', 'Write "same" or "own".'),
    ("seed", "seed = -1", "Write a whole number >= 0."),
    ("one_mistake", "one_mistake = 101", "Write a number <= 100.0."),
    ("ungraded", 'ungraded = ""', 'Write "empty" or "zero".'),
    ("penalty", "penalty = 101", "`penalty` is 101. Write a number <= 100.0."),
    ("due", 'due = "2026-12-01"', "Write a day or a time without quotes: 2026-12-01 or"),
    ("due", "due = 23:59:00", "`due` is 23:59:00. Write a day or a time"),
    ("due", "due = 0001-01-01", "`due` is 0001-01-01."),
    ("grace", 'grace = "15 min"', "`grace` is \"15 min\". Write a number."),
    ("grace", "grace = -1", "`grace` is -1. Write a number >= 0.0."),
    ("id", 'id = "gqq"', "No challenge is called 'gqq'. Did you mean gqa"),
    ("id", "", "the key `id` is missing. Add it."),
    ("id", 'id = "kv-cache"', "`challenge` names kv-cache twice. Remove one of the two."),
    ("worth", "worth = 0", "`worth` is 0. Write a number > 0.0"),
    ("worth", "worth = inf", "`worth` is inf."),
    ("weights", "weights = 4", "`weights` is 4. Write a table."),
    ("weights", "weights = {mask = 1}", 'name "mask", which is not a check. Did you mean "masks"?'),
    ("weights", "weights = {masks = -1}", "Give each of the `weights` a number from 0 to"),
    ("weights", "weights = {masks = nan}", "Give each of the `weights` a number from 0 to"),
    ("12345", '12345 = "2 days"', "+01:00, or a number of days up to 366."),
    ("12345", "12345 = 0", "`12345` is 0. Write a day or a time"),
    ("12345", 'ana.lee.x = "2 days"', "A student with a dot needs quotes."),
    ("12345", "12345 = 2026-11-30", "has no time after the due time of the class. Give a later"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "new", "message"), WRONG, ids=[new for _, new, _ in WRONG])
@pytest.mark.usefixtures("paris")
def test_wrong_key_or_value_is_refused(key: str, new: str, message: str, tmp_path: Path) -> None:
    """The message names the file, a line, the key and the next step."""
    lines = WEEK.split("\n")
    index = next(index for index, line in enumerate(lines) if line.startswith(key))
    lines[index] = new
    with pytest.raises(DrillError) as caught:
        read(tmp_path, "\n".join(lines))
    assert message in str(caught.value)
    assert re.search(r"assignment\.toml, line \d+: ", str(caught.value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('challenge = "gqa"', r", line 1: `challenge` is \"gqa\". Write a list"),
        ('title = "x"', r": the key `challenge` is missing. Add it."),
        (f"title = x\n{GQA}", r" is not valid TOML: Invalid value \(at line 1, .*text in quotes"),
        (f"penalty = 10\n{GQA}", ", line 1: `penalty` needs a due time. Add due = 2026-12-01"),
        (f"grace = 5\n{GQA}", ", line 1: `grace` needs a due time."),
        (f"{GQA}[extensions]\nAna = 2", ", line 4: `Ana` has no time after the due .* due = 20"),
    ],
)
def test_wrong_file_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """Settings for late submissions need a due time."""
    with pytest.raises(DrillError, match=rf"assignment\.toml{message}"):
        read(tmp_path, text)
    with pytest.raises(DrillError, match=r"no\.toml is missing"):
        read_assignment(tmp_path / "no.toml", KNOWN)


def test_gradescope_gives_a_due_time_of_its_own(tmp_path: Path) -> None:
    """So the file needs none. A student may have a due time without the others in any case."""
    text = f"penalty = 10\n{GQA}[extensions]\nAna = 2026-12-01"
    assert read(tmp_path, text, needs_due=False).penalty == 10


@pytest.mark.parametrize(
    ("weights", "checks", "message"),
    [
        ("memory = 2", ["loads", "values"], r'line 3: .* gqa name "memory".* are loads, values\.'),
        ("memory = 2", CHECK_ORDER, ""),
        ("", None, ""),
    ],
)
def test_weights_fit_the_checks_of_the_challenge(
    weights: str, checks: list[str] | None, message: str, tmp_path: Path
) -> None:
    """A challenge without changed weights is not asked for its checks."""
    settings = read(tmp_path, f"{GQA}weights = {{ {weights} }}\n")
    due = {} if checks is None else {"gqa": checks}
    with pytest.raises(DrillError, match=message) if message else nullcontext():
        check_weights(settings, due.__getitem__, tmp_path / "assignment.toml")


def test_formats_are_read_without_repetition() -> None:
    """Capitals, spaces and empty parts do not count."""
    assert parse_formats(" HTML,csv,,html, junit ") == ("csv", "html", "junit")
    with pytest.raises(DrillError, match="--write names pdf, xlsx; the formats are csv, html, can"):
        parse_formats("csv,pdf,xlsx")
