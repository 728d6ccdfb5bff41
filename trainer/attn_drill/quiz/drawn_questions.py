"""Draw questions anew each time they are asked, and judge the answers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from attn_drill.hunt.planted_mistakes import first_paragraph, plant_mistakes, reference_changes
from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.packs import pack_reader
from attn_drill.packs.arithmetic import Value
from attn_drill.packs.question_bank import Question, Unit, solve
from attn_drill.quiz import units
from attn_drill.quiz.excerpt import excerpt

LETTERS = "abcdefgh"
_NAMED = re.compile(r"\{(\w+)\}")
_MOST_REFERENCE = 3  # lines of the reference in an explanation
_ASKS = (
    "There is one mistake in this code. Which line is wrong? "
    "If a line is missing, name a line next to the gap."
)


@dataclass(frozen=True)
class Judged:
    """The judgement of an answer."""

    # None if the answer was not understood. The message then says what to type.
    right: bool | None
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The parts of every question."""

    # The name in reviews: `question:ID` or `line:CHALLENGE:MISTAKE`.
    item: str
    topic: str
    text: str
    explanation: str  # shown after an answer
    code: str = ""  # shown below the text


@dataclass(frozen=True, kw_only=True)
class Number(_Asked):
    """A number to compute."""

    value: float  # in the base unit
    unit: Unit
    tolerance: float  # the relative difference that is still right

    @property
    def answer(self) -> str:
        return units.format_amount(self.value, self.unit)

    def judge(self, text: str) -> Judged:
        """Return whether an amount is right. A wrong one gets a comment if it is far off."""
        try:
            amount = units.parse_amount(text, self.unit)
        except units.NotAnAmountError as error:
            return Judged(None, str(error))
        if amount.is_right(self.value, self.tolerance):
            return Judged(True)
        read = units.format_amount(amount.value, self.unit)
        share = units.Amount(100 * amount.value)
        if self.unit == "%" and share.is_right(self.value, self.tolerance):
            return Judged(False, f"Your answer is read as {read}, not as a share of 1.")
        times = amount.value / self.value
        if not 1e-4 <= times <= 1e4 or math.isclose(times, 1, rel_tol=0.05):
            return Judged(False)
        if times > 1:
            return Judged(False, f"{read} is {units.format_number(times)} times the answer.")
        return Judged(False, f"The answer is {units.format_number(1 / times)} times {read}.")


@dataclass(frozen=True, kw_only=True)
class Choice(_Asked):
    """An answer to choose."""

    options: tuple[str, ...]  # in the order of their letters
    right: int  # the index of the right option

    @property
    def answer(self) -> str:
        return f"{LETTERS[self.right]}) {self.options[self.right]}"

    def judge(self, text: str) -> Judged:
        """Return whether the text is the letter, the words or the position of the right answer."""
        letters = LETTERS[: len(self.options)]
        words = " ".join(text.split()).lower()
        word = words.strip("().")
        plain = [" ".join(option.split()).lower() for option in self.options]
        # The words of an option are tried before its position, because an option may be a number.
        names = [*letters, *plain, *(str(number) for number in range(1, len(letters) + 1))]
        for name in (word, words):
            if name in names:
                return Judged(names.index(name) % len(letters) == self.right)
        return Judged(None, f"Answer with a letter, {letters[0]} to {letters[-1]}.")


@dataclass(frozen=True, kw_only=True)
class FindLine(_Asked):
    """A wrong line to find in the code, whose lines are numbered from 1."""

    lines: tuple[int, ...]  # the numbers that are right
    # A line is missing, and the lines next to the gap are right.
    missing: bool = False

    @property
    def answer(self) -> str:
        *first, last = map(str, self.lines)
        numbers = f"{', '.join(first)} or {last}" if first else last
        return f"line {numbers}{' (next to a missing line)' if self.missing else ''}"

    def judge(self, text: str) -> Judged:
        """Return whether the text is the number of a right line."""
        most = self.code.count("\n") + 1
        match = re.fullmatch(r"(?:line|l)?\s*(\d{1,4})\.?", text.strip().lower())
        if match is None or not 1 <= int(match[1]) <= most:
            return Judged(None, f"Answer with the number of a line, 1 to {most}.")
        return Judged(int(match[1]) in self.lines)


DrawnQuestion = Number | Choice | FindLine


def question_item(question: Question) -> str:
    """Return the name of the item under which a question is reviewed."""
    return f"question:{question.id}"


def line_item(challenge: Challenge, mistake: Mistake) -> str:
    """Return the name of the item under which the line of a mistake is reviewed."""
    return f"line:{challenge.id}:{mistake.id}"


def draw(question: Question, rng: Random) -> DrawnQuestion:
    """Return a question with new numbers, or with its options in a new order."""
    if question.kind == "number":
        drawn = {name: rng.choice(values) for name, values in question.vary.items()}
        return with_values(question, drawn)
    options = [question.right, *question.wrong]
    rng.shuffle(options)
    return Choice(
        item=question_item(question),
        topic=question.topic,
        text=question.asks,
        explanation=question.explains,
        code=question.code.strip("\n"),
        options=tuple(options),
        right=options.index(question.right),
    )


def with_values(question: Question, drawn: Mapping[str, Value]) -> Number:
    """Return a question of kind "number". ValueError: its formulas do not take these values."""
    value, names = solve(question.answer, drawn, question.derive)
    words: dict[str, str] = {}
    for name, named in names.items():
        words[name] = named if isinstance(named, str) else units.format_number(named)
    words["answer"] = units.format_amount(value, question.unit)
    return Number(
        item=question_item(question),
        topic=question.topic,
        text=_filled(question.asks, words),
        explanation=_filled(question.explains, words),
        code=question.code.strip("\n"),
        value=value,
        unit=question.unit,
        tolerance=question.tolerance,
    )


def _filled(text: str, words: Mapping[str, str]) -> str:
    return _NAMED.sub(lambda match: words.get(match[1], match[0]), text)


def line_question(challenge: Challenge, mistake: Mistake) -> FindLine:
    """Return a question that shows a reference with a mistake and asks which line is wrong."""
    # As in a bug hunt, the code has no comments.
    source = pack_reader.solution(challenge)
    where = str(challenge.solutions / "mistakes.toml")
    planted = plant_mistakes(source, (mistake,), where)
    shown = excerpt(planted.source, planted.changed)
    rows = ["", *planted.source.splitlines()]
    reference = [
        f"The reference has: {line.strip()}"
        for change in reference_changes(source, mistake, where)
        for line in change.was
        if line.strip()
    ]
    if len(reference) > _MOST_REFERENCE:
        reference = []
    return FindLine(
        item=line_item(challenge, mistake),
        topic=challenge.topic,
        text=f"{challenge.id}: {first_paragraph(planted.source)}\n\n{_ASKS}",
        explanation="\n".join([mistake.says, *reference]),
        code="\n".join(rows[number] for number in shown),
        lines=tuple(position for position, line in enumerate(shown, 1) if line in planted.changed),
        missing=planted.missing,
    )
