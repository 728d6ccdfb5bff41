"""The screen of a practice session: the task, the report on the last save, a clock and the keys."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Static

from attn_drill.model.errors import DrillError
from attn_drill.practice.journal import Journal
from attn_drill.server.clients import AsyncClient
from attn_drill.server.messages import Prepare, Reply, Request
from attn_drill.session._drill_app import LEAST_SIZE, WIDE, Confirm, Help, KeyLine, run_screen
from attn_drill.session._editor import find_editor, mark_of, run_editor, saves
from attn_drill.session._practice_model import ACTIONS, Ended, PracticeModel
from attn_drill.session._session_record import SessionRequest, SessionResult
from attn_drill.session._widgets import ReportPane, TaskPane, TopLine

_ADVICE = "Your file and the journal are whole. Go on with --no-watch."
# The most processes in one session, and the pause before each of them except the first.
_MOST_PROCESSES, _REST_SECONDS = 5, 1.0
# The keys of the actions that `action_press` runs, as Textual names them.
_KEYS = {
    name: action.bound or action.key
    for name, action in ACTIONS.items()
    if name not in ("rate", "shade", "leave")
}


def run_session(request: SessionRequest, journal: Journal) -> SessionResult:
    """Show a session on this terminal until the learner leaves."""
    link = GradingLink(request.challenge.id, partial(AsyncClient, *request.packs))
    model = PracticeModel(request, journal, link.send)
    try:
        result = run_screen(PracticeScreen(model, link), _ADVICE)
    finally:
        link.close()
    return result if result is not None else model.record.result("interrupted")


class GradingLink:
    """Sends requests to a grading process and yields its replies."""

    def __init__(self, challenge: str, connect: Callable[[], AsyncClient]) -> None:
        self._challenge, self._connect = challenge, connect
        self._start()  # so that it imports torch while the screen is drawn

    def _start(self) -> None:
        self.client = self._connect()
        self.client.send(Prepare(self._challenge))

    def send(self, request: Request) -> None:
        """Send a request. If the process is gone, `replies` says so."""
        self.client.send(request)

    async def replies(self) -> AsyncIterator[Reply | Ended]:
        """Yield all replies, and `Ended` each time a process ends."""
        for process_number in range(1, _MOST_PROCESSES + 1):
            async for reply in self.client.replies():
                yield reply
            yield Ended(self.client.last_words(), process_number == _MOST_PROCESSES)
            self.client.close()
            if process_number < _MOST_PROCESSES:
                await asyncio.sleep(_REST_SECONDS)
                self._start()

    def close(self) -> None:
        self.client.close()


class PracticeScreen(Screen[SessionResult]):
    """The screen of one session, for one challenge."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Textual binds Tab too, and would move the focus to a hidden pane. So Tab has priority.
        *(
            Binding(keys, f"press('{name}')", show=False, priority=name == "pane")
            for name, keys in _KEYS.items()
        ),
        *(Binding(str(rating), f"rate({rating})", show=False) for rating in range(1, 5)),
        Binding("shift+tab", "press('pane')", show=False, priority=True),
        Binding("q", "leave", show=False),
        Binding("escape", "back", show=False),
    ]

    def __init__(self, model: PracticeModel, link: GradingLink) -> None:
        super().__init__()
        self.model, self.link = model, link
        self._stop = asyncio.Event()

    def compose(self) -> ComposeResult:
        yield TopLine(markup=False)
        with Horizontal(id="body"):
            yield TaskPane()
            yield ReportPane()
        yield Static(id="status", markup=False)
        yield KeyLine([])
        yield Static(id="small", markup=False)

    def on_mount(self) -> None:
        for coroutine in (self._listen(), self._watch()):
            self.run_worker(coroutine)  # unlike in a task, an exception ends the session
        self.set_interval(1.0, self._show_time)
        request = self.model.request
        if request.sitting is not None:
            opening = Confirm(request.sitting.opening, "start the clock", "leave")
            self.app.push_screen(opening, self._begin)
        elif request.level is not None:
            self.action_press("reset")  # the learner asked for a stub of another level

    def _begin(self, is_begun: bool | None) -> None:
        if is_begun:
            self.model.begin()
            self.show()
        else:
            self.action_leave()

    def on_unmount(self) -> None:
        self._stop.set()

    async def _watch(self) -> None:
        async for _ in saves(self.model.request.path, self._stop):
            self.model.look()
            self.show()

    async def _listen(self) -> None:
        async for reply in self.link.replies():
            self.model.reply(reply)
            self.show()

    # The screen

    def on_resize(self, event: events.Resize) -> None:
        self.show()

    def on_key(self) -> None:
        self.model.record.stopwatch.touch()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        # A click may have brought another pane to the front.
        front = "task" if isinstance(event.widget, TaskPane) else "report"
        if front != self.model.front:
            self.model.press("pane")
            self.show()

    @property
    def is_too_small(self) -> bool:
        return self.app.size.width < LEAST_SIZE[0] or self.app.size.height < LEAST_SIZE[1]

    def show(self) -> None:
        """Let every part draw the model."""
        if not self.is_mounted or not self.is_running:
            return
        model, (width, height) = self.model, self.app.size
        model.is_wide = width >= WIDE and model.page != "answers"
        self.set_class(model.is_wide, "-beside")
        self.set_class(self.is_too_small, "-small")
        task, report = self.query_one(TaskPane), self.query_one(ReportPane)
        task.set_class(model.front == "task", "front")
        report.set_class(model.front == "report", "front")
        self.query_one("#small", Static).update(
            f"This terminal is {width} x {height}; the session needs "
            f"{LEAST_SIZE[0]} x {LEAST_SIZE[1]}. Make it larger, or q to leave."
        )
        self.query_one(TopLine).show(model)
        task.show(model)
        report.show(model)
        self.query_one("#status", Static).update(
            " ".join(filter(None, [model.status, model.journal.trouble]))
        )
        self.query_one(KeyLine).show(model.shown_keys())
        front = task if model.front == "task" else report
        if self.focused is not front:
            self.set_focus(front, scroll_visible=False)

    def _show_time(self) -> None:
        if self.is_running:
            self.query_one(TopLine).show(self.model)

    # The keys

    def action_press(self, name: str) -> None:
        """Run an action, ask first if it needs an answer, or say why it does nothing now."""
        if self.is_too_small:
            return  # nothing could be seen
        if refusal := self.model.refusal(name):
            self.model.status = refusal
            self.show()
        elif question := self.model.question(name):
            self.app.push_screen(Confirm(question), partial(self._run, name))
        else:
            self._run(name)

    def _run(self, name: str, is_wanted: bool | None = True) -> None:
        if not is_wanted:
            return
        match name:
            case "edit":
                self._edit()
            case "next":
                self.dismiss(self.model.record.result("next"))
                return
            case "help":
                working = {name for name in ACTIONS if not self.model.refusal(name)}
                self.app.push_screen(Help(working))
            case _:
                self.model.press(name)
        self.show()

    def action_rate(self, rating: int) -> None:
        if self.is_too_small:
            return
        self.model.status = self.model.refusal("rate")
        if not self.model.status:
            self.model.rate(rating)
        self.show()

    def action_back(self) -> None:
        if self.model.close_page():
            self.show()
        else:
            self.action_leave()

    def action_leave(self) -> None:
        self.dismiss(self.model.record.result("quit"))

    def _edit(self) -> None:
        """Open the file in the learner's editor, which gets the whole terminal."""
        path = self.model.request.path
        before = mark_of(path)
        trouble = ""
        try:
            editor = find_editor(os.environ)
            with self.app.suspend():
                trouble = run_editor(editor, path)
            if not trouble and mark_of(path) == before:
                trouble = f"{editor[0]} has ended; {path.name} is unchanged."
        except DrillError as error:
            trouble = str(error)
        except SuspendNotSupported:
            trouble = (
                "An editor cannot run in this terminal. "
                "Edit the file in another window and save it there."
            )
        self.model.status = trouble
        self.model.look()
