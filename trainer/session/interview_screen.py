"""The screen at the end of a mock interview: its follow-up questions, then its score sheet."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from trainer.interview.score import ScoreSheet
from trainer.model.errors import GraderError
from trainer.packs.follow_up import FollowUp
from trainer.report.follow_up_text import render_follow_up
from trainer.report.score_sheet import minutes, render
from trainer.report.styles import WRONG
from trainer.session.interview_state import Interview
from trainer.session.model import Ending
from trainer.session.theme import theme

_TIME_IS_UP = "The time is up; you can still answer, and overtime is noted."
_KEYS_BEFORE = "Enter shows a model answer  ↑↓ scroll  q leaves"
_KEYS_AFTER = "1 again  2 hard  3 good  4 easy  ↑↓ scroll  q leaves"


def ask_and_score(interview: Interview, score: Callable[[], ScoreSheet]) -> Ending:
    """Ask the open questions, then show the score sheet. Return "next" if the sheet was shown.

    Args:
        interview: the interview.
        score: makes the score sheet when all questions are answered.

    Raises:
        GraderError: if the screen fails.
    """
    app = EndApp(interview, score)
    ending = app.run()
    if app.return_code:
        raise GraderError(
            "The screen of the interview failed. `attn-drill interview --resume` goes on, "
            "`attn-drill interview --sheet` prints a score sheet; report the lines above."
        )
    return ending if ending is not None else "interrupted"


class EndApp(App[Ending]):
    """The questions, each with its model answer and the learner's own rating, then the sheet."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #top, #keys { height: auto; padding: 0 1; background: $panel; }
    #body { height: 1fr; padding: 1 1 0 1; }
    #status { height: auto; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll('up')", show=False),
        Binding("down", "scroll('down')", show=False),
        Binding("pageup", "scroll('page_up')", show=False),
        Binding("pagedown", "scroll('page_down')", show=False),
        Binding("enter", "reveal", show=False),
        *(Binding(str(rating), f"rate({rating})", show=False) for rating in range(1, 5)),
        Binding("escape,q", "leave('quit')", show=False),
        Binding("ctrl+q", "leave('quit')", show=False, priority=True),
        Binding("ctrl+c", "leave('interrupted')", show=False, priority=True),
    ]

    def __init__(self, interview: Interview, score: Callable[[], ScoreSheet]) -> None:
        super().__init__()
        self.theme = theme(None, dict(os.environ))
        self.interview, self.score = interview, score
        self.sheet: ScoreSheet | None = None
        self.question_number = 0  # of the shown question, from 1
        self.is_revealed = False  # the model answer of this question is shown
        self.status = " ".join(interview.news)
        interview.news.clear()
        self._began = interview.clock()
        self._seconds_before = interview.state.question_seconds
        self._left_at_start = interview.seconds_left

    def compose(self) -> ComposeResult:
        """Yield the place and time, the text, the status, the keys."""
        yield Static(id="top", markup=False)
        with VerticalScroll(id="body", can_focus=False):
            yield Static(id="text", markup=False)
        yield Static(id="status", markup=False)
        yield Static(id="keys", markup=False)

    def on_mount(self) -> None:
        """Show the first open question, and start the clock."""
        for signal_number in (signal.SIGTERM, signal.SIGHUP):
            # In tests the app may run in another thread, which cannot set a handler.
            with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
                loop = asyncio.get_running_loop()
                loop.add_signal_handler(signal_number, self.action_leave, "interrupted")
        self.set_interval(1.0, self._draw_top)
        self._next()

    def on_resize(self, event: events.Resize) -> None:
        """Draw the text at the new width."""
        self.call_after_refresh(self._draw)

    @property
    def seconds(self) -> float:
        """The seconds spent on the questions so far."""
        return self._seconds_before + self.interview.clock() - self._began

    @property
    def current(self) -> FollowUp:
        """The shown question."""
        return self.interview.questions[self.question_number - 1]

    def _next(self) -> None:
        """Show the next open question, or the score sheet."""
        rated = self.interview.state.ratings
        open_numbers = [
            question_number
            for question_number, question in enumerate(self.interview.questions, start=1)
            if question.item not in rated
        ]
        self.is_revealed = False
        if open_numbers:
            self.question_number = open_numbers[0]
        else:
            self.sheet = self.score()
            for name in ("#top", "#status"):
                self.query_one(name).display = False
        self._draw()

    def _draw(self) -> None:
        if not self.is_running:
            return
        width = max(20, self.size.width - 4)
        text, keys = self.query_one("#text", Static), self.query_one("#keys", Static)
        if self.sheet is not None:
            text.update(render(self.sheet, width))
            keys.update(Text("↑↓ PgUp PgDn scroll  q leaves"))
            return
        title = self._title(self.current.challenge)
        text.update(render_follow_up(self.current, title, is_revealed=self.is_revealed))
        keys.update(Text(_KEYS_AFTER if self.is_revealed else _KEYS_BEFORE))
        self._draw_top()

    def _title(self, challenge_id: str) -> str:
        challenge = self.interview.challenges.get(challenge_id)
        return challenge_id if challenge is None else challenge.title

    def _draw_top(self) -> None:
        if not self.is_running:  # the widgets are removed before the timers stop
            return
        seconds_left = self._left_at_start - (self.seconds - self._seconds_before)
        is_over = seconds_left < 0
        time = f"{minutes(-seconds_left)} over" if is_over else f"{minutes(seconds_left)} left"
        style = f"bold {WRONG}" if is_over else "bold"
        place = f"Question {self.question_number} of {len(self.interview.questions)}"
        self.query_one("#top", Static).update(Text(f"{place} · {time}", style))
        late = _TIME_IS_UP if is_over else ""
        sentences = filter(None, [self.status, late, self.interview.journal.trouble])
        self.query_one("#status", Static).update(Text(" ".join(sentences)))

    def action_reveal(self) -> None:
        """Show the model answer."""
        if self.sheet is not None:
            return
        if self.is_revealed:
            self.status = "Rate your own answer with 1, 2, 3 or 4."
        self.is_revealed = True
        self._draw()

    def action_rate(self, rating: int) -> None:
        """Record the learner's own rating, and show the next question."""
        if self.sheet is not None:
            return
        if not self.is_revealed:
            self.status = "Press Enter first: you rate your answer after the model answer."
            self._draw()
            return
        self.interview.rate(self.current, rating, self.seconds)
        self.status = ""
        self.query_one("#body").scroll_home(animate=False)
        self._next()

    def action_scroll(self, direction: str) -> None:
        """Scroll the text: `up`, `down`, `page_up` or `page_down`."""
        getattr(self.query_one("#body"), f"scroll_{direction}")(animate=False)

    def action_leave(self, ending: Ending) -> None:
        """Leave the screen. Before the score sheet, record the time for the questions."""
        if self.sheet is not None:
            self.exit("next")
            return
        self.interview.leave_questions(self.seconds)
        self.exit(ending)
