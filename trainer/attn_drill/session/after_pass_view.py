"""Draw the state after a pass."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from attn_drill.practice.journal import Journal
from attn_drill.report.follow_up_text import render_follow_up
from attn_drill.report.lesson_text import render_notes
from attn_drill.report.styles import QUIET, RIGHT
from attn_drill.session.after_pass import AfterPass


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
    return Text(
        f"All {len(after.questions)} follow-up questions are rated: {after.ratings_in_words()}. "
        "They come back in `attn-drill review`; f closes this page."
    )
