"""The question bank of a pack: `challenges/_questions/<topic>.toml`, one file a topic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from trainer.model.errors import PackError
from trainer.packs.arithmetic import Value, evaluate
from trainer.packs.pack_reader import read_toml

Unit = Literal["", "B", "%", "x", "FLOP"]
_NAMED = re.compile(r"\{(\w+)\}")


class BankEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of one `[[question]]`."""

    id: str
    kind: Literal["number", "choice"]
    asks: str
    explains: str
    challenges: tuple[str, ...] = ()
    code: str = ""
    # number
    answer: str = ""
    unit: Unit = ""
    tolerance: float = 0.0
    vary: dict[str, tuple[int | float | str, ...]] = {}
    derive: dict[str, str] = {}
    # choice
    right: str = ""
    wrong: tuple[str, ...] = ()


class TopicFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of one file."""

    title: str
    question: tuple[BankEntry, ...]


@dataclass(frozen=True)
class Question:
    """One question of the bank.

    asks, explains   text with `{name}` for every drawn or derived value; `{answer}` in explains
    code             shown below the question as it is, or ""
    challenges       ids of the challenges that it follows up
    answer           kind "number": the formula; `unit` "B" takes bytes in any unit, "FLOP" takes GFLOP and so on
    tolerance        kind "number": the relative difference that is still right (and half a unit of the last digit that is written)
    vary, derive     kind "number": what is drawn anew each time, and what follows from it, in this order
    right, wrong     kind "choice": the answer, and plausible ones that are wrong
    """

    id: str
    topic: str
    kind: Literal["number", "choice"]
    asks: str
    explains: str
    challenges: tuple[str, ...] = ()
    code: str = ""
    answer: str = ""
    unit: Unit = ""
    tolerance: float = 0.0
    vary: Mapping[str, tuple[Value, ...]] | None = None
    derive: Mapping[str, str] | None = None
    right: str = ""
    wrong: tuple[str, ...] = ()


def read_topics(root: Path) -> dict[str, str]:
    """The topics of a pack's bank by name, with their titles."""
    return {path.stem: _read(path).title for path in _files(root)}


def read_questions(root: Path) -> tuple[Question, ...]:
    """All questions of a pack, in the order of topics and files.

    Raises:
        PackError: where an entry lacks what its kind needs, an id stands twice, or a formula or a text names what is not there.
    """
    found: list[Question] = []
    seen: set[str] = set()
    for path in _files(root):
        for entry in _read(path).question:
            if entry.id in seen:
                raise PackError(f"{path}: two questions have the id {entry.id!r}. Rename one.")
            seen.add(entry.id)
            if trouble := _trouble(entry):
                raise PackError(f"{path}: question {entry.id!r} {trouble}.")
            found.append(
                Question(
                    topic=path.stem,
                    **{name: getattr(entry, name) for name in BankEntry.__struct_fields__},
                )
            )
    return tuple(found)


@dataclass(frozen=True)
class Bank:
    """The question banks of several packs as one.

    titles      of the topics, by name
    questions   of all packs, in their order
    troubles    a sentence for everything that is left out
    """

    titles: Mapping[str, str]
    questions: tuple[Question, ...]
    troubles: tuple[str, ...] = ()


def read_bank(roots: Iterable[Path]) -> Bank:
    """The banks of these packs, but for one that cannot be read. Of two questions with one id, and of two titles of a topic, the earlier pack's counts."""
    titles: dict[str, str] = {}
    questions: dict[str, Question] = {}
    troubles: list[str] = []
    for root in roots:
        try:
            topics, asked = read_topics(root), read_questions(root)
        except PackError as error:
            troubles.append(f"The questions of {root} are left out: {error}")
            continue
        troubles += [
            f"The question {one.id!r} of {root} is hidden: another one has the same id, and comes first."
            for one in asked
            if one.id in questions
        ]
        for name, title in topics.items():
            titles.setdefault(name, title)
        for one in asked:
            questions.setdefault(one.id, one)
    return Bank(titles, tuple(questions.values()), tuple(troubles))


def _files(root: Path) -> list[Path]:
    return sorted((root / "challenges" / "_questions").glob("*.toml"))


def _read(path: Path) -> TopicFile:
    data: TopicFile = read_toml(path, TopicFile)
    return data


def _trouble(entry: BankEntry) -> str:
    """What is wrong with an entry, in words that go on after its name; "" where nothing is."""
    if entry.kind == "choice":
        if len(entry.wrong) < 2 or not entry.right:
            return "is a choice; it needs `right` and at least two of `wrong`"
        if len({entry.right, *entry.wrong}) <= len(entry.wrong):
            return "has the same answer twice"
        return (
            "is a choice; `answer`, `vary` and `derive` are of numbers"
            if entry.answer or entry.vary or entry.derive
            else ""
        )
    if entry.right or entry.wrong or not entry.answer:
        return "is a number; it needs `answer`, and `right` and `wrong` are of choices"
    if empty := [name for name, values in entry.vary.items() if not values]:
        return f"draws {empty[0]} from nothing"
    names = {*entry.vary, *entry.derive}
    if unknown := set(_NAMED.findall(entry.asks)) - names:
        return f"asks with {{{min(unknown)}}}, which is neither drawn nor derived"
    if unknown := set(_NAMED.findall(entry.explains)) - names - {"answer"}:
        return f"explains with {{{min(unknown)}}}, which is neither drawn nor derived"
    try:
        solve(entry.answer, {name: values[0] for name, values in entry.vary.items()}, entry.derive)
    except ValueError as error:
        return f"cannot be computed: {error}"
    return ""


def solve(
    answer: str, drawn: Mapping[str, Value], derive: Mapping[str, str]
) -> tuple[float, dict[str, Value]]:
    """The answer for these drawn values, and all values by name.

    Raises:
        ValueError: where a formula is no arithmetic over what is there.
    """
    names = dict(drawn)
    for name, formula in derive.items():
        names[name] = evaluate(formula, names)
    return evaluate(answer, names), names
