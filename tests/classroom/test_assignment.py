"""Tests of reading `assignment.toml`, and of the score of a result."""

import math
import os
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from random import Random

import pytest

from trainer.classroom.assignment import plain_assignment, read_assignment, score, total
from trainer.classroom.records import WEIGHTS, AssignedChallenge, Assignment
from trainer.model.checks import CHECK_ORDER, Status, Verdict
from trainer.model.errors import DrillError
from trainer.packs import pack_reader

KNOWN = partial(pack_reader.find_challenge, pack_reader.built_in_pack())
WEEK = """
title = "Week 3"
due = 2026-12-01T23:59:00+01:00
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
"""


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
    """Checks without a weight in the file keep their default weight. An id may have underscores."""
    weights = {**WEIGHTS, "values": 4.0, "masks": 2.5, "memory": 0.0, "train/eval": 3.0}
    challenges = (
        AssignedChallenge("gqa", weights, 2.0),
        AssignedChallenge("kv-cache", dict(WEIGHTS), 1.0),
    )
    due = datetime.fromisoformat("2026-12-01T22:59:00+00:00").timestamp()
    assert read(tmp_path, WEEK) == Assignment("Week 3", challenges, 5.0, 512, due, "checks", False)


def test_file_with_only_an_id_has_default_settings(tmp_path: Path) -> None:
    """The assignment is the same as that of `grade --challenge`."""
    plain = Assignment("gqa", (AssignedChallenge("gqa"),))
    gqa, mha = '[[challenge]]\nid = "gqa"\n', '[[challenge]]\nid = "mha"\n'
    assert read(tmp_path, gqa) == plain_assignment("gqa") == plain
    assert read(tmp_path, gqa + mha).title == "gqa, mha"


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
    ("old", "new", "message"),
    [
        pytest.param("title", "tittle", r"unknown field `tittle`", id="an unknown key"),
        pytest.param(
            "worth",
            "wort",
            r"unknown field `wort` - at `\$\.challenge\[0\]`",
            id="an unknown key of a challenge",
        ),
        pytest.param('id = "gqa"', "", r"`id` - at `\$\.challenge\[0\]`", id="no id"),
        pytest.param(
            'title = "Week 3"', "title = 3", r"`\$\.title`", id="a title that is a number"
        ),
        pytest.param("[[challenge]]", "[challenge]", r"not valid TOML", id="invalid TOML"),
        pytest.param(
            "gqa",
            "gqq",
            r"No challenge is called 'gqq'. Did you mean gqa",
            id="an unknown challenge",
        ),
        pytest.param("kv_cache", "gqa", r"`challenge` names gqa twice", id="a challenge twice"),
        pytest.param(
            "gqa",
            "kv-cache",
            r"`challenge` names kv-cache twice",
            id="a challenge twice, in two spellings",
        ),
        pytest.param(
            WEEK[WEEK.index("[[") :],
            "",
            r"There is no challenge. Add \[\[challenge\]\]",
            id="no challenge",
        ),
        pytest.param(
            "masks",
            "mask",
            r"`weights` of gqa name 'mask'.*Did you mean \"masks\"",
            id="a check with a typing error",
        ),
        pytest.param(
            '"train/eval"',
            "Bad_Size",
            r"'Bad_Size'.*Did you mean \"bad sizes\"",
            id="a check without its space",
        ),
        pytest.param(
            "masks",
            "zzz",
            r"'zzz', which is not a check. The checks are loads, .*, work",
            id="an unknown check",
        ),
        pytest.param(
            "2.5", "-1", r"`weights` of gqa give 'masks' the weight -1", id="a negative weight"
        ),
        pytest.param(
            "2.5", "inf", r"`weights` of gqa give 'masks' the weight inf", id="an infinite weight"
        ),
        pytest.param(
            "2.5", "nan", r"`weights` of gqa give 'masks' the weight nan", id="a weight that is NaN"
        ),
        pytest.param(
            "2.5",
            "true",
            r"got `bool` - at `\$\.challenge\[0\]\.weights",
            id="a weight that is a truth value",
        ),
        pytest.param(
            "values = 4",
            ", ".join(
                f'"{check}" = 0'
                for check in CHECK_ORDER
                if check not in ("masks", "memory", "train/eval")
            ),
            "",
            id="most weights 0",
        ),
        pytest.param("worth = 2", "worth = 0", r"`worth` of gqa is 0", id="a worth of 0"),
        pytest.param("worth = 2", "worth = -1", r"`worth` of gqa is -1", id="a negative worth"),
        pytest.param("worth = 2", "worth = inf", r"`worth` of gqa is inf", id="an infinite worth"),
        pytest.param("worth = 2", "worth = nan", r"`worth` of gqa is nan", id="a worth of NaN"),
        pytest.param(
            "seconds = 5",
            "seconds = 0",
            r"`seconds` is 0; it must be more than 0 and at most 86400",
            id="no time",
        ),
        pytest.param(
            "seconds = 5", "seconds = 86400.5", r"`seconds` is 86400.5", id="more than a day"
        ),
        pytest.param(
            "seconds = 5", "seconds = nan", r"`seconds` is nan", id="seconds that are NaN"
        ),
        pytest.param("seconds = 5", "seconds = 86400", "", id="a day"),
        pytest.param("seconds = 5", "seconds = 0.25", "", id="a quarter of a second"),
        pytest.param(
            "memory_mib = 512",
            "memory_mib = 15",
            r"`memory_mib` is 15; it must be 16 to 1048576",
            id="too little memory",
        ),
        pytest.param(
            "memory_mib = 512",
            "memory_mib = 1048577",
            r"`memory_mib` is 1048577",
            id="too much memory",
        ),
        pytest.param("memory_mib = 512", "memory_mib = 16", "", id="the least memory"),
        pytest.param(
            "memory_mib = 512", "memory_mib = 16.5", r"`\$\.memory_mib`", id="a fraction of memory"
        ),
        pytest.param(
            '"checks"',
            '"all"',
            r"`students_see` is 'all'; it must be one of report, checks, verdict",
            id="an unknown choice of students_see",
        ),
        pytest.param('"checks"', '"verdict"', "", id="students see the verdict"),
        pytest.param("why = false", "why = 0", r"`\$\.why`", id="a number for a truth value"),
        pytest.param(
            "2026-12-01T23:59:00+01:00",
            '"2026-12-01"',
            r"`due` is '2026-12-01'; it must be .* without quotes",
            id="a day in quotes",
        ),
        pytest.param(
            "2026-12-01T23:59:00+01:00", "23:59:00", r"`due` is .*23, 59", id="a time without a day"
        ),
        pytest.param("2026-12-01T23:59:00+01:00", "20261201", r"`due` is 20261201", id="a number"),
        pytest.param(
            "2026-12-01T23:59:00+01:00",
            "0001-01-01",
            r"`due` is 0001-01-01, a time that this machine cannot",
            id="a day that the clock cannot represent",
        ),
    ],
)
@pytest.mark.usefixtures("paris")
def test_wrong_values_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    """The message names the file, the key and the next step. Values without a message are read."""
    text = WEEK.replace(old, new, 1 if old in ("kv_cache", "gqa") else -1)
    assert text != WEEK
    if not message:
        read(tmp_path, text)
        return
    with pytest.raises(DrillError, match=rf"assignment\.toml.*{message}"):
        read(tmp_path, text)


def test_challenge_with_all_weights_zero_is_refused(tmp_path: Path) -> None:
    """A student could not earn any points."""
    none = ", ".join(f'"{check}" = 0' for check in CHECK_ORDER)
    with pytest.raises(DrillError, match=r"assignment\.toml: `weights` of gqa are all 0"):
        read(tmp_path, f'[[challenge]]\nid = "gqa"\nweights = {{ {none} }}\n')


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    """The file is missing, is a folder, is not UTF-8, or is too much for the parser."""
    for path in (tmp_path / "no.toml", tmp_path):
        with pytest.raises(DrillError, match=f"There is no file {path}"):
            read_assignment(path, KNOWN)
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


# In the table below, p is a check that passed, f a check that failed, and s a skipped check.
STATUS: dict[str, Status] = {"p": "passed", "f": "failed", "s": "skipped"}


@pytest.mark.parametrize(
    ("weights", "statuses", "verdict", "points"),
    [
        pytest.param(
            {"values": 1, "masks": 1}, {"values": "p", "masks": "p"}, "passed", 100.0, id="a pass"
        ),
        pytest.param(
            {"values": 1, "masks": 1}, {"values": "p", "masks": "f"}, "failed", 50.0, id="half"
        ),
        pytest.param(
            {"values": 4, "masks": 2},
            {"values": "p", "masks": "f"},
            "failed",
            66.7,
            id="two thirds, to one decimal",
        ),
        pytest.param(
            {"values": 4, "masks": 2},
            {"values": "f", "masks": "s"},
            "failed",
            0.0,
            id="skipped is not passed",
        ),
        pytest.param(
            {"values": 4, "masks": 2, "memory": 6},
            {"values": "p", "masks": "s"},
            "failed",
            66.7,
            id="checks that are not due do not count",
        ),
        pytest.param(
            {"values": 1, "loads": 0},
            {"loads": "p", "values": "f"},
            "failed",
            0.0,
            id="no points for a check without weight",
        ),
        pytest.param(
            {"values": 1},
            {"values": "p", "work": "f"},
            "failed",
            100.0,
            id="a check without weight costs nothing",
        ),
        pytest.param(
            {"values": 1},
            {"loads": "p", "values": "p"},
            "timeout",
            100.0,
            id="points for passed checks after a timeout",
        ),
        pytest.param(
            {"values": 1, "from scratch": 1},
            {"values": "p", "from scratch": "f"},
            "not-allowed",
            0.0,
            id="the library's attention",
        ),
        pytest.param({"values": 0}, {"values": "p"}, "passed", 100.0, id="a pass without weights"),
        pytest.param(
            {"values": 0},
            {"values": "p", "masks": "f"},
            "failed",
            0.0,
            id="a failure without weights",
        ),
        pytest.param({"values": 1}, {}, "error", 0.0, id="nothing was due"),
        pytest.param(
            {"values": 1e308, "masks": 1e308, "work": 1e308},
            {"values": "p", "masks": "p", "work": "f"},
            "failed",
            66.7,
            id="weights whose sum is infinite",
        ),
        pytest.param(
            {"values": 5e-324, "masks": 5e-324},
            {"values": "p", "masks": "f"},
            "failed",
            50.0,
            id="the smallest possible weights",
        ),
    ],
)
def test_score_is_the_weighted_share_of_passed_checks(
    weights: dict[str, float], statuses: dict[str, str], verdict: Verdict, points: float
) -> None:
    """A pass always gives 100 points, and library attention gives 0."""
    due = {check: STATUS[letter] for check, letter in statuses.items()}
    assert score(due, AssignedChallenge("gqa", weights), verdict) == points


def test_score_stays_between_0_and_100() -> None:
    """For random statuses and weights.

    The score never falls if another check passes, and does not change if all weights are doubled.
    """
    random = Random(3)
    for _ in range(300):
        due = random.sample(CHECK_ORDER, random.randrange(1, len(CHECK_ORDER)))
        weights = {check: random.choice((0.0, 1.0, random.random() * 10)) for check in CHECK_ORDER}
        statuses: dict[str, Status] = {
            check: random.choice(("passed", "failed", "skipped")) for check in due
        }
        points = score(statuses, AssignedChallenge("gqa", weights), "failed")
        assert 0 <= points <= 100
        doubled = {check: 2 * weight for check, weight in weights.items()}
        assert points == score(statuses, AssignedChallenge("gqa", doubled), "failed")
        better = {**statuses, due[0]: "passed"}
        assert score(better, AssignedChallenge("gqa", weights), "failed") >= points


def test_default_weights_give_nothing_for_loading() -> None:
    """A student who hands in the stub unchanged gets 0 points.

    The stub loads, has the right interface and does not call a library.
    """
    passed = ("loads", "interface", "parameters", "from scratch")
    statuses: dict[str, Status] = {
        check: "passed" if check in passed else "failed" for check in CHECK_ORDER
    }
    assert score(statuses, AssignedChallenge("gqa"), "error") == 0.0


@pytest.mark.parametrize(
    ("scores", "points"),
    [
        pytest.param({"gqa": 100.0, "mha": 100.0}, 100.0, id="everything"),
        pytest.param({"gqa": 50.0, "mha": 0.0}, 33.3, id="worth 2 of 3"),
        pytest.param({"gqa": 0.0, "mha": 50.0}, 16.7, id="worth 1 of 3"),
        pytest.param({"gqa": 100.0, "mha": None}, None, id="the grader failed"),
        pytest.param({"gqa": 100.0}, None, id="not graded yet"),
        pytest.param(
            {"gqa": 50.0, "mha": 0.0, "sdpa": 100.0}, 33.3, id="other challenges do not count"
        ),
        pytest.param({"gqa": 0.0, "mha": 0.0}, 0.0, id="a total of 0"),
    ],
)
def test_total_is_weighted_by_worth(scores: dict[str, float | None], points: float | None) -> None:
    """The total is None only if a challenge has no score."""
    challenges = (AssignedChallenge("gqa", worth=2.0), AssignedChallenge("mha"))
    assert total(scores, Assignment("x", challenges)) == points


def test_total_with_large_worth_is_finite() -> None:
    """The sum of the worth of all challenges would be infinite here."""
    challenges = tuple(AssignedChallenge(name, worth=1e308) for name in ("gqa", "mha"))
    points = total({"gqa": 100.0, "mha": 50.0}, Assignment("x", challenges))
    assert points is not None
    assert math.isclose(points, 75.0)
