"""The Textual screen of a practice session: the task on one side, the live report on the other, a clock, keys at the foot."""

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
from rich.markdown import Markdown
from rich.text import Text
from rich.theme import Theme
from textual import events
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.geometry import Size
from textual.widgets import Static

from trainer.model.errors import DrillError, GraderError
from trainer.model.report import Report, Trace
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.packs.stub_levels import LEVELS
from trainer.practice.journal import Journal
from trainer.practice.learner_files import read_source, write_afresh
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
    Traced,
    TraceLines,
    Verdict,
)
from trainer.session.editor import find_editor, run_editor
from trainer.session.model import SessionRequest, SessionResult, Sitting
from trainer.session.session_state import SessionState
from trainer.session.theme import theme
from trainer.session.watch import mark_of, saves

_WIDE = 110  # columns from which task and report stand side by side
_LEAST = (40, 10)
_MOST_PATH_LINES = 3
_MOST_DEATHS, _REST_SECONDS = 5, 1.0  # of the grading process in one session
_KEYS: dict[str, tuple[str, str]] = {
    "again": ("r", "re-run"),
    "hint": ("h", "hint"),
    "why": ("w", "why"),
    "trace": ("t", "trace"),
    "edit": ("e", "edit"),
    "reset": ("x", "reset"),
    "next": ("n", "next"),
    "other": ("tab", "report"),
    "leave": ("q", "quit"),
}
_BEGIN = ("enter", "starts the clock")


def run(given: SessionRequest, journal: Journal) -> SessionResult:
    """Show the session on this terminal until the learner leaves.

    Raises:
        GraderError: where the screen itself fails; the terminal is as before then.
    """
    app = SessionApp(
        SessionState(given, journal, time.time, time.monotonic), AsyncClient(*given.packs)
    )
    try:
        left = app.run()
    finally:
        app.grader.close()  # not the first one, perhaps
    if app.return_code:
        raise GraderError(
            "The screen of the session failed; your file and the journal are whole. Go on with --no-watch, and report the lines above."
        )
    return left if left is not None else app.practice.left("interrupted")


class SessionApp(App[SessionResult]):
    """One challenge until it is left."""

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "session.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        # Tab goes before Textual's own binding of it, which moves the focus to a pane that is not shown.
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
        practice: SessionState,
        grader: AsyncClient,
        shade: Literal["dark", "light"] | None = None,
    ) -> None:
        super().__init__()
        self.practice, self.grader = practice, grader
        self.theme = theme(shade, dict(os.environ))
        self.console.push_theme(
            Theme({"markdown.code": "bold"})
        )  # by itself it is on black, which is for dark terminals alone
        self.why = practice.given.why
        self.view: Literal["task", "report"] = "task"
        self.trace: Trace | None = None
        self.status = "The grader warms up …"
        self.warm = False
        self.grading = False
        self._number = 0
        self._asked = -1  # the number of the order that the learner asked for with a key
        self._sent: str | None = None  # the text that was graded last, or is being graded
        self._recorded = -1
        self._drawn_hints = -1
        self._room = Size(80, 24)
        self._stop = asyncio.Event()

    # The screen

    def compose(self) -> ComposeResult:
        """One line above, two panes, a line of what happens, the keys."""
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
        """Begin to watch, to listen, and to count the seconds."""
        self.grader.send(Prepare(self.practice.given.challenge.id))
        for work in (self._listen(), self._watch()):
            self.run_worker(work)  # what it raises ends the session, and is not lost with a task
        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(
                ValueError, RuntimeError, NotImplementedError
            ):  # tests run in no main thread
                asyncio.get_running_loop().add_signal_handler(number, self.action_interrupt)
        self.set_interval(1.0, self._draw_top)
        self._draw()

    async def on_unmount(self) -> None:
        """Stop watching; Textual ends what listens."""
        self._stop.set()

    def on_resize(self, event: events.Resize) -> None:
        """Another width: another layout."""
        self._room = event.size
        self._draw()

    def on_key(self, event: events.Key) -> None:
        """Somebody is here."""
        self.practice.touch()

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
        """Whether the screen still has its parts: Textual takes them away one by one while it ends."""
        return len(self.query("#top, #opening, #body, #status, #keys, #small")) == 6

    @property
    def _small(self) -> bool:
        """Whether there is no room for a session."""
        return self._room.width < _LEAST[0] or self._room.height < _LEAST[1]

    @property
    def _wide(self) -> bool:
        """Whether task and report stand side by side."""
        return self._room.width >= _WIDE

    def _draw(self) -> None:
        """Everything anew but the task, so that nothing can be left from before."""
        if not self._is_whole:
            return
        width, height = self._room
        small, wide, begun = self._small, self._wide, self.practice.begun
        for name in ("top", "status", "keys"):
            self.query_one(f"#{name}").display = not small
        self.query_one("#body").display = not small and begun
        self.query_one("#opening").display = not small and not begun
        self.query_one("#small", Static).display = small
        self.query_one("#status").styles.max_height = max(2, (height - 4) // 3)
        if small:
            self.query_one("#small", Static).update(
                f"This terminal is {width} x {height}; the session needs {_LEAST[0]} x {_LEAST[1]}. Make it larger, or q to quit."
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
        if self._drawn_hints != len(
            self.practice.hints
        ):  # Markdown takes its time, and a verdict should not wait for it
            self._drawn_hints = len(self.practice.hints)
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
        if self.practice.given.sitting is not None:
            self.query_one("#top", Static).update(self._interview_top(self.practice.given.sitting))
            return
        given, seconds = self.practice.given, self.practice.seconds
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(given.challenge.id, style="bold")
        line.append("  ")
        line.append_text(self._verdict_word())
        over = seconds > given.par_seconds
        line.append(
            f"  {_clock(seconds)} of {_clock(given.par_seconds)}", style=WRONG if over else ""
        )
        if over:
            line.append(" over", style=WRONG)
        line.append(f"  {given.path.name}", style=QUIET)
        self.query_one("#top", Static).update(line)

    def _interview_top(self, sitting: Sitting) -> Text:
        """The place and the time in the interview first, then the problem; the full path below."""
        given, seconds, left = (
            self.practice.given,
            self.practice.seconds,
            self.practice.seconds_left,
        )
        width, height = self._room.width - 2, self._room.height
        over = seconds > given.par_seconds
        in_all = f"{_clock(left)} left" if left >= 0 else f"{_clock(-left)} over"
        spent = f"this problem {_clock(seconds)} of {_clock(given.par_seconds)}{' over' if over else ''}"
        parts = [
            Text(
                f"{sitting.number} of {sitting.count} · {in_all}",
                style=f"bold {WRONG}" if left < 0 else "bold",
            ),
            Text(given.challenge.id, style="bold"),
            self._verdict_word() if self.practice.begun else Text("not started", style=QUIET),
            Text(spent, style=WRONG if over else ""),
        ]
        most = max(1, min(_MOST_PATH_LINES, height // 6))
        return Text("\n").join(
            [
                _packed(parts, width),
                Text(_fitted(visible(str(given.path)), width, most), style=QUIET),
            ]
        )

    def _verdict_word(self) -> Text:
        report = self.practice.last
        if self.grading:
            return Text("grading …", style=QUIET)
        if self.practice.unfinished is not None:
            words = self.practice.unfinished.unfinished
            return Text(_state_word(words), style=QUIET)
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
            Text(" ".join(filter(None, [self.status, self.practice.journal.trouble])))
        )
        shown = [] if self.practice.begun else [_BEGIN]
        shown += [
            (key, self._label(name, label))
            for name, (key, label) in _KEYS.items()
            if self._works(name)
        ]
        if self._works("overrule"):
            shown.append(("1-4", "again … easy"))
        self.query_one("#keys", Static).update(_keys(shown, self._room.width - 2))

    def _label(self, name: str, label: str) -> str:
        if name == "why" and self.why:
            return "hide why"
        if name == "other":
            return f"{'scroll ' if self._wide else ''}{'report' if self.view == 'task' else 'task'}"
        return "hide trace" if name == "trace" and self.trace is not None else label

    def _render_opening(self) -> RenderableType:
        sitting = self.practice.given.sitting
        return Text(sitting.opening if sitting is not None else "")

    def _render_task(self) -> RenderableType:
        parts: list[RenderableType] = [Markdown(self.practice.given.prompt)]
        for number, hint in enumerate(self.practice.hints, start=1):
            parts += [Text(), Text(f"Hint {number}", style="bold"), Text(hint)]
        return Group(*parts)

    def _render_report(self, width: int) -> RenderableType:
        report = self.practice.last
        if self.trace is not None:
            return render_trace(self.trace)
        parts: list[RenderableType] = []
        if self.practice.unfinished is not None:
            parts += [*self._render_unfinished(self.practice.unfinished), Text()]
            if report is not None:
                parts += [Text("The last verdict, on an earlier text:", style=QUIET), Text()]
        elif report is None:
            path = self.practice.given.path
            parts.append(
                Text(
                    f"Write your answer in {path}. Every save is graded, and the verdict comes here.",
                    style=QUIET,
                )
            )
        if report is None:
            return Group(*parts)
        if self.practice.graded:
            parts += [
                Text(
                    f"{self.practice.graded}. 1 again, 2 hard, 3 good, 4 easy if you see it otherwise.",
                    style=QUIET,
                ),
                Text(),
            ]
        return Group(*parts, render(report, max(width, 30), why=self.why, commands=False))

    def _render_unfinished(self, report: Report) -> list[RenderableType]:
        """The state of a file that is no finished answer."""
        lines = [
            Text(
                f"{self.practice.given.path.name} {visible(report.unfinished)}",
                style="bold",
            )
        ]
        failure = report.first_failure()
        for frame in failure.frames[-1:] if failure is not None else ():
            lines.append(Text(f"  line {frame.line}  {visible(frame.text, lines=True)}"))
        lines.append(
            Text("This is no attempt and does not count; the next save is graded.", style=QUIET)
        )
        return [*lines]

    # What happens

    def _works(self, name: str) -> bool:
        """Whether this is a key now: the line of keys shows those alone."""
        return not self._why_not(name)

    def _why_not(self, name: str) -> str:
        """Return why this key does nothing now, or "" if it does."""
        report, practice = self.practice.last, self.practice
        found = report.diagnosis if report is not None else None
        if name == "begin":
            return "The clock runs already." if practice.begun else ""
        if not practice.begun and name not in ("leave", "shade"):
            return "Nothing has started yet: press Enter to start the clock, or q to quit."
        match name:
            case "hint" if not practice.has_hint:
                return "There is no further hint: all of them stand below the task."
            case "why" | "trace" if report is None:
                return (
                    f"Nothing was graded yet: save your answer in {practice.given.path.name} first."
                )
            case "why" if report is not None and report.verdict == "passed":
                return "All checks hold, so there is no mistake to name."
            case "why" if found is None or not found.mistakes:
                return (
                    "No known mistake gives exactly this; t shows line by line what the code makes."
                )
            case "again" | "trace" if not self.warm:
                return "The grader still starts; your file is graded as soon as it is ready."
            case "trace" if report is not None and report.statuses().get("loads") == "failed":
                return (
                    "The file could not be loaded, so no line made anything; the report says why."
                )
            case "next" if not practice.passed and practice.given.purpose != "interview":
                return "The next challenge comes when this one is passed; q quits."
            case "overrule" if not practice.can_overrule:
                return "There is no grade to change: a grade comes with the first pass."
            case "reset" if practice.given.purpose == "hunt":
                return "A hunt has no stub to go back to."
        return ""

    def _say(self, sentence: str) -> None:
        self.status = sentence
        self._draw_foot()

    async def _watch(self) -> None:
        async for _ in saves(self.practice.given.path, self._stop):
            self._grade()

    def _grade(self, *, anew: bool = False) -> None:
        """Grade what the file holds now, unless that is what was graded last; whatever is under way is superseded."""
        given = self.practice.given
        if not self.practice.begun:
            return
        try:
            source = read_source(given.path)
            untouched = self._is_stub(source)
        except DrillError as error:
            self._say(str(error))
            return
        self.practice.saved(source)
        if not self.warm:
            return
        if untouched and not anew:
            self._sent = None  # whatever is written next is graded, also what was graded before
            return
        if not anew and source == self._sent:
            return
        self.practice.touch()
        self._number += 1
        self._asked = self._number if anew else self._asked
        self._sent = source
        request = Grade(
            given.challenge.id,
            Submission(given.path.name, source),
            id=self._number,
            is_early_wanted=True,
        )
        if not self.grader.send(request):
            self._lost()
            return
        self.grading = True
        self.status = ""
        self._draw_top()
        self._draw_foot()

    async def _listen(self) -> None:
        """Take what the grading process answers, and begin another where it dies."""
        for death in range(_MOST_DEATHS):
            if death:
                await asyncio.sleep(_REST_SECONDS)
                self.grader = AsyncClient(*self.practice.given.packs)
                self.grader.send(Prepare(self.practice.given.challenge.id))
            async for reply in self.grader.replies():
                self._answered(reply)
            if self._stop.is_set():
                return
            self._lost()
            words = self.grader.last_words() or "it says nothing"
            self.grader.close()
        self.status = f"The grading process does not stay up ({words}). `attn-drill doctor` tells more; q to quit."
        self._draw()

    def _lost(self) -> None:
        """Forget what was under way: it is graded again when another process is there."""
        self.warm = self.grading = False
        self._sent = None
        words = self.grader.last_words()
        self.status = (
            f"The grading process ended{f' ({words})' if words else ''}; another one starts."
        )
        self._draw()

    def _answered(self, reply: Reply) -> None:
        match reply:
            case Ready():
                self.warm = True
                self.status = f"Every save of {self.practice.given.path.name} is graded."
                self._grade()
            case Verdict(id=number, report=report, is_final=final) if number == self._number:
                self._told(report, final=final)
            case Traced(id=number, trace=trace) if number == self._number:
                self.trace, self.view = trace, "report"
                self.status = ""
            case Refused(id=number, sentence=sentence) if number in (0, self._number):
                self.grading = False
                self.status = sentence
            case _:
                return
        self._draw()

    def _is_stub(self, source: str) -> bool:
        """Whether this is a stub as it was handed out: no attempt."""
        return any(
            source == pack_reader.stub(self.practice.given.challenge, level) for level in LEVELS
        )

    def _told(self, report: Report, *, final: bool) -> None:
        """Into the journal first, then on the screen: what was shown is never lost."""
        if self._recorded != self._number:
            self._recorded = self._number
            self.practice.attempted(report, self._sent or "", asked=self._asked == self._number)
            self.trace = None
            if (
                not report.unfinished
            ):  # the state of a file in the middle of typing is no reason to turn the page
                self.view = "report"
            self.query_one("#report").scroll_home(animate=False)
        if final:
            self.practice.diagnosed(report)
        self.grading = False
        if report.unfinished:
            again = "Graded once more: " if self._asked == self._number else ""
            self.status = (
                again
                + f"{self.practice.given.path.name} {visible(report.unfinished)}; this does not count."
            )
        else:
            self.status = self._short() if final else "Looking for where and why …"

    def _short(self) -> str:
        """Where and why in a line: below a long report they would lie out of sight."""
        found = self.practice.last.diagnosis if self.practice.last is not None else None
        if found is None:
            return ""
        parts = (
            [f"line {found.first_line.line}: {visible(found.first_line.text, lines=True)}"]
            if found.first_line is not None
            else []
        )
        if self.why and found.mistakes:
            parts.append("LIKELY " + " And: ".join(one.says for one in found.mistakes))
        return "   ".join(parts)

    # The keys

    def action_press(self, name: str, *arguments: int) -> None:
        """Do what a key does, or say in a sentence why it does nothing now."""
        if self._small and name not in ("leave", "shade"):
            return  # the one sentence that is shown names the keys that work
        if words := self._why_not(name):
            if name != "begin":
                self._say(words)
            return
        getattr(self, f"_press_{name}")(*arguments)

    def _press_begin(self) -> None:
        """Start the clock of an interview's problem."""
        self.practice.begin()
        self._draw()
        self._grade()

    def _press_again(self) -> None:
        """Grade once more, on a fresh seed."""
        self._grade(anew=True)
        if self.grading:
            self._say("Your file is graded once more, on fresh cases.")

    def _press_hint(self) -> None:
        """Show the next hint."""
        self.practice.hint()
        self.view = "task"
        self._draw()
        self.call_after_refresh(self.query_one("#task").scroll_end, animate=False)

    def _press_why(self) -> None:
        """Show the likely mistake, or hold it back."""
        self.why = not self.why
        self.practice.whys += self.why
        self.view, self.trace = "report", None
        self.status = self._short() or ("" if self.why else "The likely mistake is held back.")
        self._draw()

    def _press_trace(self) -> None:
        """Show what every line makes, or the report again."""
        report, source = self.practice.last, self.practice.last_source
        if self.trace is not None:
            self.trace, self.view = None, "report"
        elif self.grading:
            self._say(
                "The file is being graded; the trace can be asked for when the verdict is there."
            )
            return
        elif report is not None and source is not None:
            given = self.practice.given
            submission = Submission(given.path.name, source)
            request = TraceLines(given.challenge.id, submission, report.seed or 0, id=self._number)
            if not self.grader.send(request):
                self._lost()
                return
            self.status = "Tracing …"
        self._draw()

    def _press_edit(self) -> None:
        """Open the file in the learner's editor, with the terminal to itself."""
        given = self.practice.given
        before = mark_of(given.path)
        try:
            editor = find_editor(os.environ)
        except DrillError as error:
            self._say(str(error))
            return
        trouble = ""
        try:
            with self.suspend():
                # Nothing may be raised in here: the screen would not come back.
                trouble = _sentence_of(lambda: run_editor(editor, given.path))
        except SuspendNotSupported:
            trouble = "This terminal cannot be lent to an editor. Edit the file in another window: every save is graded."
        unchanged = (
            f"{editor.name} has ended; {given.path.name} is unchanged."
            if mark_of(given.path) == before
            else ""
        )
        self.status = trouble or unchanged
        self._draw()
        self._grade()

    def _press_reset(self) -> None:
        """A fresh stub; the old file is kept beside it."""
        given = self.practice.given
        try:
            kept = write_afresh(given.path, pack_reader.stub(given.challenge, self.practice.level))
        except DrillError as error:
            self.status = str(error)
        else:
            self.practice.restart()
            self._number += 1  # a verdict on the old text comes too late
            self._sent, self.view, self.trace, self.grading = None, "task", None, False
            self.status = f"{given.path.name} is a fresh stub." + (
                f" Your old file is kept as {kept.name}." if kept else ""
            )
        self._draw()

    def _press_other(self) -> None:
        """Show the other pane; where both are shown, let the arrow keys scroll the other one."""
        self.view = "report" if self.view == "task" else "task"
        self._draw()

    def _press_overrule(self, rating: int) -> None:
        """Give the pass another grade."""
        self.practice.overrule(rating)
        self.status = f"{self.practice.graded[:1].upper()}{self.practice.graded[1:]}."
        self._draw()

    def _press_shade(self) -> None:
        """Dark to light, and back."""
        self.theme = theme("light" if self.current_theme.dark else "dark", {})

    def _press_next(self) -> None:
        """Leave for what comes next."""
        self.exit(self.practice.left("next"))

    def _press_leave(self) -> None:
        """Leave."""
        self.exit(self.practice.left("quit"))

    def action_interrupt(self) -> None:
        """Ctrl-C, or the end of the terminal."""
        self.exit(self.practice.left("interrupted"))


def _sentence_of(action: Callable[[], str]) -> str:
    """Return what the action returns; whatever it raises becomes a sentence."""
    try:
        return action()
    except Exception as error:
        return f"The editor could not be run ({type(error).__name__}: {error}). Edit the file in another window."


def _state_word(unfinished: str) -> str:
    """Return the state of a file that is no finished answer in a few words."""
    if unfinished.startswith("is not finished"):
        return "not finished"
    return unfinished.partition(",")[0]


def _packed(parts: list[Text], width: int) -> Text:
    """Put parts side by side, two spaces apart, in as many lines of this width as it takes."""
    lines = [Text()]
    for part in parts:
        if lines[-1].cell_len and lines[-1].cell_len + 2 + part.cell_len > width:
            lines.append(Text())
        if lines[-1].cell_len:
            lines[-1].append("  ")
        lines[-1].append_text(part)
    return Text("\n").join(lines)


def _fitted(text: str, width: int, most_lines: int) -> str:
    """Cut a text into lines of this width; where there is no room for all of it, leave out its middle."""
    lines = chop_cells(text, width)
    middle = len(text) // 3  # the end of a path tells more than its beginning
    cut = 1
    while len(lines) > most_lines:
        cut += 1
        lines = chop_cells(
            f"{text[: max(0, middle - cut // 2)]}…{text[middle + cut - cut // 2 :]}", width
        )
    return "\n".join(lines)


def _keys(shown: list[tuple[str, str]], width: int) -> Text:
    """Keys with what they do, in lines of this width; a key and its word stay together."""
    text = Text()
    used = 0
    for key, label in shown:
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
    """`4:07`; `1:02:03` from an hour on."""
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
