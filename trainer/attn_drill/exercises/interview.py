"""Plan a mock interview, follow its state through the facts of the journal, and score it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal

import msgspec

from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.model.report import Report
from attn_drill.model.words import plural
from attn_drill.packs.question_bank import FollowUp
from attn_drill.practice import facts
from attn_drill.practice.facts import Attempted
from attn_drill.practice.schedule import ScheduledItem, item_of

Role = Literal["warm-up", "main problem", "debugging", "follow-up", "second follow-up"]
Choice = dict[Role, Challenge]  # the problems of an interview, in their order

_QUESTIONS_SHARE = 0.1  # of the time, if there are questions; one question takes a minute
_MOST_OF_TIME = 1.2  # the par times of all problems over the minutes of the interview
_SHORT_MINUTES = 15
_DAYS_KNOWN = 30.0
_LEVELS = ("easy", "medium", "hard")
# Overtime that is not reported, so that the learner can finish a line.
_GRACE_SECONDS = 60.0
# Of every problem, even if the problems before took all the time.
_LEAST_SECONDS = 60.0
_WEIGHTS: dict[Role, int] = {"warm-up": 3, "main problem": 10, "follow-up": 7}  # of the time
FOLLOW_UPS: tuple[Role, ...] = ("follow-up", "second follow-up")  # of a debugging round
_ASKED_ABOUT: tuple[Role, ...] = ("main problem", "debugging", *FOLLOW_UPS, "warm-up")
# Differences that do not matter, so that the seed has several choices.
_TIME_STEP, _FAMILIARITY_STEP = 0.3, 0.1
# The rules of the score on the sheet.
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
class Stage:
    """A problem of the interview."""

    challenge: str
    role: Role
    seconds: float
    bugs: tuple[str, ...] = ()  # the ids of the mistakes in the file; () for a stub


@dataclass(frozen=True)
class InterviewPlan:
    """The plan of an interview, in the form that the journal keeps."""

    minutes: int
    seed: int
    stages: tuple[Stage, ...]
    questions: tuple[str, ...] = ()  # the items, for example `follow-up:gqa:1`
    folder: str = ""  # the absolute path of the folder with the learner's files
    is_graded: bool = True  # False if nothing is graded before the learner hands in a file

    @property
    def seconds(self) -> float:
        return self.minutes * 60.0

    @property
    def question_seconds(self) -> float:
        """The time for all questions together."""
        return max(0.0, self.seconds - sum(stage.seconds for stage in self.stages))


def plan_from(data: Mapping[str, Any]) -> InterviewPlan | None:
    """Return the plan that the journal kept, or None if it is a plan of another version."""
    # Older versions asked questions of the bank, with answers that this version cannot score.
    try:
        plan = msgspec.convert(data, InterviewPlan)
    except msgspec.ValidationError:
        return None
    return plan if all(item.startswith("follow-up:") for item in plan.questions) else None


def main_problems(challenges: Sequence[Challenge], wanted: str | None) -> Sequence[Challenge]:
    """Return the challenges that may be the main problem: of a topic, one by its id, or all."""
    if wanted is None:
        return challenges
    name = wanted.strip().lower().replace("_", "-")
    of_topic = [challenge for challenge in challenges if challenge.topic == name]
    mains = of_topic or [challenge for challenge in challenges if challenge.id == name]
    if mains:
        return mains
    topics = sorted({challenge.topic for challenge in challenges})
    ids = [challenge.id for challenge in challenges]
    near = difflib.get_close_matches(name, [*topics, *ids], n=3, cutoff=0.5)
    hint = f"The topics are {', '.join(topics)}; the id of a challenge works too."
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    raise DrillError(f"--topic is {wanted!r}; no topic or challenge has this name. {hint}")


def familiarity(
    attempts: Iterable[Attempted], items: Mapping[str, ScheduledItem], now: float
) -> dict[str, float]:
    """Return how well the learner knows each item, from 0 to 1. The attempts are in order of time.

    A due item counts as not known. A pass without any review fades within a month.
    """
    recall: dict[str, float] = {}
    for attempt in attempts:
        if attempt.verdict == "passed":
            days = max(0.0, now - attempt.at) / 86400
            recall[item_of(attempt.challenge)] = max(0.0, 1 - days / _DAYS_KNOWN)
    for name, item in items.items():
        recall[name] = 0.0 if item.is_due(now) else item.strength
    return recall


def make_plan(
    chosen: Choice,
    questions: Sequence[FollowUp],
    minutes: int,
    recall: Mapping[str, float],
    seed: int,
    bugs: tuple[str, ...] = (),
) -> InterviewPlan:
    """Return the plan with these problems, and the questions that the learner knows least."""
    count = max(1, int(minutes * _QUESTIONS_SHARE))
    place = {chosen[role].id: index for index, role in enumerate(_ASKED_ABOUT) if role in chosen}
    fitting = [question for question in questions if question.challenge in place]
    fitting.sort(key=lambda each: (place[each.challenge], recall.get(each.item, 0.0), each.number))
    asked = sorted(fitting[:count], key=lambda each: (place[each.challenge], each.number))
    items = tuple(question.item for question in asked)
    seconds = minutes * 60.0 * (1 - _QUESTIONS_SHARE if items else 1)
    seconds_per_minute = seconds / _par_minutes(chosen)  # of par time
    stages: list[Stage] = []
    for role, problem in chosen.items():
        planted = bugs if role == "debugging" else ()
        stages.append(Stage(problem.id, role, seconds_per_minute * problem.minutes, planted))
    return InterviewPlan(minutes, seed, tuple(stages), items)


def prerequisites(challenges: Sequence[Challenge]) -> dict[str, set[str]]:
    """Return the ids of the challenges that each challenge builds on, directly or indirectly."""
    direct = {challenge.id: challenge.builds_on for challenge in challenges}

    def ids_below(name: str) -> set[str]:
        below = set(direct.get(name, ()))
        return below.union(*map(ids_below, below))

    return {name: ids_below(name) for name in direct}


def choose_problems(
    challenges: Sequence[Challenge],
    minutes: int,
    mains: Sequence[Challenge],
    recall: Mapping[str, float],
    seed: int,
) -> Choice:
    """Return the problems that fit into the time and suit best. The seed decides among equals."""
    before = prerequisites(challenges)
    most = 3 if minutes >= 40 else 2 if minutes >= 25 else 1
    # The choices of each rank. More problems are better.
    ranked: dict[tuple[int, ...], list[Choice]] = {}
    for choice in _choices(mains, challenges, before):
        fits = len(choice) <= most and _par_minutes(choice) <= _MOST_OF_TIME * minutes
        if fits or len(choice) == 1:
            rank = (-len(choice), *_rank(choice, minutes, recall, before))
            ranked.setdefault(rank, []).append(choice)
    return Random(seed).choice(ranked[min(ranked)])


def _par_minutes(choice: Choice) -> int:
    return sum(problem.minutes for problem in choice.values())


def _choices(
    mains: Sequence[Challenge], challenges: Sequence[Challenge], before: Mapping[str, set[str]]
) -> Iterator[Choice]:
    """Yield every main problem, with and without a follow-up and a warm-up.

    A follow-up builds on the main problem, or else has its topic. A warm-up is easy or short, no
    harder and no longer than the main problem, and builds on none of the others.
    """
    for main in mains:
        later = [other for other in challenges if main.id in before[other.id]]
        of_topic: list[Challenge] = []
        light: list[Challenge] = []
        for other in challenges:
            if other.topic == main.topic and other.id not in {main.id, *before[main.id]}:
                of_topic.append(other)
            is_light = other.level == "easy" or other.minutes <= _SHORT_MINUTES
            is_no_harder = _LEVELS.index(other.level) <= _LEVELS.index(main.level)
            if is_light and is_no_harder and other.minutes <= main.minutes:
                light.append(other)
        for follow_up in (None, *(later or of_topic)):
            end: Choice = {"main problem": main}
            if follow_up is not None:
                end["follow-up"] = follow_up
            yield end
            taken = {problem.id for problem in end.values()}
            for warm_up in light:
                if not taken & {warm_up.id, *before[warm_up.id]}:
                    yield {"warm-up": warm_up, **end}


def _rank(
    choice: Choice, minutes: int, recall: Mapping[str, float], before: Mapping[str, set[str]]
) -> tuple[int, int, int]:
    """Return how foreign, unfit and familiar a choice is. The least suits best.

    Foreign are a follow-up that does not build on the main problem and a warm-up of another topic
    that the main problem does not build on. It is unfit by the distance of its par times from the
    times of the roles.
    """
    main, foreign = choice["main problem"], 0
    follow_up, warm_up = choice.get("follow-up"), choice.get("warm-up", main)
    if follow_up is not None:
        foreign += main.id not in before[follow_up.id]
    foreign += warm_up.topic != main.topic and warm_up.id not in before[main.id]
    weights = sum(_WEIGHTS[role] for role in choice)
    unfit = familiar = 0.0
    for role, problem in choice.items():
        unfit += abs(problem.minutes / minutes - _WEIGHTS[role] / weights)
        familiar += recall.get(item_of(problem.id), 0.0)
    return foreign, int(unfit / _TIME_STEP), int(familiar / _FAMILIARITY_STEP)


def planned_questions(plan: InterviewPlan, questions: Iterable[FollowUp]) -> tuple[FollowUp, ...]:
    """Return the questions of a plan in order. Skip questions that no pack has any more."""
    by_item = {question.item: question for question in questions}
    return tuple(by_item[item] for item in plan.questions if item in by_item)


@dataclass(frozen=True)
class StageState:
    """The state of one problem."""

    begun: bool = False
    ended: bool = False
    seconds: float = 0.0
    attempts: int = 0
    hints: int = 0
    revealed_mistakes: int = 0
    result: facts.StageAttempted | None = None  # the last attempt, with the bugs that are left
    reference_seen: bool = False
    code: str | None = None
    note: str = ""


@dataclass(frozen=True)
class InterviewState:
    """The state of an interview."""

    stages: tuple[StageState, ...]
    ratings: Mapping[str, int] = field(default_factory=dict)  # 1 again to 4 easy, by item
    question_seconds: float = 0.0
    finished: bool = False

    @property
    def stage(self) -> int | None:
        """The index of the first problem that has not ended, or None."""
        return next((index for index, stage in enumerate(self.stages) if not stage.ended), None)

    @property
    def seconds(self) -> float:
        return sum(stage.seconds for stage in self.stages) + self.question_seconds


def state_of(plan: InterviewPlan, events: Iterable[facts.InterviewEvent]) -> InterviewState:
    """Return the state after these events. Skip events of an unknown kind."""
    stages = {stage.challenge: StageState() for stage in plan.stages}
    ratings: dict[str, int] = {}
    question_seconds = 0.0
    finished = False
    for event in events:
        match event:
            case facts.StageEvent(subject=challenge) if challenge in stages:
                stages[challenge] = _stage_after(stages[challenge], event)
            case facts.QuestionEvent(subject=item, seconds=seconds):
                question_seconds = max(question_seconds, seconds)
                if isinstance(event, facts.QuestionAnswered):
                    ratings.setdefault(item, event.rating)
            case facts.InterviewFinished():
                finished = True
    return InterviewState(tuple(stages.values()), ratings, question_seconds, finished)


def _stage_after(stage: StageState, event: facts.StageEvent) -> StageState:
    stage = replace(stage, begun=True, seconds=max(stage.seconds, event.seconds))
    match event:
        case facts.StageAttempted(count=count):
            return replace(stage, attempts=stage.attempts + count, result=event)
        case facts.StageReplaced():
            return replace(stage, attempts=stage.attempts - 1)
        case facts.StageRepaired(bugs_left=bugs_left) if stage.result is not None:
            return replace(stage, result=msgspec.structs.replace(stage.result, bugs_left=bugs_left))
        case facts.StageHinted(level=level):
            return replace(stage, hints=max(stage.hints, level))
        case facts.MistakeShown(count=count):
            return replace(stage, revealed_mistakes=stage.revealed_mistakes + count)
        case facts.StageEnded(code=code, note=note, reference_seen=seen):
            if code is None:
                stage = replace(stage, result=None)
            return replace(stage, ended=True, code=code, note=note, reference_seen=seen)
    return stage


def carried_seconds(plan: InterviewPlan, state: InterviewState, index: int) -> float:
    """Return the time that the problems before left over; negative if they took too long."""
    earlier = zip(plan.stages[:index], state.stages[:index], strict=True)
    left_over = sum(planned.seconds - done.seconds for planned, done in earlier)
    return max(_LEAST_SECONDS - plan.stages[index].seconds, left_over)


def allowed_seconds(plan: InterviewPlan, state: InterviewState, index: int) -> float:
    """Return the planned time of a problem and the time carried over."""
    return plan.stages[index].seconds + carried_seconds(plan, state, index)


def overtime_seconds(plan: InterviewPlan, state: InterviewState, index: int) -> float:
    """Return the seconds by which a problem exceeded its time; 0 for up to a minute."""
    over = state.stages[index].seconds - allowed_seconds(plan, state, index)
    return over if over > _GRACE_SECONDS else 0.0


def values_of_attempt(report: Report) -> dict[str, Any]:
    """Return the values of a `StageAttempted`, without those that every event has."""
    statuses = report.statuses()
    left = report.repair.left if report.repair is not None else None
    return {
        "verdict": report.verdict,
        "passed": list(statuses.values()).count("passed"),
        "total": len(statuses),
        "failed": tuple(name for name, status in statuses.items() if status == "failed"),
        "bugs_left": None if left is None else len(left),
        "count": 0 if report.unfinished else 1,
    }


@dataclass(frozen=True)
class ProblemRow:
    """A problem on the score sheet."""

    stage: Stage
    title: str
    weight: float  # among all problems, 0 to 1
    overtime_seconds: float
    state: StageState
    reference: str  # "" if the pack no longer has the challenge
    bugs: tuple[str, ...] = ()  # the planted mistakes of a debugging round in words

    @property
    def passed(self) -> bool:
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
        return 0.5 * result.passed / result.total

    @property
    def unaided(self) -> float:
        """The share of the points for work without help, 0 to 1."""
        if self.state.reference_seen:
            return 0.0
        return max(0.0, 1 - 0.25 * (self.state.hints + self.state.revealed_mistakes))


@dataclass(frozen=True)
class QuestionRow:
    """A question on the score sheet, with the learner's own rating; None without an answer."""

    follow_up: FollowUp
    rating: int | None


@dataclass(frozen=True)
class ScorePart:
    """A part of the score, and its rule in words."""

    name: str
    points: float
    most: int
    rule: str


@dataclass(frozen=True)
class ScoreSheet:
    """The score sheet of an interview: 100 points, all for graded work, with the rules."""

    began: float  # seconds since the epoch
    plan: InterviewPlan
    state: InterviewState
    problems: tuple[ProblemRow, ...]
    questions: tuple[QuestionRow, ...]
    parts: tuple[ScorePart, ...]
    practise: tuple[str, ...]

    @property
    def solved(self) -> int:
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
    """Return the score sheet, with ids in place of what no pack has any more."""
    problems: list[ProblemRow] = []
    all_seconds = sum(stage.seconds for stage in plan.stages)
    for index, stage in enumerate(plan.stages):
        challenge = challenges.get(stage.challenge)
        problems.append(
            ProblemRow(
                stage,
                title=stage.challenge if challenge is None else challenge.title,
                weight=stage.seconds / all_seconds,
                overtime_seconds=overtime_seconds(plan, state, index),
                state=state.stages[index],
                reference=references.get(stage.challenge, ""),
                bugs=tuple((mistakes or {}).get(bug, bug) for bug in stage.bugs),
            )
        )
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
        if not problem.passed:
            result = problem.state.result
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
