"""The screen at the end of a mock interview: its questions, then its score sheet."""

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
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, Static

from trainer.interview.score import ScoreSheet
from trainer.model.errors import GraderError
from trainer.quiz.drawn_questions import DrawnQuestion, judge
from trainer.report.question_text import prompt, question
from trainer.report.score_sheet import minutes, render
from trainer.report.styles import WRONG
from trainer.session.interview_state import Interview
from trainer.session.model import Ending
from trainer.session.theme import theme

_TIME_IS_UP = "The time is up; you can still answer, and overtime is noted."


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


class AnswerLine(Input):
    """A line to type in. Enter keeps its place in the order of the keys, even if keys come fast.

    `Input` looks Enter up among the bindings. The next character could then come before Enter.
    """

    def __init__(self, submit: Callable[[str], None], id: str) -> None:
        super().__init__(id=id)
        self._submit = submit

    def on_key(self, event: events.Key) -> None:
        """Submit the text at Enter."""
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self._submit(self.value)


class EndApp(App[Ending]):
    """The questions, without a judgement of the answers, then the score sheet."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #top, #keys { height: auto; padding: 0 1; background: $panel; }
    #body { height: 1fr; padding: 1 1 0 1; }
    #answer { height: 1; padding: 0 1; }
    #prompt { width: auto; }
    #given { width: 1fr; height: 1; border: none; padding: 0; }
    #status { height: auto; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        # The focus stays in the answer's line. With priority, the arrow keys come here first.
        Binding("up", "scroll('up')", show=False, priority=True),
        Binding("down", "scroll('down')", show=False, priority=True),
        Binding("pageup", "scroll('page_up')", show=False, priority=True),
        Binding("pagedown", "scroll('page_down')", show=False, priority=True),
        Binding("escape,ctrl+q", "leave('quit')", show=False, priority=True),
        Binding("ctrl+c", "leave('interrupted')", show=False, priority=True),
        Binding("q", "leave('quit')", show=False),
    ]

    def __init__(self, interview: Interview, score: Callable[[], ScoreSheet]) -> None:
        super().__init__()
        self.theme = theme(None, dict(os.environ))
        self.interview, self.score = interview, score
        self.sheet: ScoreSheet | None = None
        self.question_number = 0  # of the shown question, from 1
        self.status = " ".join(interview.news)
        interview.news.clear()
        self._began = interview.clock()
        self._seconds_before = interview.state.question_seconds
        self._left_at_start = interview.seconds_left

    def compose(self) -> ComposeResult:
        """Yield the place and time, the text, the answer's line, the status, the keys."""
        yield Static(id="top", markup=False)
        with VerticalScroll(id="body", can_focus=False):
            yield Static(id="text", markup=False)
        with Horizontal(id="answer"):
            yield Static(id="prompt", markup=False)
            yield AnswerLine(self._take_answer, id="given")
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
    def current(self) -> DrawnQuestion:
        """The shown question."""
        return self.interview.questions[self.question_number - 1]

    def _next(self) -> None:
        """Show the next open question, or the score sheet."""
        answered = {answer.item for answer in self.interview.state.answers}
        open_numbers = [
            question_number
            for question_number, drawn in enumerate(self.interview.questions, start=1)
            if drawn.item not in answered
        ]
        if open_numbers:
            self.question_number = open_numbers[0]
        else:
            self.sheet = self.score()
            self.query_one("#given", Input).disabled = True
            for name in ("#top", "#answer", "#status"):
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
        text.update(Text(question(self.current, width)))
        keys.update(Text("Enter answers  ? not known  ↑↓ scroll  Esc leaves"))
        self.query_one("#prompt", Static).update(Text(prompt(self.current)))
        self._draw_top()

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

    def _take_answer(self, typed: str) -> None:
        """Record an answer and go on. If the answer is unclear, show what can be typed."""
        answer = typed.strip()
        judged = judge(self.current, answer)
        if judged.right is None:
            self.status = f"{judged.message} Type ? if you do not know."
            self._draw()
            return
        item, right = self.current.item, judged.right
        self.interview.record("answer", seconds=self.seconds, item=item, given=answer, right=right)
        self.status = ""
        self.query_one("#given", Input).clear()
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
        self.interview.record("left", seconds=self.seconds)
        self.exit(ending)
