"""The parts of the session's screen. Each of them draws its own part of the model."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from attn_drill.model.report import Report
from attn_drill.practice.journal import Journal
from attn_drill.practice.schedule import RATINGS
from attn_drill.report.lesson_text import Prompt, render_follow_up, render_notes
from attn_drill.report.question_text import describe_mistakes
from attn_drill.report.terminal import render, render_trace
from attn_drill.report.wording import QUIET, RIGHT, WRONG, near, sentence, visible
from attn_drill.session._drill_app import side_by_side
from attn_drill.session._practice_model import AfterPass, PracticeModel
from attn_drill.session._session_record import clock_text


class TopLine(Static):
    """The challenge, the verdict and the clock."""

    def show(self, model: PracticeModel) -> None:
        request, left = model.request, model.seconds_left
        seconds = model.record.stopwatch.seconds
        is_over = seconds > request.par_seconds
        limit = clock_text(request.par_seconds) + " over" * is_over
        time = Text(f"{clock_text(seconds)} of {limit}", style=WRONG if is_over else "")
        verdict = Text(model.state_text, style=QUIET)
        if model.report is not None and not model.is_grading and model.unfinished is None:
            verdict.style = f"bold {RIGHT if model.report.verdict == 'passed' else WRONG}"
        parts = [Text(request.challenge.id, style="bold"), verdict]
        if (sitting := request.sitting) is not None:
            place = f"{sitting.stage_number} of {sitting.stage_count} · {clock_text(abs(left))}"
            whole = Text(f"{place} left", style="bold")
            if left < 0:
                whole = Text(f"{place} over", style=f"bold {WRONG}")
            parts.insert(0, whole)
            time = Text("this problem ").append_text(time)
        parts += [time, Text(request.path.name, style=QUIET)]
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


def render_lesson(after: AfterPass) -> RenderableType:
    """Return the line about what comes next, and the notes on the answer."""
    notes: RenderableType = Text("Your answer is being measured …", style=QUIET)
    if after.lesson is not None:
        notes = render_notes(after.lesson, after.source)
    return Group(Text(after.next_line, style=f"bold {RIGHT}"), Text(), notes)


def render_answers(after: AfterPass, journal: Journal, width: int) -> RenderableType:
    pages = after.pages(journal)
    index = min(after.page_index, len(pages) - 1)
    title = Text(f"{index + 1} of {len(pages)}  {pages[index].title}", style="bold")
    title.append("   o shows the next page", style=f"not bold {QUIET}")
    return Group(title, Text(), pages[index].render(width))


def render_questions(after: AfterPass) -> RenderableType:
    """Return the open follow-up question, or the ratings of all."""
    if (question := after.question) is not None:
        title = f"Question {question.number} of {len(after.questions)}"
        return render_follow_up(question, title, is_revealed=after.is_revealed)
    counts = Counter(after.ratings.values())
    words = [f"{counts[rating]} {RATINGS[rating - 1]}" for rating in sorted(counts, reverse=True)]
    return Text(
        f"All {len(after.questions)} follow-up questions are rated: {', '.join(words)}. "
        "They come back in `attn-drill review`; f closes this page."
    )
