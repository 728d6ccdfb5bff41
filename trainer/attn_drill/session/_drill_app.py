"""The one Textual app of all screens, with a dark or a light theme."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeVar

from rich.text import Text
from rich.theme import Theme
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from attn_drill.app.open_packs import settings
from attn_drill.model.errors import GraderError
from attn_drill.report.code_text import grid
from attn_drill.report.wording import QUIET
from attn_drill.session._practice_model import ACTIONS

T = TypeVar("T")

WIDE = 110  # least width at which task and report are side by side
LEAST_SIZE = (40, 10)  # columns and lines of a terminal in which a learner can work


def theme(shade: Literal["dark", "light"] | None, environment: Mapping[str, str]) -> str:
    """Return the name of the Textual theme, by default that of the terminal's background."""
    if shade is None:
        # Some terminals tell the numbers of their colours in COLORFGBG.
        background = environment.get("COLORFGBG", "").rpartition(";")[2]
        shade = "light" if background in ("7", "15") else "dark"
    return f"textual-{shade}"


class DrillApp(App[Any]):
    """Shows a screen until it is dismissed. Ctrl-C, SIGTERM and SIGHUP end it without a result."""

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "session.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        # Every screen and dialog has the action `leave`.
        Binding("ctrl+q", "screen.leave", show=False, priority=True),
        Binding("d", "shade", show=False),
    ]

    def __init__(self, first: Screen[Any]) -> None:
        super().__init__()
        self.first = first
        self.theme = theme(settings().theme, dict(os.environ))
        # rich draws code on black, which is readable only in dark terminals.
        self.console.push_theme(Theme({"markdown.code": "bold"}))

    def on_mount(self) -> None:
        for signal_number in (signal.SIGTERM, signal.SIGHUP):
            # In tests the app may run in another thread, which cannot set a handler.
            with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
                asyncio.get_running_loop().add_signal_handler(signal_number, self.action_interrupt)
        self.push_screen(self.first, self.exit)

    def action_interrupt(self) -> None:
        self.exit(None)

    def action_shade(self) -> None:
        self.theme = theme("light" if self.current_theme.dark else "dark", {})


def run_screen(screen: Screen[T], advice: str) -> T | None:
    """Show a screen on this terminal, and return its result; None after an interrupt.

    If the screen fails, restore the terminal and raise a GraderError with this advice.
    """
    app = DrillApp(screen)
    result: T | None = app.run()
    if app.return_code:
        raise GraderError(f"The screen failed. {advice} Please report the lines above.")
    return result


def side_by_side(parts: list[Text], width: int) -> Text:
    """Return parts with two spaces between them, in as many lines of this width as needed."""
    lines = [Text()]
    for part in parts:
        if lines[-1].cell_len and lines[-1].cell_len + 2 + part.cell_len > width:
            lines.append(Text())
        if lines[-1].cell_len:
            lines[-1].append("  ")
        lines[-1].append_text(part)
    return Text("\n").join(lines)


class KeyLine(Static):
    """Keys with their labels. The first of them is the next step, so its label is bold."""

    def __init__(self, keys: list[tuple[str, str]]) -> None:
        super().__init__(markup=False)
        self.keys = keys

    def on_mount(self) -> None:
        self.show(self.keys)

    def show(self, keys: list[tuple[str, str]]) -> None:
        self.keys = keys
        parts = [
            Text(key, style="bold").append(f" {label}", style="not bold" if index else "bold")
            for index, (key, label) in enumerate(keys)
        ]
        self.update(side_by_side(parts, self.app.size.width - 2))

    def on_resize(self) -> None:
        self.show(self.keys)


class Confirm(ModalScreen[bool]):
    """A text that is answered with yes or no. `yes` and `no` are the labels of Enter and Esc."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "answer", show=False),
        Binding("escape,q", "leave", show=False),
    ]

    def __init__(self, text: str, yes: str = "yes", no: str = "no") -> None:
        super().__init__()
        self._text, self._keys = text, [("enter", yes), ("esc", no)]

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog"):
            yield Static(self._text, markup=False)
        yield KeyLine(self._keys)

    def action_answer(self) -> None:
        self.dismiss(True)

    def action_leave(self) -> None:
        self.dismiss(False)


class Help(ModalScreen[None]):
    """All keys, each with a sentence. The keys that do nothing now are grey."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark", "leave", show=False),
    ]

    def __init__(self, working: set[str]) -> None:
        super().__init__()
        self._working = working

    def compose(self) -> ComposeResult:
        table = grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column()
        for action in ACTIONS.values():
            style = "" if action.name in self._working else QUIET
            key = Text(action.key, style=style or "bold")
            table.add_row(key, Text(action.explains, style=style))
        with VerticalScroll(classes="dialog"):
            yield Static(table, markup=False)
        yield KeyLine([("esc", "close"), ("↑↓", "scroll")])

    def action_leave(self) -> None:
        self.dismiss()
