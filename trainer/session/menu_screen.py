"""The menu of challenges: due today, under way, new and passed.

Typing filters the challenges, and Enter starts the one under the cursor.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from trainer.model.errors import GraderError
from trainer.practice.agenda import SECTIONS, AgendaEntry, in_days
from trainer.report.styles import QUIET, RIGHT, WRONG
from trainer.session.theme import theme

_TITLES = {"due": "Due today", "under way": "Under way", "new": "New", "passed": "Passed"}
_STYLES = {"due": f"bold {WRONG}", "under way": "bold", "new": "bold", "passed": f"bold {RIGHT}"}


def choose(entries: Sequence[AgendaEntry]) -> AgendaEntry | None:
    """Show the menu on this terminal. Return the chosen entry, or None.

    Raises:
        GraderError: if the screen fails.
    """
    app = MenuApp(entries)
    chosen = app.run()
    if app.return_code:
        raise GraderError(
            "The screen of the menu failed. `attn-drill list` shows the challenges; "
            "report the lines above."
        )
    return chosen


class MenuApp(App[AgendaEntry]):
    """A line to type in, and the matching challenges."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; }
    #filter { border: none; height: 1; padding: 0 1; background: $panel; }
    #list { height: 1fr; border: none; padding: 0; }
    #list > .option-list--option-disabled { color: $foreground; text-style: bold; }
    #keys { height: auto; padding: 0 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("enter", "start", show=False, priority=True),
        Binding("escape,ctrl+c,ctrl+q", "leave", show=False, priority=True),
    ]

    def __init__(
        self, entries: Sequence[AgendaEntry], clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__()
        self.theme = theme(None, dict(os.environ))
        self._entries, self._clock = entries, clock
        self._shown: list[AgendaEntry] = []

    def compose(self) -> ComposeResult:
        """Yield the line to type in, the list, the keys."""
        yield Input(
            placeholder="Type to filter by name, topic or level", id="filter", select_on_focus=False
        )
        yield OptionList(id="list")
        yield Static(id="keys", markup=False)

    def on_mount(self) -> None:
        """Show all challenges. The focus stays in the line, because typing filters."""
        self.query_one("#list").can_focus = False
        self._fill("")
        self.query_one("#filter").focus()

    def on_resize(self, event: events.Resize) -> None:
        """Draw the lines at the new width."""
        self._fill(self.query_one("#filter", Input).value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the matching challenges."""
        self._fill(event.value)

    def _fill(self, words: str) -> None:
        option_list = self.query_one("#list", OptionList)
        option_list.clear_options()
        self._shown = [entry for entry in self._entries if entry.matches(words)]
        for section in SECTIONS:
            entries = [entry for entry in self._shown if entry.section == section]
            if entries:
                option_list.add_option(
                    Option(
                        Text(f"{_TITLES[section]} ({len(entries)})", style=_STYLES[section]),
                        disabled=True,
                    )
                )
                option_list.add_options(
                    [Option(self._line(entry), id=entry.challenge.id) for entry in entries]
                )
        if not self._shown:
            option_list.add_option(
                Option(Text(f"Nothing matches {words!r}.", style=QUIET), disabled=True)
            )
        option_list.action_first()
        keys = "Enter starts   Esc leaves" if self._shown else "Esc leaves"
        self.query_one("#keys", Static).update(Text(keys, style=QUIET))

    def _line(self, entry: AgendaEntry) -> Text:
        challenge = entry.challenge
        longest = max(len(entry.challenge.id) for entry in self._entries)
        line = Text(
            f"  {challenge.id:<{longest}}  {challenge.level:<6}  {challenge.minutes:>3} min",
            no_wrap=True,
            overflow="ellipsis",
        )
        if entry.item is not None and entry.section == "passed":
            line.append(f"  due {in_days(entry.item.due_at - self._clock())}", style=QUIET)
        line.append(f"  {challenge.title}", style=QUIET)
        line.truncate(self.size.width - 2, overflow="ellipsis")
        return line

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Start the clicked challenge."""
        self.action_start()

    def action_move(self, by: int) -> None:
        """Move the cursor down if `by` is positive, else up."""
        option_list = self.query_one("#list", OptionList)
        option_list.action_cursor_down() if by > 0 else option_list.action_cursor_up()

    def action_start(self) -> None:
        """Choose the challenge under the cursor."""
        option = self.query_one("#list", OptionList).highlighted_option
        chosen = next(
            (
                entry
                for entry in self._shown
                if option is not None and entry.challenge.id == option.id
            ),
            None,
        )
        if chosen is not None:
            self.exit(chosen)

    def action_leave(self) -> None:
        """Leave without a choice."""
        self.exit(None)
