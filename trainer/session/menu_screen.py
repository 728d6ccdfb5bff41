"""The menu: challenges that are due, under way, new or passed, and other commands.

Typing filters the rows, and Enter starts the row under the cursor.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from trainer.model.errors import GraderError
from trainer.practice.agenda import SECTIONS, AgendaEntry, in_days
from trainer.practice.statistics import Stats
from trainer.report.styles import QUIET, RIGHT, WRONG
from trainer.session.theme import theme

_TITLES = {"due": "Due today", "under way": "Under way", "new": "New", "passed": "Passed"}
_STYLES = {"due": f"bold {WRONG}", "under way": "bold", "new": "bold", "passed": f"bold {RIGHT}"}

_WIDE = 60  # columns; narrower screens have smaller gaps
CommandName = Literal["start", "quiz", "interview", "hunt", "review", "stats"]
_MORE: dict[CommandName, str] = {
    "quiz": "questions: compute numbers, find wrong lines",
    "interview": "a timed mock interview with a score sheet",
    "hunt": "repair the reference of a random passed challenge",
    "review": "the challenge that has been due longest",
    "stats": "days, topics, times and your own mistakes",
}


@dataclass(frozen=True)
class MenuChoice:
    """The row that the learner chose.

    Attributes:
        command: The command to run; `start` for a challenge.
        entry: The challenge to start or to hunt. None if the command needs no challenge, or if
            any passed challenge will do.
    """

    command: CommandName
    entry: AgendaEntry | None = None


def choose(entries: Sequence[AgendaEntry], stats: Stats) -> MenuChoice | None:
    """Show the menu on this terminal. Return the choice, or None.

    Raises:
        GraderError: if the screen fails.
    """
    app = MenuApp(entries, stats)
    chosen = app.run()
    if app.return_code:
        raise GraderError(
            "The screen of the menu failed. `attn-drill list` shows the challenges; "
            "report the lines above."
        )
    return chosen


class MenuApp(App[MenuChoice]):
    """The learner's progress, a line to type in, and the matching rows."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; }
    #overview { height: auto; padding: 0 1; }
    #filter { border: none; height: 1; padding: 0 1; background: $panel; }
    #list { height: 1fr; border: none; padding: 0; }
    #list > .option-list--option-disabled { color: $foreground; text-style: bold; }
    #keys { height: auto; padding: 0 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("enter", "start", show=False, priority=True),
        Binding("ctrl+t", "hunt", show=False, priority=True),
        Binding("escape,ctrl+c,ctrl+q", "leave", show=False, priority=True),
    ]

    def __init__(
        self,
        entries: Sequence[AgendaEntry],
        stats: Stats,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self.theme = theme(None, dict(os.environ))
        self._entries, self._stats, self._clock = entries, stats, clock
        self._choices: dict[str, MenuChoice] = {}  # by the id of the row

    def compose(self) -> ComposeResult:
        """Yield the progress, the line to type in, the list, the keys."""
        yield Static(_progress(self._stats), id="overview")
        yield Input(
            placeholder="Type to filter by name, topic or level", id="filter", select_on_focus=False
        )
        yield OptionList(id="list")
        yield Static(id="keys", markup=False)

    def on_mount(self) -> None:
        """Show all rows. The focus stays in the line, because typing filters."""
        self.query_one("#list").can_focus = False
        self._fill("")
        self.query_one("#filter").focus()

    def on_resize(self, event: events.Resize) -> None:
        """Draw the lines at the new width."""
        self._fill(self.query_one("#filter", Input).value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the matching rows."""
        self._fill(event.value)

    def _fill(self, words: str) -> None:
        option_list = self.query_one("#list", OptionList)
        option_list.clear_options()
        self._choices = {}
        shown = [entry for entry in self._entries if entry.matches(words)]
        for section in SECTIONS:
            entries = [entry for entry in shown if entry.section == section]
            title = Text(f"{_TITLES[section]} ({len(entries)})", style=_STYLES[section])
            self._add(title, [(self._line(entry), MenuChoice("start", entry)) for entry in entries])
        commands = [name for name in _MORE if _matches(name, words)]
        rows = [(self._command_line(name), MenuChoice(name)) for name in commands]
        self._add(Text("More", style="bold"), rows)
        if not self._choices:
            option_list.add_option(
                Option(Text(f"Nothing matches {words!r}.", style=QUIET), disabled=True)
            )
        option_list.action_first()
        keys = ["Enter starts"] if self._choices else []
        keys += ["Ctrl-T bug hunt"] if shown else []
        keys += ["Esc leaves"]
        self.query_one("#keys", Static).update(Text("   ".join(keys), style=QUIET))

    def _add(self, title: Text, rows: Sequence[tuple[Text, MenuChoice]]) -> None:
        """Add the rows of a section, after its title. A section without rows has no title."""
        if not rows:
            return
        option_list = self.query_one("#list", OptionList)
        option_list.add_option(Option(title, disabled=True))
        for line, choice in rows:
            row_id = str(len(self._choices))
            self._choices[row_id] = choice
            option_list.add_option(Option(line, id=row_id))

    def _line(self, entry: AgendaEntry) -> Text:
        challenge = entry.challenge
        gap = "  " if self.size.width >= _WIDE else " "
        line = Text(
            f"{gap}{challenge.id:<{self._longest}}{gap}{challenge.level:<6}{gap}"
            f"{challenge.minutes:>3} min",
            no_wrap=True,
            overflow="ellipsis",
        )
        if self.size.width >= _WIDE:
            line.append(f"{gap}{challenge.asked:<9}", style=QUIET)
        best = self._stats.best_seconds.get(challenge.id)
        if best is not None:
            line.append(f"{gap}best {max(1, round(best / 60))} min", style=RIGHT)
        if entry.item is not None and entry.section == "passed":
            line.append(f"{gap}due {in_days(entry.item.due_at, self._clock())}", style=QUIET)
        line.append(f"{gap}{challenge.title}", style=QUIET)
        return self._fitting(line)

    def _command_line(self, name: CommandName) -> Text:
        line = Text(f"  {name:<{self._longest}}", no_wrap=True, overflow="ellipsis")
        line.append(f"  {_MORE[name]}", style=QUIET)
        return self._fitting(line)

    @property
    def _longest(self) -> int:
        names = [*_MORE, *(entry.challenge.id for entry in self._entries)]
        return max(map(len, names))

    def _fitting(self, line: Text) -> Text:
        line.truncate(self.size.width - 2, overflow="ellipsis")
        return line

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Start the clicked row."""
        self.action_start()

    def action_move(self, by: int) -> None:
        """Move the cursor down if `by` is positive, else up."""
        option_list = self.query_one("#list", OptionList)
        option_list.action_cursor_down() if by > 0 else option_list.action_cursor_up()

    def action_start(self) -> None:
        """Choose the row under the cursor."""
        chosen = self._under_the_cursor()
        if chosen is not None:
            self.exit(chosen)

    def action_hunt(self) -> None:
        """Choose a bug hunt in the challenge under the cursor, else in any passed challenge."""
        chosen = self._under_the_cursor()
        self.exit(MenuChoice("hunt", chosen.entry if chosen is not None else None))

    def _under_the_cursor(self) -> MenuChoice | None:
        option = self.query_one("#list", OptionList).highlighted_option
        return None if option is None or option.id is None else self._choices.get(option.id)

    def action_leave(self) -> None:
        """Leave without a choice."""
        self.exit(None)


def _matches(name: CommandName, words: str) -> bool:
    """Return whether every word occurs in the name or the description of a command."""
    text = f"{name} {_MORE[name]}".lower()
    return all(word in text for word in words.lower().split())


def _progress(stats: Stats) -> Text:
    line = Text(f"{len(stats.passed)} of {stats.challenges} passed", style="bold")
    if stats.streak:
        days = "day" if stats.streak == 1 else "days"
        line.append(f"   {stats.streak} {days} in a row", style="not bold")
    return line
