"""Score a mock interview, and suggest commands to practise with.

There are 100 points, all for graded work. The sheet states the rules. The functions are pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from attn_drill.exercises.interview_plan import (
    InterviewPlan,
    InterviewState,
    Stage,
    StageState,
    overtime_seconds,
)
from attn_drill.model.challenge import Challenge
from attn_drill.model.words import plural
from attn_drill.packs.question_bank import FollowUp

_FAILED_IS_WORTH = 0.5
_HELP_COSTS = 0.25
_RULES = {
    "correctness": (
        "Each problem counts by its planned time. A problem that passes gets all points. A problem "
        "that fails gets half of the points for the checks that pass. An unchanged file gets none."
    ),
    "time": (
        "Only problems that pass count. They get all points within the planned time, fewer after "
        "it, and none after twice the time."
    ),
    "help": (
        "Only problems that pass count. Each hint and each shown mistake costs a quarter of the "
        "points of its problem. A look at the reference costs all of them."
    ),
}
_DEBUGGING_RULE = " A file with bugs gets the points for the bugs that are repaired."


@dataclass(frozen=True)
class ScorePart:
    """A part of the score."""

    name: str
    points: float
    most: int
    rule: str


@dataclass(frozen=True)
class ProblemRow:
    """A problem on the score sheet."""

    stage: Stage
    title: str
    weight: float  # among all problems, 0 to 1
    overtime_seconds: float
    state: StageState
    # "" if the pack no longer has the challenge.
    reference: str
    # The planted mistakes of a debugging round in words.
    bugs: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if all checks passed."""
        return self.state.result is not None and self.state.result.verdict == "passed"

    @property
    def correctness(self) -> float:
        """The share of the points for correctness, 0 to 1."""
        if self.passed:
            return 1.0
        result = self.state.result
        if result is None or result.total == 0:
            return 0.0
        if self.bugs and result.bugs_left is not None:
            return 1 - result.bugs_left / len(self.bugs)
        return _FAILED_IS_WORTH * result.passed / result.total

    @property
    def unaided(self) -> float:
        """The share of the points for work without help, 0 to 1."""
        if self.state.reference_seen:
            return 0.0
        return max(0.0, 1 - _HELP_COSTS * (self.state.hints + self.state.revealed_mistakes))


@dataclass(frozen=True)
class QuestionRow:
    """A question on the score sheet, with the learner's own rating; None without an answer."""

    follow_up: FollowUp
    rating: int | None


@dataclass(frozen=True)
class ScoreSheet:
    """The score sheet of an interview."""

    began: float  # seconds since the epoch
    plan: InterviewPlan
    state: InterviewState
    problems: tuple[ProblemRow, ...]
    questions: tuple[QuestionRow, ...]
    parts: tuple[ScorePart, ...]
    practise: tuple[str, ...]

    @property
    def solved(self) -> int:
        """The number of problems that passed."""
        return sum(problem.passed for problem in self.problems)

    @property
    def total(self) -> int:
        """The points, of 100."""
        return round(sum(part.points for part in self.parts))


def score_sheet(
    plan: InterviewPlan,
    state: InterviewState,
    challenges: Mapping[str, Challenge],
    references: Mapping[str, str],
    asked: Sequence[FollowUp],
    began: float,
    mistakes: Mapping[str, str] | None = None,
) -> ScoreSheet:
    """Return the score sheet of an interview.

    A challenge that no pack has any more may be missing in `challenges` and in the texts of the
    references. `mistakes` are the planted mistakes in words, by id; by default the sheet shows ids.
    """
    problems: list[ProblemRow] = []
    all_seconds = sum(stage.seconds for stage in plan.stages)
    for index, stage in enumerate(plan.stages):
        challenge = challenges.get(stage.challenge)
        problem = ProblemRow(
            stage,
            title=stage.challenge if challenge is None else challenge.title,
            weight=stage.seconds / all_seconds,
            overtime_seconds=overtime_seconds(plan, state, index),
            state=state.stages[index],
            reference=references.get(stage.challenge, ""),
            bugs=tuple((mistakes or {}).get(bug, bug) for bug in stage.bugs),
        )
        problems.append(problem)
    questions = [QuestionRow(question, state.ratings.get(question.item)) for question in asked]
    parts = score_parts(problems, state.seconds / plan.seconds)
    practise = tuple(_advice(problems, questions, challenges))
    return ScoreSheet(began, plan, state, tuple(problems), tuple(questions), parts, practise)


def score_parts(problems: Sequence[ProblemRow], share_of_time: float) -> tuple[ScorePart, ...]:
    """Return the parts of the score. `share_of_time` is the time at work over the planned time."""
    correct = passed = unaided = 0.0
    rules = dict(_RULES)
    for problem in problems:
        correct += problem.weight * problem.correctness
        if problem.passed:
            passed += problem.weight
            unaided += problem.weight * problem.unaided
        if problem.bugs:
            rules["correctness"] = _RULES["correctness"] + _DEBUGGING_RULE
    in_time = min(1.0, max(0.0, 2 - share_of_time))
    return (
        ScorePart("correctness", 75 * correct, 75, rules["correctness"]),
        ScorePart("time", 15 * passed * in_time, 15, rules["time"]),
        ScorePart("help", 10 * unaided, 10, rules["help"]),
    )


def _advice(
    problems: Sequence[ProblemRow],
    questions: Sequence[QuestionRow],
    challenges: Mapping[str, Challenge],
) -> Iterator[str]:
    """Yield commands to practise with: problems to solve, to repeat, questions, the next step."""
    for problem in problems:
        result = problem.state.result
        if not problem.passed:
            failed = f" ({', '.join(result.failed)} failed)" if result and result.failed else ""
            yield f"{_command(problem.stage)}: not solved yet{failed}."
    for problem in problems:
        again = f"{_command(problem.stage)}: once more"
        if problem.passed and problem.unaided < 1:
            yield f"{again}, without help."
        elif problem.passed and problem.state.seconds > problem.stage.seconds:
            yield f"{again}, faster: it took longer than planned."
    weak: Counter[str] = Counter()
    for row in questions:
        if row.rating is not None and row.rating < 3:
            weak[row.follow_up.challenge] += 1
    for about, count in weak.items():
        rated = f"you rated {plural(count, 'question')} about {about} again or hard"
        yield f"attn-drill review --minutes 15: {rated}."
    if not all(problem.passed for problem in problems):
        return
    solved = {problem.stage.challenge for problem in problems}
    for challenge in challenges.values():
        if challenge.id not in solved and solved.intersection(challenge.builds_on):
            yield f"attn-drill start {challenge.id}: it builds on problems that you solved."
            return


def _command(stage: Stage) -> str:
    if stage.bugs:
        return f"attn-drill hunt {stage.challenge} --bugs {len(stage.bugs)}"
    return f"attn-drill start {stage.challenge}"
