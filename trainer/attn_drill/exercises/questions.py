"""Draw questions, judge the answers, choose what to ask, and check the bank of a pack."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from random import Random

from attn_drill.exercises.altered_reference import (
    excerpt,
    fair_mistakes,
    first_paragraph,
    plant_mistakes,
    reference_changes,
)
from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.model.errors import DrillError, PackError
from attn_drill.packs import pack_reader
from attn_drill.packs.question_bank import (
    Question,
    Unit,
    Value,
    evaluate,
    read_topic,
    solve,
    topic_files,
)
from attn_drill.packs.toml import key_error
from attn_drill.practice.schedule import ScheduledItem

LETTERS = "abcdefgh"
_ASKS = (
    "There is one mistake in this code. Which line is wrong? "
    "If a line is missing, name a line next to the gap."
)
_MOST_REFERENCE = 3  # lines of the reference in an explanation
_LINES = 0.25  # the share of new questions that ask for a line
_MOST_DRAWS = 400  # of a question, in the check of a bank
_NAMED = re.compile(r"\{(\w+)\}")
_STEPS: dict[Unit, tuple[int, tuple[str, ...]]] = {
    "B": (1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB")),
    "FLOP": (1000, ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP")),
}
_KINDS: dict[str, Unit] = {"b": "B", "f": "FLOP", "%": "%", "p": "%", "x": "x", "t": "x"}
_SAYS: dict[Unit, str] = {
    "B": "The answer is a number of bytes, e.g. 128 KiB, 1.5 GB or 131072",
    "%": "The answer is in percent, e.g. 12.5 or 12.5 %",
    "x": "The answer is a factor, e.g. 4x or 1/4",
    "FLOP": "The answer is a number of floating-point operations, e.g. 4.2 GFLOP or 4.2e9",
    "": "The answer is a plain number, e.g. 4096, 2^12 or 4.1e3",
}
# Arithmetic, then a unit, then words in brackets: `68.62 KiB (70,272 B)`.
_AMOUNT = re.compile(
    r"[~≈=x]?\s*(?P<number>[\de.,_+*/^() -]{1,60}?)"
    r"\s*(?:(?P<prefix>[kmgtpe]?)(?P<binary>i?)(?P<base>b|bytes?|flops?|%|percent|x|times))?"
    r"\.?(?:\s*\(.*[a-z].*\))?"
)
_SEPARATOR = re.compile(r"(?<=\d)[,_ ](?=\d{3}(?!\d))")
# Chinese keyboards have another percent sign, and web pages another minus sign.
_USUAL = str.maketrans("％−×·", "%-x*")
_ROUNDED_DIGITS = 3  # with fewer digits, the rounding could hide a wrong answer
_FUZZ = 1e-12


class NotAnAmountError(ValueError):
    """A text is no number, or has another kind of unit. The message says what to type."""


@dataclass(frozen=True)
class Amount:
    """An amount in the base unit: bytes, percent, times or floating-point operations."""

    value: float
    # Half a unit of the last digit if there are enough digits for a rounded number, else 0.
    half_unit: float = 0.0

    def is_right(self, answer: float, tolerance: float) -> bool:
        """Return whether the amount is the answer, up to a relative tolerance or the rounding."""
        most = max(tolerance * abs(answer), self.half_unit) + _FUZZ * abs(answer)
        return abs(self.value - answer) <= most


def parse_amount(text: str, unit: Unit) -> Amount:
    """Return the amount in a text: arithmetic, and a unit or none for the base unit.

    >>> parse_amount("2 * 64 KiB", "B").value
    131072
    """
    match = _AMOUNT.fullmatch(text.strip().lower().translate(_USUAL))
    number = _SEPARATOR.sub("", match["number"]) if match else ""
    try:
        value = evaluate(number.replace("^", "**"), {})
    except ValueError:
        point = ": the decimal sign is a point, as in 1.5" if "," in number else ""
        raise NotAnAmountError(f"That cannot be read{point}. {_SAYS[unit]}.") from None
    size = 1
    if match and match["base"]:
        if _KINDS[match["base"][0]] != unit:
            raise NotAnAmountError(f"That is another kind of unit. {_SAYS[unit]}.")
        step = 1024 if match["binary"] else 1000
        size = step ** " kmgtpe".index(match["prefix"] or " ")
    if not math.isfinite(value * size):
        raise NotAnAmountError(f"That is too large a number. {_SAYS[unit]}.")
    try:
        _, digits, exponent = Decimal(number).as_tuple()
    except InvalidOperation:  # the number is computed
        return Amount(value * size)
    is_rounded = len(digits) >= _ROUNDED_DIGITS
    return Amount(value * size, 0.5 * 10.0 ** int(exponent) * size if is_rounded else 0.0)


def format_amount(value: float, unit: Unit) -> str:
    """Return an amount as text. If a learner types the text as an answer, it is right.

    It is in the largest unit in which at most 4 digits are exact. If there is none, it is rounded,
    and the exact number follows in brackets.

    >>> format_amount(131_072, "B"), format_amount(70_272, "B")
    ('128 KiB', '68.62 KiB (70,272 B)')
    """
    if unit not in _STEPS:
        return f"{format_number(value)}{' %' if unit == '%' else unit}"
    step, names = _STEPS[unit]
    sizes = {name: step**power for power, name in enumerate(names)}
    fitting = [name for name in names if abs(value) >= sizes[name]] or [names[0]]
    for name in reversed(fitting):
        if abs(value / sizes[name]) < 10_000 and _is_short(value / sizes[name]):
            return f"{format_number(value / sizes[name])} {name}"
    exact, name = f"{format_number(value)} {names[0]}", fitting[-1]
    return exact if name == names[0] else f"{_four_digits(value / sizes[name])} {name} ({exact})"


def format_number(value: float) -> str:
    """Return a number as text, in 4 digits if it is not whole and less than 10,000.

    >>> [format_number(value) for value in (8192, 10_000, 131_072, 0.5, 2 / 3, 1e-7)]
    ['8192', '10,000', '131,072', '0.5', '0.6667', '1e-07']
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    if abs(value) >= 10_000:
        return f"{value:,.0f}" if abs(value) < 1e15 else _four_digits(value)
    return f"{value:.4g}" if _is_short(value) else _four_digits(value)


def _is_short(value: float) -> bool:
    """Return whether 4 digits write the value exactly."""
    return abs(float(f"{value:.4g}") - value) <= _FUZZ * abs(value)


def _four_digits(value: float) -> str:
    """Return the value with 4 digits, including zeros at the end, which show the rounding."""
    return f"{value:#.4g}".rstrip(".")


@dataclass(frozen=True)
class Judged:
    """The judgement of an answer."""

    right: bool | None  # None if the answer was not understood; then the message says what to type
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The parts of every question."""

    item: str  # the name in reviews: `question:ID` or `line:CHALLENGE:MISTAKE`
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
        return format_amount(self.value, self.unit)

    def judge(self, text: str) -> Judged:
        """Return whether an amount is right. A wrong one gets a comment if it is far off."""
        try:
            amount = parse_amount(text, self.unit)
        except NotAnAmountError as error:
            return Judged(None, str(error))
        if amount.is_right(self.value, self.tolerance):
            return Judged(True)
        read = format_amount(amount.value, self.unit)
        share = Amount(100 * amount.value)
        if self.unit == "%" and share.is_right(self.value, self.tolerance):
            return Judged(False, f"Your answer is read as {read}, not as a share of 1.")
        times = amount.value / self.value
        if not 1e-4 <= times <= 1e4 or math.isclose(times, 1, rel_tol=0.05):
            return Judged(False)
        if times > 1:
            return Judged(False, f"{read} is {format_number(times)} times the answer.")
        return Judged(False, f"The answer is {format_number(1 / times)} times {read}.")


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
    missing: bool = False  # a line is missing, and the lines next to the gap are right

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


def draw(question: Question, rng: Random) -> DrawnQuestion:
    """Return a question with new numbers, or with its options in a new order."""
    if question.kind == "number":
        drawn = {name: rng.choice(values) for name, values in question.vary.items()}
        return with_values(question, drawn)
    options = [question.right, *question.wrong]
    rng.shuffle(options)
    return Choice(
        item=f"question:{question.id}",
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
        words[name] = named if isinstance(named, str) else format_number(named)
    words["answer"] = format_amount(value, question.unit)
    return Number(
        item=f"question:{question.id}",
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
    explanation = [mistake.says]
    changes = reference_changes(source, mistake, where)
    reference = [line.strip() for change in changes for line in change.was if line.strip()]
    if len(reference) <= _MOST_REFERENCE:
        explanation += [f"The reference has: {line}" for line in reference]
    return FindLine(
        item=f"line:{challenge.id}:{mistake.id}",
        topic=challenge.topic,
        text=f"{challenge.id}: {first_paragraph(planted.source)}\n\n{_ASKS}",
        explanation="\n".join(explanation),
        code="\n".join(rows[number] for number in shown),
        lines=tuple(position for position, line in enumerate(shown, 1) if line in planted.changed),
        missing=planted.missing,
    )


@dataclass(frozen=True)
class QuestionPool:
    """The questions that may be asked."""

    questions: Mapping[str, Question]  # of the bank, by item
    lines: Mapping[str, tuple[Challenge, Mistake]]  # to find, by item

    def ask(self, item: str, rng: Random) -> DrawnQuestion:
        """Return the question of an item, with its values drawn anew."""
        if item in self.questions:
            return draw(self.questions[item], rng)
        return line_question(*self.lines[item])

    def reviewed(self, history: Mapping[str, ScheduledItem]) -> list[ScheduledItem]:
        """Return the reviewed items of this pool, the first due first."""
        names = {*self.questions, *self.lines}
        reviewed = [item for name, item in history.items() if name in names]
        return sorted(reviewed, key=lambda item: item.due_at)

    def about(self, name: str) -> QuestionPool:
        """Return the questions about a topic of the bank, or about a challenge."""
        questions: dict[str, Question] = {}
        lines: dict[str, tuple[Challenge, Mistake]] = {}
        for item, question in self.questions.items():
            if name in (question.topic, *question.challenges):
                questions[item] = question
        for item, (challenge, mistake) in self.lines.items():
            if name in (challenge.topic, challenge.id):
                lines[item] = challenge, mistake
        return QuestionPool(questions, lines)


def pool_of(
    questions: Iterable[Question],
    challenges: Iterable[Challenge],
    mistakes: Mapping[str, Sequence[Mistake]],
) -> QuestionPool:
    """Return a pool of questions, and of the lines of known mistakes by challenge id."""
    lines: dict[str, tuple[Challenge, Mistake]] = {}
    for challenge in challenges:
        for mistake in fair_mistakes(mistakes.get(challenge.id, ())):
            lines[f"line:{challenge.id}:{mistake.id}"] = challenge, mistake
    return QuestionPool({f"question:{question.id}": question for question in questions}, lines)


def known_name(names: Sequence[str], wanted: str) -> str:
    """Return the name of the topic or challenge that the learner means, or raise DrillError."""
    name = pack_reader.challenge_id(wanted.strip().lower())
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    for other in names:
        if name and (name in other or other in name) and other not in near:
            near.append(other)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(names)}."
    advice = "`attn-drill quiz --list` shows all topics."
    raise DrillError(f"No topic is called {wanted!r}. {hint} {advice}")


def order_items(
    pool: QuestionPool, history: Mapping[str, ScheduledItem], now: float, count: int, rng: Random
) -> list[str]:
    """Return at most `count` items to ask: due items, the longest due first, then new items."""
    reviewed = pool.reviewed(history)
    due = [item.name for item in reviewed if item.is_due(now)][:count]
    room = count - len(due)
    topics = {item: question.topic for item, question in pool.questions.items()}
    challenges = {item: challenge.id for item, (challenge, _) in pool.lines.items()}
    questions, lines = _new_items(topics, history, rng), _new_items(challenges, history, rng)
    # About a quarter of the new items ask for a line.
    line_count = max(int(room * _LINES + rng.random()), room - len(questions))
    chosen = lines[:line_count]
    chosen += questions[: room - len(chosen)]
    new = rng.sample(chosen, len(chosen))
    # If there are none, the other items follow in the order in which they become due.
    return [*due, *new] or [item.name for item in reviewed][:count]


def _new_items(names: Mapping[str, str], history: Collection[str], rng: Random) -> list[str]:
    """Return the new items so that each name comes once before any name comes again."""
    new = [item for item in names if item not in history]
    seen: Counter[str] = Counter()
    rounds: dict[str, int] = {}
    for item in rng.sample(new, len(new)):
        rounds[item] = seen[names[item]]
        seen[names[item]] += 1
    # A topic with many questions would often come first within a round, so each round is shuffled.
    return sorted(rounds, key=lambda item: (rounds[item], rng.random()))


def bank_problems(root: Path, other_packs: Sequence[Path] = ()) -> list[str]:
    """Return a sentence for each problem in the question bank of a pack."""
    challenges: set[str] = set()
    # Its questions may also follow up the challenges of other packs.
    for pack in (root, *other_packs):
        for folder in pack_reader.challenge_folders(pack):
            challenges.add(pack_reader.challenge_id(folder.name))
    problems: list[str] = []
    ids: dict[str, Path] = {}
    for path in topic_files(root):
        try:
            questions = read_topic(path).question
        except PackError as error:
            problems.append(str(error))
            continue
        for index, question in enumerate(questions):
            faults = question_faults(question, challenges)
            if question.id in ids:
                faults.append(f"has the id of a question in {ids[question.id].name}. Rename one")
            ids[question.id] = path
            for fault in faults:
                words = f"question {question.id!r} {fault}."
                problems.append(str(key_error(path, ("question", index), words)))
    return problems


def question_faults(question: Question, challenges: Collection[str]) -> list[str]:
    """Return the end of a sentence for each fault of a question, without full stop."""
    faults: list[str] = []
    for name in question.challenges:
        if name not in challenges:
            faults.append(f"follows up {name!r}, which no pack has. Correct `challenges`")
    if question.kind == "choice" and len(question.wrong) >= len(LETTERS):
        faults.append(f"has more than {len(LETTERS)} options. Remove some of `wrong`")
    for drawn in draws(question, _MOST_DRAWS) if question.kind == "number" else ():
        if fault := _fault_of_draw(question, drawn):
            values = ", ".join(f"{name} = {value}" for name, value in drawn.items())
            return [*faults, f"with {values} {fault}" if values else fault]
    return faults


def _fault_of_draw(question: Question, values: Mapping[str, Value]) -> str:
    try:
        drawn = with_values(question, values)
    except ValueError as error:
        return f"cannot be computed: {error}"
    if not math.isfinite(drawn.value) or drawn.value <= 0:
        return f"has the answer {drawn.value:g}. Change a formula so that it is more than 0"
    if not drawn.judge(drawn.answer).right:
        return f"judges its own answer {drawn.answer} wrong. Correct `tolerance` or `unit`"
    return ""


def draws(question: Question, most: int) -> Iterator[dict[str, Value]]:
    """Yield at most `most` of the possible draws of a question, spread over all of them."""
    counts = [len(values) for values in question.vary.values()]
    total = math.prod(counts)
    step = max(1, math.ceil(total / most))
    # A step that shares a factor with the number of values would never reach some of them.
    while step > 1 and math.gcd(step, total) > 1:
        step += 1
    every = itertools.product(*question.vary.values())
    for values in itertools.islice(every, 0, None, step):
        yield dict(zip(question.vary, values, strict=True))
