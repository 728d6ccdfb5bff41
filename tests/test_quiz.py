"""The quiz: what is asked and when, what is right, and the command as a user meets it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from tests.support import forked
from tests.test_cli import drill
from trainer.hunt.planted_mistakes import bare, fair
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.packs.mistakes import read_mistakes, readable_mistakes
from trainer.packs.question_bank import Question, read_bank
from trainer.practice.journal import Journal, Review
from trainer.practice.schedule import ScheduledItem, items
from trainer.quiz.drawn_questions import (
    DrawnQuestion,
    draw,
    judge,
    line_question,
    lines,
    with_values,
)
from trainer.quiz.question_order import QuestionPool, about, order, pool_of
from trainer.report.question_text import code_lines, question, summary

ROOT = pack_reader.built_in_pack()
CHALLENGES = pack_reader.read_pack(ROOT)
BANK = read_bank([ROOT])
POOL = pool_of(BANK.questions, CHALLENGES, readable_mistakes(CHALLENGES)[0])
NAMES = [*BANK.titles, *(one.id for one in CHALLENGES)]
DAY = 86_400.0
PROMPT = rb"\n[^\n]*(?:line|bytes|percent|factor|FLOPs|number|a-[a-h]): $"
COLOURS = Question(
    id="c",
    topic="t",
    kind="choice",
    asks="Which colour?",
    explains="It is.",
    right="blue",
    wrong=("orange", "a", "2"),
)
SHARE = Question(
    id="s",
    topic="t",
    kind="number",
    asks="{part} of {whole}, in percent?",
    explains="{part} / {whole} = {answer}, and {what} stays.",
    unit="%",
    answer="100 * part / whole",
    tolerance=0.01,
    vary={"part": (1, 3), "whole": (40, 20000)},
)


def test_numbers_are_drawn_anew() -> None:
    """Every draw is among those that are varied, all come, and the texts are filled in with them."""
    texts = {draw(SHARE, Random(seed)).text for seed in range(40)}
    assert texts == {
        f"{part} of {whole}, in percent?" for part in (1, 3) for whole in ("40", "20,000")
    }
    asked = with_values(SHARE, {"part": 3, "whole": 40})
    assert (asked.item, asked.answer, asked.value, asked.options) == (
        "question:s",
        "7.5 %",
        7.5,
        (),
    )
    assert asked.explanation == "3 / 40 = 7.5 %, and {what} stays."


@pytest.mark.parametrize(
    ("given", "right", "says"),
    [
        pytest.param("7.5", True, "", id="right"),
        pytest.param("7.5 %", True, "", id="with its unit"),
        pytest.param("7.55", True, "", id="within the tolerance"),
        pytest.param("0.075", False, "read as 0.075 %, not as a share", id="a share"),
        pytest.param("15", False, "15 % is 2 times the answer.", id="twice"),
        pytest.param("2.5", False, "The answer is 3 times 2.5 %.", id="a third"),
        pytest.param("7.7", False, "", id="near"),
        pytest.param("-1", False, "", id="negative"),
        pytest.param("0", False, "", id="zero"),
        pytest.param("?", False, "", id="not known"),
        pytest.param("7.5 MiB", None, "another kind of unit", id="another unit"),
        pytest.param("", None, "in percent", id="nothing"),
    ],
)
def test_a_number_is_judged(given: str, right: bool | None, says: str) -> None:
    """Right, wrong with how far off it is, or not understood."""
    judged = judge(with_values(SHARE, {"part": 3, "whole": 40}), given)
    assert judged.right is right
    assert says in judged.message
    assert bool(judged.message) == bool(says)


def test_options_are_shuffled() -> None:
    """The right one comes at every place."""
    places = Counter(draw(COLOURS, Random(seed)).options.index("blue") for seed in range(200))
    assert set(places) == {0, 1, 2, 3}
    assert min(places.values()) > 20


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        *[
            pytest.param(given, 2, id=given)
            for given in ("c", "C", "c)", "(c)", " c. ", "3", "blue", "Blue", "  blue ")
        ],
        *[pytest.param(given, 0, id=given) for given in ("a", "orange", "1")],
        *[
            pytest.param(given, 3, id=given) for given in ("d", "4", "2")
        ],  # the text "2" goes before the second place
        *[
            pytest.param(given, None, id=given or "nothing")
            for given in ("e", "5", "0", "", "blu", "ab", "²")
        ],
    ],
)
def test_a_choice_is_judged(given: str, chosen: int | None) -> None:
    """By letter, by text or by number; of anything else nothing is made."""
    options = ("orange", "a", "blue", "2")
    for index, option in enumerate(options):
        asked = DrawnQuestion(
            "question:c", "t", "choice", "Which?", f"{'abcd'[index]}) {option}", "", options=options
        )
        judged = judge(asked, given)
        assert judged.right is (None if chosen is None else chosen == index)
        assert judged.message == ("Answer with a letter, a to d." if chosen is None else "")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=[one.id for one in CHALLENGES])
def test_lines_of_every_mistake(challenge: Challenge) -> None:
    """The numbers that are right are of the lines that differ from the reference, and nothing shown gives them away."""
    reference = Counter(bare(pack_reader.solution(challenge)).splitlines())
    for mistake in fair(read_mistakes(challenge)):
        asked = line_question(challenge, mistake)
        shown = asked.code.split("\n")
        assert asked.item == f"line:{challenge.id}:{mistake.id}"
        assert asked.topic == challenge.topic
        assert asked.lines, mistake.id
        assert all(shown[number - 1].strip() for number in asked.lines), mistake.id
        others = Counter(
            line for number, line in enumerate(shown, start=1) if line and number not in asked.lines
        )
        assert not others - reference, mistake.id
        assert mistake.was not in asked.code or mistake.was in mistake.now, mistake.id
        assert mistake.says not in asked.text + asked.code, mistake.id
        assert mistake.says in asked.explanation, mistake.id
        assert [judge(asked, str(number)).right for number in range(1, len(shown) + 1)] == [
            number in asked.lines for number in range(1, len(shown) + 1)
        ]
        assert judge(asked, str(len(shown) + 1)).right is None


def test_a_long_reference_is_cut() -> None:
    """Of a class the method that holds the line, below the head of the class; of several functions the one."""
    gqa = pack_reader.find_challenge(ROOT, "gqa")
    asked = line_question(gqa, next(one for one in read_mistakes(gqa) if one.id == "no-scale"))
    shown = asked.code.split("\n")
    assert shown[0] == "class GroupedQueryAttention(nn.Module):"
    assert shown[2:4] == ["", "    def forward(self, x, mask=None):"]
    assert "def __init__" not in asked.code
    assert "beside which something is missing" in asked.answer
    assert [shown[number - 1].strip() for number in asked.lines] == [
        "scores = q @ k.transpose(-2, -1)",
        "if mask is not None:",
    ]
    assert "The reference has: scores = scores / math.sqrt(self.head_dim)" in asked.explanation


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("2", True),
        ("line 2", True),
        ("Line 2.", True),
        ("l2", True),
        ("1", False),
        ("?", False),
        ("4", None),
        ("0", None),
        ("two", None),
        ("", None),
    ],
)
def test_a_line_is_judged(given: str, right: bool | None) -> None:
    """By its number; one that is not there asks again."""
    judged = judge(
        DrawnQuestion("line:a:b", "t", "line", "Which?", "line 2", "", code="a\nb\nc", lines=(2,)),
        given,
    )
    assert judged.right is right
    assert (judged.message == "Answer with the number of a line, 1 to 3.") == (right is None)


def test_lines_come_from_every_challenge() -> None:
    """Of those that are given, and the same with the same chance."""
    rng = Random(1)
    found = Counter(lines(CHALLENGES[:3], rng).item.split(":")[1] for _ in range(60))
    assert set(found) == {one.id for one in CHALLENGES[:3]}
    assert lines(CHALLENGES, Random(4)) == lines(CHALLENGES, Random(4))


def reviewed(*names: str, now: float) -> Mapping[str, ScheduledItem]:
    """Items that were answered rightly, the first the longest ago, a day apart, so that they come due one after the other."""
    return items(
        [Review(name, name, now - DAY * (100 - index), 3, "") for index, name in enumerate(names)],
        now,
    )


def test_due_ones_come_first() -> None:
    """The longest due first, then new ones; what is not due yet does not come, and nothing comes twice."""
    old = list(POOL.questions)[5:8]
    fresh = list(POOL.lines)[3]
    known = {
        **reviewed(*old, "question:of-another-pack", now=200 * DAY),
        **items([Review("x", fresh, 199.9 * DAY, 3, "")], 200 * DAY),
    }
    assert [known[name].is_due(200 * DAY) for name in (*old, fresh)] == [True, True, True, False]
    for seed in range(20):
        found = order(POOL, known, 200 * DAY, 10, Random(seed))
        assert found[:3] == old
        assert len(found) == len(set(found)) == 10
        assert fresh not in found
    assert order(POOL, known, 200 * DAY, 2, Random(0)) == old[:2]


def test_what_is_not_due_comes_only_where_nothing_else_is_left() -> None:
    """Then the one that is due first comes first."""
    names = list(POOL.questions)[:3]
    pool = QuestionPool({name: POOL.questions[name] for name in names}, {})
    known = items(
        [
            Review(name, name, 10 * DAY, rating, "")
            for name, rating in zip(names, (4, 1, 3), strict=True)
        ],
        10 * DAY,
    )
    assert (
        order(pool, {name: known[name] for name in names[:2]}, 10 * DAY, 5, Random(0)) == names[2:]
    )
    assert order(pool, known, 10 * DAY, 5, Random(0)) == [names[1], names[2], names[0]]
    assert order(pool, known, 10 * DAY, 1, Random(0)) == [names[1]]
    assert order(QuestionPool({}, {}), known, 10 * DAY, 5, Random(0)) == []


def test_new_ones_are_mixed() -> None:
    """A quarter are lines; every topic and every challenge has its turn; where one kind runs out, the other fills up."""
    kinds: Counter[str] = Counter()
    topics: Counter[str] = Counter()
    challenges: Counter[str] = Counter()
    places: Counter[int] = Counter()
    for seed in range(300):
        for place, name in enumerate(order(POOL, {}, 0.0, 10, Random(seed))):
            kind, who, *_ = name.split(":")
            kinds[kind] += 1
            if kind == "line":
                challenges[who] += 1
                places[place] += 1
            else:
                topics[POOL.questions[name].topic] += 1
    assert 0.2 < kinds["line"] / 3000 < 0.3
    assert len(places) == 10
    assert min(places.values()) > 40
    assert set(challenges) == {one.id for one in CHALLENGES}
    assert min(topics.values()) > 0.6 * max(topics.values())
    two = dict(list(POOL.questions.items())[:2])
    assert len(order(QuestionPool(two, POOL.lines), {}, 0.0, 10, Random(0))) == 10
    assert len(order(QuestionPool(POOL.questions, {}), {}, 0.0, 10, Random(0))) == 10
    assert order(POOL, {}, 0.0, 10, Random(7)) == order(POOL, {}, 0.0, 10, Random(7))


def test_topics() -> None:
    """A file of the bank with the lines of its challenges; a challenge with what follows it up and its own lines."""
    topic = about(NAMES, POOL, "Sharing")
    assert {one.topic for one in topic.questions.values()} == {"sharing"}
    assert {one.topic for one, _ in topic.lines.values()} == {"sharing"}
    challenge = about(NAMES, POOL, "gqa_kv_cache")
    assert all("gqa-kv-cache" in one.challenges for one in challenge.questions.values())
    assert {one.id for one, _ in challenge.lines.values()} == {"gqa-kv-cache"}
    assert challenge.questions
    with pytest.raises(DrillError, match="Did you mean sharing"):
        about(NAMES, POOL, "shareing")
    with pytest.raises(DrillError, match="There are: attention"):
        about(NAMES, POOL, "zzz")


@pytest.mark.parametrize("width", [50, 80])
def test_questions_fit_the_terminal(width: int) -> None:
    """Prose, options, code and numbered lines."""
    rng = Random(2)
    for name in [*POOL.questions, *rng.sample(list(POOL.lines), 40)]:
        shown = question(POOL.ask(name, rng), width)
        assert max(map(len, shown.split("\n"))) <= width, name


def test_numbered_lines_that_go_on() -> None:
    """What does not fit goes on below without a number, further in than it began."""
    assert list(
        code_lines(["if x:", "    y = first(a, b) + second(c, d)", ""], 32, ["9", "10", "11"])
    ) == [
        " 9  if x:",
        "10      y = first(a, b) +",
        "            second(c, d)",
        "11",
    ]


def test_summary() -> None:
    """Right of asked, by topic, and the next days on which something is due."""
    asked = [
        DrawnQuestion(f"question:{topic}", topic, "number", "", "", "")
        for topic in ("heads", "long", "long")
    ]
    coming = [
        ScheduledItem(str(day), (20_000 + day) * DAY + DAY / 2, 1.0, 1, Review("", "", 0.0, 3, ""))
        for day in (3, 1, 3, 2, 9)
    ]
    shown = summary([(asked[0], True), (asked[1], False), (asked[2], True)], coming).splitlines()
    days = [
        time.strftime("%Y-%m-%d", time.localtime((20_000 + day) * DAY + DAY / 2))
        for day in (1, 2, 3)
    ]
    assert shown == [
        "2 of 3 right.",
        "  heads  1 of 1",
        "  long   1 of 2",
        f"Due next: 1 on {days[0]}, 1 on {days[1]}, 2 on {days[2]}.",
    ]
    assert summary([(asked[0], False)], []) == "0 of 1 right."


def expected(topic: str, count: int, seed: int) -> list[DrawnQuestion]:
    """What the command asks with an empty journal."""
    pool, rng = about(NAMES, POOL, topic), Random(seed)
    return [pool.ask(item, rng) for item in order(pool, {}, 0.0, count, rng)]


def typed(asked: DrawnQuestion) -> str:
    """A right answer."""
    return (
        str(asked.lines[0])
        if asked.kind == "line"
        else asked.answer.partition(")")[0]
        if asked.kind == "choice"
        else asked.answer
    )


def quiz(*arguments: str, given: str, cwd: Path, **environment: str) -> str:
    """Run the quiz with these lines as its input; its output."""
    done = forked.run(
        ["quiz", *arguments],
        cwd,
        {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent), **environment},
        given,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def test_a_quiz_through_a_pipe(tmp_path: Path, home: Path) -> None:
    """All right but one: the answers and explanations are shown, every answer is kept with what was given, and the score is right."""
    asked = expected("gqa", 6, 3)
    assert {one.kind for one in asked} == {"number", "choice", "line"}
    given = ["what?", *(typed(one) for one in asked[:-1]), "?"]
    shown = quiz(
        "--topic",
        "gqa",
        "--count",
        "6",
        "--seed",
        "3",
        given="\n".join(given) + "\n",
        cwd=tmp_path,
        COLUMNS="200",
    )
    assert shown.count("Right.") == 5
    assert shown.count("Wrong.") == 1
    assert "5 of 6 right." in shown
    assert "Due next: " in shown
    flat = " ".join(shown.split())
    for one in asked:
        assert " ".join(one.explanation.split()) in flat
        assert f"Answer: {one.answer}" in flat
    reviews = Journal(home).reviews()
    assert [(one.item, one.rating) for one in reviews] == [(one.item, 3) for one in asked[:-1]] + [
        (asked[-1].item, 1)
    ]
    assert [one.reason for one in reviews] == given[1:]


def test_what_was_answered_does_not_come_again_today(tmp_path: Path, home: Path) -> None:
    """And what is long due comes first, whatever the seed."""
    due = next(name for name in POOL.lines if name.startswith("line:mla:"))
    Journal(home).record_review(due, 1000.0, 3, "")
    first = quiz("--count", "3", "--seed", "1", given="?\n?\n?\n", cwd=tmp_path)
    assert "1 of 3" in first
    before = [one.item for one in Journal(home).reviews()]
    assert before[1] == due
    quiz("--count", "3", "--seed", "1", given="?\n?\n?\n", cwd=tmp_path)
    again = [one.item for one in Journal(home).reviews()][4:]
    assert len(again) == 3
    assert not set(again) & set(before)


@pytest.mark.parametrize(
    ("given", "score"),
    [
        ("?\n", "0 of 1 right."),
        ("", "Nothing was answered."),
        ("?\n?\nq\n", "0 of 2 right."),
        ("?\nnonsense", "0 of 1 right."),
    ],
)
def test_the_end_of_the_input_ends_it(given: str, score: str, tmp_path: Path) -> None:
    """With the summary; a last line without an end counts as one."""
    assert score in quiz("--seed", "2", given=given, cwd=tmp_path)


def test_interrupted(tmp_path: Path, home: Path) -> None:
    """Exit code 130, and what was answered is kept."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(pack_reader.TRAINER.parent),
        "PYTHONUNBUFFERED": "1",
    }
    command = [sys.executable, "-m", "trainer", "quiz", "--seed", "2"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(b"?\n")
        running.stdin.flush()
        for line in running.stdout:
            if line.startswith(b"2 of 10"):
                break
        running.send_signal(signal.SIGINT)
        rest, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert b"0 of 1 right." in rest
    assert len(Journal(home).reviews()) == 1


def test_on_a_terminal(tmp_path: Path) -> None:
    """What is typed is answered; colour adds to the words; the end of input ends it."""
    mine, its = os.openpty()
    command = [sys.executable, "-m", "trainer", "quiz", "--seed", "2", "--count", "2"]
    environment = {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent), "TERM": "xterm"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=its, stdout=its, stderr=its
    ) as running:
        os.close(its)
        shown = b""
        with os.fdopen(mine, "r+b", buffering=0) as screen:
            # The end of the input is a key, which counts only once the terminal is in the state in which it is read.
            for awaited, key in ((PROMPT, b"?\n"), (PROMPT, b"\x04"), (rb" of 1 right\.", b"")):
                seen = b""
                while not re.search(awaited, seen) and (part := screen.read(4096)):
                    seen += part
                screen.write(key)
                shown += seen
            assert running.wait(timeout=60) == 0
    assert b"\x1b[33mWrong." in shown
    assert b"2 of 2" in shown


def test_list(tmp_path: Path) -> None:
    """Every topic and challenge with its counts, at any width."""
    for columns in (50, 80):
        shown = drill("quiz", "--list", cwd=tmp_path, COLUMNS=str(columns)).stdout
        assert max(map(len, shown.splitlines())) <= columns
        for name, some in (
            ("sharing", about(NAMES, POOL, "sharing")),
            ("gqa", about(NAMES, POOL, "gqa")),
        ):
            assert re.search(rf"(?m)^{name} +{len(some.questions)} +{len(some.lines)}( |$)", shown)


def test_another_encoding(tmp_path: Path) -> None:
    """What the terminal's encoding lacks is no reason to stop."""
    shown = quiz(
        "--count", "60", "--seed", "1", given="?\n" * 60, cwd=tmp_path, PYTHONIOENCODING="ascii"
    )
    assert "0 of 60 right." in shown


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["--topic", "shareing"], "Did you mean sharing", id="topic"),
        pytest.param(["--count", "0"], "--count is 0", id="none"),
        pytest.param(["--count", "1001"], "--count is 1001", id="too many"),
    ],
)
def test_bad_input(arguments: list[str], says: str, tmp_path: Path) -> None:
    """One sentence and exit code 2."""
    refused = drill("quiz", *arguments, cwd=tmp_path, code=2)
    assert says in refused.stderr
    assert refused.stdout == ""
