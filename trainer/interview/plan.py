"""Plan a mock interview: its problems, the time for each problem, and its questions.

The functions are pure: the caller passes the journal's entries, the current time and the seed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.packs.follow_up import FollowUp
from trainer.practice.facts import Attempted
from trainer.practice.schedule import ScheduledItem, item_of

Role = Literal["warm-up", "main problem", "debugging", "follow-up"]
Choice = dict[Role, Challenge]  # the problems of an interview, in their order

LEAST_MINUTES, MOST_MINUTES = 5, 240
_QUESTIONS_SHARE = 0.1  # of the time, if there are questions
_MINUTES_PER_QUESTION = 1.0  # to think, to read the model answer, and to rate
_QUESTION_PREFIX = "follow-up:"  # of the items; older versions kept ids of the question bank
_MOST_OF_TIME = 1.2  # the par times of all problems together, over the minutes of the interview
_SHORT_MINUTES, _LONG_MINUTES = 15, 90
_DAYS_KNOWN = 30.0
_NEARLY_AS_GOOD = 0.1
_LEVELS = ("easy", "medium", "hard")
_SHARES: dict[tuple[Role, ...], tuple[float, ...]] = {
    ("warm-up", "main problem", "follow-up"): (0.15, 0.5, 0.35),
    ("main problem", "follow-up"): (0.6, 0.4),
    ("warm-up", "main problem"): (0.25, 0.75),
    ("main problem",): (1.0,),
}
# The costs of a choice of problems, in the same unit as a share of the time.
_KNOWN_COSTS: dict[Role, float] = {"warm-up": 0.1, "main problem": 0.3, "follow-up": 0.2}
_FOREIGN_FOLLOW_UP_COSTS, _FOREIGN_WARM_UP_COSTS = 0.3, 0.1


@dataclass(frozen=True)
class Stage:
    """A problem of the interview.

    Attributes:
        challenge: The id of the challenge.
        role: The role of the problem in the interview.
        seconds: The time for the problem.
        bugs: The ids of the known mistakes in the file that is handed out; () for a stub.
    """

    challenge: str
    role: Role
    seconds: float
    bugs: tuple[str, ...] = ()


@dataclass(frozen=True)
class InterviewPlan:
    """The plan of an interview, in the form that the journal keeps.

    Attributes:
        minutes: The time for the whole interview.
        seed: The seed that chose among problems that suit about equally well.
        stages: The problems in order.
        questions: The items of the follow-up questions, for example `follow-up:gqa:1`.
        folder: The absolute path of the folder with the learner's files.
        is_graded: False if nothing is graded before the learner hands in a file.
    """

    minutes: int
    seed: int
    stages: tuple[Stage, ...]
    questions: tuple[str, ...] = ()
    folder: str = ""
    is_graded: bool = True

    @property
    def seconds(self) -> float:
        """The time for the whole interview."""
        return self.minutes * 60.0

    @property
    def question_seconds(self) -> float:
        """The time for all questions together."""
        return max(0.0, self.seconds - sum(stage.seconds for stage in self.stages))


def plan_from(data: Mapping[str, Any]) -> InterviewPlan | None:
    """Return the plan that the journal kept, or None if it is a plan of another version.

    Older versions asked questions of the bank, with answers that this version cannot score.
    """
    import msgspec

    try:
        plan = msgspec.convert(data, InterviewPlan)
    except msgspec.ValidationError:
        return None
    of_this_version = all(item.startswith(_QUESTION_PREFIX) for item in plan.questions)
    return plan if of_this_version else None


def main_problems(
    challenges: Sequence[Challenge], topics: Iterable[str], wanted: str | None
) -> Sequence[Challenge]:
    """Return the challenges that may be the main problem.

    Args:
        challenges: All challenges.
        topics: All topics of the question bank.
        wanted: A topic or the id of a challenge. None allows every challenge.

    Raises:
        DrillError: If `wanted` is no topic and no id of a challenge. The message has the nearest
            names.
    """
    if wanted is None:
        return challenges
    name = wanted.strip().lower().replace("_", "-")
    of_topic = [challenge for challenge in challenges if challenge.topic == name]
    mains = of_topic or [challenge for challenge in challenges if challenge.id == name]
    if mains:
        return mains
    all_topics = sorted({challenge.topic for challenge in challenges} | set(topics))
    if name in all_topics:
        raise DrillError(
            f"The topic {name} has questions and no challenge. "
            "Name another topic, or one challenge, with --topic."
        )
    ids = [challenge.id for challenge in challenges]
    near = difflib.get_close_matches(name, [*all_topics, *ids], n=3, cutoff=0.5)
    hint = f"The topics are {', '.join(all_topics)}; the id of a challenge works too."
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    raise DrillError(f"--topic is {wanted!r}; no topic or challenge has this name. {hint}")


def familiarity(
    attempts: Iterable[Attempted], items: Mapping[str, ScheduledItem], now: float
) -> dict[str, float]:
    """Return how well the learner knows each item, from 0 to 1.

    A due item counts as not known. A pass without any review fades within a month.

    Args:
        attempts: The attempts in the journal, in order of time.
        items: The reviewed items by name.
        now: The current time in seconds since the epoch.
    """
    known: dict[str, float] = {}
    for attempt in attempts:
        if attempt.verdict == "passed":
            days = max(0.0, now - attempt.at) / 86400
            known[item_of(attempt.challenge)] = max(0.0, 1 - days / _DAYS_KNOWN)
    for name, item in items.items():
        known[name] = 0.0 if item.is_due(now) else item.strength
    return known


def make_plan(
    challenges: Sequence[Challenge],
    questions: Sequence[FollowUp],
    minutes: int,
    mains: Sequence[Challenge],
    known: Mapping[str, float],
    seed: int,
) -> InterviewPlan:
    """Return the problems and questions of an interview.

    Args:
        challenges: All challenges.
        questions: The follow-up questions of all challenges, with their answers.
        minutes: The time for the interview.
        mains: The challenges that may be the main problem, at least one.
        known: The knowledge of each item, 0 to 1. Items that are less known are preferred.
        seed: The seed of the random choice among plans that suit about equally well.
    """
    chosen = _choose_problems(challenges, minutes, mains, known, Random(seed))
    return _plan_of(chosen, (), challenges, questions, minutes, known, seed)


def make_debugging_plan(
    challenge: Challenge,
    follow_up: Challenge | None,
    bugs: tuple[str, ...],
    questions: Sequence[FollowUp],
    minutes: int,
    known: Mapping[str, float],
    seed: int,
) -> InterviewPlan:
    """Return the plan of a debugging round: the repair of a file, then its continuation.

    Args:
        challenge: The challenge whose reference is handed out with mistakes.
        follow_up: The challenge that continues with the repaired file, or None.
        bugs: The ids of the mistakes.
        questions: The follow-up questions of all challenges, with their answers.
        minutes: The time for the round.
        known: The knowledge of each item, 0 to 1. Questions that are less known are preferred.
        seed: The seed that chose the mistakes.
    """
    chosen: Choice = {"debugging": challenge}
    if follow_up is not None:
        chosen["follow-up"] = follow_up
    return _plan_of(chosen, bugs, tuple(chosen.values()), questions, minutes, known, seed)


def _plan_of(
    chosen: Choice,
    bugs: tuple[str, ...],
    challenges: Sequence[Challenge],
    questions: Sequence[FollowUp],
    minutes: int,
    known: Mapping[str, float],
    seed: int,
) -> InterviewPlan:
    """Return the plan with these problems. Each has a share of the time by its par time."""
    count = max(1, int(minutes * _QUESTIONS_SHARE / _MINUTES_PER_QUESTION))
    items = _choose_questions(questions, challenges, chosen, count, known)
    seconds = minutes * 60.0 * (1 - _QUESTIONS_SHARE if items else 1)
    par = sum(problem.minutes for problem in chosen.values())
    stages = tuple(
        Stage(
            problem.id, role, seconds * problem.minutes / par, bugs if role == "debugging" else ()
        )
        for role, problem in chosen.items()
    )
    return InterviewPlan(minutes, seed, stages, items)


def prerequisites(challenges: Sequence[Challenge]) -> dict[str, set[str]]:
    """Return the ids of the challenges that each challenge builds on, directly or indirectly."""
    direct = {challenge.id: challenge.builds_on for challenge in challenges}

    def ids_below(name: str) -> set[str]:
        below = set(direct.get(name, ()))
        return below.union(*map(ids_below, below))

    return {name: ids_below(name) for name in direct}


def _choose_problems(
    challenges: Sequence[Challenge],
    minutes: int,
    mains: Sequence[Challenge],
    known: Mapping[str, float],
    rng: Random,
) -> Choice:
    """Return a choice that suits best, with as many problems as fit into the time."""
    before = prerequisites(challenges)
    choices = list(_choices(mains, challenges, before))
    most = 3 if minutes >= 40 else 2 if minutes >= 25 else 1
    for count in range(most, 0, -1):
        costs: list[tuple[float, Choice]] = []
        for choice in choices:
            par = sum(problem.minutes for problem in choice.values())
            if len(choice) == count and (count == 1 or par <= _MOST_OF_TIME * minutes):
                costs.append((_cost(choice, minutes, known, before), choice))
        if costs:
            least = min(cost for cost, _ in costs)
            return rng.choice([choice for cost, choice in costs if cost <= least + _NEARLY_AS_GOOD])
    raise ValueError("an interview needs at least one challenge that may be its main problem")


def _choices(
    mains: Sequence[Challenge], challenges: Sequence[Challenge], before: Mapping[str, set[str]]
) -> Iterator[Choice]:
    """Yield every main problem, with and without a follow-up and a warm-up."""
    for main in mains:
        for follow_up in (None, *_follow_ups(main, challenges, before)):
            later: Choice = {"main problem": main}
            if follow_up is not None:
                later["follow-up"] = follow_up
            yield later
            for warm_up in _warm_ups(later, challenges, before):
                yield {"warm-up": warm_up, **later}


def _follow_ups(
    main: Challenge, challenges: Sequence[Challenge], before: Mapping[str, set[str]]
) -> Sequence[Challenge]:
    """Return the challenges that build on the main problem.

    If there are none, return the challenges that are nearest to the main problem.
    """
    later = [challenge for challenge in challenges if main.id in before[challenge.id]]
    if later:
        return later
    others = [
        challenge for challenge in challenges if challenge.id not in {main.id, *before[main.id]}
    ]
    shared = {challenge.id: len(before[challenge.id] & before[main.id]) for challenge in others}
    near = [challenge for challenge in others if challenge.topic == main.topic]
    near = near or [challenge for challenge in others if shared[challenge.id]]
    most = max((shared[challenge.id] for challenge in near), default=0)
    return [challenge for challenge in near if shared[challenge.id] == most]


def _warm_ups(
    later: Choice, challenges: Sequence[Challenge], before: Mapping[str, set[str]]
) -> Iterator[Challenge]:
    """Yield the challenges that may be the warm-up.

    They are easy or short, no harder and no longer than the main problem, and build on none of
    the later problems.
    """
    main = later["main problem"]
    later_ids = {problem.id for problem in later.values()}
    for challenge in challenges:
        needs_later = later_ids & {challenge.id, *before[challenge.id]}
        light = challenge.level == "easy" or challenge.minutes <= _SHORT_MINUTES
        harder = _LEVELS.index(challenge.level) > _LEVELS.index(main.level)
        if light and not needs_later and not harder and challenge.minutes <= main.minutes:
            yield challenge


def _cost(
    choice: Choice, minutes: int, known: Mapping[str, float], before: Mapping[str, set[str]]
) -> float:
    """Return the cost of a choice of problems; 0 is best."""
    main, warm_up, follow_up = (
        choice["main problem"],
        choice.get("warm-up"),
        choice.get("follow-up"),
    )
    foreign = 0.0
    if follow_up is not None and main.id not in before[follow_up.id]:
        foreign += _FOREIGN_FOLLOW_UP_COSTS
    if warm_up is not None and warm_up.topic != main.topic and warm_up.id not in before[main.id]:
        foreign += _FOREIGN_WARM_UP_COSTS
    unfit = familiar = 0.0
    for share, (role, problem) in zip(_SHARES[tuple(choice)], choice.items(), strict=True):
        unfit += abs(problem.minutes - share * minutes)
        familiar += _KNOWN_COSTS[role] * known.get(item_of(problem.id), 0.0)
    return foreign + unfit / min(minutes, _LONG_MINUTES) + familiar


def _choose_questions(
    questions: Sequence[FollowUp],
    challenges: Sequence[Challenge],
    chosen: Choice,
    count: int,
    known: Mapping[str, float],
) -> tuple[str, ...]:
    """Return the items of at most `count` questions, those on the main problem first.

    Of the questions on a problem, the less known are preferred. If the problems have no question,
    return questions on other challenges of their topics.
    """
    roles: tuple[Role, ...] = ("main problem", "debugging", "follow-up", "warm-up")
    ids = [chosen[role].id for role in roles if role in chosen]
    if not any(question.challenge in ids for question in questions):
        topics = {problem.topic for problem in chosen.values()}
        ids = [challenge.id for challenge in challenges if challenge.topic in topics]

    def preference(question: FollowUp) -> tuple[int, float, int]:
        strength = known.get(question.item, 0.0)
        return ids.index(question.challenge), strength, question.number

    fitting = [question for question in questions if question.challenge in ids]
    preferred = sorted(fitting, key=preference)[:count]
    in_order = sorted(
        preferred, key=lambda question: (ids.index(question.challenge), question.number)
    )
    return tuple(question.item for question in in_order)


def planned_questions(plan: InterviewPlan, questions: Iterable[FollowUp]) -> tuple[FollowUp, ...]:
    """Return the questions of a plan in order. Skip questions that no pack has any more.

    Args:
        plan: The plan of the interview.
        questions: The follow-up questions of all challenges.
    """
    by_item = {question.item: question for question in questions}
    return tuple(by_item[item] for item in plan.questions if item in by_item)
