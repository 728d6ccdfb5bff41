"""The one Textual app of all screens, with a dark or a light theme."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeVar

from rich.theme import Theme
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from attn_drill.app.open_packs import settings
from attn_drill.model.errors import GraderError


def theme(shade: Literal["dark", "light"] | None, environment: Mapping[str, str]) -> str:
    """Return the name of the Textual theme, by default that of the terminal's background."""
    if shade is None:
        # Some terminals tell the numbers of their colours in COLORFGBG.
        background = environment.get("COLORFGBG", "").rpartition(";")[2]
        shade = "light" if background in ("7", "15") else "dark"
    return f"textual-{shade}"


T = TypeVar("T")

WIDE = 110  # least width at which task and report are side by side
LEAST_SIZE = (40, 10)  # columns and lines of a terminal in which a learner can work


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

    Raises:
        GraderError: if the screen fails, with `advice` as the next step. The terminal is restored.
    """
    app = DrillApp(screen)
    result: T | None = app.run()
    if app.return_code:
        raise GraderError(f"The screen failed. {advice} Please report the lines above.")
    return result
