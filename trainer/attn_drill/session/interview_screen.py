"""The screen at the end of a mock interview: its follow-up questions, then its score sheet."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Static

from attn_drill.exercises.interview import ScoreSheet
from attn_drill.packs.question_bank import FollowUp
from attn_drill.practice.facts import QuestionsLeft
from attn_drill.report.lesson_text import render_follow_up
from attn_drill.report.results_text import minutes, render_sheet
from attn_drill.report.words import WRONG
from attn_drill.session._drill_app import run_screen
from attn_drill.session._widgets import KeyLine
from attn_drill.session.interviews import Interview
from attn_drill.session.model import Ending

_TIME_IS_UP = "The time is up; you can still answer, and overtime is noted."
_REVEAL = ("enter", "show a model answer")


def ask_and_score(interview: Interview, score: Callable[[], ScoreSheet]) -> Ending:
    """Ask the open questions, then show the score sheet. Return "next" if the sheet was shown."""
    screen = EndScreen(interview, score)
    ending = run_screen(
        screen,
        "`attn-drill interview --resume` goes on, `attn-drill interview --sheet` prints a score "
        "sheet.",
    )
    return ending if ending is not None else screen.ended("interrupted")


class EndScreen(Screen[Ending]):
    """The questions, each with its model answer and the learner's own rating, then the sheet."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "reveal", show=False),
        *(Binding(str(rating), f"rate({rating})", show=False) for rating in range(1, 5)),
        Binding("escape,q", "leave", show=False),
    ]

    def __init__(self, interview: Interview, score: Callable[[], ScoreSheet]) -> None:
        super().__init__()
        self.interview, self.score = interview, score
        self.sheet: ScoreSheet | None = None
        # The question that is shown; None when all are answered.
        self.question: FollowUp | None = None
        self.is_revealed = False  # its model answer is shown
        self.status = " ".join(interview.news)
        interview.news.clear()
        self._began = interview.clock()
        self._seconds_before = interview.state.question_seconds

    def compose(self) -> ComposeResult:
        yield Static(id="top", markup=False)
        with VerticalScroll(id="questions"):
            yield Static(id="text", markup=False)
        yield Static(id="status", markup=False)
        yield KeyLine([])

    def on_mount(self) -> None:
        self.set_interval(1.0, self._draw_top)
        self._next()

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    @property
    def seconds(self) -> float:
        """The seconds spent on the questions so far."""
        return self._seconds_before + self.interview.clock() - self._began

    def _next(self) -> None:
        """Show the next open question, or the score sheet."""
        rated = self.interview.state.ratings
        waiting = [each for each in self.interview.questions if each.item not in rated]
        self.question = waiting[0] if waiting else None
        self.is_revealed = False
        if self.question is None:
            self.sheet = self.score()
            for name in ("#top", "#status"):
                self.query_one(name).display = False
        self._draw()

    def _draw(self) -> None:
        text, keys = self.query_one("#text", Static), self.query_one(KeyLine)
        if self.sheet is not None:
            text.update(render_sheet(self.sheet, max(20, self.app.size.width - 4)))
            keys.show([("q", "leave"), ("↑↓", "scroll")])
        if self.question is None:
            return
        challenge = self.interview.challenges.get(self.question.challenge)
        title = self.question.challenge if challenge is None else challenge.title
        text.update(render_follow_up(self.question, title, is_revealed=self.is_revealed))
        step = ("1-4", "again, hard, good, easy") if self.is_revealed else _REVEAL
        keys.show([step, ("↑↓", "scroll"), ("q", "leave")])
        self._draw_top()

    def _draw_top(self) -> None:
        if self.question is None or not self.is_running:
            return
        interview = self.interview
        seconds_left = interview.seconds_left + interview.state.question_seconds - self.seconds
        is_over = seconds_left < 0
        time = f"{minutes(-seconds_left)} over" if is_over else f"{minutes(seconds_left)} left"
        style = f"bold {WRONG}" if is_over else "bold"
        number = interview.questions.index(self.question) + 1
        place = f"Question {number} of {len(interview.questions)}"
        self.query_one("#top", Static).update(Text(f"{place} · {time}", style))
        late = _TIME_IS_UP if is_over else ""
        sentences = filter(None, [self.status, late, interview.journal.trouble])
        self.query_one("#status", Static).update(Text(" ".join(sentences)))

    def action_reveal(self) -> None:
        if self.question is None:
            return
        self.status = "Rate your own answer with 1, 2, 3 or 4." if self.is_revealed else ""
        self.is_revealed = True
        self._draw()

    def action_rate(self, rating: int) -> None:
        if self.question is None:
            return
        if not self.is_revealed:
            self.status = "Press Enter first: you rate your answer after the model answer."
            self._draw()
            return
        self.interview.rate(self.question, rating, self.seconds)
        self.status = ""
        self.query_one("#questions").scroll_home(animate=False)
        self._next()

    def action_leave(self) -> None:
        self.dismiss(self.ended("quit"))

    def ended(self, ending: Ending) -> Ending:
        """Return "next" after the score sheet, else record the time and return the ending."""
        if self.sheet is not None:
            return "next"
        self.interview.record("", QuestionsLeft, seconds=self.seconds)
        return ending
