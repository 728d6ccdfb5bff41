"""Tests of reading `assignment.toml`."""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from trainer.classroom.assignment import (
    check_due,
    check_weights,
    plain_assignment,
    read_assignment,
)
from trainer.classroom.records import AssignedChallenge, Assignment, Extension
from trainer.model.checks import CHECK_ORDER
from trainer.model.errors import DrillError
from trainer.packs import pack_reader

KNOWN = partial(pack_reader.find_challenge, pack_reader.built_in_pack())
WEEK = """
title = "Week 3"
due = 2026-12-01T23:59:00+01:00
grace = "15 min"
penalty = 10
seconds = 5
memory_mib = 512
students_see = "checks"
why = false

[[challenge]]
id = "gqa"
worth = 2
weights = { values = 4, masks = 2.5, memory = 0, "train/eval" = 3 }

[[challenge]]
id = "kv_cache"

[extensions]
"ana@uni.example" = 2026-12-05T23:59:00+01:00
12345 = "2 days"
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


def read(folder: Path, text: str) -> Assignment:
    """Return the assignment that a text describes."""
    path = folder / "assignment.toml"
    path.write_text(text, encoding="utf-8")
    return read_assignment(path, KNOWN)


def test_every_key_is_read(tmp_path: Path) -> None:
    """The weights are only those that the file names. An id may have underscores."""
    weights = {"values": 4.0, "masks": 2.5, "memory": 0.0, "train/eval": 3.0}
    challenges = (AssignedChallenge("gqa", weights, 2.0), AssignedChallenge("kv-cache"))
    due = datetime.fromisoformat("2026-12-01T22:59:00+00:00").timestamp()
    later = datetime.fromisoformat("2026-12-05T22:59:00+00:00").timestamp()
    assert read(tmp_path, WEEK) == Assignment(
        "Week 3",
        challenges,
        5.0,
        512,
        due,
        "checks",
        False,
        grace=900.0,
        penalty=10.0,
        extensions={
            "ana@uni.example": Extension(due=later),
            "12345": Extension(days=2.0),
            "Bo Li": Extension(days=1.5),
        },
        utc_offset=3600.0,
    )


def test_file_with_only_an_id_has_default_settings(tmp_path: Path) -> None:
    """The assignment is the same as that of `grade --challenge`."""
    plain = Assignment("gqa", (AssignedChallenge("gqa"),))
    assert read(tmp_path, GQA) == plain_assignment("gqa") == plain
    assert read(tmp_path, GQA + GQA.replace("gqa", "mha")).title == "gqa, mha"


@pytest.mark.parametrize(
    ("due", "utc"),
    [
        pytest.param("2026-12-01T23:59:00+01:00", "2026-12-01T22:59:00+00:00", id="with an offset"),
        pytest.param("2026-12-01T23:59:00Z", "2026-12-01T23:59:00+00:00", id="UTC"),
        pytest.param("2026-12-01T23:59:00", "2026-12-01T22:59:00+00:00", id="local, in winter"),
        pytest.param("2026-07-01 23:59:00", "2026-07-01T21:59:00+00:00", id="local, in summer"),
        pytest.param("2026-12-01", "2026-12-01T22:59:59.999999+00:00", id="the end of a day"),
        pytest.param("2026-03-29", "2026-03-29T21:59:59.999999+00:00", id="a day of 23 hours"),
    ],
)
@pytest.mark.usefixtures("paris")
def test_due_time_without_an_offset_is_local(due: str, utc: str, tmp_path: Path) -> None:
    """A day without a time lasts until its end."""
    assignment = read(tmp_path, WEEK.replace("2026-12-01T23:59:00+01:00", due))
    assert assignment.due == datetime.fromisoformat(utc).timestamp()


@pytest.mark.parametrize(
    ("grace", "seconds"),
    [("15", 900), ("0", 0), ("2.5", 150), ('"15 min"', 900), ('"2h"', 7200), ('"1 Hour"', 3600),
     ('"1.5 hours"', 5400), ('"1 day"', 86400), ('"2 days"', 172800), ('"1 week"', 604800)],
)  # fmt: skip
def test_grace_has_units(grace: str, seconds: float, tmp_path: Path) -> None:
    """A number without a unit means minutes. No due time is needed: a system may know it."""
    assert read(tmp_path, f"grace = {grace}\npenalty = 5\n{GQA}").grace == seconds


ABOVE = "belongs to the whole assignment: move it above the first"
# The line of WEEK that is replaced, the new line, and the message.
WRONG = [
    # Unknown keys
    ("title", 'tittle = "x"', 'key `tittle` is unknown here. Did you mean "title"?'),
    ("students_see", 'studentssee = "checks"', 'Did you mean "students_see"?'),
    ("worth", "wort = 2", 'key `wort` is unknown here. Did you mean "worth"?'),
    ("weights", "weight = {}", 'key `weight` is unknown here. Did you mean "weights"?'),
    ("worth", 'title = "x"', f"key `title` is unknown here. It {ABOVE}"),
    ("title", "worth = 2", "key `worth` is unknown here. It belongs to a challenge"),
    ("title", "zzz = 2", "The keys are title, due, grace, penalty, seconds"),
    # Wrong types
    ("title", "title = 3", '`title` is 3; it must be text in quotes. Write title = "3"'),
    ("worth", 'worth = "2"', 'is "2", which is text in quotes; it must be a number. Write worth'),
    ("why", "why = 0", "`why` is 0; it must be true or false. Write why = false"),
    ("memory_mib", "memory_mib = 16.5", "must be a whole number. Write memory_mib = 16"),
    ("weights", "weights = 4", "`weights` is 4; it must be a table. Write weights = { values"),
    ("weights", "weights = {masks = true}", "`masks` is true; it must be a number"),
    ("id", "id = 3", "`id` is 3; it must be text in quotes"),
    ("due", 'due = "2026-12-01"', "without quotes: 2026-12-01 or 2026-12-01T23:59:00+01:00. Write"),
    ("due", 'due = "2026-12-01 23:59"', "Write due = 2026-12-01 23:59:00"),
    ("due", "due = 23:59:00", "`due` is 23:59:00, which is a time of day without a day; it must"),
    ("due", "due = 20261201", "`due` is 20261201; it must be a day or a time"),
    # Wrong values
    ("due", "due = 0001-01-01", "`due` is 0001-01-01, a time that this machine cannot represent"),
    ("id", 'id = "gqq"', "No challenge is called 'gqq'. Did you mean gqa"),
    ("id", "", "The challenge has no `id`. Add id ="),
    ("weights", "weights = {mask = 1}", 'name "mask", which is not a check. Did you mean "masks"?'),
    ("weights", "weights = {Bad_Size = 1}", 'Did you mean "bad sizes"?'),
    ("weights", "weights = {zzz = 1}", "The checks are loads, interface, "),
    ("weights", "weights = {worth = 1}", "must be above [challenge.weights]"),
    ("weights", "weights = {masks = -1}", 'give "masks" the weight -1; it must be 0 or'),
    ("weights", "weights = {masks = inf}", 'give "masks" the weight inf'),
    ("weights", "weights = {masks = nan}", 'give "masks" the weight nan'),
    ("worth", "worth = 0", "`worth` of gqa is 0; it must be a number above 0"),
    ("worth", "worth = -1", "`worth` of gqa is -1"),
    ("worth", "worth = inf", "`worth` of gqa is inf"),
    ("worth", "worth = nan", "`worth` of gqa is nan"),
    ("seconds", "seconds = 0", "`seconds` is 0; it must be more than 0 and at most 86400"),
    ("seconds", "seconds = 86400.5", "`seconds` is 86400.5"),
    ("seconds", "seconds = nan", "`seconds` is nan"),
    ("memory_mib", "memory_mib = 15", "`memory_mib` is 15; it must be 16 to 1048576"),
    ("memory_mib", "memory_mib = 1048577", "`memory_mib` is 1048577"),
    ("students_see", 'students_see = "all"', "The choices are report, checks, verdict."),
    ("students_see", 'students_see = "reports"', 'Did you mean "report"?'),
    ("penalty", "penalty = -1", "`penalty` is -1; it must be 0 to 100"),
    ("penalty", "penalty = 101", "`penalty` is 101"),
    ("penalty", "penalty = nan", "`penalty` is nan"),
    ("penalty", 'penalty = "10%"', "it must be a number. Write penalty = 10"),
    ("grace", 'grace = "15"', 'must be a number of minutes, or text like "15 min"'),
    ("grace", 'grace = "15 parsecs"', '`grace` is "15 parsecs", which is text in quotes'),
    ("grace", "grace = 00:15:00", "`grace` is 00:15:00, which is a time of day"),
    ("grace", "grace = -1", "`grace` is -1; it must be 0 minutes to 366 days"),
    ("grace", "grace = nan", "`grace` is nan"),
    ("grace", "grace = true", "`grace` is true"),
    # Extensions
    ("12345", '12345 = "2 moons"', "a number of days, or text like"),
    ("12345", '12345 = "2026-12-05"', "Write 12345 = 2026-12-05"),
    ("12345", "12345 = 0", "`12345` is 0; an extension must be more than 0 and at most 366 days"),
    ("12345", "12345 = true", "`12345` is true; it must be a day or a time"),
    ("12345", "12345 = 0001-01-01", "`12345` is 0001-01-01, a time that this machine"),
    ("12345", 'ana.lee.x = "2 days"', 'A student with a dot needs quotes. Write "ana.lee.x"'),
    ("12345", "penalty = 10", "`penalty` is a setting of the assignment: move it above"),
    ("12345", '"" = 10', "An extension needs a student before the equals sign"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "new", "message"), WRONG, ids=[new for _, new, _ in WRONG])
@pytest.mark.usefixtures("paris")
def test_wrong_key_or_value_is_refused(key: str, new: str, message: str, tmp_path: Path) -> None:
    """The message names the file, the line, the key and the next step."""
    lines = WEEK.split("\n")
    index = next(index for index, line in enumerate(lines) if line.startswith(key))
    lines[index] = new
    with pytest.raises(DrillError) as caught:
        read(tmp_path, "\n".join(lines))
    assert message in str(caught.value)
    named = index + 1 if new else index  # the header, if the key is missing
    assert f"assignment.toml, line {named}: " in str(caught.value)
    assert "$" not in str(caught.value).partition("toml")[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[challenges]]\nid = "gqa"', r', line 1: The key `challenges` .* mean "challenge"\?'),
        ('\n[challenge]\nid = "gqa"', r", line 2: `challenge` is a table; .*Write \[\[challenge"),
        ('challenge = "gqa"', r", line 1: `challenge` is .* it must be a list of tables \[\[chal"),
        ('challenge = ["gqa"]', r", line 1: `challenge` is a list that holds \"gqa\""),
        ('title = "x"', r": There is no challenge. Add \[\[challenge\]\]"),
        (GQA + GQA, ", line 4: `challenge` names gqa twice"),
        (
            GQA.replace("gqa", "kv-cache") + GQA.replace("gqa", "kv_cache"),
            ", line 4: `challenge` names kv-cache twice",
        ),
        ("extensions = 3\n" + GQA, r", line 1: `extensions` is 3; it must be a table.*Write \[ext"),
        (GQA + "[challenge.weights]\nmasks = 2\nvalue = 1", ', line 5: .*Did you mean "values"'),
        ("title = x\n" + GQA, r" is not valid TOML: Invalid value \(at line 1, .*text in quotes"),
    ],
)
def test_wrong_tables_are_refused(text: str, message: str, tmp_path: Path) -> None:
    """The message names the line, if the file has a line that is wrong."""
    with pytest.raises(DrillError, match=rf"assignment\.toml{message}"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    "setting",
    [
        "seconds = 86400",
        "seconds = 0.25",
        "memory_mib = 16",
        "memory_mib = 1048576",
        'students_see = "verdict"',
        "penalty = 0",
        "penalty = 100",
        "why = true",
        "extensions = {}",
    ],
)
def test_extreme_values_are_read(setting: str, tmp_path: Path) -> None:
    """The limits themselves are allowed."""
    read(tmp_path, f"{setting}\n{GQA}")


def test_weight_for_a_check_that_the_challenge_does_not_have_is_refused(tmp_path: Path) -> None:
    """A challenge without changed weights is not asked for its checks."""
    asked: list[str] = []

    def due(challenge: str) -> tuple[str, ...]:
        asked.append(challenge)
        return ("loads", "values", "masks", "train/eval")

    assignment = read(tmp_path, WEEK)
    path = tmp_path / "assignment.toml"
    with pytest.raises(
        DrillError, match=r'toml, line 14: .* gqa name "memory".* no such'
    ) as caught:
        check_weights(assignment, due, path)
    assert str(caught.value).endswith("Its checks are loads, values, masks and train/eval.")
    assert asked == ["gqa"]
    check_weights(assignment, lambda _: CHECK_ORDER, path)


def test_challenge_with_all_weights_zero_is_refused(tmp_path: Path) -> None:
    """A student could not earn any points."""
    none = ", ".join(f'"{check}" = 0' for check in CHECK_ORDER)
    with pytest.raises(DrillError, match=r"assignment\.toml, line 3: `weights` of gqa are all 0"):
        read(tmp_path, f'[[challenge]]\nid = "gqa"\nweights = {{ {none} }}\n')


def test_weights_that_are_zero_for_all_checks_of_the_challenge_are_refused(tmp_path: Path) -> None:
    """Other checks have a weight, but this challenge does not have them."""
    assignment = read(tmp_path, GQA + "weights = { values = 0 }\n")
    with pytest.raises(DrillError, match=r"line 3: All checks of gqa have the weight 0, so every"):
        check_weights(assignment, lambda _: ["loads", "values"], tmp_path / "assignment.toml")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("penalty = 10", "line 1: `penalty` needs a due time, but the assignment has none. Add"),
        ("grace = 5", "line 1: `grace` needs a due time"),
        (f"{GQA}[extensions]\nAna = 2", "line 4: `Ana` has 2 more days, but the assignment has no"),
    ],
)
def test_settings_for_late_files_need_a_due_time(
    settings: str, message: str, tmp_path: Path
) -> None:
    """A learning management system may give the due time later."""
    text = settings if GQA in settings else f"{settings}\n{GQA}"
    assignment = read(tmp_path, text)
    with pytest.raises(DrillError, match=re.escape(message)):
        check_due(assignment, tmp_path / "assignment.toml")
    check_due(replace(assignment, due=1.0), tmp_path / "assignment.toml")


def test_extension_to_a_day_needs_no_due_time(tmp_path: Path) -> None:
    """Only this student has a due time then."""
    text = f"{GQA}[extensions]\nAna = 2026-12-01"
    check_due(read(tmp_path, text), tmp_path / "assignment.toml")


def test_extension_before_the_due_time_is_refused(tmp_path: Path) -> None:
    """The sentence has both times."""
    text = f"due = 2026-12-01\n{GQA}[extensions]\nAna = 2026-11-30"
    with pytest.raises(
        DrillError, match=r"line 5: `Ana` is 2026-11-30, which is before .*2026-12-01"
    ):
        read(tmp_path, text)


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    """The file is missing, is a folder, is not UTF-8, or is too much for the parser."""
    with pytest.raises(DrillError, match=r"There is no file .*no\.toml. Name the assignment"):
        read_assignment(tmp_path / "no.toml", KNOWN)
    with pytest.raises(DrillError, match=f"{tmp_path} is not a regular file"):
        read_assignment(tmp_path, KNOWN)
    for content in (b"title = '\xff'", b"due = " + b"[" * 5000, b"seconds = " + b"9" * 5000):
        (tmp_path / "b.toml").write_bytes(content)
        with pytest.raises(DrillError, match=r"b\.toml is not valid TOML"):
            read_assignment(tmp_path / "b.toml", KNOWN)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_file_without_permission_is_refused(tmp_path: Path) -> None:
    """The sentence names the file."""
    (tmp_path / "a.toml").touch(0)
    with pytest.raises(DrillError, match=r"a\.toml cannot be read: Permission denied"):
        read_assignment(tmp_path / "a.toml", KNOWN)
