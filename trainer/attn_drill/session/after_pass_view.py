"""Draw the state after a pass."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from attn_drill.model.lesson import OtherAnswer
from attn_drill.practice.journal import Journal
from attn_drill.report.follow_up_text import render_follow_up
from attn_drill.report.lesson_text import (
    name_in_words,
    render_answer,
    render_attempts,
    render_mistakes,
    render_notes,
)
from attn_drill.report.styles import QUIET, RIGHT
from attn_drill.session.after_pass import AfterPass, AttemptsPage, MistakesPage, Page


def render_lesson(after: AfterPass) -> RenderableType:
    """Return the line about what comes next, and the notes on the answer."""
    parts: list[RenderableType] = [Text(after.next_line, style=f"bold {RIGHT}"), Text()]
    if after.lesson is None:
        parts.append(Text("Your answer is being measured …", style=QUIET))
    else:
        parts.append(render_notes(after.lesson, after.source))
    return Group(*parts)


def render_answers(after: AfterPass, journal: Journal, width: int) -> RenderableType:
    pages = after.pages(journal)
    if not pages:
        return Text("The pack has no other answers.", style=QUIET)
    index = min(after.page_index, len(pages) - 1)
    page = pages[index]
    title = Text(f"{index + 1} of {len(pages)}  {_title_of(page)}", style="bold")
    title.append("   o shows the next page", style=f"not bold {QUIET}")
    return Group(title, Text(), _render_content(page, after, width))


def _title_of(page: Page) -> str:
    match page:
        case OtherAnswer():
            return name_in_words(page)
        case MistakesPage():
            return "mistakes"
        case AttemptsPage():
            return "your last attempts"


def _render_content(page: Page, after: AfterPass, width: int) -> RenderableType:
    match page:
        case OtherAnswer():
            own = after.lesson.own if after.lesson is not None else None
            return render_answer(page, after.source, own, width)
        case MistakesPage(own=own_mistakes, known=known):
            return render_mistakes(own_mistakes, known)
        case AttemptsPage(sources=sources):
            return render_attempts(sources, width)


def render_questions(after: AfterPass) -> RenderableType:
    """Return the open follow-up question, or the ratings of all."""
    if (question := after.question) is not None:
        title = f"Question {question.number} of {len(after.questions)}"
        return render_follow_up(question, title, is_revealed=after.is_revealed)
    if not after.questions:
        return Text("The pack has no answers to follow-up questions.", style=QUIET)
    return Text(
        f"All {len(after.questions)} follow-up questions are rated: {after.ratings_in_words()}. "
        "They come back in `attn-drill review`; f closes this page."
    )
