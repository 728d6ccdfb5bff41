"""Read the question bank of a pack: one file `challenges/_questions/<topic>.toml` per topic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from trainer.model.errors import PackError
from trainer.packs.arithmetic import Value, evaluate
from trainer.packs.toml import read_toml

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
    """The keys of one topic file."""

    title: str
    question: tuple[BankEntry, ...]


@dataclass(frozen=True)
class Question:
    """One question of the bank.

    The attributes `answer` to `derive` are for kind "number", `right` and `wrong` for "choice".

    Attributes:
        topic: the name of the topic file.
        asks: the question. `{name}` is replaced by a drawn or derived value.
        explains: the explanation. `{name}` is replaced as in `asks`, `{answer}` by the answer.
        challenges: ids of the challenges after which the question may be shown.
        code: text that is shown below the question without replacements, or "".
        answer: the formula of the answer.
        unit: the unit of the answer. "B" accepts bytes in any unit (KiB, MB ...), "FLOP" accepts
            GFLOP and so on.
        tolerance: the relative difference that is still right. Half a unit of the last digit that
            the learner wrote is always allowed.
        vary: the values from which each name is drawn, again for each question.
        derive: formulas for further names, which are computed in this order.
        right: the right answer.
        wrong: plausible wrong answers.
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
    """Return the title of each topic of a pack's bank, by the topic's name."""
    return {path.stem: _read(path).title for path in _files(root)}


def read_questions(root: Path) -> tuple[Question, ...]:
    """Return all questions of a pack, topic by topic, in the order of the files.

    Raises:
        PackError: if an entry lacks a key that its kind needs, an id occurs twice, or a formula or
            a text uses an unknown name.
    """
    found: list[Question] = []
    seen: set[str] = set()
    for path in _files(root):
        for entry in _read(path).question:
            if entry.id in seen:
                raise PackError(
                    f"{path}: two questions have the id {entry.id!r}. Rename one of them."
                )
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
    """The question banks of several packs, joined.

    Attributes:
        titles: the title of each topic, by the topic's name.
        questions: the questions of all packs, in the order of the packs.
        troubles: a sentence for each question or bank that is left out.
    """

    titles: Mapping[str, str]
    questions: tuple[Question, ...]
    troubles: tuple[str, ...] = ()


def read_bank(roots: Iterable[Path]) -> Bank:
    """Return the joined banks of these packs, without the banks that cannot be read.

    If two questions have the same id, or a topic has two titles, those of the earlier pack are
    used.
    """
    titles: dict[str, str] = {}
    questions: dict[str, Question] = {}
    troubles: list[str] = []
    for root in roots:
        try:
            topics, pack_questions = read_topics(root), read_questions(root)
        except PackError as error:
            troubles.append(f"The questions of {root} are left out: {error}")
            continue
        troubles += [
            f"The question {question.id!r} of {root} is hidden: "
            "another question has the same id and comes first."
            for question in pack_questions
            if question.id in questions
        ]
        for name, title in topics.items():
            titles.setdefault(name, title)
        for question in pack_questions:
            questions.setdefault(question.id, question)
    return Bank(titles, tuple(questions.values()), tuple(troubles))


def _files(root: Path) -> list[Path]:
    return sorted((root / "challenges" / "_questions").glob("*.toml"))


def _read(path: Path) -> TopicFile:
    data = read_toml(path, TopicFile, PackError)
    return data


def _trouble(entry: BankEntry) -> str:
    """Return the fault of an entry, as the rest of a sentence about the entry; "" if none."""
    if entry.kind == "choice":
        if len(entry.wrong) < 2 or not entry.right:
            return "is of kind 'choice'; it needs `right` and at least two answers in `wrong`"
        if len({entry.right, *entry.wrong}) <= len(entry.wrong):
            return "has the same answer twice"
        return (
            "is of kind 'choice'; `answer`, `vary` and `derive` are for kind 'number' only"
            if entry.answer or entry.vary or entry.derive
            else ""
        )
    if entry.right or entry.wrong or not entry.answer:
        return (
            "is of kind 'number'; it needs `answer`, and `right` and `wrong` are for kind "
            "'choice' only"
        )
    if empty := [name for name, values in entry.vary.items() if not values]:
        return f"has no values for {empty[0]} in `vary`"
    names = {*entry.vary, *entry.derive}
    if unknown := set(_NAMED.findall(entry.asks)) - names:
        return f"uses {{{min(unknown)}}} in `asks`, which is neither in `vary` nor in `derive`"
    if unknown := set(_NAMED.findall(entry.explains)) - names - {"answer"}:
        return f"uses {{{min(unknown)}}} in `explains`, which is neither in `vary` nor in `derive`"
    try:
        solve(entry.answer, {name: values[0] for name, values in entry.vary.items()}, entry.derive)
    except ValueError as error:
        return f"cannot be computed: {error}"
    return ""


def solve(
    answer: str, drawn: Mapping[str, Value], derive: Mapping[str, str]
) -> tuple[float, dict[str, Value]]:
    """Compute the answer of a question.

    Args:
        answer: the formula of the answer.
        drawn: the drawn values by name.
        derive: formulas for further names, which are computed in this order.

    Returns:
        The answer, and all drawn and derived values by name.

    Raises:
        ValueError: if a formula is not arithmetic over these names.
    """
    names = dict(drawn)
    for name, formula in derive.items():
        names[name] = evaluate(formula, names)
    return evaluate(answer, names), names
