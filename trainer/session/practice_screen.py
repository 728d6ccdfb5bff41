"""The screen of a practice session: the task, the report on the last save, a clock and the keys."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import ClassVar, Literal

from rich.cells import chop_cells
from rich.console import Group, RenderableType
from rich.text import Text
from rich.theme import Theme
from textual import events
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.geometry import Size
from textual.widgets import Static

from trainer.app.next_steps import next_steps
from trainer.model.errors import DrillError, GraderError
from trainer.model.lesson import Lesson
from trainer.model.report import Report, Trace
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.practice.journal import Journal
from trainer.practice.learner_files import read_source, write_afresh
from trainer.report.hunt_text import describe_mistakes
from trainer.report.prompt_text import prompt_markdown
from trainer.report.stages import has_cause, next_stage
from trainer.report.styles import QUIET, RIGHT, WRONG
from trainer.report.terminal import VERDICTS, render
from trainer.report.trace_text import render_trace
from trainer.report.visible import visible
from trainer.server.client import AsyncClient
from trainer.server.messages import (
    Grade,
    Prepare,
    Ready,
    Refused,
    Reply,
    Taught,
    Teach,
    Traced,
    TraceLines,
    Verdict,
)
from trainer.session.after_pass import AfterPass, after_pass
from trainer.session.after_pass_view import render_after_pass
from trainer.session.editor import find_editor, run_editor
from trainer.session.model import SessionRequest, SessionResult, Sitting
from trainer.session.session_state import SessionState
from trainer.session.theme import theme
from trainer.session.watch import mark_of, saves

_WIDE = 110  # least width at which task and report are side by side
_LEAST = (40, 10)  # columns and lines
_MOST_PATH_LINES = 3
# The most grading processes in one session, and the pause before each of them except the first.
_SEARCHING = "Looking for the cause …"
_MOST_PROCESSES, _REST_SECONDS = 5, 1.0
_KEYS: dict[str, tuple[str, str]] = {
    "again": ("r", "re-run"),
    "hint": ("h", "hint"),
    "why": ("w", "why"),
    "trace": ("t", "trace"),
    "answers": ("o", "other answers"),
    "questions": ("f", "follow-up questions"),
    "edit": ("e", "edit"),
    "reset": ("x", "reset"),
    "next": ("n", "next"),
    "other": ("tab", "report"),
    "leave": ("q", "quit"),
}
_BEGIN = ("enter", "starts the clock")
_STAGE_LABELS = {"line": "line", "question": "question", "cause": "why"}


def run(request: SessionRequest, journal: Journal) -> SessionResult:
    """Show a session on this terminal until the learner leaves.

    Raises:
        GraderError: if the screen fails. The terminal is then restored.
    """
    state = SessionState(request, journal, time.time, time.monotonic)
    app = SessionApp(state, AsyncClient(*request.packs))
    try:
        result = app.run()
    finally:
        app.grader.close()  # the app may have replaced the first grader
    if app.return_code:
        raise GraderError(
            "The screen of the session failed; your file and the journal are whole. "
            "Go on with --no-watch, and report the lines above."
        )
    return result if result is not None else app.state.result("interrupted")


class SessionApp(App[SessionResult]):
    """The screen of one session, for one challenge.

    Args:
        state: the state of the session.
        grader: the client of a grading process.
        shade: the theme; by default the environment decides.
    """

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "session.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        # Textual binds Tab too, and would move the focus to a hidden pane. So Tab has priority.
        *(
            Binding(key, f"press('{name}')", label, show=False, priority=key == "tab")
            for name, (key, label) in _KEYS.items()
        ),
        *(
            Binding(str(rating), f"press('overrule', {rating})", show=False)
            for rating in range(1, 5)
        ),
        Binding("enter", "press('begin')", show=False),
        Binding("shift+tab", "press('other')", show=False, priority=True),
        Binding("d", "press('shade')", show=False),
        Binding("ctrl+q", "press('leave')", show=False),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
    ]

    def __init__(
        self,
        state: SessionState,
        grader: AsyncClient,
        shade: Literal["dark", "light"] | None = None,
    ) -> None:
        super().__init__()
        self.state, self.grader = state, grader
        self.theme = theme(shade, dict(os.environ))
        # rich draws code on black, which is readable only in dark terminals.
        self.console.push_theme(Theme({"markdown.code": "bold"}))
        self.stage = state.request.stage
        self.view: Literal["task", "report"] = "task"
        self.trace: Trace | None = None
        self.status = "The grader is starting …"
        self.warm = False
        self.grading = False
        self._is_searching = False  # the verdict is shown, and its cause is still being looked for
        self._request_id = 0  # of the last request for a verdict
        self._requested_id = -1  # of the last request that the learner made with a key
        self._sent_source: str | None = None  # graded last, or being graded
        self._recorded_id = -1
        self._drawn_hints = -1
        self._room = Size(80, 24)
        self._stop = asyncio.Event()
        self.after: AfterPass | None = None
        self._is_reset_announced = False  # the key x was pressed once

    # The screen

    def compose(self) -> ComposeResult:
        """Yield the top line, the opening page, both panes, the status, the keys."""
        yield Static(id="top", markup=False)
        with VerticalScroll(id="opening"):
            yield Static(id="page", markup=False)
        with Horizontal(id="body"):
            with VerticalScroll(id="task"):
                yield Static(id="prompt", markup=False)
            with VerticalScroll(id="report"):
                yield Static(id="verdict", markup=False)
        yield Static(id="status", markup=False)
        yield Static(id="keys", markup=False)
        yield Static(id="small", markup=False)

    async def on_mount(self) -> None:
        """Start to watch the file, to listen to the grader, and to show the time."""
        self.grader.send(Prepare(self.state.request.challenge.id))
        for coroutine in (self._listen(), self._watch()):
            self.run_worker(coroutine)  # unlike in a task, an exception ends the session
        for signal_number in (signal.SIGTERM, signal.SIGHUP):
            # In tests the app may run in another thread, which cannot set a handler.
            with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
                asyncio.get_running_loop().add_signal_handler(signal_number, self.action_interrupt)
        self.set_interval(1.0, self._draw_top)
        self._draw()

    async def on_unmount(self) -> None:
        """Stop watching the file. Textual ends the listener."""
        self._stop.set()

    def on_resize(self, event: events.Resize) -> None:
        """Draw the layout for the new size."""
        self._room = event.size
        self._draw()

    def on_key(self, event: events.Key) -> None:
        """Note that the learner is active. Every key but x takes back the first x."""
        self.state.touch()
        if event.key != "x":
            self._is_reset_announced = False

    def on_click(self, event: events.Click) -> None:
        """Let the arrow keys scroll the pane that was clicked."""
        panes = [
            node.id
            for node in (event.widget.ancestors_with_self if event.widget is not None else ())
        ]
        for name in ("task", "report"):
            if self._wide and name in panes and name != self.view:
                self._press_other()

    @property
    def _is_whole(self) -> bool:
        """True if the screen still has all parts. Textual removes them one by one at the end."""
        return len(self.query("#top, #opening, #body, #status, #keys, #small")) == 6

    @property
    def _small(self) -> bool:
        """True if the terminal is too small for a session."""
        return self._room.width < _LEAST[0] or self._room.height < _LEAST[1]

    @property
    def _wide(self) -> bool:
        """True if task and report are side by side.

        A page of code gets the whole width, so that two codes fit next to each other.
        """
        return self._room.width >= _WIDE and not self._is_page_open

    @property
    def _is_page_open(self) -> bool:
        """True if the report pane shows a page of the other answers."""
        is_open = self.after is not None and self.after.view == "answers" and self.trace is None
        return is_open and self.view == "report"

    def _draw(self) -> None:
        """Draw all parts again. The task is drawn only if it has another hint."""
        if not self._is_whole:
            return
        width, height = self._room
        small, wide, begun = self._small, self._wide, self.state.begun
        for name in ("top", "status", "keys"):
            self.query_one(f"#{name}").display = not small
        self.query_one("#body").display = not small and begun
        self.query_one("#opening").display = not small and not begun
        self.query_one("#small", Static).display = small
        self.query_one("#status").styles.max_height = max(2, (height - 4) // 3)
        if small:
            self.query_one("#small", Static).update(
                f"This terminal is {width} x {height}; the session needs {_LEAST[0]} x {_LEAST[1]}."
                " Make it larger, or q to quit."
            )
            return
        self.query_one("#task").display = wide or self.view == "task"
        self.query_one("#report").display = wide or self.view == "report"
        for name in ("task", "report"):
            pane = self.query_one(f"#{name}")
            pane.set_class(wide, "beside")
            pane.set_class(wide and self.view == name, "here")
            pane.border_title = name if wide else None
        self._focus(self.view if begun else "opening")
        if not begun:
            self.query_one("#page", Static).update(self._render_opening())
        # Markdown is slow, and a verdict should not wait for it.
        if self._drawn_hints != len(self.state.hints):
            self._drawn_hints = len(self.state.hints)
            self.query_one("#prompt", Static).update(self._render_task())
        self.query_one("#verdict", Static).update(
            self._render_report((width * 3 // 5 if wide else width) - 4)
        )
        self._draw_top()
        self._draw_foot()

    def _focus(self, name: str) -> None:
        """Let the arrow keys scroll this pane."""
        pane = self.query_one(f"#{name}")
        if self.focused is not pane:
            self.set_focus(pane, scroll_visible=False)

    def _draw_top(self) -> None:
        if not self._is_whole:
            return
        if self.state.request.sitting is not None:
            self.query_one("#top", Static).update(self._interview_top(self.state.request.sitting))
            return
        request, seconds = self.state.request, self.state.seconds
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(request.challenge.id, style="bold")
        line.append("  ")
        line.append_text(self._verdict_word())
        is_over = seconds > request.par_seconds
        time_of_par = f"{_clock(seconds)} of {_clock(request.par_seconds)}"
        line.append(f"  {time_of_par}", style=WRONG if is_over else "")
        if is_over:
            line.append(" over", style=WRONG)
        line.append(f"  {request.path.name}", style=QUIET)
        self.query_one("#top", Static).update(line)

    def _interview_top(self, sitting: Sitting) -> Text:
        """Return the stage and the time left, then the problem and its time, then the full path."""
        request, seconds = self.state.request, self.state.seconds
        seconds_left = self.state.seconds_left
        width, height = self._room.width - 2, self._room.height
        time_left = (
            f"{_clock(seconds_left)} left" if seconds_left >= 0 else f"{_clock(-seconds_left)} over"
        )
        is_over = seconds > request.par_seconds
        spent = f"this problem {_clock(seconds)} of {_clock(request.par_seconds)}"
        if is_over:
            spent += " over"
        parts = [
            Text(
                f"{sitting.stage_number} of {sitting.stage_count} · {time_left}",
                style=f"bold {WRONG}" if seconds_left < 0 else "bold",
            ),
            Text(request.challenge.id, style="bold"),
            self._verdict_word() if self.state.begun else Text("not started", style=QUIET),
            Text(spent, style=WRONG if is_over else ""),
        ]
        most_lines = max(1, min(_MOST_PATH_LINES, height // 6))
        path = _fitted(visible(str(request.path)), width, most_lines)
        return Text("\n").join([_packed(parts, width), Text(path, style=QUIET)])

    def _verdict_word(self) -> Text:
        report = self.state.last
        if self.grading:
            return Text("grading …", style=QUIET)
        if self.state.unfinished is not None:
            return Text(_short_reason(self.state.unfinished.unfinished), style=QUIET)
        if report is None:
            return Text("not graded yet", style=QUIET)
        statuses = list(report.statuses().values())
        right = report.verdict == "passed"
        return Text(
            f"{VERDICTS[report.verdict]} {statuses.count('passed')}/{len(statuses)}",
            style=f"bold {RIGHT if right else WRONG}",
        )

    def _draw_foot(self) -> None:
        if not self._is_whole:
            return
        self.query_one("#status", Static).update(
            Text(" ".join(filter(None, [self.status, self.state.journal.trouble])))
        )
        keys = [] if self.state.begun else [_BEGIN]
        keys += [
            (key, self._label(name, label))
            for name, (key, label) in _KEYS.items()
            if self._works(name)
        ]
        if self._works("reveal"):
            keys.append(("enter", "show the answer"))
        if self._works("overrule"):
            keys.append(("1-4", "again … easy"))
        self.query_one("#keys", Static).update(_keys(keys, self._room.width - 2))

    def _label(self, name: str, label: str) -> str:
        if name == "why" and self.state.last is not None:
            following = next_stage(self.state.last, self.stage)
            return "hide why" if following is None else _STAGE_LABELS[following]
        if name == "answers" and self.after is not None and self.after.view == "answers":
            return "next page"
        if name == "questions" and self.after is not None and self.after.view == "questions":
            return "close the questions"
        if name == "other":
            return f"{'scroll ' if self._wide else ''}{'report' if self.view == 'task' else 'task'}"
        return "hide trace" if name == "trace" and self.trace is not None else label

    def _render_opening(self) -> RenderableType:
        sitting = self.state.request.sitting
        return Text(sitting.opening if sitting is not None else "")

    def _render_task(self) -> RenderableType:
        parts: list[RenderableType] = [prompt_markdown(self.state.request.prompt)]
        for level, hint in enumerate(self.state.hints, start=1):
            parts += [Text(), Text(f"Hint {level}", style="bold"), Text(hint)]
        return Group(*parts)

    def _render_report(self, width: int) -> RenderableType:
        report = self.state.last
        if self.trace is not None:
            return render_trace(self.trace)
        parts: list[RenderableType] = []
        if self.state.unfinished is not None:
            parts += [*self._render_unfinished(self.state.unfinished), Text()]
            if report is not None:
                parts += [Text("The last verdict, on an earlier text:", style=QUIET), Text()]
        elif report is None:
            path = self.state.request.path
            parts.append(
                Text(
                    f"Write your answer in {path}. {self._when_graded()}",
                    style=QUIET,
                )
            )
        if report is None:
            return Group(*parts)
        width = max(width, 30)
        if self.after is not None and self.after.view != "notes":
            return Group(*parts, render_after_pass(self.after, self.state.journal, width))
        parts.append(render(report, width, stage=self.stage, how_to_see="press w"))
        if self.state.request.hunted and report.verdict == "passed":
            request = self.state.request
            found = describe_mistakes(request.challenge, request.hunted, width)
            parts += [Text(), Text(found)]
        if self.after is not None and report.verdict == "passed":
            parts += [Text(), render_after_pass(self.after, self.state.journal, width)]
        if self.state.grade_text:
            disagree = "1 again, 2 hard, 3 good, 4 easy if you disagree with the grade."
            if self.after is None:  # in an interview nothing else shows the grade
                disagree = f"{self.state.grade_text}. {disagree}"
            parts += [Text(), Text(disagree, style=QUIET)]
        return Group(*parts)

    def _when_graded(self) -> str:
        if self.state.request.is_graded:
            return "Every save is graded, and the verdict appears here."
        return "Hand it in with n; the verdict is on the score sheet."

    def _render_unfinished(self, report: Report) -> list[RenderableType]:
        """Return lines about a file that is not finished."""
        lines = [
            Text(
                f"{self.state.request.path.name} {visible(report.unfinished)}",
                style="bold",
            )
        ]
        failure = report.first_failure()
        for frame in failure.frames[-1:] if failure is not None else ():
            lines.append(Text(f"  line {frame.line}  {visible(frame.text, lines=True)}"))
        lines.append(
            Text("This does not count as an attempt; the next save is graded.", style=QUIET)
        )
        return [*lines]

    # Saves and replies

    def _can_change_stage(self, report: Report) -> bool:
        """Return whether there is a stage to show, or a likely mistake to hide."""
        return has_cause(report) or next_stage(report, self.stage) is not None

    def _works(self, name: str) -> bool:
        """Return whether this key does something now. The footer shows only working keys."""
        return not self._why_not(name)

    def _why_not(self, name: str) -> str:
        """Return why this key does nothing now, or "" if it does."""
        state, report = self.state, self.state.last
        if name == "begin":
            return "The clock is already running." if state.begun else ""
        if not state.begun and name not in ("leave", "shade"):
            return "Nothing has started yet: press Enter to start the clock, or q to quit."
        match name:
            case "again" | "why" | "trace" if not state.request.is_graded:
                return "Nothing is graded in this interview before you hand in (n)."
            case "hint" if not state.has_hint:
                return "There is no further hint: all hints are below the task."
            case "why" | "trace" if report is None:
                return (
                    f"Nothing is graded yet: save your answer in {state.request.path.name} first."
                )
            case "why" if report is not None and report.verdict == "passed":
                return "All checks pass, so there is no mistake to name."
            case "why" if self._is_searching:
                return _SEARCHING
            case "why" if report is not None and not self._can_change_stage(report):
                return "No known mistake gives exactly this; t shows the result of each line."
            case "again" | "trace" if not self.warm:
                return "The grader is still starting; your file is graded when it is ready."
            case "trace" if report is not None and report.statuses().get("loads") == "failed":
                return "The file could not be loaded, so no line ran; the report says why."
            case "next" if not state.passed and state.request.sitting is None:
                return "The next challenge comes when this one is passed; q quits."
            case "answers" | "questions" if self.after is None:
                return "Other answers and the answers to follow-up questions come after the pass."
            case "questions" if self.after is not None and not self.after.questions:
                return "The pack has no answers to follow-up questions."
            case "reveal" if not self._is_question_open(is_revealed=False):
                return "There is no answer to show: f shows the follow-up questions."
            case "overrule" if self._is_question_open(is_revealed=False):
                return "Press Enter first: it shows the answer that you rate."
            case "overrule" if self._is_question_open(is_revealed=True):
                return ""
            case "overrule" if not state.can_overrule:
                return "There is no grade to change: a grade comes with the first pass."
            case "reset" if state.request.purpose == "hunt":
                return "A hunt has no stub to go back to."
        return ""

    def _is_question_open(self, *, is_revealed: bool) -> bool:
        """Return whether a follow-up question is shown, with or without its answer."""
        after = self.after
        if after is None or after.view != "questions" or after.question is None:
            return False
        if self.trace is not None or not (self._wide or self.view == "report"):
            return False  # something else is shown
        return after.is_revealed == is_revealed

    def _say(self, sentence: str) -> None:
        self.status = sentence
        self._draw_foot()

    async def _watch(self) -> None:
        async for _ in saves(self.state.request.path, self._stop):
            self._grade()

    def _grade(self, *, is_requested: bool = False) -> None:
        """Grade the current text of the file. A request that is still being graded is superseded.

        Args:
            is_requested: the learner pressed a key. Otherwise a stub, and the text that was graded
                last, are not graded.
        """
        request = self.state.request
        if not self.state.begun:
            return
        try:
            source = read_source(request.path)
            is_stub = source == request.untouched or pack_reader.is_stub(request.challenge, source)
        except DrillError as error:
            self._say(str(error))
            return
        self.state.note_save(source)
        if not request.is_graded:
            self._note_ungraded_text(source, is_stub=is_stub)
            return
        if not self.warm:
            return
        if is_stub and not is_requested:
            self._sent_source = None  # the next save is graded, even with a text graded before
            return
        if not is_requested and source == self._sent_source:
            return
        self.state.touch()
        self._request_id += 1
        if is_requested:
            self._requested_id = self._request_id
        self._sent_source = source
        message = Grade(
            request.challenge.id,
            Submission(request.path.name, source),
            id=self._request_id,
            is_early_wanted=True,
            planted=request.hunted,
        )
        if not self.grader.send(message):
            self._process_ended()
            return
        self.grading = True
        self.status = ""
        self._draw_top()
        self._draw_foot()

    def _note_ungraded_text(self, source: str, *, is_stub: bool) -> None:
        """Say that a new text is saved. Nothing is graded before the learner hands in."""
        if source != self._sent_source and not is_stub:
            self.state.touch()
            self._say("Saved; the verdict comes when you hand in (n).")
        self._sent_source = source

    async def _listen(self) -> None:
        """Handle the replies of the grading process. Start another process if it ends."""
        for process_index in range(_MOST_PROCESSES):
            if process_index:
                await asyncio.sleep(_REST_SECONDS)
                self.grader = AsyncClient(*self.state.request.packs)
                self.grader.send(Prepare(self.state.request.challenge.id))
            async for reply in self.grader.replies():
                self._handle_reply(reply)
            if self._stop.is_set():
                return
            self._process_ended()
            last_words = self.grader.last_words() or "without a message"
            self.grader.close()
        self.status = (
            f"The grading process keeps ending ({last_words}). "
            "`attn-drill doctor` shows more; q to quit."
        )
        self._draw()

    def _process_ended(self) -> None:
        """Show that the process ended. The next process grades the file again."""
        self.warm = self.grading = False
        self._sent_source = None
        last_words = self.grader.last_words()
        reason = f" ({last_words})" if last_words else ""
        self.status = f"The grading process ended{reason}; another one starts."
        self._draw()

    def _handle_reply(self, reply: Reply) -> None:
        match reply:
            case Ready():
                self.warm = True
                if self.state.request.is_graded:
                    self.status = f"Every save of {self.state.request.path.name} is graded."
                    self._grade()
                else:
                    self.status = "Nothing is graded before you hand in (n)."
            case Verdict(id=request_id, report=report, is_final=is_final) if (
                request_id == self._request_id
            ):
                self._take_verdict(report, is_final=is_final)
            case Traced(id=request_id, trace=trace) if request_id == self._request_id:
                self.trace, self.view = trace, "report"
                self.status = ""
                self._ask_for_lesson()  # the trace has ended a measurement
            case Taught(id=request_id, lesson=lesson) if request_id == self._request_id:
                if self.after is not None:
                    self.after.lesson = lesson
            case Refused(id=request_id, sentence=sentence) if request_id in (0, self._request_id):
                if self.after is not None and self.after.lesson is None and not self.grading:
                    self.after.lesson = Lesson(is_measured=False)
                self.grading = False
                self.status = sentence
            case _:
                return
        self._draw()

    def _take_verdict(self, report: Report, *, is_final: bool) -> None:
        """Record a verdict, then draw it. So every verdict on the screen is in the journal.

        Args:
            report: the report with the verdict.
            is_final: the report has its diagnosis, or needs none.
        """
        is_requested = self._requested_id == self._request_id
        if self._recorded_id != self._request_id:
            self._recorded_id = self._request_id
            self.state.take_verdict(report, self._sent_source or "", is_requested=is_requested)
            self.trace, self.stage = None, self.state.request.stage
            if not report.unfinished:  # the learner is typing, and may be reading the task
                self.view = "report"
            self.query_one("#report").scroll_home(animate=False)
            self._is_reset_announced = False
            if self.after is not None and report.unfinished:
                self._ask_for_lesson()  # this grading has ended a measurement
            elif self.after is not None and report.verdict != "passed":
                self.after.view = "notes"  # so that the report is shown
        if is_final:
            self.state.take_diagnosis(report)
            if report.verdict == "passed":
                self._begin_lesson(report)
        self.grading = False
        self._is_searching = not is_final
        if report.unfinished:
            again = "Graded once more: " if is_requested else ""
            file_state = f"{self.state.request.path.name} {visible(report.unfinished)}"
            self.status = f"{again}{file_state}; this does not count."
        else:
            self.status = "" if is_final else _SEARCHING

    def _begin_lesson(self, report: Report) -> None:
        """Show what comes after a pass, and let the grader measure the answer.

        The verdict is on the screen before the measurement begins.
        """
        request, state = self.state.request, self.state
        if request.purpose not in ("practice", "review"):
            return
        source, now, earlier = state.last_source or "", state.wall(), self.after
        if earlier is not None and earlier.source == source:
            self._ask_for_lesson()
            return
        steps = next_steps(request.challenge, request.challenges, state.journal, now)
        clock = f"{_clock(state.seconds)} of {_clock(request.par_seconds)}"
        line = steps.in_words(now, state.grade_text, clock)
        self.after = after_pass(request.challenge, source, line, request.language)
        if earlier is not None:
            self.after.go_on_from(earlier)
        self.call_after_refresh(self._ask_for_lesson)

    def _ask_for_lesson(self) -> None:
        """Let the grader measure the answer, unless the lesson is there."""
        after, report = self.after, self.state.last
        if after is None or after.lesson is not None or report is None:
            return
        request = self.state.request
        submission = Submission(request.path.name, after.source)
        seed = report.seed or 0
        self.grader.send(Teach(request.challenge.id, submission, seed, id=self._request_id))

    # The keys

    def action_press(self, name: str, *arguments: int) -> None:
        """Run a key's action, or say in a sentence why the key does nothing now."""
        if self._small and name not in ("leave", "shade"):
            return  # nothing could be seen
        if name != "reset":
            self._is_reset_announced = False
        if name == "begin" and self.state.begun:
            name = "reveal"
        if reason := self._why_not(name):
            if name not in ("begin", "reveal"):
                self._say(reason)
            return
        getattr(self, f"_press_{name}")(*arguments)

    def _press_begin(self) -> None:
        """Start the clock of an interview's problem."""
        self.state.begin()
        self._draw()
        self._grade()

    def _press_again(self) -> None:
        """Grade once more, on a fresh seed."""
        self._grade(is_requested=True)
        if self.grading:
            self._say("Your file is graded once more, on fresh cases.")

    def _press_hint(self) -> None:
        """Show the next hint."""
        self.state.take_hint()
        self.view = "task"
        self._draw()
        self.call_after_refresh(self.query_one("#task").scroll_end, animate=False)

    def _press_why(self) -> None:
        """Show the next stage of the report; after the last stage, hide the likely mistake."""
        report = self.state.last
        following = None if report is None else next_stage(report, self.stage)
        if following is None:
            first = self.state.request.stage
            self.stage = "line" if first == "cause" else first
            self.status = "The likely mistake is hidden."
        else:
            self.stage, self.status = following, ""
        if following == "cause":
            self.state.note_revealed()
        self.view, self.trace = "report", None
        self._draw()
        self.query_one("#report").scroll_home(animate=False)

    def _press_trace(self) -> None:
        """Show the trace, or the report again."""
        report, source = self.state.last, self.state.last_source
        if self.trace is not None:
            self.trace, self.view = None, "report"
        elif self.grading:
            self._say("The file is being graded; press t again when the verdict is there.")
            return
        elif report is not None and source is not None:
            request = self.state.request
            message = TraceLines(
                request.challenge.id,
                Submission(request.path.name, source),
                report.seed or 0,
                id=self._request_id,
            )
            if not self.grader.send(message):
                self._process_ended()
                return
            self.status = "Tracing …"
        self._draw()

    def _press_edit(self) -> None:
        """Open the file in the learner's editor, which gets the whole terminal."""
        path = self.state.request.path
        before = mark_of(path)
        try:
            editor = find_editor(os.environ)
        except DrillError as error:
            self._say(str(error))
            return
        trouble = ""
        try:
            with self.suspend():
                # After an exception in this block the screen would not come back.
                trouble = _sentence_of(lambda: run_editor(editor, path))
        except SuspendNotSupported:
            trouble = (
                "An editor cannot run in this terminal. "
                "Edit the file in another window and save it there."
            )
        is_unchanged = mark_of(path) == before
        unchanged = f"{editor.name} has ended; {path.name} is unchanged." if is_unchanged else ""
        self.status = trouble or unchanged
        self._draw()
        self._grade()

    def _press_answers(self) -> None:
        """Show the other right answers, or the next page of them."""
        if self.after is not None:
            self.after.turn_page(self.state.journal)
            self._show_after_pass()

    def _press_questions(self) -> None:
        """Show the follow-up questions, or the notes again."""
        if self.after is not None:
            self.after.toggle_questions()
            self._show_after_pass()

    def _press_reveal(self) -> None:
        """Show the answer of the follow-up question."""
        if self.after is not None:
            self.after.reveal()
            self._show_after_pass()

    def _show_after_pass(self) -> None:
        self.view, self.trace, self.status = "report", None, ""
        self._draw()
        self.query_one("#report").scroll_home(animate=False)

    def _press_reset(self) -> None:
        """Write a fresh stub, and keep the old file under another name. Ask first."""
        request = self.state.request
        if not self._is_reset_announced:
            self._is_reset_announced = True
            self._say(
                f"x once more writes a fresh stub to {request.path.name} and keeps your file "
                "under another name; any other key changes nothing."
            )
            return
        self._is_reset_announced = False
        try:
            old_file = write_afresh(
                request.path, pack_reader.stub(request.challenge, self.state.level)
            )
        except DrillError as error:
            self.status = str(error)
        else:
            self.state.restart()
            self.after = None
            self._request_id += 1  # a verdict on the old text is ignored
            self._sent_source, self.view, self.trace, self.grading = None, "task", None, False
            self.status = f"{request.path.name} is a fresh stub." + (
                f" Your old file is kept as {old_file.name}." if old_file else ""
            )
        self._draw()

    def _press_other(self) -> None:
        """Show the other pane. If both panes are shown, the arrow keys scroll the other pane."""
        self.view = "report" if self.view == "task" else "task"
        self._draw()

    def _press_overrule(self, rating: int) -> None:
        """Rate the answer to the open question, or give the pass another grade."""
        if self.after is not None and self._is_question_open(is_revealed=True):
            self.after.rate(rating, self.state.journal, self.state.wall())
            self._show_after_pass()
            return
        self.state.overrule(rating)
        self.status = f"{self.state.grade_text[:1].upper()}{self.state.grade_text[1:]}."
        self._draw()

    def _press_shade(self) -> None:
        """Switch between the dark and the light theme."""
        self.theme = theme("light" if self.current_theme.dark else "dark", {})

    def _press_next(self) -> None:
        """Leave for the next challenge or stage."""
        self.exit(self.state.result("next"))

    def _press_leave(self) -> None:
        """Leave the session."""
        self.exit(self.state.result("quit"))

    def action_interrupt(self) -> None:
        """Leave the session after Ctrl-C, SIGTERM or SIGHUP."""
        self.exit(self.state.result("interrupted"))


def _sentence_of(action: Callable[[], str]) -> str:
    """Return the result of an action, or a sentence about its exception."""
    try:
        return action()
    except Exception as error:
        return (
            f"The editor could not be run ({type(error).__name__}: {error}). "
            "Edit the file in another window."
        )


def _short_reason(unfinished: str) -> str:
    """Return in a few words why a file is not finished."""
    if unfinished.startswith("is not finished"):
        return "not finished"
    return unfinished.partition(",")[0]


def _packed(parts: list[Text], width: int) -> Text:
    """Return parts side by side, two spaces apart, in as many lines of this width as needed."""
    lines = [Text()]
    for part in parts:
        if lines[-1].cell_len and lines[-1].cell_len + 2 + part.cell_len > width:
            lines.append(Text())
        if lines[-1].cell_len:
            lines[-1].append("  ")
        lines[-1].append_text(part)
    return Text("\n").join(lines)


def _fitted(text: str, width: int, most_lines: int) -> str:
    """Cut a text into lines of this width. A text that is too long loses its middle."""
    lines = chop_cells(text, width)
    middle = len(text) // 3  # the end of a path is more useful than its beginning
    cut = 1
    while len(lines) > most_lines:
        cut += 1
        lines = chop_cells(
            f"{text[: max(0, middle - cut // 2)]}…{text[middle + cut - cut // 2 :]}", width
        )
    return "\n".join(lines)


def _keys(keys: list[tuple[str, str]], width: int) -> Text:
    """Return keys with their labels in lines of this width. A key and its label stay together."""
    text = Text()
    used = 0
    for key, label in keys:
        length = len(key) + 1 + len(label)
        if used and used + 2 + length > width:
            text.append("\n")
            used = 0
        elif used:
            text.append("  ")
            used += 2
        text.append(key, style="bold").append(f" {label}", style=QUIET)
        used += length
    return text


def _clock(seconds: float) -> str:
    """Return a time as `4:07`, or as `1:02:03` from an hour on. A negative time is `0:00`."""
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
