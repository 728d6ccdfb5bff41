"""What the journal says of a learner, as terminal text or plain values for JSON. Decides nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, TextIO

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from trainer.practice.schedule import ScheduledItem, challenge_of
from trainer.practice.statistics import OwnMistake, Stats, TopicStrength, Trend, Week
from trainer.report.literal import LiteralTable, console, grid
from trainer.report.styles import QUIET, RIGHT, WRONG
from trainer.report.terminal import as_ascii, has_unicode
from trainer.report.visible import visible

_SHADES = (
    (1, ("░", "-")),
    (3, ("▒", "+")),
    (6, ("▓", "*")),
    (10, ("█", "#")),
)  # from so many attempts a day on, in ASCII too
_NONE = ("·", ".")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS, _MOST_NUMBERS = 16, 5
_MOST_MISTAKES, _MOST_DUE, _MOST_WAITING = 8, 12, 12
_RECALL_BAR = 10
_WIDE = 60  # columns from which a table has room for its bars
EMPTY = "There are no attempts yet. `attn-drill list` shows the challenges, `attn-drill start ID` hands one out, `attn-drill check ID` counts."


def show_stats(stats: Stats, titles: Mapping[str, str], now: float, stream: TextIO) -> None:
    """Print it, as wide as the terminal is; `titles`: of topics, by name."""
    out = console(stream)
    out.print(render(stats, titles, now, out.width, unicode=has_unicode(out)))


def render(
    stats: Stats, titles: Mapping[str, str], now: float, width: int = 80, *, unicode: bool = True
) -> RenderableType:
    """The whole of it as one renderable; `now` in seconds since the epoch."""
    parts: list[RenderableType] = [*_calendar(stats, unicode=unicode)]
    for title, content in (
        ("Due", _due(stats, now)),
        ("Next", _next(stats)),
        ("Topics", _topics(stats.topics, titles, width, unicode=unicode)),
        ("Time against par", _trends(stats.trends, width, unicode=unicode)),
        ("Your own mistakes", _mistakes(stats.mistakes, now)),
    ):
        if content is not None:
            parts += [
                Text(),
                Text(title, style="bold"),
                Padding(content, (0, 0, 0, 2), expand=False),
            ]
    text = Group(*parts)
    return text if unicode else as_ascii(text, width)


def as_values(stats: Stats, titles: Mapping[str, str]) -> dict[str, Any]:
    """The same for JSON. Times are seconds since the epoch, days are ISO dates, recall is 0 to 1."""
    return {
        "schema": "attn-drill.stats/1",
        "attempts": stats.attempts,
        "active_days": stats.active_days,
        "streak_days": stats.streak,
        "passed": stats.passed,
        "challenges": stats.challenges,
        "weeks": [
            {"monday": week.monday.isoformat(), "attempts": list(week.days)} for week in stats.weeks
        ],
        "topics": [
            {**dataclasses.asdict(one), "title": titles.get(one.name, one.name)}
            for one in stats.topics
        ],
        "par": [{"challenge": one.challenge, "shares": list(one.shares)} for one in stats.trends],
        "mistakes": [dataclasses.asdict(one) for one in stats.mistakes],
        "ready": list(stats.ready),
        "waiting": [
            {"challenge": one.challenge, "missing": list(one.missing)} for one in stats.waiting
        ],
        "due": [_item(one) for one in stats.due],
        "next_due": _item(stats.next_due) if stats.next_due else None,
    }


def _item(one: ScheduledItem) -> dict[str, Any]:
    return {"item": one.name, "due_at": one.due_at, "recall": one.strength, "reviews": one.reviews}


def _grid(*columns: str) -> LiteralTable:
    """A table without lines; a column is `left`, `right`, or `whole` for one that never breaks."""
    table = grid(padding=(0, 2))
    for column in columns:
        table.add_column(justify="right" if column == "right" else "left", no_wrap=column != "left")
    return table


def _calendar(stats: Stats, *, unicode: bool) -> Iterator[RenderableType]:
    which = 0 if unicode else 1
    yield Text(f"Last {len(stats.weeks)} weeks", style="bold")
    yield Text(f"       {_months(stats.weeks)}", style=QUIET)
    for number, name in enumerate(_DAYS):
        line = Text("  ").append(f"{name} ", style=QUIET)
        for week in stats.weeks:
            line.append(" ")
            line.append(*_shade(week.days[number], which))
        line.rstrip()
        yield line
    legend = Text("  ")
    legend.append(_NONE[which], style=QUIET)
    legend.append(" none")
    for shade, following in zip(_SHADES, [*_SHADES[1:], None], strict=True):
        legend.append(f"  {shade[1][which]}", style=RIGHT)
        legend.append(f" {shade[0]}-{following[0] - 1}" if following else f" {shade[0]} or more")
    yield legend
    done = f"{_count(stats.attempts, 'attempt')} on {_count(stats.active_days, 'day')}"
    yield Text(
        f"{done}, {stats.passed} of {_count(stats.challenges, 'challenge')} passed; {_streak(stats)}."
    )


def _shade(attempts: int | None, which: int) -> tuple[str, str]:
    if attempts is None:
        return " ", ""
    reached = [shade for shade in _SHADES if attempts >= shade[0]]
    return (reached[-1][1][which], RIGHT) if reached else (_NONE[which], QUIET)


def _streak(stats: Stats) -> str:
    if not stats.streak:
        return "no day in a row yet"
    today = (
        next((day for day in reversed(stats.weeks[-1].days) if day is not None), 0)
        if stats.weeks
        else 0
    )
    return f"{_count(stats.streak, 'day')} in a row" + ("" if today else " up to yesterday")


def _months(weeks: Sequence[Week]) -> str:
    """The month's name above the week in which it begins, two columns a week; above the first week too where it has room."""
    text = ""
    for number, week in enumerate(weeks):
        first_of_month = date.fromordinal(week.monday.toordinal() + 6).day <= 7
        if number and not first_of_month:
            continue
        month = _MONTHS[date.fromordinal(week.monday.toordinal() + 6).month - 1]
        if len(text) > 2 * number:
            text = ""  # two names that would touch: the one of the week cut off goes
        text = text.ljust(2 * number) + month + " "
    return text.rstrip()


def _due(stats: Stats, now: float) -> RenderableType | None:
    if not stats.due:
        return (
            Text(
                f"Nothing today. {visible(_name(stats.next_due), lines=True)} is next, {_when(stats.next_due.due_at, now)}."
            )
            if stats.next_due
            else None
        )
    table = _grid("left", "whole", "right")
    for one in stats.due[:_MOST_DUE]:
        table.add_row(
            visible(_name(one), lines=True),
            f"recall {one.strength:.0%}",
            Text(_when(one.due_at, now), style=QUIET),
        )
    if (more := len(stats.due) - _MOST_DUE) > 0:
        table.add_row(f"and {more} more", "", "")
    return Group(table, Text("attn-drill review takes them up.", style=QUIET))


def _name(one: ScheduledItem) -> str:
    """A challenge by its id, anything else by its kind too."""
    return challenge_of(one.name) or one.name.replace(":", " ", 1)


def _when(at: float, now: float) -> str:
    days = round((at - now) / 86_400)
    if days == 0:
        return "today"
    return f"in {_count(days, 'day')}" if days > 0 else f"{_count(-days, 'day')} ago"


def _next(stats: Stats) -> RenderableType | None:
    if not stats.ready and not stats.waiting:
        return Text("Every challenge is passed.") if stats.challenges else None
    table = _grid("whole", "left")
    if stats.ready:
        table.add_row(Text("open", style=RIGHT), ", ".join(stats.ready))
    for number, one in enumerate(stats.waiting[:_MOST_WAITING]):
        table.add_row(
            "" if number else Text("locked", style=QUIET),
            f"{one.challenge} (first {' and '.join(one.missing)})",
        )
    if (more := len(stats.waiting) - _MOST_WAITING) > 0:
        table.add_row("", f"and {more} more")
    return table


def _topics(
    topics: Sequence[TopicStrength], titles: Mapping[str, str], width: int, *, unicode: bool
) -> RenderableType | None:
    if not topics:
        return None
    wide = width >= _WIDE
    table = _grid("left", "whole", "right", *(["whole"] if wide else []))
    for one in topics:
        recall = "" if one.recall is None else f"recall {one.recall:.0%} of {one.reviewed}"
        cells: list[RenderableType] = [
            visible(titles.get(one.name, one.name), lines=True),
            f"{one.passed} of {one.challenges}",
            recall,
        ]
        if wide:
            cells.append(_bar(one.recall, unicode=unicode))
        table.add_row(*cells)
    return Group(
        table, Text("passed; how likely you would recall now what was reviewed", style=QUIET)
    )


def _bar(share: float | None, *, unicode: bool) -> Text:
    if share is None:
        return Text()
    full = round(share * _RECALL_BAR)
    line = Text(("█" if unicode else "#") * full, style=RIGHT)
    return line.append(("░" if unicode else ".") * (_RECALL_BAR - full), style=QUIET)


def _trends(trends: Sequence[Trend], width: int, *, unicode: bool) -> RenderableType | None:
    if not trends:
        return None
    wide = width >= _WIDE
    table = _grid("left", "whole", *(["whole"] if wide else []))
    for one in trends:
        several = len(one.shares) > 1
        words = (
            f"first {one.shares[0]:.1f}, last {one.shares[-1]:.1f} x par"
            if several
            else f"{one.shares[0]:.1f} x par"
        )
        line = Text(_line(one.shares, unicode=unicode) if several else "", style=RIGHT)
        table.add_row(one.challenge or "all", words, *([line] if wide else []))
    return table


def _line(shares: Sequence[float], *, unicode: bool) -> str:
    """The last passes as bars from nothing to the longest; in ASCII the last few as numbers."""
    if not unicode:
        return " ".join(f"{share:.1f}" for share in shares[-_MOST_NUMBERS:])
    shown = shares[-_MOST_BARS:]
    most = max(shown) or 1.0
    return "".join(_BARS[min(len(_BARS) - 1, int(share / most * len(_BARS)))] for share in shown)


def _mistakes(mistakes: Sequence[OwnMistake], now: float) -> RenderableType | None:
    if not mistakes:
        return None
    table = _grid("right", "left")
    for one in mistakes[:_MOST_MISTAKES]:
        words = Text(f"{one.challenge}: ", style="bold")
        words.append(visible(one.says, lines=True), style="not bold")
        words.append(f" ({_when(min(one.last_at, now), now)})", style=f"not bold {QUIET}")
        table.add_row(Text(f"{one.count} x", style=WRONG), words)
    if (more := len(mistakes) - _MOST_MISTAKES) > 0:
        table.add_row("", f"and {more} more; --json has them all")
    return table


def _count(number: int, what: str) -> str:
    return f"{number} {what if number == 1 else what + 's'}"
