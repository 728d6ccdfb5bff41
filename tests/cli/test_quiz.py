"""The quiz: what is asked and when, what is right, and the command as a user meets it."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.support import forked
from tests.support.cli import drill
from tests.support.quiz import NAMES, POOL
from trainer.packs import pack_reader
from trainer.practice.journal import Journal
from trainer.quiz.drawn_questions import (
    DrawnQuestion,
)
from trainer.quiz.question_order import about, order

PROMPT = rb"\n[^\n]*(?:line|bytes|percent|factor|FLOPs|number|a-[a-h]): $"


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
