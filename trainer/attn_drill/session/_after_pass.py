"""A session after a pass: the lesson, pages of other answers, follow-up questions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from rich.console import Group, RenderableType
from rich.text import Text

from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import PackError
from attn_drill.model.report import Lesson
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.packs.pack_reader import other_answers
from attn_drill.packs.question_bank import FollowUp, follow_ups
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import counted_attempts
from attn_drill.practice.schedule import RATINGS
from attn_drill.report.lesson_text import (
    name_in_words,
    render_answer,
    render_attempts,
    render_follow_up,
    render_mistakes,
    render_notes,
)
from attn_drill.report.words import QUIET, RIGHT

_MOST_ATTEMPTS = 4
_MOST_MISTAKES = 5


@dataclass(frozen=True)
class AnswerPage:
    """A page of the other answers."""

    title: str
    render: Callable[[int], RenderableType]  # at a width


@dataclass
class AfterPass:
    """The state after a pass."""

    challenge: Challenge
    source: str
    # Progress, the next challenges, the next review and the grade in one line.
    next_line: str
    questions: tuple[FollowUp, ...]
    lesson: Lesson | None = None  # None while it is measured
    page_index: int = 0
    question_index: int = 0
    is_revealed: bool = False
    ratings: dict[int, int] = field(default_factory=dict)  # by the index of the question

    def pages(self, journal: Journal) -> list[AnswerPage]:
        """Return the pages: the reference, other right answers, mistakes, the last attempts.

        The files of the pack are read only now, because the learner has passed. If they are broken,
        the page of the attempts is left.
        """
        attempts = [
            attempt
            for attempt in counted_attempts(journal.facts(subject=self.challenge.id))
            if attempt.purpose != "hunt"
        ]
        pages: list[AnswerPage] = []
        try:
            others = self.lesson.others if self.lesson is not None else ()
            cost = self.lesson.own if self.lesson is not None else None
            for answer in others or other_answers(self.challenge):
                render = partial(render_answer, answer, self.source, cost)
                pages.append(AnswerPage(name_in_words(answer), render))
            counts = Counter(name for attempt in attempts for name in attempt.mistakes)
            pages.append(_mistakes_page(self.challenge, counts))
        except PackError:
            pass
        sources: list[tuple[str, str]] = []
        for attempt in attempts:
            if not sources or sources[-1][1] != attempt.source:
                when = time.strftime("%Y-%m-%d %H:%M", time.localtime(attempt.at))
                sources.append((f"{attempt.verdict} {when}", attempt.source))
        render_last = partial(render_attempts, sources[-_MOST_ATTEMPTS:])
        return [*pages, AnswerPage("your last attempts", render_last)]

    def go_on_from(self, earlier: AfterPass) -> None:
        """Take over the open question and the ratings from an earlier pass."""
        self.question_index, self.ratings = earlier.question_index, earlier.ratings
        self.is_revealed = earlier.is_revealed

    @property
    def question(self) -> FollowUp | None:
        """The question that is shown; None after the last question."""
        if self.question_index < len(self.questions):
            return self.questions[self.question_index]
        return None

    def rate(self, rating: int, journal: Journal, now: float) -> None:
        """Record the own rating of the answer, 1 to 4, and go on to the next question."""
        if self.question is not None:
            item = self.question.item
            journal.add(Reviewed(item, now, rating=rating, reason="own rating"))
            self.ratings[self.question_index] = rating
            self.question_index, self.is_revealed = self.question_index + 1, False

    def ratings_in_words(self) -> str:
        """Return how many answers got each rating, e.g. "3 good, 1 hard"."""
        counts = Counter(self.ratings.values())
        return ", ".join(
            f"{counts[rating]} {RATINGS[rating - 1]}" for rating in sorted(counts, reverse=True)
        )


def after_pass(challenge: Challenge, source: str, next_line: str, language: str) -> AfterPass:
    try:
        questions = tuple(entry for entry in follow_ups(challenge, language) if entry.answer)
    except PackError:
        questions = ()
    return AfterPass(challenge, source, next_line, questions)


def _mistakes_page(challenge: Challenge, counts: Counter[str]) -> AnswerPage:
    """Return the learner's own mistakes, and known mistakes of the challenge."""
    says = {mistake.id: mistake.says for mistake in read_mistakes(challenge)}
    own = [(says[name], count) for name, count in counts.most_common() if name in says]
    others = [words for name, words in says.items() if name not in counts]
    # Neighbours in the file are variants of each other, so take mistakes from the whole file.
    others = others[:: max(1, len(others) // _MOST_MISTAKES)]
    content = render_mistakes(own[:_MOST_MISTAKES], others[:_MOST_MISTAKES])
    return AnswerPage("mistakes", lambda width: content)


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
