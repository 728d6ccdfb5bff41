"""Tests of the terminal text and the JSON of the statistics."""

import json
import re
from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest

from attn_drill.practice.schedule import ScheduledItem, items
from attn_drill.practice.statistics import (
    WEEKS,
    OwnMistake,
    Stats,
    TopicStrength,
    Trend,
    Week,
)
from attn_drill.report.results_text import render_statistics, statistics_as_values
from tests.support.journal import NOW, attempt_at, review, statistics_of
from tests.support.report import lines_of

LONG = (
    "Attention – with a very long title, of which nobody has ever read the end on a narrow terminal"
)

TITLES = {"basics": "Basics", "caches": LONG}


@pytest.fixture
def full() -> Stats:
    """Return statistics with entries in every part."""
    days = [(0, 1), (1, 3), (2, 6), (3, 10), (10, 2), (40, 5), (80, 30)]
    attempts = [
        attempt_at("a", day + save / 1e4, "failed", "no-scale")
        for day, saves in days
        for save in range(saves)
    ]
    attempts += [
        attempt_at("a", day, "passed", seconds=seconds)
        for day, seconds in ((79, 1080.0), (39, 700.0), (0.05, 540.0))
    ]
    reviews = (
        review("challenge:a", 79),
        review("challenge:a", 39),
        review("question:why-sqrt", 39),
    )
    return statistics_of(*attempts, reviews=reviews, starts={"a": [81, 41, 3.5]})


def shown(stats: Stats, width: int = 80) -> str:
    """Return the text for a terminal of this width."""
    return "\n".join(lines_of([render_statistics(stats, TITLES, NOW, width)], width))


@pytest.mark.parametrize("width", [50, 59, 60, 80, 120])
def test_text_has_all_facts_at_every_width(full: Stats, width: int) -> None:
    """No line is too wide, and nothing is cut off."""
    text = shown(full, width)
    assert max(len(line) for line in text.splitlines()) <= width
    words = " ".join(text.split())
    for fact in (
        "4 days in a row",
        "1 of 4 challenges passed",
        "Next b",
        "c builds on b",
        "first 1.8, last 0.9 x par",
        "1 of 2",
    ):
        assert fact in words, fact
    assert re.search(r"\ba: It is not scaled\. \(today\)", words)
    assert all(word in text for word in ("Attention", "with", "terminal"))
    assert "…" not in text, "nothing is cut off"
    assert ("▇▅▄" in text) == (width >= 60), "wide terminals have bars"
    assert re.search(r"question why-sqrt +recall \d\d% +\d+ days ago", text)


def test_calendar_has_a_column_for_each_week(full: Stats) -> None:
    """The shade shows the attempts of the day. A month is above the week in which it begins."""
    lines = shown(full, 50).splitlines()
    assert lines[1].rstrip() == "       Dec Jan     Feb     Mar"
    rows = {line.split()[0]: line for line in lines[2:9]}
    assert list(rows) == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    at = {
        name: [line[7 + 2 * week : 8 + 2 * week] for week in range(WEEKS)]
        for name, line in rows.items()
    }
    assert (at["Thu"][-1], at["Wed"][-1], at["Tue"][-1], at["Mon"][-1]) == ("░", "▒", "▓", "█")
    assert at["Mon"][-2] == "░", "ten days ago"
    assert at["Fri"][-1] == "", "tomorrow"
    assert sum(shade == "·" for row in at.values() for shade in row) == 7 * WEEKS - 3 - 9


def test_month_names_never_touch() -> None:
    """On every day of four years, each name is above its week and has a space after it."""
    from attn_drill.report.results_text import _months

    today = date(2024, 1, 1)
    for day_count in range(4 * 366):
        first = today + timedelta(days=day_count)
        first -= timedelta(days=first.weekday())
        line = _months([Week(first + timedelta(weeks=week), (0,) * 7) for week in range(WEEKS)])
        assert re.fullmatch(r"( *[A-Z][a-z]{2}( +|$))+", line), line
        assert len(line) <= 2 * WEEKS + 1
        for match in re.finditer(r"\w+", line):
            sunday = first + timedelta(weeks=match.start() // 2, days=6)
            assert (match.start() % 2, match[0]) == (0, sunday.strftime("%b"))
            assert not match.start() or sunday.day <= 7, "the month begins in this week"
        assert len(line.split()) >= 2


def test_words_of_a_pack_cannot_control_the_terminal() -> None:
    """Escape sequences and brackets in a title or a mistake are shown as text."""
    stats = replace(
        statistics_of(),
        mistakes=(OwnMistake("a", "x", "\x1b[31mred[/] [bold]x", 1, NOW),),
        topics=(TopicStrength("t\x1b[2J", 1, 0, 0, None),),
    )
    text = shown(stats)
    assert "\x1b" not in text
    assert "red[/] [bold]x" in text


def test_long_lists_are_shortened() -> None:
    """The first entries are shown with the number of the others. A long trend is one line."""
    stats = replace(
        statistics_of(),
        mistakes=tuple(
            OwnMistake("a", f"m{index}", f"says {index}.", 50 - index, NOW) for index in range(20)
        ),
        due=tuple(
            items([review(f"question:q{index:02}", 50) for index in range(30)], NOW).values()
        ),
        trends=(Trend(None, tuple(float(index) for index in range(200))), Trend("a", (0.0, 0.0))),
        later={f"w{index}": ("a",) for index in range(20)},
    )
    text = shown(stats)
    assert text.count("says ") + int(re.findall(r"and (\d+) more; --json", text)[0]) == 20
    more = re.findall(r"and (\d+) more$", re.sub(" +$", "", text, flags=re.M), flags=re.M)
    assert text.count("question q") + int(more[0]) == 30
    assert max(map(len, text.splitlines())) <= 80
    assert "first 0.0, last 199.0 x par" in text
    assert "▇" in text.split("Time against par")[1]


def test_days_in_words(full: Stats) -> None:
    """A streak may end yesterday. 1 day is singular. Without due items the next item is named."""
    assert "1 attempt on 1 day, " in shown(statistics_of(attempt_at("a", 1)))
    assert "1 day in a row up to yesterday." in shown(statistics_of(attempt_at("a", 1)))
    assert "1 day in a row." in shown(statistics_of(attempt_at("a", 0)))
    assert "no day in a row yet." in shown(statistics_of(attempt_at("a", 5)))
    assert re.search(
        r"Nothing today\. a is next, in \d+ days\.",
        shown(statistics_of(reviews=(review("challenge:a", 0, 4),))),
    )
    assert "Every challenge is passed." in shown(
        statistics_of(*(attempt_at(name, 1, "passed") for name in "abcd"))
    )


def test_item_that_is_due_later_today_is_due_today() -> None:
    """Only the date counts, as in the list of what is due."""
    now = datetime(2026, 3, 5, 8).timestamp()
    evening = datetime(2026, 3, 5, 21).timestamp()
    item = ScheduledItem("challenge:a", evening, 0.9, 1, review("challenge:a", 2))
    words = " ".join("\n".join(lines_of([render_statistics(Stats(due=(item,)), {}, now)])).split())
    assert "a recall 90% today" in words


def test_json_values_have_the_same_facts(full: Stats) -> None:
    """The values can be written as JSON and read again."""
    values = json.loads(json.dumps(statistics_as_values(full, TITLES), allow_nan=False))
    assert values["schema"] == "attn-drill.stats/2"
    assert values["streak_days"] == 4
    assert values["weeks"][-1] == {
        "monday": "2026-03-02",
        "attempts": [10, 6, 3, 2, None, None, None],
    }
    assert values["par"][0] == {"challenge": None, "shares": list(full.trends[0].shares)}
    assert values["later"][0] == {"challenge": "c", "builds_on": ["b"]}
    assert values["topics"][1]["title"] == LONG
    assert values["due"][0]["item"] == full.due[0].name


@pytest.mark.parametrize(
    ("item", "name", "command"),
    [
        ("challenge:a", "a ", "review starts the first"),
        ("follow-up:a:3", "a, follow-up question 3", "review --minutes 15 asks the first"),
        ("question:why-sqrt", "question why-sqrt", "quiz asks the first"),
        ("line:a:keys-tiled", "a, a wrong line recall", "quiz asks the first"),
    ],
)
def test_due_item_has_its_name_and_its_command(item: str, name: str, command: str) -> None:
    """The command that asks an item depends on its kind."""
    due = tuple(items([review(item, 50)], NOW).values())
    words = " ".join(shown(Stats(due=due)).split())
    assert name in words
    assert f"attn-drill {command}." in words
