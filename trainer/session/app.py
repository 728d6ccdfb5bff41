"""The Textual screen of a practice session: the task on one side, the live report on the other, a clock, keys at the foot."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.text import Text
from rich.theme import Theme
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.geometry import Size
from textual.widgets import Static

from trainer.content import packs
from trainer.content.levels import LEVELS
from trainer.core.report import Report, Trace
from trainer.core.words import DrillError, GraderError
from trainer.display.styles import QUIET, RIGHT, WRONG
from trainer.display.terminal import VERDICTS, render
from trainer.display.trace import render_trace
from trainer.display.words import plain
from trainer.grading.wire import Answer, Grade, Look, Prepare, Ready, Refused, Traced, Verdict
from trainer.practice.files import read_source, write_afresh
from trainer.practice.journal import Journal
from trainer.session.client import WarmGrader
from trainer.session.practice import Practice
from trainer.session.stay import Left, Stay
from trainer.session.theme import theme
from trainer.session.watch import saves

_WIDE = 110  # columns from which task and report stand side by side
_LEAST = (40, 10)
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


def run(given: Stay, journal: Journal) -> Left:
    """Show the session on this terminal until the learner leaves.

    Raises:
        GraderError: where the screen itself fails; the terminal is as before then.
    """
    app = SessionApp(Practice(given, journal, time.time, time.monotonic), WarmGrader(*given.packs))
    try:
        left = app.run()
    finally:
        app.grader.close()  # not the first one, perhaps
    if app.return_code:
        raise GraderError("The screen of the session failed; your file and the journal are whole. Go on with --no-watch, and report the lines above.")
    return left if left is not None else app.practice.left("interrupted")


class SessionApp(App[Left]):
    """One challenge until it is left."""

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "session.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, name, label, show=False) for name, (key, label) in _KEYS.items()),
        *(Binding(str(rating), f"overrule({rating})", show=False) for rating in range(1, 5)),
        Binding("d", "shade", show=False),
        Binding("ctrl+q", "leave", show=False),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
    ]

    def __init__(self, practice: Practice, grader: WarmGrader, shade: Literal["dark", "light"] | None = None) -> None:
        super().__init__()
        self.practice, self.grader = practice, grader
        self.theme = theme(shade, dict(os.environ))
        self.console.push_theme(Theme({"markdown.code": "bold"}))  # by itself it is on black, which is for dark terminals alone
        self.why = practice.given.why
        self.view: Literal["task", "report"] = "task"
        self.trace: Trace | None = None
        self.status = "The grader warms up …"
        self.warm = False
        self.grading = False
        self._number = 0
        self._sent: str | None = None  # the text that was graded last, or is being graded
        self._recorded = -1
        self._drawn_hints = -1
        self._room = Size(80, 24)
        self._stop = asyncio.Event()

    # The screen

    def compose(self) -> ComposeResult:
        """One line above, two panes, a line of what happens, the keys."""
        yield Static(id="top")
        with Horizontal(id="body"):
            with VerticalScroll(id="task"):
                yield Static(id="prompt")
            with VerticalScroll(id="report"):
                yield Static(id="verdict")
        yield Static(id="status")
        yield Static(id="keys")
        yield Static(id="small")

    async def on_mount(self) -> None:
        """Begin to watch, to listen, and to count the seconds."""
        self.grader.order(Prepare(self.practice.given.challenge.id))
        for work in (self._listen(), self._watch()):
            self.run_worker(work)  # what it raises ends the session, and is not lost with a task
        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):  # tests run in no main thread
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

    def _draw(self) -> None:
        """Everything anew but the task, so that nothing can be left from before."""
        width, height = self._room
        small = width < _LEAST[0] or height < _LEAST[1]
        wide = width >= _WIDE
        for name in ("top", "body", "status", "keys"):
            self.query_one(f"#{name}").display = not small
        self.query_one("#small", Static).display = small
        if small:
            self.query_one("#small", Static).update(
                f"This terminal is {width} x {height}; the session needs {_LEAST[0]} x {_LEAST[1]}. Make it larger, or q to quit."
            )
            return
        self.query_one("#task").display = wide or self.view == "task"
        self.query_one("#report").display = wide or self.view == "report"
        for name in ("task", "report"):
            self.query_one(f"#{name}").set_class(wide, "beside")
        if self._drawn_hints != len(self.practice.hints):  # Markdown takes its time, and a verdict should not wait for it
            self._drawn_hints = len(self.practice.hints)
            self.query_one("#prompt", Static).update(self._render_task())
        self.query_one("#verdict", Static).update(self._render_report((width * 3 // 5 if wide else width) - 4))
        self._draw_top()
        self._draw_foot()

    def _draw_top(self) -> None:
        given, seconds = self.practice.given, self.practice.seconds
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(given.challenge.id, style="bold")
        line.append("  ")
        line.append_text(self._verdict_word())
        over = seconds > given.par_seconds
        line.append(f"  {_clock(seconds)} of {_clock(given.par_seconds)}", style=WRONG if over else "")
        if over:
            line.append(" over", style=WRONG)
        line.append(f"  {given.path.name}", style=QUIET)
        self.query_one("#top", Static).update(line)

    def _verdict_word(self) -> Text:
        report = self.practice.last
        if self.grading:
            return Text("grading …", style=QUIET)
        if report is None:
            return Text("not graded yet", style=QUIET)
        statuses = list(report.statuses().values())
        right = report.verdict == "passed"
        return Text(f"{VERDICTS[report.verdict]} {statuses.count('passed')}/{len(statuses)}", style=f"bold {RIGHT if right else WRONG}")

    def _draw_foot(self) -> None:
        self.query_one("#status", Static).update(Text(" ".join(filter(None, [self.status, self.practice.journal.trouble]))))
        shown = [(key, self._label(name, label)) for name, (key, label) in _KEYS.items() if self._works(name)]
        if self.practice.can_overrule:
            shown.append(("1-4", "again … easy"))
        self.query_one("#keys", Static).update(_keys(shown, self._room.width - 2))

    def _label(self, name: str, label: str) -> str:
        if name == "why" and self.why:
            return "hide why"
        if name == "other":
            return "report" if self.view == "task" else "task"
        return "report" if name == "trace" and self.trace is not None else label

    def _render_task(self) -> RenderableType:
        parts: list[RenderableType] = [Markdown(self.practice.given.prompt)]
        for number, hint in enumerate(self.practice.hints, start=1):
            parts += [Text(), Text(f"Hint {number}", style="bold"), Text(hint)]
        return Group(*parts)

    def _render_report(self, width: int) -> RenderableType:
        report = self.practice.last
        if self.trace is not None:
            return render_trace(self.trace)
        if report is None:
            return Text(f"Write your answer in {self.practice.given.path}. Every save is graded, and the verdict comes here.", style=QUIET)
        parts: list[RenderableType] = []
        if self.practice.graded:
            parts += [Text(f"{self.practice.graded}. 1 again, 2 hard, 3 good, 4 easy if you see it otherwise.", style=QUIET), Text()]
        return Group(*parts, render(report, max(width, 30), why=self.why, commands=False))

    # What happens

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what now works is a key."""
        return self._works(action)

    def _works(self, name: str) -> bool:
        report = self.practice.last
        match name:
            case "hint":
                return self.practice.has_hint
            case "why":
                return report is not None and report.diagnosis is not None and bool(report.diagnosis.mistakes)
            case "trace":
                return self.warm and report is not None and report.statuses().get("loads") != "failed"
            case "next":
                return self.practice.passed or self.practice.given.purpose == "interview"
            case "overrule":
                return self.practice.can_overrule
            case "again":
                return self.warm
            case "other":
                return self._room.width < _WIDE
            case "reset":
                return self.practice.given.purpose != "hunt"
        return True

    async def _watch(self) -> None:
        async for _ in saves(self.practice.given.path, self._stop):
            self._grade()

    def _grade(self, *, anew: bool = False) -> None:
        """Grade what the file holds now, unless that is what was graded last; whatever is under way is superseded."""
        given = self.practice.given
        try:
            source = read_source(given.path)
            untouched = self._is_stub(source)
        except DrillError as error:
            self.status = str(error)
            self._draw_foot()
            return
        if not self.warm or (not anew and (untouched or source == self._sent)):
            return
        self.practice.touch()
        self._number += 1
        self._sent = source
        if not self.grader.order(Grade(self._number, given.challenge.id, given.path.name, source)):
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
                self.grader = WarmGrader(*self.practice.given.packs)
                self.grader.order(Prepare(self.practice.given.challenge.id))
            async for answer in self.grader.answers():
                self._answered(answer)
            if self._stop.is_set():
                return
            self._lost()
            words = self.grader.last_words() or "it says nothing"
            self.grader.close()
        self.status = f"The grading process does not stay up ({words}). `attn-drill doctor` tells more; q to quit."
        self._draw()

    def _lost(self) -> None:
        self.warm = self.grading = False
        self._sent = None
        words = self.grader.last_words()
        self.status = f"The grading process ended{f' ({words})' if words else ''}; another one starts."
        self._draw()

    def _answered(self, answer: Answer) -> None:
        match answer:
            case Ready():
                self.warm = True
                self.status = f"Every save of {self.practice.given.path.name} is graded."
                self._grade()
            case Verdict(number=number, report=report, final=final) if number == self._number:
                self._told(report, final=final)
            case Traced(number=number, trace=trace) if number == self._number:
                self.trace, self.view = trace, "report"
                self.status = ""
            case Refused(number=number, sentence=sentence) if number in (0, self._number):
                self.grading = False
                self.status = sentence
            case _:
                return
        self._draw()

    def _is_stub(self, source: str) -> bool:
        """Whether this is a stub as it was handed out: no attempt."""
        return any(source == packs.stub(self.practice.given.challenge, level) for level in LEVELS)

    def _told(self, report: Report, *, final: bool) -> None:
        """Into the journal first, then on the screen: what was shown is never lost."""
        if self._recorded != self._number:
            self._recorded = self._number
            self.practice.attempted(report, self._sent or "")
            self.trace, self.view = None, "report"
            self.query_one("#report").scroll_home(animate=False)
        if final:
            self.practice.diagnosed(report)
        self.grading = False
        self.status = self._short() if final else "Looking for where and why …"

    def _short(self) -> str:
        """Where and why in a line: below a long report they would lie out of sight."""
        found = self.practice.last.diagnosis if self.practice.last is not None else None
        if found is None:
            return ""
        parts = [f"line {found.first_line.line}: {plain(found.first_line.text)}"] if found.first_line is not None else []
        if self.why and found.mistakes:
            parts.append("LIKELY " + " And: ".join(one.says for one in found.mistakes))
        return "   ".join(parts)

    # The keys

    def action_again(self) -> None:
        """Grade once more, on a fresh seed."""
        self._grade(anew=True)

    def action_hint(self) -> None:
        """Show the next hint."""
        self.practice.hint()
        self.view = "task"
        self._draw()
        self.call_after_refresh(self.query_one("#task").scroll_end, animate=False)

    def action_why(self) -> None:
        """Show the likely mistake, or hold it back."""
        self.why = not self.why
        self.practice.whys += self.why
        self.view = "report"
        self.status = self._short()
        self._draw()

    def action_trace(self) -> None:
        """Show what every line makes, or the report again."""
        report = self.practice.last
        if self.trace is not None or report is None or self._sent is None:
            self.trace = None
        elif not self.grading:
            given = self.practice.given
            self.grader.order(Look(self._number, given.challenge.id, given.path.name, self._sent, report.seed))
            self.status = "Tracing …"
        self._draw()

    def action_edit(self) -> None:
        """Open the file in the learner's editor, with the terminal to itself."""
        command = _editor(dict(os.environ))
        if command is None:
            self.status = "No editor is named: set EDITOR, or edit the file in a window of its own."
            self._draw_foot()
            return
        try:
            with self.suspend():
                subprocess.run([*command, str(self.practice.given.path)], check=False)
            self.status = ""
        except Exception as error:  # no such program, or a terminal that cannot be suspended
            self.status = f"{command[0]} could not be started: {error}. Set EDITOR to your editor."
        self._grade()
        self._draw()

    def action_reset(self) -> None:
        """A fresh stub; the old file is kept beside it."""
        given = self.practice.given
        try:
            kept = write_afresh(given.path, packs.stub(given.challenge, self.practice.level))
        except DrillError as error:
            self.status = str(error)
        else:
            self.practice.restart()
            self._number += 1  # a verdict on the old text comes too late
            self._sent, self.view, self.trace, self.grading = None, "task", None, False
            self.status = f"{given.path.name} is a fresh stub." + (f" Your old file is kept as {kept.name}." if kept else "")
        self._draw()

    def action_other(self) -> None:
        """Show the other pane."""
        self.view = "report" if self.view == "task" else "task"
        self._draw()

    def action_overrule(self, rating: int) -> None:
        """Give the pass another grade."""
        self.practice.overrule(rating)
        self._draw()

    def action_shade(self) -> None:
        """Dark to light, and back."""
        self.theme = theme("light" if self.current_theme.dark else "dark", {})

    def action_next(self) -> None:
        """Leave for what comes next."""
        self.exit(self.practice.left("next"))

    def action_leave(self) -> None:
        """Leave."""
        self.exit(self.practice.left("quit"))

    def action_interrupt(self) -> None:
        """Ctrl-C, or the end of the terminal."""
        self.exit(self.practice.left("interrupted"))


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


def _editor(environment: dict[str, Any], which: Callable[[str], str | None] = shutil.which) -> list[str] | None:
    """The learner's editor as a command, or one that is usually there."""
    for name in ("VISUAL", "EDITOR"):
        with contextlib.suppress(ValueError):
            if command := shlex.split(environment.get(name, "")):
                return command
    return next(([name] for name in ("nano", "vim", "vi") if which(name)), None)
