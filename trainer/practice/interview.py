"""The plan of a mock interview: which problems, how long for each, and which questions. Pure; the seed and what is known are passed in."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from trainer.content.questions import Question
from trainer.core.words import Attempt, Challenge, DrillError
from trainer.practice.quiz import Asked, draw, question_item
from trainer.practice.schedule import Item, item_of

Role = Literal["warm-up", "main problem", "follow-up"]

LEAST_MINUTES, MOST_MINUTES = 5, 240
QUESTIONS_SHARE = 0.1  # of the time; the problems have the rest
_MOST_OF_TIME = 1.2  # par times together may be this much of the minutes: they are for the median learner, not for the fast one
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
_KNOWN_COSTS: dict[Role, float] = {"warm-up": 0.1, "main problem": 0.3, "follow-up": 0.2}


@dataclass(frozen=True)
class Stage:
    """One problem of the interview. `seconds`: its share of the time."""

    challenge: str
    role: Role
    seconds: float


@dataclass(frozen=True)
class Plan:
    """What an interview will be.

    seed        draws the numbers in the questions, so that a resumed interview asks the same
    questions   ids of the bank
    folder      where the stubs are handed out, absolute
    """

    minutes: int
    seed: int
    stages: tuple[Stage, ...]
    questions: tuple[str, ...] = ()
    folder: str = ""

    @property
    def question_seconds(self) -> float:
        """What the questions have of the time."""
        return max(0.0, self.minutes * 60.0 - sum(stage.seconds for stage in self.stages))


def as_data(plan: Plan) -> dict[str, Any]:
    """The plan as the journal keeps it."""
    return dataclasses.asdict(plan)


def plan_from(data: Mapping[str, Any]) -> Plan | None:
    """The plan that the journal kept, or None where another version kept something else."""
    import msgspec

    try:
        return msgspec.convert(data, Plan)
    except msgspec.ValidationError:
        return None


def main_problems(
    challenges: Sequence[Challenge], topics: Mapping[str, str], wanted: str | None
) -> tuple[Challenge, ...]:
    """What may be the main problem: all of a topic, the challenge of this id, or anything.

    Raises:
        DrillError: where it is neither, with the nearest names.
    """
    if wanted is None:
        return tuple(challenges)
    name = wanted.strip().lower().replace("_", "-")
    if found := tuple(one for one in challenges if name == one.topic) or tuple(
        one for one in challenges if name == one.id
    ):
        return found
    there = sorted({one.topic for one in challenges} | set(topics))
    if name in there:
        raise DrillError(
            f"The topic {name} has questions and no challenge. Name another topic, or one challenge, with --topic."
        )
    near = difflib.get_close_matches(
        name, [*there, *(one.id for one in challenges)], n=3, cutoff=0.5
    )
    hint = (
        f"Did you mean {' or '.join(near)}?"
        if near
        else f"The topics are {', '.join(there)}; the id of a challenge will do too."
    )
    raise DrillError(f"--topic is {wanted!r}; no topic or challenge is called so. {hint}")


def known(attempts: Iterable[Attempt], items: Mapping[str, Item], now: float) -> dict[str, float]:
    """How well each item is known, 0 to 1: what is due counts as not known, what was passed and never reviewed fades within a month."""
    found: dict[str, float] = {}
    for one in attempts:
        if one.verdict == "passed":
            age = max(0.0, now - one.when) / 86400
            found[item_of(one.challenge)] = max(0.0, 1 - age / _DAYS_KNOWN)
    return found | {
        name: 0.0 if item.is_due(now) else item.strength for name, item in items.items()
    }


def plan(
    challenges: Sequence[Challenge],
    questions: Sequence[Question],
    minutes: int,
    mains: Sequence[Challenge],
    known_items: Mapping[str, float],
    seed: int,
) -> Plan:
    """The problems and questions of an interview.

    Args:
        mains: what may be the main problem; not empty.
        known_items: how well items are known, 0 to 1; the less, the sooner they are chosen.
        seed: decides among what suits about as well.
    """
    rng = Random(seed)
    roles, chosen = _chosen(challenges, minutes, mains, known_items, rng)
    count = 3 if minutes < 30 else 4 if minutes < 60 else 5
    ids = _follow_up_questions(questions, chosen, count, known_items, rng)
    seconds = minutes * 60.0 * (1 - QUESTIONS_SHARE if ids else 1)
    par = sum(one.minutes for one in chosen)
    stages = tuple(
        Stage(one.id, role, seconds * one.minutes / par)
        for role, one in zip(roles, chosen, strict=True)
    )
    return Plan(minutes, seed, stages, ids)


def prerequisites(challenges: Sequence[Challenge]) -> dict[str, frozenset[str]]:
    """What each challenge builds on, directly or through others."""
    direct = {one.id: one.builds_on for one in challenges}

    def walk(name: str) -> Iterator[str]:
        for other in direct.get(name, ()):
            yield other
            yield from walk(other)

    return {one.id: frozenset(walk(one.id)) for one in challenges}


def _chosen(
    challenges: Sequence[Challenge],
    minutes: int,
    mains: Sequence[Challenge],
    known_items: Mapping[str, float],
    rng: Random,
) -> tuple[tuple[Role, ...], tuple[Challenge, ...]]:
    """As many problems as the time is for, and of those that fit into it one choice among the best."""
    before = prerequisites(challenges)
    for count in range(3 if minutes >= 40 else 2 if minutes >= 25 else 1, 0, -1):
        costs: list[tuple[float, tuple[Role, ...], tuple[Challenge, ...]]] = []
        for roles, shares in _SHARES.items():
            for some, cost in (
                _combinations(roles, mains, challenges, before) if len(roles) == count else ()
            ):
                if sum(one.minutes for one in some) <= _MOST_OF_TIME * minutes or count == 1:
                    unfit = sum(
                        abs(one.minutes - share * minutes)
                        for one, share in zip(some, shares, strict=True)
                    ) / min(minutes, _LONG_MINUTES)
                    familiar = sum(
                        _KNOWN_COSTS[role] * known_items.get(item_of(one.id), 0.0)
                        for role, one in zip(roles, some, strict=True)
                    )
                    costs.append((cost + unfit + familiar, roles, some))
        if costs:
            least = min(cost for cost, _, _ in costs)
            _, roles, some = rng.choice([one for one in costs if one[0] <= least + _NEARLY_AS_GOOD])
            return roles, some
    raise ValueError("an interview needs at least one challenge that may be its main problem")


def _combinations(
    roles: tuple[Role, ...],
    mains: Sequence[Challenge],
    challenges: Sequence[Challenge],
    before: Mapping[str, frozenset[str]],
) -> Iterator[tuple[tuple[Challenge, ...], float]]:
    """Every choice of problems for these roles, and what speaks against it beside time."""
    for main in mains:
        follow_ups, far = (
            _follow_ups(main, challenges, before) if "follow-up" in roles else ([None], False)
        )
        for follow_up in follow_ups:
            for warm_up in (
                _warm_ups(main, follow_up, challenges, before) if "warm-up" in roles else [None]
            ):
                related = (
                    warm_up is None or warm_up.topic == main.topic or warm_up.id in before[main.id]
                )
                yield (
                    tuple(one for one in (warm_up, main, follow_up) if one is not None),
                    0.3 * far + 0.1 * (not related),
                )


def _follow_ups(
    main: Challenge, challenges: Sequence[Challenge], before: Mapping[str, frozenset[str]]
) -> tuple[Sequence[Challenge], bool]:
    """What builds on the main problem; where nothing does, what is nearest to it, and True."""
    if later := [one for one in challenges if main.id in before[one.id]]:
        return later, False
    others = [one for one in challenges if one.id != main.id and one.id not in before[main.id]]
    shared = {one.id: len(before[one.id] & before[main.id]) for one in others}
    near = [one for one in others if one.topic == main.topic] or [
        one for one in others if shared[one.id]
    ]
    most = max((shared[one.id] for one in near), default=0)
    return [one for one in near if shared[one.id] == most], True


def _warm_ups(
    main: Challenge,
    follow_up: Challenge | None,
    challenges: Sequence[Challenge],
    before: Mapping[str, frozenset[str]],
) -> list[Challenge]:
    """Easy or short ones, no harder than the main problem, that need nothing of what comes after them."""
    after = {main.id} | ({follow_up.id} if follow_up else set())
    return [
        one
        for one in challenges
        if one.id not in after
        and not after & before[one.id]
        and (one.level == "easy" or one.minutes <= _SHORT_MINUTES)
        and one.minutes <= main.minutes
        and _LEVELS.index(one.level) <= _LEVELS.index(main.level)
    ]


def _follow_up_questions(
    questions: Sequence[Question],
    chosen: Sequence[Challenge],
    count: int,
    known_items: Mapping[str, float],
    rng: Random,
) -> tuple[str, ...]:
    """Questions that follow up the chosen problems; where there are too few, others of their topics."""
    ids, topics = {one.id for one in chosen}, {one.topic for one in chosen}
    fitting = [one for one in questions if ids & set(one.challenges) or one.topic in topics]
    rng.shuffle(fitting)
    fitting.sort(
        key=lambda one: (not ids & set(one.challenges), known_items.get(question_item(one), 0.0))
    )
    return tuple(one.id for one in fitting[:count])


def asked_of(plan: Plan, questions: Iterable[Question]) -> tuple[Asked, ...]:
    """The questions as they are put, the same whenever they are drawn; one that the bank no longer has is left out."""
    by_id = {one.id: one for one in questions}
    return tuple(
        draw(by_id[name], Random(f"{plan.seed} {name}")) for name in plan.questions if name in by_id
    )
