"""Statistics of the journal as terminal text or as plain values for JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from rich.bar import Bar
from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.text import Text

from attn_drill.model.quantities import plural
from attn_drill.practice.agenda import in_days
from attn_drill.practice.schedule import (
    ScheduledItem,
    challenge_of,
    days_until,
    follow_up_challenge,
)
from attn_drill.practice.statistics import OwnMistake, Stats, TopicStrength, Trend, Week
from attn_drill.report.literal import LiteralTable, Trimmed, grid
from attn_drill.report.styles import QUIET, RIGHT, WRONG
from attn_drill.report.visible import visible

# The least attempts of a day for a shade.
_SHADES = ((1, "░"), (3, "▒"), (6, "▓"), (10, "█"))
_NONE = "·"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BARS = "▁▂▃▄▅▆▇"
_MOST_BARS = 16
_MOST_MISTAKES, _MOST_DUE, _MOST_LATER = 8, 12, 12
_RECALL_BAR = 10
_WIDE = 60  # least width at which the tables have bars
EMPTY = (
    "There are no attempts yet. `attn-drill list` shows the challenges, `attn-drill start ID` "
    "hands out a stub, `attn-drill check ID` grades your answer."
)


def render(stats: Stats, titles: Mapping[str, str], now: float, width: int = 80) -> RenderableType:
    """Return the statistics as one renderable.

    Args:
        stats: the statistics.
        titles: the title of each topic, by the topic's name.
        now: seconds since the epoch.
        width: the columns of the terminal.
    """
    parts: list[RenderableType] = [*_calendar(stats)]
    for title, content in (
        ("Due", _due(stats, now)),
        ("Next", _next(stats)),
        ("Topics", _topics(stats.topics, titles, width)),
        ("Time against par", _trends(stats.trends, width)),
        ("Your own mistakes", _mistakes(stats.mistakes, now)),
    ):
        if content is not None:
            parts += [
                Text(),
                Text(title, style="bold"),
                Padding(content, (0, 0, 0, 2), expand=False),
            ]
    return Trimmed(Group(*parts))


def as_values(stats: Stats, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return the statistics as plain values for JSON.

    Times are seconds since the epoch, days are ISO dates, recall is a probability from 0 to 1.
    """
    return {
        "schema": "attn-drill.stats/2",
        "attempts": stats.attempts,
        "active_days": stats.active_days,
        "streak_days": stats.streak,
        "passed": len(stats.passed),
        "challenges": stats.challenges,
        "weeks": [
            {"monday": week.monday.isoformat(), "attempts": list(week.days)} for week in stats.weeks
        ],
        "topics": [
            {**dataclasses.asdict(topic), "title": titles.get(topic.name, topic.name)}
            for topic in stats.topics
        ],
        "par": [
            {"challenge": trend.challenge, "shares": list(trend.shares)} for trend in stats.trends
        ],
        "mistakes": [dataclasses.asdict(mistake) for mistake in stats.mistakes],
        "next": list(stats.next),
        "later": [
            {"challenge": name, "builds_on": list(bases)} for name, bases in stats.later.items()
        ],
        "due": [_item_values(item) for item in stats.due],
        "next_due": _item_values(stats.next_due) if stats.next_due else None,
    }


def _item_values(item: ScheduledItem) -> dict[str, Any]:
    return {
        "item": item.name,
        "due_at": item.due_at,
        "recall": item.strength,
        "reviews": item.reviews,
    }


def _grid(*columns: JustifyMethod) -> LiteralTable:
    """Return a table without lines, whose columns are aligned at this side."""
    table = grid(padding=(0, 2))
    for side in columns:
        table.add_column(justify=side)
    return table


def _calendar(stats: Stats) -> Iterator[RenderableType]:
    yield Text(f"Last {len(stats.weeks)} weeks", style="bold")
    yield Text(f"       {_months(stats.weeks)}", style=QUIET)
    for weekday, name in enumerate(_DAYS):
        line = Text("  ").append(f"{name} ", style=QUIET)
        for week in stats.weeks:
            line.append(" ")
            line.append(*_shade(week.days[weekday]))
        line.rstrip()
        yield line
    legend = Text("  ")
    legend.append(_NONE, style=QUIET)
    legend.append(" none")
    for shade, following in zip(_SHADES, [*_SHADES[1:], None], strict=True):
        legend.append(f"  {shade[1]}", style=RIGHT)
        legend.append(f" {shade[0]}-{following[0] - 1}" if following else f" {shade[0]} or more")
    yield legend
    attempts = f"{plural(stats.attempts, 'attempt')} on {plural(stats.active_days, 'day')}"
    passed = f"{len(stats.passed)} of {plural(stats.challenges, 'challenge')} passed"
    yield Text(f"{attempts}, {passed}; {_streak(stats)}.")


def _shade(attempts: int | None) -> tuple[str, str]:
    if attempts is None:
        return " ", ""
    reached = [shade for shade in _SHADES if attempts >= shade[0]]
    return (reached[-1][1], RIGHT) if reached else (_NONE, QUIET)


def _streak(stats: Stats) -> str:
    if not stats.streak:
        return "no day in a row yet"
    *_, today = (day for day in stats.weeks[-1].days if day is not None)
    return f"{plural(stats.streak, 'day')} in a row" + ("" if today else " up to yesterday")


def _months(weeks: Sequence[Week]) -> str:
    """Return a line with the name of each month above the week in which it begins.

    A week has two columns. The first week has a name too, unless the next name would touch it.
    """
    text = ""
    for index, week in enumerate(weeks):
        sunday = date.fromordinal(week.monday.toordinal() + 6)
        if index and sunday.day > 7:
            continue
        month = _MONTHS[sunday.month - 1]
        if len(text) > 2 * index:
            text = ""  # the names would touch, so the name of the first week is left out
        text = text.ljust(2 * index) + month + " "
    return text.rstrip()


def _due(stats: Stats, now: float) -> RenderableType | None:
    if not stats.due:
        if stats.next_due is None:
            return None
        name = visible(_name(stats.next_due), lines=True)
        return Text(f"Nothing today. {name} is next, {_when(stats.next_due.due_at, now)}.")
    table = _grid("left", "left", "right")
    for item in stats.due[:_MOST_DUE]:
        table.add_row(
            visible(_name(item), lines=True),
            f"recall {item.strength:.0%}",
            Text(_when(item.due_at, now), style=QUIET),
        )
    if (more := len(stats.due) - _MOST_DUE) > 0:
        table.add_row(f"and {more} more", "", "")
    return Group(table, Text(f"attn-drill {_command_for(stats.due[0])}.", style=QUIET))


def _command_for(item: ScheduledItem) -> str:
    """Return the command that asks an item, and what it does."""
    if challenge_of(item.name) is not None:
        return "review starts the first"
    if follow_up_challenge(item.name) is not None:
        return "review --minutes 15 asks the first"
    return "quiz asks the first"


def _name(item: ScheduledItem) -> str:
    """Return the id of a challenge, or what is asked. The id of a mistake would be the answer."""
    match item.name.split(":"):
        case ["challenge", challenge]:
            return challenge
        case ["follow-up", challenge, number]:
            return f"{challenge}, follow-up question {number}"
        case ["line", challenge, _]:
            return f"{challenge}, a wrong line"
    return item.name.replace(":", " ", 1)


def _when(at: float, now: float) -> str:
    days = days_until(at, now)
    return in_days(at, now) if days >= 0 else f"{plural(-days, 'day')} ago"


def _next(stats: Stats) -> RenderableType | None:
    if not stats.next and not stats.later:
        return Text("Every challenge is passed.") if stats.challenges else None
    table = _grid("left", "left")
    for name, bases in list(stats.later.items())[:_MOST_LATER]:
        table.add_row(name, Text(f"builds on {' and '.join(bases)}", style=QUIET))
    if (more := len(stats.later) - _MOST_LATER) > 0:
        table.add_row(f"and {more} more", "")
    return Group(Text(", ".join(stats.next), style=RIGHT), table)


def _topics(
    topics: Sequence[TopicStrength], titles: Mapping[str, str], width: int
) -> RenderableType | None:
    if not topics:
        return None
    wide = width >= _WIDE
    table = _grid("left", "left", "right")
    for topic in topics:
        recall = "" if topic.recall is None else f"recall {topic.recall:.0%} of {topic.reviewed}"
        bar = Bar(1, 0, topic.recall or 0, width=_RECALL_BAR, color=RIGHT)
        title = visible(titles.get(topic.name, topic.name), lines=True)
        passed = f"{topic.passed} of {topic.challenges}"
        table.add_row(title, passed, recall, *([bar] if wide else []))
    return Group(table, Text("passed; your chance to recall the reviewed items now", style=QUIET))


def _trends(trends: Sequence[Trend], width: int) -> RenderableType | None:
    if not trends:
        return None
    wide = width >= _WIDE
    table = _grid("left", "left")
    for trend in trends:
        several = len(trend.shares) > 1
        words = (
            f"first {trend.shares[0]:.1f}, last {trend.shares[-1]:.1f} x par"
            if several
            else f"{trend.shares[0]:.1f} x par"
        )
        line = Text(_line(trend.shares) if several else "", style=RIGHT)
        table.add_row(trend.challenge or "all", words, *([line] if wide else []))
    return table


def _line(shares: Sequence[float]) -> str:
    """Return the last passes as bars."""
    shown = shares[-_MOST_BARS:]
    most = max(shown) or 1.0
    return "".join(_BARS[min(len(_BARS) - 1, int(share / most * len(_BARS)))] for share in shown)


def _mistakes(mistakes: Sequence[OwnMistake], now: float) -> RenderableType | None:
    if not mistakes:
        return None
    table = _grid("right", "left")
    for mistake in mistakes[:_MOST_MISTAKES]:
        words = Text(f"{mistake.challenge}: ", style="bold")
        words.append(visible(mistake.says, lines=True), style="not bold")
        words.append(f" ({_when(min(mistake.last_at, now), now)})", style=f"not bold {QUIET}")
        table.add_row(Text(f"{mistake.count} x", style=WRONG), words)
    if (more := len(mistakes) - _MOST_MISTAKES) > 0:
        table.add_row("", f"and {more} more; --json has them all")
    return table
