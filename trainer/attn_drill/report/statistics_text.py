"""Statistics of the journal as terminal text or as plain values for JSON."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.text import Text

from attn_drill.model.words import plural
from attn_drill.practice.schedule import ScheduledItem, days_until, in_days
from attn_drill.practice.statistics import OwnMistake, Stats, TopicStrength, Trend, Week
from attn_drill.report.code_text import Trimmed, grid, indented
from attn_drill.report.words import QUIET, RIGHT, WRONG, visible

# The shades of a day in the calendar, and the least attempts of each shade but the first.
_SHADES, _LEAST = "·░▒▓█", (1, 3, 6, 10)
_SHADE_WORDS = ("none", "1-2", "3-5", "6-9", "10 or more")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BARS = "▁▂▃▄▅▆▇"
_MOST_BARS = 16
_MOST_MISTAKES, _MOST_DUE, _MOST_LATER = 8, 12, 12
_WIDE = 60  # least width at which the tables have bars
# The command that asks an item of this kind.
_COMMANDS = {
    "challenge": "review starts the first",
    "follow-up": "review --minutes 15 asks the first",
}
EMPTY = (
    "There are no attempts yet. `attn-drill list` shows the challenges, `attn-drill start ID` "
    "hands out a stub, `attn-drill check ID` grades your answer."
)


def render(stats: Stats, titles: Mapping[str, str], now: float, width: int = 80) -> RenderableType:
    """Return the statistics as one renderable, with the title of each topic by its name."""
    is_wide = width >= _WIDE
    parts: list[RenderableType] = [*_calendar(stats)]
    for title, content in (
        ("Due", _due(stats, now)),
        ("Next", _next(stats)),
        ("Topics", _topics(stats.topics, titles, is_wide) if stats.topics else None),
        ("Time against par", _trends(stats.trends, is_wide) if stats.trends else None),
        ("Your own mistakes", _mistakes(stats.mistakes, now) if stats.mistakes else None),
    ):
        if content is not None:
            parts += [Text(), Text(title, style="bold"), indented(content)]
    return Trimmed(Group(*parts))


def as_values(stats: Stats, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return the statistics as plain values for JSON."""
    # Times are seconds since the epoch, days are ISO dates, recall is a probability from 0 to 1.
    return {
        "schema": "attn-drill.stats/2",
        "attempts": stats.attempts,
        "active_days": stats.active_days,
        "streak_days": stats.streak,
        "passed": len(stats.passed),
        "challenges": stats.challenges,
        "weeks": [
            {"monday": week.monday.isoformat(), "attempts": week.days} for week in stats.weeks
        ],
        "topics": [
            {**asdict(topic), "title": titles.get(topic.name, topic.name)} for topic in stats.topics
        ],
        "par": list(map(asdict, stats.trends)),
        "mistakes": list(map(asdict, stats.mistakes)),
        "next": stats.next,
        "later": [{"challenge": name, "builds_on": bases} for name, bases in stats.later.items()],
        "due": list(map(_item_values, stats.due)),
        "next_due": _item_values(stats.next_due) if stats.next_due else None,
    }


def _item_values(item: ScheduledItem) -> dict[str, Any]:
    return {
        "item": item.name,
        "due_at": item.due_at,
        "recall": item.strength,
        "reviews": item.reviews,
    }


def _calendar(stats: Stats) -> Iterator[Text]:
    yield Text(f"Last {len(stats.weeks)} weeks", style="bold")
    yield Text(f"       {_months(stats.weeks)}", style=QUIET)
    for weekday, name in enumerate(_DAYS):
        line = Text("  ").append(f"{name} ", style=QUIET)
        for week in stats.weeks:
            attempts = week.days[weekday]
            line.append(" ")
            if attempts is not None:
                shade = bisect(_LEAST, attempts)
                line.append(_SHADES[shade], style=RIGHT if shade else QUIET)
        line.rstrip()
        yield line
    legend = Text()
    for sign, words in zip(_SHADES, _SHADE_WORDS, strict=True):
        legend.append(f"  {sign}", style=RIGHT if words != "none" else QUIET)
        legend.append(f" {words}")
    yield legend
    active = f"{plural(stats.attempts, 'attempt')} on {plural(stats.active_days, 'day')}"
    passed = f"{len(stats.passed)} of {plural(stats.challenges, 'challenge')} passed"
    streak = "no day in a row yet"
    if stats.streak:
        *_, today = (day for day in stats.weeks[-1].days if day is not None)
        streak = f"{plural(stats.streak, 'day')} in a row" + ("" if today else " up to yesterday")
    yield Text(f"{active}, {passed}; {streak}.")


def _months(weeks: Sequence[Week]) -> str:
    """Return a line with the name of each month above the week in which it begins."""
    text = ""
    for index, week in enumerate(weeks):
        sunday = week.monday + timedelta(days=6)
        # The first week has a name too.
        if index and sunday.day > 7:
            continue
        column = 2 * index
        # Names must not touch. The name of the first week is then left out.
        text = (text if len(text) <= column else "").ljust(column)
        text += f"{_MONTHS[sunday.month - 1]} "
    return text.rstrip()


def _due(stats: Stats, now: float) -> RenderableType | None:
    if not stats.due:
        if stats.next_due is None:
            return None
        name = visible(_name(stats.next_due), lines=True)
        return Text(f"Nothing today. {name} is next, {_when(stats.next_due.due_at, now)}.")
    table = grid("left", "left", "right", padding=(0, 2))
    for item in stats.due[:_MOST_DUE]:
        name, recall = visible(_name(item), lines=True), f"recall {item.strength:.0%}"
        table.add_row(name, recall, Text(_when(item.due_at, now), style=QUIET))
    if (more := len(stats.due) - _MOST_DUE) > 0:
        table.add_row(f"and {more} more", "", "")
    kind = stats.due[0].name.split(":")[0]
    command = _COMMANDS.get(kind, "quiz asks the first")
    return Group(table, Text(f"attn-drill {command}.", style=QUIET))


def _name(item: ScheduledItem) -> str:
    """Return the id of a challenge, or what is asked."""
    match item.name.split(":"):
        case ["challenge", challenge]:
            return challenge
        case ["follow-up", challenge, number]:
            return f"{challenge}, follow-up question {number}"
        # The id of the mistake would be the answer.
        case ["line", challenge, _]:
            return f"{challenge}, a wrong line"
    return item.name.replace(":", " ", 1)


def _when(at: float, now: float) -> str:
    days = days_until(at, now)
    return in_days(at, now) if days >= 0 else f"{plural(-days, 'day')} ago"


def _next(stats: Stats) -> RenderableType | None:
    if not stats.next and not stats.later:
        return Text("Every challenge is passed.") if stats.challenges else None
    table = grid("left", "left", padding=(0, 2))
    for name, bases in list(stats.later.items())[:_MOST_LATER]:
        table.add_row(name, Text(f"builds on {' and '.join(bases)}", style=QUIET))
    if (more := len(stats.later) - _MOST_LATER) > 0:
        table.add_row(f"and {more} more", "")
    return Group(Text(", ".join(stats.next), style=RIGHT), table)


def _topics(
    topics: Sequence[TopicStrength], titles: Mapping[str, str], is_wide: bool
) -> RenderableType:
    table = grid("left", "left", "right", padding=(0, 2))
    for topic in topics:
        recall = "" if topic.recall is None else f"recall {topic.recall:.0%} of {topic.reviewed}"
        bar = Bar(1, 0, topic.recall or 0, width=10, color=RIGHT)
        table.add_row(
            visible(titles.get(topic.name, topic.name), lines=True),
            f"{topic.passed} of {topic.challenges}",
            recall,
            *([bar] if is_wide else []),
        )
    return Group(table, Text("passed; your chance to recall the reviewed items now", style=QUIET))


def _trends(trends: Sequence[Trend], is_wide: bool) -> RenderableType:
    """Return the times, with the last passes as bars."""
    table = grid("left", "left", padding=(0, 2))
    for trend in trends:
        words, bars = f"{trend.shares[0]:.1f} x par", ""
        if len(trend.shares) > 1:
            words = f"first {trend.shares[0]:.1f}, last {trend.shares[-1]:.1f} x par"
            shown = trend.shares[-_MOST_BARS:]
            most = max(shown) or 1.0
            for share in shown:
                bars += _BARS[min(len(_BARS) - 1, int(share / most * len(_BARS)))]
        cells = (trend.challenge or "all", words, Text(bars, style=RIGHT))
        table.add_row(*cells[: 3 if is_wide else 2])
    return table


def _mistakes(mistakes: Sequence[OwnMistake], now: float) -> RenderableType:
    table = grid("right", "left", padding=(0, 2))
    for mistake in mistakes[:_MOST_MISTAKES]:
        words = Text(f"{mistake.challenge}: ", style="bold")
        words.append(visible(mistake.says, lines=True), style="not bold")
        words.append(f" ({_when(min(mistake.last_at, now), now)})", style=f"not bold {QUIET}")
        table.add_row(Text(f"{mistake.count} x", style=WRONG), words)
    if (more := len(mistakes) - _MOST_MISTAKES) > 0:
        table.add_row("", f"and {more} more; --json has them all")
    return table
