"""The reference's named results as milestones: which a submission has reached, which it missed first, what that rules out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trainer.core.words import Mistake
from trainer.grading.diagnosis.layout import LAYOUTS
from trainer.grading.diagnosis.shelf import Shelf
from trainer.grading.diagnosis.trail import Step, Trail

# What a line of a reference is about, by the words of torch and of the field in it.
_TOPICS = {
    "scale": r"sqrt|\*\* ?-0\.5",
    "softmax axis": r"softmax",
    "mask": r"mask",
    "head grouping": r"repeat_interleave",
    "rotation": r"rotate|\bcos\b|\bsin\b",
    "layout of heads": r"transpose\(1, 2\)",
}

# The words by which a mistake, its sentence included, is known to be about a topic. Too many are
# better than too few: a topic that is not ruled out is no false statement.
_WORDS = {
    "scale": r"scale|sqrt|\*\* ?-0\.5",
    "softmax axis": r"softmax|\bdim=|\baxis\b|\bsum\b|\bexp\b",
    "mask": r"mask|visible|hidden|causal|tril|triu|inf\b|padding|future|attend|\bsees?\b",
    "head grouping": r"repeat|group|tile|kv_head|key/value head",
    "rotation": r"rotat|\bcos\b|\bsin\b|position",
    "layout of heads": r"transpose|permute|view|reshape|\bheads\b",
}

_PRODUCTS = frozenset("mm bmm addmm baddbmm".split())


@dataclass(frozen=True)
class Milestone:
    """A named result of the reference."""

    step: int
    name: str


@dataclass(frozen=True)
class Reached:
    """How far a submission came: the last milestone before it went wrong, the first it missed, and what is ruled out.

    right_lines      the reference's lines that end with a computation, of which all came out right; after a change of layout that tells nothing
    lines_elsewhere  lines that lead to no milestone that is missed though all before it are there
    """

    last: Milestone | None
    missed: Milestone | None
    cleared: tuple[str, ...]
    right_lines: frozenset[int]
    lines_elsewhere: frozenset[int]


def concerns(mistake: Mistake, topic: str) -> bool:
    """Return whether a known mistake is about this topic: a word of `cleared`, or a layer's name."""
    text = " ".join((mistake.id, mistake.says, mistake.was, mistake.now))
    words = _WORDS.get(topic, rf"\b{re.escape(topic)}\b")
    return re.search(words, text, re.IGNORECASE) is not None


def milestones(reference: Trail) -> list[Milestone]:
    """The reference's named results, and its outputs, in order."""
    leading = set(reference.leading_to_outputs)
    found = [
        Milestone(number, step.name)
        for number, step in enumerate(reference.steps)
        if step.name and step.lines and number in leading
    ]
    outputs = {number: name for name, number in reference.made_by.items()}
    named = [
        Milestone(number, name)
        for number, name in outputs.items()
        if all(one.step != number for one in found)
    ]
    return sorted([*found, *named], key=lambda one: one.step)


def reached(trail: Trail, reference: Trail, source: str, sizes: dict[str, int]) -> Reached:
    """Compare a submission's trail with the reference's.

    A milestone that is not among its results counts as missed only if nothing that the reference makes of it is there either: others
    may not need it.
    """
    shelf = Shelf([trail], sizes)
    marks = [one for one in milestones(reference) if reference.steps[one.step].features is not None]
    there = {one.step for one in marks if shelf.has(reference.steps[one.step])}
    below = {one.step: set(reference.leading_to([one.step])) for one in marks}
    outputs = set(reference.made_by.values())
    missing = [
        one
        for one in marks
        if (one.step not in there or one.step in outputs)
        and not any(one.step in below[other] for other in there)
    ]
    missed = missing[0] if missing else None
    last = None
    if missed is not None:
        before = [
            one
            for one in marks
            if one.step in there and one.step in below[missed.step] and one.step != missed.step
        ]
        last = before[-1] if before else None
    entries = [
        one.step
        for one in missing
        if not any(other.step in below[one.step] for other in missing if other != one)
    ]
    upstream, good = set(reference.leading_to(entries)), set(reference.leading_to(there))
    by_line: dict[int, set[int]] = {}
    for number in reference.leading_to_outputs:
        for line in reference.steps[number].lines[:1]:
            by_line.setdefault(line, set()).add(number)
    right = {
        line
        for line, steps in by_line.items()
        if steps <= good and _is_computed(reference, max(steps))
    }
    elsewhere = {line for line, steps in by_line.items() if not steps & upstream}
    return Reached(
        last,
        missed,
        tuple(_cleared(reference, source, there)),
        frozenset(right),
        frozenset(elsewhere),
    )


def _is_computed(reference: Trail, number: int) -> bool:
    """Whether a step is more than a change of layout; torch's own after a product of matrices is part of the product."""
    step = reference.steps[number]
    return step.operation not in LAYOUTS or (
        step.operation in ("view", "_unsafe_view")
        and all(reference.steps[one].operation in _PRODUCTS for one in step.parents)
    )


def _cleared(reference: Trail, source: str, there: set[int]) -> Iterator[str]:
    """What led to a milestone that was reached and to nothing that was not."""
    leading = set(reference.leading_to_outputs)
    good = set(reference.leading_to(there))
    good_lines, other_lines = _lines(reference, good), _lines(reference, leading - good)
    text = dict(enumerate(source.splitlines(), 1))
    for topic, words in _TOPICS.items():
        about = {line for line in good_lines | other_lines if re.search(words, text.get(line, ""))}
        if about and about <= good_lines - other_lines:
            yield topic
    yield from (name for name, steps in _layers(reference, leading).items() if steps <= good)


def _lines(trail: Trail, steps: Iterable[int]) -> set[int]:
    return {trail.steps[number].lines[0] for number in steps if trail.steps[number].lines}


def _layers(trail: Trail, leading: set[int]) -> dict[str, set[int]]:
    """Every layer of the contract, with the steps that are made of its weights."""
    found: dict[str, set[int]] = {}
    for number in sorted(leading):
        step = trail.steps[number]
        if name := _layer_of(step):
            users = {other for other in leading if number in trail.steps[other].parents}
            through = {other for other in leading if users & set(trail.steps[other].parents)}
            found.setdefault(name, set()).update(
                users
                | (through if all(trail.steps[one].operation == "t" for one in users) else set())
            )
    return found


def _layer_of(step: Step) -> str:
    match = re.fullmatch(r"input parameter (.+)\.weight", step.operation)
    return match[1] if match else ""
