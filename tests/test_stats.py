"""What `stats` counts and how it shows it."""

import contextlib
import io
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone, tzinfo
from pathlib import Path

import pytest
from rich.console import Console

from tests.test_cli import drill
from trainer.model.attempt import Attempt
from trainer.model.challenge import Challenge, Mistake
from trainer.packs import pack_reader
from trainer.packs.mistakes import read_mistakes
from trainer.practice.journal import Journal, Review
from trainer.practice.schedule import items
from trainer.practice.statistics import (
    WEEKS,
    OwnMistake,
    Stats,
    TopicStrength,
    Trend,
    Waiting,
    Week,
    statistics,
)
from trainer.report.statistics_text import EMPTY, as_values, render, show_stats

UTC = timezone.utc  # noqa: UP017  # as the zones beside it
EAST, WEST = timezone(timedelta(hours=9)), timezone(timedelta(hours=-8))
NOW = datetime(2026, 3, 5, 12, tzinfo=UTC).timestamp()  # a Thursday
DAY = 86_400.0


def challenge(name: str, *builds_on: str, topic: str = "basics", minutes: int = 10) -> Challenge:
    """One of a pack."""
    return Challenge(
        name,
        f"About {name}",
        "easy",
        minutes,
        "function",
        (name,),
        builds_on,
        ("", "", ""),
        Path("/c"),
        Path("/s"),
        topic,
    )


A, B, C, D = (
    challenge("a"),
    challenge("b", "a", topic="caches"),
    challenge("c", "a", "b", topic="caches", minutes=20),
    challenge("d", "c", "elsewhere"),
)
PACK = (A, B, C, D)
MISTAKES = {
    "a": [
        Mistake("no-scale", "", "", "It is not scaled.", ""),
        Mistake("late", "", "", "It comes late.", ""),
    ]
}


def tried(
    name: str,
    days: float,
    verdict: str = "failed",
    *mistakes: str,
    seconds: float | None = None,
    purpose: str = "practice",
) -> Attempt:
    """An attempt, so many days before now."""
    return Attempt(
        name,
        NOW - days * DAY,
        1,
        verdict,
        0,
        1,
        "",
        seconds=seconds,
        mistakes=mistakes,
        purpose=purpose,
    )  # type: ignore[arg-type]


def review(item: str, days: float, rating: int = 3) -> Review:
    """A review, so many days before now."""
    return Review(f"{item} {days}", item, NOW - days * DAY, rating, "")


def counted(
    *attempts: Attempt,
    reviews: tuple[Review, ...] = (),
    starts: dict[str, list[float]] | None = None,
    zone: tzinfo | None = UTC,
) -> Stats:
    """The statistics of this pack; starts in days before now."""
    since = {
        name: sorted(NOW - days * DAY for days in some) for name, some in (starts or {}).items()
    }
    return statistics(attempts, reviews, PACK, MISTAKES, NOW, starts=since, zone=zone)


# What is counted


def test_weeks() -> None:
    """Twelve of them from Monday on, the last with today; days to come are none, days before them are only in the totals."""
    stats = counted(
        tried("a", 0),
        tried("a", 0.1),
        tried("b", 3),
        tried("a", 7 * 11 + 3),
        tried("a", 7 * 11 + 4),
        tried("a", 300, purpose="hunt"),
    )
    assert [week.monday for week in stats.weeks] == [
        date(2026, 3, 2) - timedelta(weeks=number) for number in reversed(range(WEEKS))
    ]
    assert stats.weeks[-1].days == (1, 0, 0, 2, None, None, None)
    assert stats.weeks[0].days == (1, 0, 0, 0, 0, 0, 0)
    assert all(sum(day or 0 for day in week.days) == 0 for week in stats.weeks[1:-1])
    assert (stats.attempts, stats.active_days) == (6, 5)


@pytest.mark.parametrize(("zone", "day"), [(UTC, 3), (EAST, 4), (WEST, 3)])
def test_days_are_those_of_the_zone(zone: tzinfo, day: int) -> None:
    """Twenty o'clock in Greenwich is tomorrow in Tokyo."""
    at = datetime(2026, 3, 5, 20, tzinfo=UTC).timestamp()
    stats = statistics([Attempt("a", at, 1, "failed", 0, 1, "")], [], PACK, {}, at, zone=zone)
    assert stats.weeks[-1].days.index(1) == day
    assert stats.streak == 1


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's own zone has summer time, from 8 March 2026 on."""
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("new_york")
def test_the_zone_of_the_machine_has_summer_time() -> None:
    """Half past four in Greenwich is before midnight there in winter, and after it in summer."""
    winter, summer = (datetime(2026, month, 12, 4, 30, tzinfo=UTC).timestamp() for month in (2, 3))
    stats = statistics(
        [Attempt("a", at, 1, "failed", 0, 1, "") for at in (winter, summer)],
        [],
        PACK,
        {},
        summer,
        zone=None,
    )
    days = {
        week.monday + timedelta(days=number)
        for week in stats.weeks
        for number, day in enumerate(week.days)
        if day
    }
    assert days == {date(2026, 2, 11), date(2026, 3, 12)}


STREAKS = [
    ([], 0),
    ([0], 1),
    ([0, 0, 0.1], 1),
    ([1], 1),
    ([2], 0),
    ([0, 1, 2, 4], 3),
    ([1, 2, 3], 3),
    ([2, 3, 4], 0),
    (list(range(200)), 200),
    ([-1, 0], 1),
]


@pytest.mark.parametrize(("days", "streak"), STREAKS)
def test_streaks(days: list[float], streak: int) -> None:
    """Days in a row up to today or yesterday, also longer than the calendar."""
    assert counted(*(tried("a", one) for one in days)).streak == streak


def test_nothing() -> None:
    """No attempts: empty weeks, what is open, and nothing else."""
    stats = counted()
    assert (
        stats.attempts,
        stats.streak,
        stats.passed,
        stats.trends,
        stats.mistakes,
        stats.due,
        stats.next_due,
    ) == (0, 0, 0, (), (), (), None)
    assert stats.ready == ("a",)
    assert [one.recall for one in stats.topics] == [None, None]


def test_topics() -> None:
    """How many are passed, and the mean of how likely the reviewed ones are recalled now; a hunt's pass and a question are none of it."""
    reviews = (
        review("challenge:b", 10),
        review("challenge:c", 40),
        review("question:x", 1),
        review("challenge:gone", 1),
    )
    stats = counted(
        tried("b", 10, "passed"),
        tried("a", 9, "passed", purpose="hunt"),
        tried("c", 8, "passed", purpose="interview"),
        reviews=reviews,
    )
    alone = [items([one], NOW)[one.item].strength for one in reviews[:2]]
    assert alone[0] != alone[1]
    assert stats.topics == (
        TopicStrength("basics", 2, 0, 0, None),
        TopicStrength("caches", 2, 2, 2, sum(alone) / 2),
    )
    assert (stats.passed, stats.challenges) == (2, 4)


def test_what_comes_next() -> None:
    """Open is what builds on passed ones only; the others say what is missing, but not what this pack has not; a hunt opens nothing."""
    assert counted(tried("a", 1, "passed", purpose="hunt")).ready == ("a",)
    stats = counted(tried("a", 2, "passed"), tried("a", 1))
    assert stats.ready == ("b",)
    assert stats.waiting == (Waiting("c", ("b",)), Waiting("d", ("c",)))
    stats = counted(*(tried(name, 1, "passed") for name in "abc"))
    assert (stats.ready, stats.waiting) == (("d",), ())
    stats = counted(*(tried(name, 1, "passed") for name in "abcd"))
    assert (stats.ready, stats.waiting) == ((), ())


def test_times_against_par() -> None:
    """The first pass after each start, in order of time, of all and of those with several; a hunt and an unknown time are left out."""
    stats = counted(
        tried("a", 29.9, "failed", seconds=60),
        tried("a", 29.8, "passed", seconds=1080),
        tried("a", 29.7, "failed", seconds=1100),
        tried("a", 29.6, "passed", seconds=1200),
        tried("b", 29.95, "failed", seconds=6),
        tried("c", 25, "passed", seconds=600),
        tried("b", 21, "passed", seconds=150),
        tried("a", 20, "passed", seconds=5, purpose="hunt"),
        tried("a", 9, "passed", seconds=300),
        tried("b", 8, "passed"),
        starts={"a": [30, 10], "c": [26]},
    )
    assert stats.trends == (Trend(None, (1.8, 0.5, 0.25, 0.5)), Trend("a", (1.8, 0.5)))
    assert counted(tried("b", 8, "passed")).trends == ()


def test_a_challenge_without_par_time() -> None:
    """It has no trend, and nothing is divided by nothing."""
    pack = (replace(A, minutes=0),)
    assert (
        statistics([tried("a", 1, "passed", seconds=60)], [], pack, {}, NOW, zone=UTC).trends == ()
    )


def test_own_mistakes() -> None:
    """Saving a mistake ten times is once; after another save without it, or after another start, it is made again; in a hunt it is not the learner's."""
    saves = [tried("a", 5 - number / 1000, "failed", "no-scale") for number in range(10)]
    (one,) = counted(*saves).mistakes
    assert one == OwnMistake("a", "no-scale", "It is not scaled.", 1, saves[-1].when)
    between = tried("a", 4.9955)
    assert counted(*saves, between).mistakes[0].count == 2
    other = tried("b", 4.9955)
    assert counted(*saves, other).mistakes[0].count == 1, "another challenge does not come between"
    assert counted(*saves, starts={"a": [6, 4.9955]}).mistakes[0].count == 2
    assert counted(*saves, tried("a", 4.9955, "failed", purpose="hunt")).mistakes[0].count == 1
    assert counted(tried("a", 5, "failed", "no-scale", purpose="hunt")).mistakes == ()


def test_the_order_of_mistakes() -> None:
    """The most frequent first, then the latest; one that the pack no longer knows goes by its id."""
    attempts = [
        tried("a", 9, "failed", "late", "no-scale"),
        tried("a", 8, "failed"),
        tried("a", 7, "failed", "no-scale", "no-scale"),
        tried("b", 1, "failed", "gone"),
    ]
    found = counted(*attempts).mistakes
    assert [(one.challenge, one.id, one.says, one.count) for one in found] == [
        ("a", "no-scale", "It is not scaled.", 2),
        ("b", "gone", "gone", 1),
        ("a", "late", "It comes late.", 1),
    ]
    assert found[0].last_at == attempts[2].when


def test_what_is_due() -> None:
    """The longest due first, questions among them; then the first that is not; what the pack no longer has is left out."""
    reviews = (
        review("challenge:b", 30),
        review("question:q", 40),
        review("challenge:a", 0.5, 4),
        review("challenge:c", 0.5, 3),
        review("challenge:gone", 90),
    )
    stats = counted(reviews=reviews)
    assert [one.name for one in stats.due] == ["question:q", "challenge:b"]
    assert stats.next_due is not None
    assert stats.next_due.name == "challenge:c"


def test_any_order_gives_the_same() -> None:
    """Journals are put together in any order."""
    attempts = [
        tried(name, days / 3, verdict, *mistakes, seconds=days * 7.0)
        for days, (name, verdict, mistakes) in enumerate(
            [
                ("a", "failed", ("no-scale",)),
                ("a", "passed", ()),
                ("b", "failed", ("late", "no-scale")),
                ("zz", "passed", ()),
            ]
            * 9
        )
    ]
    reviews = [review("challenge:a", days, 1 + days % 4) for days in range(9)]
    found = []
    for seed in range(5):
        random.Random(seed).shuffle(attempts)
        random.Random(seed).shuffle(reviews)
        found.append(counted(*attempts, reviews=tuple(reviews), starts={"a": [3, 7]}))
    assert all(one == found[0] for one in found)
    assert found[0].mistakes
    assert found[0].trends


# What is shown


LONG = (
    "Attention – with a very long title, of which nobody has ever read the end on a narrow terminal"
)
TITLES = {"basics": "Basics", "caches": LONG}


@pytest.fixture
def full() -> Stats:
    """A learner with something of everything."""
    days = [(0, 1), (1, 3), (2, 6), (3, 10), (10, 2), (40, 5), (80, 30)]
    attempts = [
        tried("a", day + save / 1e4, "failed", "no-scale")
        for day, saves in days
        for save in range(saves)
    ]
    attempts += [
        tried("a", day, "passed", seconds=seconds)
        for day, seconds in ((79, 1080.0), (39, 700.0), (0.05, 540.0))
    ]
    reviews = (
        review("challenge:a", 79),
        review("challenge:a", 39),
        review("question:why-sqrt", 39),
    )
    return counted(*attempts, reviews=reviews, starts={"a": [81, 41, 3.5]})


def shown(stats: Stats, width: int = 80, *, unicode: bool = True, colour: bool = False) -> str:
    """The text on a terminal of this width."""
    console = Console(
        width=width,
        no_color=not colour,
        force_terminal=colour,
        highlight=False,
        color_system="truecolor" if colour else None,
    )
    with console.capture() as capture:
        console.print(render(stats, TITLES, NOW, width, unicode=unicode))
    return capture.get()


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("width", [50, 59, 60, 80, 120])
def test_everything_is_there_at_every_width(full: Stats, width: int, unicode: bool) -> None:
    """No line is wider than the terminal, and no fact is missing."""
    text = shown(full, width, unicode=unicode)
    assert max(len(line) for line in text.splitlines()) <= width
    words = " ".join(text.split())
    for fact in (
        "4 days in a row",
        "1 of 4 challenges passed",
        "open b",
        "c (first b)",
        "first 1.8, last 0.9 x par",
        "1 of 2",
    ):
        assert fact in words, fact
    assert re.search(r"\ba: It is not scaled\. \(today\)", words)
    assert all(word in text for word in ("Attention", "with", "terminal"))
    assert "…" not in text, "nothing is cut off"
    assert (("█▆▅" if unicode else "1.8 1.2 0.9") in text) == (width >= 60), (
        "bars where there is room"
    )
    assert re.search(r"question why-sqrt +recall \d\d% +\d+ days ago", text)
    assert unicode or text.isascii()


def test_the_calendar_at_its_place(full: Stats) -> None:
    """Seven rows, a column a week, the shade by the attempts of the day, the month above the week in which it begins."""
    lines = shown(full, 50).splitlines()
    assert lines[1].rstrip() == "       Dec Jan     Feb     Mar"
    rows = {line.split()[0]: line for line in lines[2:9]}
    assert list(rows) == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    at = {
        name: [line[7 + 2 * number : 8 + 2 * number] for number in range(WEEKS)]
        for name, line in rows.items()
    }
    assert (at["Thu"][-1], at["Wed"][-1], at["Tue"][-1], at["Mon"][-1]) == ("░", "▒", "▓", "█")
    assert at["Mon"][-2] == "░", "ten days ago"
    assert at["Fri"][-1] == "", "tomorrow"
    assert sum(shade == "·" for row in at.values() for shade in row) == 7 * WEEKS - 3 - 9
    ascii_lines = shown(full, 50, unicode=False).splitlines()
    assert [line[29:30] for line in ascii_lines[2:6]] == ["#", "*", "+", "-"]


def test_months_never_touch() -> None:
    """On every day of four years: each name stands above its own week, with a space before the next."""
    from trainer.report.statistics_text import _months

    today = date(2024, 1, 1)
    for number in range(4 * 366):
        first = today + timedelta(days=number)
        first -= timedelta(days=first.weekday())
        line = _months([Week(first + timedelta(weeks=week), (0,) * 7) for week in range(WEEKS)])
        assert re.fullmatch(r"( *[A-Z][a-z]{2}( +|$))+", line), line
        assert len(line) <= 2 * WEEKS + 1
        for found in re.finditer(r"\w+", line):
            sunday = first + timedelta(weeks=found.start() // 2, days=6)
            assert (found.start() % 2, found[0]) == (0, sunday.strftime("%b"))
            assert not found.start() or sunday.day <= 7, "the month begins in this week"
        assert len(line.split()) >= 2


@pytest.mark.parametrize("width", [50, 80])
def test_colour_adds_nothing_that_words_lack(full: Stats, width: int) -> None:
    """Without its escape sequences the coloured text is the plain one."""
    coloured = shown(full, width, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == shown(full, width)


def test_no_color_is_heard(full: Stats, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR takes the colours, a pipe all sequences, another encoding what it lacks."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="latin-1")
    show_stats(full, TITLES, NOW, stream)
    stream.flush()
    text = raw.getvalue().decode("latin-1")
    assert "\x1b" not in text
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 60


def test_words_of_a_pack_cannot_draw() -> None:
    """Escape sequences and brackets in a title or a mistake are text."""
    stats = replace(
        counted(),
        mistakes=(OwnMistake("a", "x", "\x1b[31mred[/] [bold]x", 1, NOW),),
        topics=(TopicStrength("t\x1b[2J", 1, 0, 0, None),),
    )
    text = shown(stats)
    assert "\x1b" not in text
    assert "red[/] [bold]x" in text


def test_many_are_told_in_short() -> None:
    """Of a long list the first, and how many more there are; a long way is a short line."""
    stats = replace(
        counted(),
        mistakes=tuple(
            OwnMistake("a", f"m{number}", f"says {number}.", 50 - number, NOW)
            for number in range(20)
        ),
        due=tuple(
            items([review(f"question:q{number:02}", 50) for number in range(30)], NOW).values()
        ),
        trends=(Trend(None, tuple(float(number) for number in range(200))), Trend("a", (0.0, 0.0))),
        waiting=tuple(Waiting(f"w{number}", ("a",)) for number in range(20)),
    )
    for unicode in (True, False):
        text = shown(stats, unicode=unicode)
        assert text.count("says ") + int(re.findall(r"and (\d+) more; --json", text)[0]) == 20
        assert (
            text.count("question q")
            + int(
                re.findall(r"and (\d+) more$", re.sub(" +$", "", text, flags=re.M), flags=re.M)[0]
            )
            == 30
        )
        assert max(map(len, text.splitlines())) <= 80
        assert "first 0.0, last 199.0 x par" in text
    assert "█" in shown(stats).split("Time against par")[1]


def test_days_in_words(full: Stats) -> None:
    """A streak that today has not continued says so; one day is no days; nothing due says what is next."""
    assert "1 attempt on 1 day, " in shown(counted(tried("a", 1)))
    assert "1 day in a row up to yesterday." in shown(counted(tried("a", 1)))
    assert "1 day in a row." in shown(counted(tried("a", 0)))
    assert "no day in a row yet." in shown(counted(tried("a", 5)))
    assert re.search(
        r"Nothing today\. a is next, in \d+ days\.",
        shown(counted(reviews=(review("challenge:a", 0, 4),))),
    )
    assert "Every challenge is passed." in shown(
        counted(*(tried(name, 1, "passed") for name in "abcd"))
    )


def test_values_for_json(full: Stats) -> None:
    """The same facts, in plain values that come back from JSON as they are."""
    values = as_values(full, TITLES)
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["schema"] == "attn-drill.stats/1"
    assert values["streak_days"] == 4
    assert values["weeks"][-1] == {
        "monday": "2026-03-02",
        "attempts": [10, 6, 3, 2, None, None, None],
    }
    assert values["par"][0] == {"challenge": None, "shares": list(full.trends[0].shares)}
    assert values["waiting"][0] == {"challenge": "c", "missing": ["b"]}
    assert values["topics"][1]["title"] == LONG
    assert values["due"][0]["item"] == full.due[0].name


# The command


PASSED = pack_reader.read_pack(pack_reader.built_in_pack())[0]


@pytest.fixture
def lived(home: Path) -> Path:
    """A home in which the first challenge was passed today, after a known mistake."""
    with contextlib.closing(Journal(home)) as journal:
        now = time.time()
        journal.record_start(PASSED.id, Path("/x"), now - 2)
        first = journal.record_attempt(
            Attempt(PASSED.id, now - 1, 1, "failed", 3, 14, "", seconds=60.0)
        )
        journal.record_diagnosis(first, [read_mistakes(PASSED)[0].id], 3)
        journal.record_attempt(Attempt(PASSED.id, now, 1, "passed", 14, 14, "", seconds=90.0))
        journal.record_review(f"challenge:{PASSED.id}", now, 3, "")
        assert journal.trouble is None
    return home


def test_an_empty_journal(tmp_path: Path, home: Path) -> None:
    """One sentence what to do, and no file; JSON is an object all the same."""
    assert drill("stats", cwd=tmp_path).stdout == EMPTY + "\n"
    values = json.loads(drill("stats", "--json", cwd=tmp_path).stdout)
    assert (values["attempts"], values["passed"], values["mistakes"]) == (0, 0, [])
    assert values["challenges"] == len(pack_reader.read_pack(pack_reader.built_in_pack()))
    assert not home.exists()


@pytest.mark.usefixtures("lived")
def test_the_command(tmp_path: Path) -> None:
    """At 80 and 50 columns, in ASCII where it must be; the mistake in the pack's words; JSON alone on stdout."""
    for columns, encoding in ((80, "utf-8"), (50, "utf-8"), (50, "ascii")):
        text = drill("stats", cwd=tmp_path, COLUMNS=str(columns), PYTHONIOENCODING=encoding).stdout
        assert max(map(len, text.splitlines())) <= columns
        assert "1 day in a row" in " ".join(text.split())
        assert PASSED.id in text
        assert text.isascii() == (encoding == "ascii")
    values = json.loads(drill("stats", "--json", cwd=tmp_path).stdout)
    assert values["mistakes"][0]["says"] == read_mistakes(PASSED)[0].says
    assert values["par"] == [{"challenge": None, "shares": [90.0 / (60 * PASSED.minutes)]}]
    assert values["next_due"]["item"] == f"challenge:{PASSED.id}"
    assert all(one["title"] != one["name"] for one in values["topics"]), (
        "titles come from the question bank"
    )


def test_days_of_the_command_are_local(tmp_path: Path, home: Path) -> None:
    """The same moment is two days in two zones."""
    with contextlib.closing(Journal(home)) as journal:
        journal.record_attempt(Attempt(PASSED.id, time.time() - 3600, 1, "failed", 0, 1, ""))
    days = set()
    for zone in ("XXX-14", "XXX+12"):
        weeks = json.loads(drill("stats", "--json", cwd=tmp_path, TZ=zone).stdout)["weeks"]
        days |= {
            date.fromisoformat(week["monday"]) + timedelta(days=number)
            for week in weeks
            for number, count in enumerate(week["attempts"])
            if count
        }
    assert len(days) == 2


def test_trouble_is_told(home: Path, tmp_path: Path) -> None:
    """A broken journal is named on stderr; the exit code is that of a command that did its work."""
    home.mkdir()
    (home / "journal.sqlite3").write_bytes(b"no journal at all" * 100)
    done = drill("stats", cwd=tmp_path)
    assert "journal.broken-1.sqlite3" in done.stderr
    assert done.stdout == EMPTY + "\n"


@pytest.mark.usefixtures("lived")
def test_no_torch(tmp_path: Path) -> None:
    """`stats`, `export` and `import` import neither torch nor numpy; the last two no rich either."""
    script = (
        "import sys; from trainer.cli import commands; sys.argv = ['attn-drill', *sys.argv[1:]]; code = commands._run(); sys.stdout.flush();"
        "print(sorted(set(sys.modules) & {'torch', 'numpy', 'rich'}), file=sys.stderr); sys.exit(code)"
    )
    for arguments, modules in (
        (["stats"], "['rich']"),
        (["export", "a"], "[]"),
        (["import", "a"], "[]"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr.strip()) == (0, modules)
