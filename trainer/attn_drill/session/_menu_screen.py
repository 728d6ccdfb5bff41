"""The menu: what to do next, all challenges by topic, and the other commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from attn_drill.model.words import plural
from attn_drill.practice.progress import RouteState
from attn_drill.practice.schedule import AgendaEntry, in_days
from attn_drill.practice.statistics import Stats
from attn_drill.report.wording import QUIET, RIGHT, WRONG
from attn_drill.session._drill_app import KeyLine, run_screen

_ABOUT = "Write attention in PyTorch from memory. A hidden grader judges every save."
_WIDE = 60  # columns; narrower screens leave the times out
_MARKS = {"due": ("!", WRONG), "under way": ("•", "bold"), "new": (" ", ""), "passed": ("✓", RIGHT)}
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
    """The row that the learner chose: a command, and the challenge to start or to hunt, if any."""

    command: CommandName
    entry: AgendaEntry | None = None


@dataclass(frozen=True)
class Menu:
    """The content of the menu."""

    entries: Sequence[AgendaEntry]
    recommended: AgendaEntry | None
    topics: Mapping[str, str]
    plan: Callable[[AgendaEntry], str]  # says what Enter does
    stats: Stats
    now: float
    notice: str = ""
    routes: Sequence[RouteState] = ()


def choose(menu: Menu) -> MenuChoice | None:
    """Show the menu on this terminal. Return the choice, or None."""
    return run_screen(MenuScreen(menu), "`attn-drill list` shows the challenges.")


class MenuScreen(Screen[MenuChoice]):
    """The learner's progress, a line to type in, and the matching rows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("ctrl+t", "hunt", show=False, priority=True),
        Binding("escape", "leave", show=False, priority=True),
    ]

    def __init__(self, menu: Menu) -> None:
        super().__init__()
        self.menu = menu
        self._choices: dict[str, MenuChoice] = {}  # by the id of the row
        names = [*_MORE, *(entry.challenge.id for entry in menu.entries)]
        names += [state.title for state in menu.routes]
        self._longest = max(map(len, names))

    def compose(self) -> ComposeResult:
        stats = self.menu.stats
        overview = Text(f"{_ABOUT}\n", style=QUIET)
        overview.append(f"{len(stats.passed)} of {stats.challenges} passed", style="not dim bold")
        if stats.streak:
            overview.append(f"   {plural(stats.streak, 'day')} in a row")
        yield Static(overview, id="overview", markup=False)
        yield Input(
            placeholder="Type to filter by name, topic or level", id="filter", select_on_focus=False
        )
        yield OptionList(id="list", markup=False)
        yield Static(id="status", markup=False)
        yield KeyLine([("enter", "start"), ("ctrl+t", "bug hunt"), ("esc", "leave")])

    def on_mount(self) -> None:
        # The focus stays in the line, because typing filters.
        self.query_one("#list").can_focus = False
        self.query_one("#filter").focus()

    def on_resize(self, event: events.Resize) -> None:
        self._fill(self.query_one("#filter", Input).value)

    def on_input_changed(self, event: Input.Changed) -> None:
        self.menu = replace(self.menu, notice="")
        self._fill(event.value)

    def _fill(self, words: str) -> None:
        option_list = self.query_one("#list", OptionList)
        option_list.clear_options()
        self._choices = {}
        menu = self.menu
        if menu.recommended is not None and not words:
            self._add("Recommended", [menu.recommended])
        if not words:
            self._add_rows("Routes", list(self._routes()))
        shown = [entry for entry in menu.entries if entry.matches(words)]
        for section, title in (("due", "Due today"), ("under way", "Under way")):
            self._add(title, [entry for entry in shown if entry.section == section])
        rest = [entry for entry in shown if entry.section in ("new", "passed")]
        for topic, title in menu.topics.items():
            self._add(title, [entry for entry in rest if entry.challenge.topic == topic])
        commands: list[tuple[Text, MenuChoice]] = []
        for name, says in _MORE.items():
            if all(word in f"{name} {says}".lower() for word in words.lower().split()):
                line = Text(f"  {name:<{self._longest}}", no_wrap=True)
                commands.append((line.append(f"  {says}", style=QUIET), MenuChoice(name)))
        self._add_rows("More", commands)
        if not self._choices:
            nothing = Text(f"Nothing matches {words!r}.", style=QUIET)
            option_list.add_option(Option(nothing, disabled=True))
        option_list.action_first()

    def _routes(self) -> Iterator[tuple[Text, MenuChoice]]:
        """Yield a row for each route that is not completed. It starts the next challenge."""
        by_id = {entry.challenge.id: entry for entry in self.menu.entries}
        for state in self.menu.routes:
            if state.next is not None:
                line = Text(f"  {state.title:<{self._longest}}", no_wrap=True)
                line.append(f"  {state}", style=QUIET)
                yield line, MenuChoice("start", by_id[state.next])

    def _add(self, title: str, entries: Sequence[AgendaEntry]) -> None:
        rows = [(self._line(entry), MenuChoice("start", entry)) for entry in entries]
        self._add_rows(title, rows)

    def _add_rows(self, title: str, rows: Sequence[tuple[Text, MenuChoice]]) -> None:
        """Add rows after their title. A section without rows has no title."""
        option_list = self.query_one("#list", OptionList)
        if rows:
            option_list.add_option(Option(Text(title, style="bold"), disabled=True))
        for line, choice in rows:
            row_id = str(len(self._choices))
            self._choices[row_id] = choice
            line.truncate(self.app.size.width - 2, overflow="ellipsis")
            option_list.add_option(Option(line, id=row_id))

    def _line(self, entry: AgendaEntry) -> Text:
        challenge = entry.challenge
        mark, style = _MARKS[entry.section]
        line = Text(f"{mark} ", style=style, no_wrap=True)
        line.append(f"{challenge.id:<{self._longest}}  ", style="not bold")
        times = self._times(entry) if self.app.size.width >= _WIDE else ""
        room = self.app.size.width - 2 - line.cell_len - len(times) - 2
        title = Text(challenge.title)
        title.truncate(max(8, room), overflow="ellipsis", pad=True)
        line.append_text(title)
        return line.append(f"  {times}", style=QUIET) if times else line

    def _times(self, entry: AgendaEntry) -> str:
        """Return the level and the time, or for a passed challenge when it comes back."""
        challenge = entry.challenge
        best = self.menu.stats.best_seconds.get(challenge.id)
        if entry.section == "passed" and best is not None:
            due = "" if entry.item is None else f", due {in_days(entry.item.due_at, self.menu.now)}"
            return f"best {max(1, round(best / 60))} min{due}"
        return f"{challenge.level:<6} {challenge.minutes:>3} min"

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        chosen = self._under_the_cursor()
        entry = chosen.entry if chosen is not None else None
        plan = self.menu.plan(entry) if entry is not None else ""
        self.query_one("#status", Static).update(self.menu.notice or plan)

    def action_move(self, by: int) -> None:
        self.menu = replace(self.menu, notice="")
        option_list = self.query_one("#list", OptionList)
        option_list.action_cursor_down() if by > 0 else option_list.action_cursor_up()

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def action_start(self) -> None:
        chosen = self._under_the_cursor()
        if chosen is not None:
            self.dismiss(chosen)

    def action_hunt(self) -> None:
        """Choose a bug hunt in the challenge under the cursor, else in any passed challenge."""
        chosen = self._under_the_cursor()
        self.dismiss(MenuChoice("hunt", chosen.entry if chosen is not None else None))

    def _under_the_cursor(self) -> MenuChoice | None:
        option = self.query_one("#list", OptionList).highlighted_option
        return None if option is None or option.id is None else self._choices.get(option.id)

    def action_leave(self) -> None:
        self.dismiss(None)
