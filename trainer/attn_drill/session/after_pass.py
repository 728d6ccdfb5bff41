"""The state of a session after a pass: the lesson, pages of other answers, follow-up questions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import PackError
from attn_drill.model.lesson import Lesson, OtherAnswer
from attn_drill.packs.follow_up import FollowUp, follow_ups
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.packs.pack_reader import other_answers
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import counted_attempts
from attn_drill.practice.schedule import RATINGS

_MOST_ATTEMPTS = 4
_MOST_MISTAKES = 5


@dataclass(frozen=True)
class MistakesPage:
    """The learner's own mistakes with their counts, and known mistakes of the challenge."""

    own: tuple[tuple[str, int], ...]
    known: tuple[str, ...]


@dataclass(frozen=True)
class AttemptsPage:
    """The learner's last attempts: words for each attempt, and its source."""

    sources: tuple[tuple[str, str], ...]


Page = OtherAnswer | MistakesPage | AttemptsPage


@dataclass
class AfterPass:
    """The state after a pass."""

    challenge: Challenge
    source: str
    # Progress, the next challenges, the next review and the grade in one line.
    next_line: str
    questions: tuple[FollowUp, ...]  # those that have answers
    lesson: Lesson | None = None  # None while it is measured
    page_index: int = 0
    question_index: int = 0
    is_revealed: bool = False
    # by the index of the question
    ratings: dict[int, int] = field(default_factory=dict)
    _pages: list[Page] | None = None

    def pages(self, journal: Journal) -> list[Page]:
        """Return the pages: the reference, other right answers, mistakes, the last attempts.

        The files of the pack are read only now, because the learner has passed.
        """
        if self._pages is None:
            self._pages = [*_mistakes_page(self.challenge, journal), _attempts_page(self, journal)]
        return [*self._answers(), *self._pages]

    def _answers(self) -> Sequence[OtherAnswer]:
        if self.lesson is not None and self.lesson.others:
            return self.lesson.others
        try:
            return other_answers(self.challenge)
        except PackError:
            return ()

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
        question = self.question
        if question is None:
            return
        journal.add(Reviewed(question.item, now, rating=rating, reason="own rating"))
        self.ratings[self.question_index] = rating
        self.question_index, self.is_revealed = self.question_index + 1, False

    def ratings_in_words(self) -> str:
        """Return how many answers got each rating, e.g. "3 good, 1 hard"."""
        given = list(self.ratings.values())
        counts = [(given.count(rating), word) for rating, word in enumerate(RATINGS, start=1)]
        return ", ".join(f"{count} {word}" for count, word in reversed(counts) if count)


def after_pass(challenge: Challenge, source: str, next_line: str, language: str) -> AfterPass:
    try:
        questions = tuple(entry for entry in follow_ups(challenge, language) if entry.answer)
    except PackError:
        questions = ()
    return AfterPass(challenge, source, next_line, questions)


def _mistakes_page(challenge: Challenge, journal: Journal) -> list[Page]:
    try:
        known = {mistake.id: mistake.says for mistake in read_mistakes(challenge)}
    except PackError:
        return []
    counts: dict[str, int] = {}
    for attempt in counted_attempts(journal.facts(subject=challenge.id)):
        if attempt.purpose != "hunt":
            for name in attempt.mistakes:
                counts[name] = counts.get(name, 0) + 1
    own = sorted(
        ((known[name], count) for name, count in counts.items() if name in known),
        key=lambda pair: -pair[1],
    )
    others = [says for name, says in known.items() if name not in counts]
    # Neighbours in the file are variants of each other, so take mistakes from the whole file.
    step = max(1, len(others) // _MOST_MISTAKES)
    return [MistakesPage(tuple(own[:_MOST_MISTAKES]), tuple(others[::step][:_MOST_MISTAKES]))]


def _attempts_page(state: AfterPass, journal: Journal) -> AttemptsPage:
    sources: list[tuple[str, str]] = []
    for attempt in counted_attempts(journal.facts(subject=state.challenge.id)):
        is_new = not sources or sources[-1][1] != attempt.source
        if is_new and attempt.purpose != "hunt":
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(attempt.at))
            sources.append((f"{attempt.verdict} {when}", attempt.source))
    return AttemptsPage(tuple(sources[-_MOST_ATTEMPTS:]))
