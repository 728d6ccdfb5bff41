"""Dialogs above a screen: a question, and the list of all keys."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from attn_drill.report.code_text import grid
from attn_drill.report.words import QUIET
from attn_drill.session._practice_model import ACTIONS
from attn_drill.session._widgets import KeyLine


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
