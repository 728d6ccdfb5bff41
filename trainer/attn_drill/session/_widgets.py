"""The parts of the session's screen. Each of them draws its own part of the model."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from attn_drill.model.report import Report
from attn_drill.report.lesson_text import Prompt
from attn_drill.report.question_text import describe_mistakes
from attn_drill.report.terminal import render, render_trace
from attn_drill.report.words import QUIET, RIGHT, WRONG, near, sentence, visible
from attn_drill.session._after_pass import render_answers, render_lesson, render_questions
from attn_drill.session._practice_model import PracticeModel
from attn_drill.session._session_record import clock_text


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


class TopLine(Static):
    """The challenge, the verdict and the clock."""

    def show(self, model: PracticeModel) -> None:
        request = model.request
        seconds = model.record.stopwatch.seconds
        is_over = seconds > request.par_seconds
        time = f"{clock_text(seconds)} of {clock_text(request.par_seconds)}"
        time += " over" * is_over
        verdict = Text(model.state_text, style=QUIET)
        if model.report is not None and not model.is_grading and model.unfinished is None:
            verdict.style = f"bold {RIGHT if model.report.verdict == 'passed' else WRONG}"
        parts = [
            Text(request.challenge.id, style="bold"),
            verdict,
            Text(time, style=WRONG if is_over else ""),
            Text(request.path.name, style=QUIET),
        ]
        if request.sitting is not None:
            left = clock_text(abs(model.seconds_left))
            left += " left" if model.seconds_left >= 0 else " over"
            style = f"bold {WRONG}" if model.seconds_left < 0 else "bold"
            place = f"{request.sitting.stage_number} of {request.sitting.stage_count}"
            parts.insert(0, Text(f"{place} · {left}", style=style))
            parts[3] = Text("this problem ").append_text(parts[3])
        self.update(side_by_side(parts, self.app.size.width - 2))


class TaskPane(VerticalScroll):
    """The task, and the hints that were taken."""

    BORDER_TITLE = "task"

    def compose(self) -> ComposeResult:
        self._drawn_hints = -1
        yield Static(markup=False)

    def show(self, model: PracticeModel) -> None:
        """Draw the model if there is another hint. Markdown is slow."""
        hints = model.record.hints
        if self._drawn_hints == len(hints):
            return
        parts: list[RenderableType] = [Prompt(model.request.prompt)]
        for level, hint in enumerate(hints, start=1):
            parts += [Text(), Text(f"Hint {level}", style="bold"), Text(hint)]
        self.query_one(Static).update(Group(*parts))
        if self._drawn_hints >= 0:
            self.call_after_refresh(self.scroll_end, animate=False)
        self._drawn_hints = len(hints)


class ReportPane(VerticalScroll):
    """The report on the last save, its trace, or a page after the pass."""

    BORDER_TITLE = "report"

    def compose(self) -> ComposeResult:
        self._page: object = None
        yield Static(markup=False)

    def show(self, model: PracticeModel) -> None:
        """Draw the model. A new page is shown from its beginning."""
        width = self.app.size.width
        content = render_page(model, max(30, (width * 3 // 5 if model.is_wide else width) - 4))
        self.query_one(Static).update(content)
        after = model.after
        place = (after.page_index, after.question_index) if after is not None else None
        page = (model.page, model.source, model.stage, place)
        if page != self._page:
            self._page = page
            self.scroll_home(animate=False)


def render_page(model: PracticeModel, width: int) -> RenderableType:
    if model.page == "trace" and model.trace is not None:
        return render_trace(model.trace)
    parts: list[RenderableType] = []
    if model.unfinished is not None:
        parts += [*_unfinished(model, model.unfinished), Text()]
    if model.after is not None and model.page == "answers":
        return Group(*parts, render_answers(model.after, model.journal, width))
    if model.after is not None and model.page == "questions":
        return Group(*parts, render_questions(model.after))
    if model.report is not None:
        if parts:
            parts += [Text("The last verdict, on an earlier text:", style=QUIET), Text()]
        return Group(*parts, *_report(model, model.report, width))
    return Group(*(parts or _nothing_yet(model)))


def _nothing_yet(model: PracticeModel) -> list[RenderableType]:
    """Return the file's path on a line of its own, and what happens at a save."""
    when = "Every save is graded, and the verdict appears here."
    if not model.request.is_graded:
        when = "Hand it in with n; the verdict is on the score sheet."
    path = Text(visible(str(near(model.request.path))), no_wrap=True, overflow="ignore")
    return [Text("Write your answer in", style=QUIET), path, Text(when, style=QUIET)]


def _unfinished(model: PracticeModel, report: Report) -> list[RenderableType]:
    lines = [Text(f"{model.file_name} {visible(report.unfinished)}", style="bold")]
    failure = report.first_failure()
    for frame in failure.frames[-1:] if failure is not None else ():
        lines.append(Text(f"  line {frame.line}  {visible(frame.text, lines=True)}"))
    lines.append(Text("This does not count as an attempt; the next save is graded.", style=QUIET))
    return [*lines]


def _report(model: PracticeModel, report: Report, width: int) -> list[RenderableType]:
    parts: list[RenderableType] = [render(report, width, stage=model.stage, how_to_see="press w")]
    is_passed = report.verdict == "passed"
    if model.request.hunted and is_passed:
        challenge = model.request.challenge
        parts += [Text(), Text(describe_mistakes(challenge, model.request.hunted, width))]
    if grade := model.record.grade_text:
        disagree = "Disagree? 1 again, 2 hard, 3 good, 4 easy"
        parts += [Text(), Text(f"{sentence(grade)} {disagree}", style=QUIET)]
    if model.after is not None and is_passed:
        parts += [Text(), render_lesson(model.after)]
    return parts
