"""The score sheet of a mock interview: 100 points by a formula that the sheet itself states, and what to practise next. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trainer.core.words import Challenge
from trainer.practice.interview import Plan, Role
from trainer.practice.interview_state import Answer, StageState, State, overtime_seconds
from trainer.practice.quiz import Asked

_FAILED_IS_WORTH = 0.5
_HELP_COSTS = 0.25


@dataclass(frozen=True)
class Part:
    """One part of the score: its points of at most so many, and the rule in words."""

    name: str
    points: float
    most: int
    rule: str


@dataclass(frozen=True)
class ProblemRow:
    """What came of one problem.

    weight             its share of all problems, 0 to 1
    share_seconds      its share of the time
    overtime_seconds   how long work went on when its time was up
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
        """Whether all checks hold."""
        return self.state.result is not None and self.state.result.verdict == "passed"


@dataclass(frozen=True)
class QuestionRow:
    """What came of one question; `given` is None where it was not answered."""

    asked: Asked
    given: str | None
    right: bool


@dataclass(frozen=True)
class ScoreSheet:
    """All that a score sheet shows. `began`: seconds since the epoch; `seconds`: the time at work, without pauses."""

    began: float
    minutes: int
    seconds: float
    question_seconds: float
    question_share_seconds: float
    problems: tuple[ProblemRow, ...]
    questions: tuple[QuestionRow, ...]
    parts: tuple[Part, ...]
    practise: tuple[str, ...]

    @property
    def total(self) -> int:
        """Of 100."""
        return round(sum(part.points for part in self.parts))


def score_sheet(
    plan: Plan,
    state: State,
    challenges: Mapping[str, Challenge],
    references: Mapping[str, str],
    asked: Sequence[Asked],
    began: float,
) -> ScoreSheet:
    """The sheet of an interview.

    Args:
        challenges, references: by the id of a challenge; one that is no longer in the pack is shown without them.
        asked: the questions, in order, as they were asked.
        began: seconds since the epoch.
    """
    whole = sum(stage.seconds for stage in plan.stages)
    problems = tuple(
        ProblemRow(
            *(
                stage.challenge,
                challenges[stage.challenge].title
                if stage.challenge in challenges
                else stage.challenge,
            ),
            role=stage.role,
            weight=stage.seconds / whole,
            share_seconds=stage.seconds,
            overtime_seconds=overtime_seconds(plan, state, index),
            state=done,
            reference=references.get(stage.challenge, ""),
        )
        for index, (stage, done) in enumerate(zip(plan.stages, state.stages, strict=True))
    )
    answers = {one.item: one for one in state.answers}
    questions = tuple(_question(one, answers.get(one.item)) for one in asked)
    return ScoreSheet(
        *(began, plan.minutes, state.seconds, state.question_seconds, plan.question_seconds),
        problems=problems,
        questions=questions,
        parts=parts(problems, questions, state.seconds / (plan.minutes * 60.0)),
        practise=tuple(_practise(problems, questions, challenges)),
    )


def _question(asked: Asked, answer: Answer | None) -> QuestionRow:
    return QuestionRow(asked, answer.given if answer else None, answer is not None and answer.right)


def parts(
    problems: Sequence[ProblemRow], questions: Sequence[QuestionRow], share_of_time: float
) -> tuple[Part, ...]:
    """The parts of the score; `share_of_time`: the time at work over the time that was given."""
    solved = sum(one.weight for one in problems if one.passed)
    in_part = sum(one.weight * _checks_share(one) for one in problems if not one.passed)
    unaided = sum(one.weight * _unaided(one.state) for one in problems if one.passed)
    most = 60 if questions else 75
    found = [
        Part(
            *("correctness", most * (solved + _FAILED_IS_WORTH * in_part), most),
            "each problem by its share of the time: all of it if it passes, else half of the share of its checks that pass, none for an untouched stub",
        ),
        Part(
            "time",
            15 * solved * min(1.0, max(0.0, 2 - share_of_time)),
            15,
            "for what passes: all within the time in all, none at twice the time",
        ),
        Part(
            "help",
            10 * unaided,
            10,
            "for what passes: all without help, a quarter less for each hint or asked mistake, none if the reference was seen",
        ),
    ]
    if questions:
        right = sum(one.right for one in questions) / len(questions)
        found.append(Part("questions", 15 * right, 15, "by the share that is right"))
    return tuple(found)


def _checks_share(problem: ProblemRow) -> float:
    result = problem.state.result
    return result.passed / result.total if result is not None and result.total else 0.0


def _unaided(state: StageState) -> float:
    return 0.0 if state.reference_seen else max(0.0, 1 - _HELP_COSTS * (state.hints + state.whys))


def _practise(
    problems: Sequence[ProblemRow],
    questions: Sequence[QuestionRow],
    challenges: Mapping[str, Challenge],
) -> Iterator[str]:
    """What to do next, the most needed first: a command and why."""
    for one in problems:
        if not one.passed:
            failed = (
                f" ({', '.join(one.state.result.failed)} failed)"
                if one.state.result is not None and one.state.result.failed
                else ""
            )
            yield f"attn-drill start {one.challenge}: it does not pass yet{failed}."
    for one in problems:
        if one.passed and _unaided(one.state) < 1:
            yield f"attn-drill start {one.challenge}: once more, without help."
        elif one.passed and one.state.seconds > one.share_seconds:
            yield f"attn-drill start {one.challenge}: once more, faster; it took longer than its share."
    for topic in dict.fromkeys(one.asked.topic for one in questions if not one.right):
        missed = sum(one.asked.topic == topic and not one.right for one in questions)
        yield f"attn-drill quiz --topic {topic}: {missed} of its questions {'was' if missed == 1 else 'were'} not answered rightly."
    taken = {one.challenge for one in problems}
    if all(one.passed for one in problems):
        later = [
            one for one in challenges.values() if taken & set(one.builds_on) and one.id not in taken
        ]
        if later:
            yield f"attn-drill start {later[0].id}: it builds on what you passed."
