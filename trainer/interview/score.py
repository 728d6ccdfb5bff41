"""Score a mock interview: 100 points by rules that the sheet states, and what to practise. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trainer.interview.plan import InterviewPlan, Role
from trainer.interview.state import InterviewState, StageState, overtime_seconds
from trainer.model.challenge import Challenge
from trainer.quiz.drawn_questions import DrawnQuestion

_FAILED_IS_WORTH = 0.5
_HELP_COSTS = 0.25
_CORRECTNESS_RULE = (
    "each problem by its share of the time: all of it if it passes, else half of the share of its "
    "checks that pass, none for an untouched stub"
)
_TIME_RULE = "for what passes: all within the time in all, none at twice the time"
_HELP_RULE = (
    "for what passes: all without help, a quarter less for each hint or shown mistake, "
    "none if the reference was seen"
)
_QUESTIONS_RULE = "by the share that is right"


@dataclass(frozen=True)
class ScorePart:
    """One part of the score: its points, the most points, and the rule in words."""

    name: str
    points: float
    most: int
    rule: str


@dataclass(frozen=True)
class ProblemRow:
    """One problem on the sheet.

    weight             its share of all problems, 0 to 1
    share_seconds      its share of the time
    overtime_seconds   how long the work went on after its time was up
    reference          the text of the reference, or "" if the pack no longer has it
    """

    challenge: str
    title: str
    role: Role
    weight: float
    share_seconds: float
    overtime_seconds: float
    state: StageState
    reference: str

    @property
    def passed(self) -> bool:
        """Return whether all checks passed."""
        return self.state.result is not None and self.state.result.verdict == "passed"

    @property
    def correctness(self) -> float:
        """Return the share of the points for correctness, 0 to 1."""
        if self.passed:
            return 1.0
        result = self.state.result
        if result is None or result.total == 0:
            return 0.0
        return _FAILED_IS_WORTH * result.passed / result.total

    @property
    def unaided(self) -> float:
        """Return the share of the points for work without help, 0 to 1."""
        if self.state.reference_seen:
            return 0.0
        return max(0.0, 1 - _HELP_COSTS * (self.state.hints + self.state.whys))


@dataclass(frozen=True)
class QuestionRow:
    """One question on the sheet; `given` is None if it was not answered."""

    asked: DrawnQuestion
    given: str | None
    right: bool


@dataclass(frozen=True)
class ScoreSheet:
    """A score sheet.

    began      seconds since the epoch
    seconds    the time at work, without pauses
    practise   commands to practise with, each with its reason
    """

    began: float
    minutes: int
    seconds: float
    question_seconds: float
    question_share_seconds: float
    problems: tuple[ProblemRow, ...]
    questions: tuple[QuestionRow, ...]
    parts: tuple[ScorePart, ...]
    practise: tuple[str, ...]

    @property
    def total(self) -> int:
        """Return the points, of 100."""
        return round(sum(part.points for part in self.parts))


def score_sheet(
    plan: InterviewPlan,
    state: InterviewState,
    challenges: Mapping[str, Challenge],
    references: Mapping[str, str],
    asked: Sequence[DrawnQuestion],
    began: float,
) -> ScoreSheet:
    """Return the sheet of an interview.

    Args:
        challenges, references: by the challenge's id; a challenge that is gone may be missing.
        asked: the questions in their order.
        began: seconds since the epoch.
    """
    all_shares = sum(stage.seconds for stage in plan.stages)
    problems = []
    for index, stage in enumerate(plan.stages):
        challenge = challenges.get(stage.challenge)
        row = ProblemRow(
            stage.challenge,
            challenge.title if challenge is not None else stage.challenge,
            stage.role,
            stage.seconds / all_shares,
            stage.seconds,
            overtime_seconds(plan, state, index),
            state.stages[index],
            references.get(stage.challenge, ""),
        )
        problems.append(row)
    answers = {answer.item: answer for answer in state.answers}
    questions = []
    for question in asked:
        answer = answers.get(question.item)
        if answer is None:
            questions.append(QuestionRow(question, None, False))
        else:
            questions.append(QuestionRow(question, answer.given, answer.right))
    return ScoreSheet(
        began,
        plan.minutes,
        state.seconds,
        state.question_seconds,
        plan.question_seconds,
        tuple(problems),
        tuple(questions),
        score_parts(problems, questions, state.seconds / plan.seconds),
        (*_weak_problems(problems), *_weak_topics(questions), *_next_step(problems, challenges)),
    )


def score_parts(
    problems: Sequence[ProblemRow], questions: Sequence[QuestionRow], share_of_time: float
) -> tuple[ScorePart, ...]:
    """Return the parts of the score. `share_of_time`: the time at work over the planned time."""
    correct = sum(problem.weight * problem.correctness for problem in problems)
    passed = sum(problem.weight for problem in problems if problem.passed)
    unaided = sum(problem.weight * problem.unaided for problem in problems if problem.passed)
    in_time = min(1.0, max(0.0, 2 - share_of_time))
    most = 60 if questions else 75
    parts = [
        ScorePart("correctness", most * correct, most, _CORRECTNESS_RULE),
        ScorePart("time", 15 * passed * in_time, 15, _TIME_RULE),
        ScorePart("help", 10 * unaided, 10, _HELP_RULE),
    ]
    if questions:
        right = sum(question.right for question in questions) / len(questions)
        parts.append(ScorePart("questions", 15 * right, 15, _QUESTIONS_RULE))
    return tuple(parts)


def _weak_problems(problems: Sequence[ProblemRow]) -> Iterator[str]:
    for problem in problems:
        if not problem.passed:
            result = problem.state.result
            failed = f" ({', '.join(result.failed)} failed)" if result and result.failed else ""
            yield f"attn-drill start {problem.challenge}: it does not pass yet{failed}."
    for problem in problems:
        again = f"attn-drill start {problem.challenge}: once more"
        if problem.passed and problem.unaided < 1:
            yield f"{again}, without help."
        elif problem.passed and problem.state.seconds > problem.share_seconds:
            yield f"{again}, faster; it took longer than its share."


def _weak_topics(questions: Sequence[QuestionRow]) -> Iterator[str]:
    wrong = [question.asked.topic for question in questions if not question.right]
    for topic in dict.fromkeys(wrong):
        count = wrong.count(topic)
        were = "was" if count == 1 else "were"
        yield f"attn-drill quiz --topic {topic}: {count} of its questions {were} answered wrong."


def _next_step(
    problems: Sequence[ProblemRow], challenges: Mapping[str, Challenge]
) -> Iterator[str]:
    """Yield the first challenge that builds on the problems, if all of them passed."""
    taken = {problem.challenge for problem in problems}
    if not all(problem.passed for problem in problems):
        return
    for challenge in challenges.values():
        if challenge.id not in taken and taken & set(challenge.builds_on):
            yield f"attn-drill start {challenge.id}: it builds on what you passed."
            return
