"""The command `quiz`: questions, follow-up questions, and the list of topics."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from attn_drill.exercises.questions import Choice, DrawnQuestion, FindLine, order_items
from attn_drill.packs.question_bank import follow_ups
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import rated_reviews
from tests.support import forked
from tests.support.cli import GQA, drill, record_pass
from tests.support.exercises import POOL
from tests.support.packs import make_pack
from tests.support.paths import SOURCE
from tests.support.rows import each_row

PROMPT = rb"\n[^\n]*(?:line|bytes|percent|factor|FLOPs|number|a-[a-h]): $"


def expected(topic: str, count: int, seed: int) -> list[DrawnQuestion]:
    """Return the questions that the command asks with an empty journal."""
    pool, rng = POOL.about(topic), Random(seed)
    return [pool.ask(item, rng) for item in order_items(pool, {}, 0.0, count, rng)]


def typed(question: DrawnQuestion) -> str:
    """Return a right answer."""
    if isinstance(question, FindLine):
        return str(question.lines[0])
    return question.answer[0] if isinstance(question, Choice) else question.answer


def quiz(*arguments: str, given: str, cwd: Path, **environment: str) -> str:
    """Run the quiz with this input, and return its output."""
    variables = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}
    done = forked.run(["quiz", *arguments], cwd, variables, given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def test_quiz_shows_and_records_all_answers(tmp_path: Path, home: Path) -> None:
    """Explanations are shown, and the journal has the given answers."""
    questions = expected("gqa", 6, 4)
    assert len({type(question) for question in questions}) == 3
    given = ["what?", *(typed(question) for question in questions[:-1]), "?"]
    options = "--topic gqa --count 6 --seed 4".split()
    shown = quiz(*options, given="\n".join(given) + "\n", cwd=tmp_path, COLUMNS="200")
    assert shown.count("Right.") == 5
    assert shown.count("Noted as not known.") == 1
    assert "Wrong." not in shown
    assert "5 of 6 right." in shown
    assert "Due next: " in shown
    pool = POOL.about("gqa")
    sizes = [f"of {len(pool.questions)} questions", f"of {len(pool.lines)} lines"]
    known = [
        sum(not isinstance(question, FindLine) for question in questions[:-1]),
        sum(isinstance(question, FindLine) for question in questions[:-1]),
    ]
    assert f"0 {sizes[0]} and 0 {sizes[1]} known; nothing due." in shown
    assert f"{known[0]} {sizes[0]} and {known[1]} {sizes[1]} known; nothing due." in shown
    flat = " ".join(shown.split())
    for question in questions:
        assert " ".join(question.explanation.split()) in flat
        assert f"Answer: {question.answer}" in flat
    reviews = rated_reviews(Journal(home).facts())
    assert [(review.item, review.rating) for review in reviews] == [
        (question.item, 3) for question in questions[:-1]
    ] + [(questions[-1].item, 1)]
    assert [review.reason for review in reviews] == given[1:]


@pytest.mark.thorough
def test_interrupt_keeps_the_answers(tmp_path: Path, home: Path) -> None:
    """The exit code is 130."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "attn_drill", "quiz", "--seed", "2"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
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
    assert len(rated_reviews(Journal(home).facts())) == 1


@pytest.mark.thorough
def test_quiz_on_a_terminal(tmp_path: Path) -> None:
    """Answers and code are in colour, and Ctrl-D ends the quiz."""
    controller, terminal = os.openpty()
    seed = next(seed for seed in range(99) if isinstance(expected("gqa", 2, seed)[0], FindLine))
    assert not expected("gqa", 2, seed)[0].judge("1").right
    command = [sys.executable, "-m", "attn_drill", "quiz", "--seed", str(seed), "--count", "2"]
    command += ["--topic", "gqa"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TERM": "xterm"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=terminal, stdout=terminal, stderr=terminal
    ) as running:
        os.close(terminal)
        shown = b""
        with os.fdopen(controller, "r+b", buffering=0) as screen:
            # Ctrl-D ends the input only while the terminal waits for a line.
            for awaited, key in ((PROMPT, b"1\n"), (PROMPT, b"\x04"), (rb" of 1 right\.", b"")):
                seen = b""
                while not re.search(awaited, seen) and (part := screen.read(4096)):
                    seen += part
                screen.write(key)
                shown += seen
            assert running.wait(timeout=60) == 0
    assert b"\x1b[33mWrong." in shown
    assert re.search(rb"1  \x1b\[[\d;]*mclass", shown)
    assert b"2 of 2" in shown


@pytest.mark.thorough
def test_list_has_topics_and_challenges(tmp_path: Path) -> None:
    """Each has its counts, at every width."""
    for columns in (50, 80):
        shown = drill("quiz", "--list", cwd=tmp_path, COLUMNS=str(columns)).stdout
        assert max(map(len, shown.splitlines())) <= columns
        for name in ("sharing", "gqa"):
            pool = POOL.about(name)
            assert re.search(rf"(?m)^{name} +{len(pool.questions)} +{len(pool.lines)}( |$)", shown)
    listed = json.loads(drill("quiz", "--list", "--json", cwd=tmp_path).stdout)
    (gqa,) = (row for row in listed["challenge"] if row["name"] == "gqa")
    assert (gqa["questions"], gqa["title"]) == (len(POOL.about("gqa").questions), GQA.title)
    assert "add --list" in drill("quiz", "--json", cwd=tmp_path, code=2).stdout


@pytest.mark.thorough
def test_quiz_fits_a_narrow_terminal_and_works_in_ascii(tmp_path: Path) -> None:
    """This holds for the progress and the summary too. The end of the input ends the quiz.

    Only a word that does not fit is longer than the line: `wrapped` divides no word.
    """
    given = "x\n" + "?\n" * 60
    options = ("--count", "80", "--seed", "1")
    shown = quiz(*options, given=given, cwd=tmp_path, COLUMNS="40", PYTHONIOENCODING="ascii")
    assert "0 of 60 right." in shown
    assert all(len(line) <= 40 or len(line.split()) == 1 for line in shown.splitlines())


@pytest.mark.sampled(3)
@each_row(
    "arguments, says",
    {
        "topic": (["--topic", "shareing"], "Did you mean sharing"),
        "none": (["--count", "0"], "0 is not in the range 1<=x<=1000"),
        "too many": (["--count", "1001"], "1001 is not in the range"),
    },
)
def test_bad_input(arguments: list[str], says: str, tmp_path: Path) -> None:
    """Exit with 2 and print one sentence."""
    refused = drill("quiz", *arguments, cwd=tmp_path, code=2)
    assert says in refused.stderr
    assert refused.stdout == ""


def test_quiz_asks_the_follow_up_questions_of_a_passed_challenge(
    tmp_path: Path, home: Path
) -> None:
    """Chinese has no blanks, and still fits the terminal."""
    record_pass(home, "gqa", 1e9)
    count = len(follow_ups(GQA))
    shown = drill(
        *("quiz", "--follow-up", "gqa"),
        cwd=tmp_path,
        given="\n3\n" * count,
        COLUMNS="50",
        ATTN_DRILL_LANG="zh",
    ).stdout
    assert f"{count} of {count} rated." in shown
    chinese = [line for line in shown.splitlines() if not line.isascii()]
    assert len(chinese) > count
    assert max(len(line) + sum(ord(sign) > 0x2FFF for sign in line) for line in chinese) <= 50
    reviews = rated_reviews(Journal(home).facts(), "follow-up:gqa:")
    assert [review.item for review in reviews] == [entry.item for entry in follow_ups(GQA)]


def test_answers_are_hidden_until_the_pass_or_the_solution(tmp_path: Path, home: Path) -> None:
    """The message names the next step."""
    drill("start", "gqa", cwd=tmp_path)
    refused = drill("quiz", "--follow-up", "gqa", cwd=tmp_path, code=2)
    assert "The answers come after the pass: `attn-drill start gqa`." in refused.stderr
    assert refused.stdout == ""
    drill("solution", "gqa", "--give-up", cwd=tmp_path)
    assert "Think, then press Enter." in drill("quiz", "--follow-up", "gqa", cwd=tmp_path).stdout


def test_pack_without_answers_is_refused(tmp_path: Path, home: Path) -> None:
    """The message names other questions."""
    pack = make_pack(tmp_path / "pack", "few")
    record_pass(home, "few", 1e9)
    arguments = ("quiz", "--follow-up", "few", "--pack", str(pack))
    refused = drill(*arguments, cwd=tmp_path, code=2)
    assert "few has no follow-up questions with answers." in refused.stderr
