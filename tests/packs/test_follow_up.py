"""Follow-up questions of a prompt, their model answers, and the numbers in these answers."""

import contextlib
from pathlib import Path

import pytest

from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from attn_drill.packs.question_bank import (
    answers_path,
    figure_problem,
    follow_up_problems,
    follow_ups,
    questions_of,
    read_follow_ups,
    without_questions,
)

PROMPT = """# A sum

1. No question: the first list.
2. No question either.

## Follow-ups

1. Why is
   it slow?
2. What does `cumsum` cost?
"""
ANSWERS = """
[[answer]]
en = "It reads x twice."
zh = "它读两遍。"

[[answer]]
en = "It adds 64 MiB, which is 12.5 % of 512 MiB."
figures = { "64 MiB" = "2 * 2**25", "12.5 %" = "64 / 512" }
"""


@pytest.fixture
def sums(tiny_pack: Path) -> Challenge:
    """Return a challenge with two follow-up questions and their answers."""
    challenge = pack_reader.find_challenge(tiny_pack, "prefix-sum")
    for prompt in challenge.folder.glob("prompt*.md"):
        prompt.write_text(PROMPT)
    (challenge.folder / "prompt.zh.md").write_text(PROMPT.replace("Why is", "为什么"))
    answers_path(challenge).write_text(ANSWERS)
    return challenge


def test_questions_are_the_last_numbered_list_of_the_prompt() -> None:
    """A question may have several lines."""
    assert questions_of(PROMPT) == ("Why is it slow?", "What does `cumsum` cost?")
    assert questions_of("# A sum\n\nNo list.\n") == ()


def test_follow_up_has_question_answer_and_item(sums: Challenge) -> None:
    """The item is its name in reviews. Answers have the order of the questions."""
    first, second = follow_ups(sums)
    assert (first.item, first.answer) == ("follow-up:prefix-sum:1", "It reads x twice.")
    assert first.question == "Why is it slow?"
    assert second.answer == "It adds 64 MiB, which is 12.5 % of 512 MiB."


def test_answer_that_is_not_translated_is_english(sums: Challenge) -> None:
    """The question is in the language of the learner."""
    first, second = follow_ups(sums, "zh")
    assert (first.question, first.answer) == ("为什么 it slow?", "它读两遍。")
    assert second.answer.startswith("It adds")


def test_questions_without_a_file_have_no_answers(sums: Challenge) -> None:
    """Such questions are not asked."""
    answers_path(sums).unlink()
    assert [entry.answer for entry in follow_ups(sums)] == ["", ""]
    assert read_follow_ups((sums,), "en") == ([], [])


def test_broken_file_leaves_out_its_challenge_with_a_sentence(sums: Challenge) -> None:
    """The other challenges are still asked about."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    answers_path(sums).write_text("[[answer]]\nenglish = 'x'\n")
    found, troubles = read_follow_ups((sums, gqa), "en")
    assert {entry.challenge for entry in found} == {"gqa"}
    (trouble,) = troubles
    assert trouble.startswith("The answers of prefix-sum are left out: ")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("64 MiB, which", "65 MiB, which", "'64 MiB', which the answer does not show. Remove it."),
        ('"2 * 2**25"', '"2 * 2**24"', "64 MiB is shown, but 2 * 2**24 is 32 in the same unit"),
        ('"2 * 2**25"', '"the memory"', "'the memory': "),
        (', "12.5 %" = "64 / 512"', "", "12.5 has no formula in `figures` and no source"),
        ("It reads x twice.", "It takes 3 reads.", "line 2: 3 has no formula"),
        ("figures =", 'given = { "40 GB" = "a data sheet" }\nfigures =', "'40 GB', which the ans"),
        ('[[answer]]\nen = "It reads x twice."\nzh = "它读两遍。"\n', "", "has 1 answers, but"),
    ],
)
def test_problem_is_a_sentence(sums: Challenge, old: str, new: str, says: str) -> None:
    """It names the file. 0, 1, 2 and numbers of the question need no formula."""
    assert [*follow_up_problems(sums)] == []
    assert old in ANSWERS
    answers_path(sums).write_text(ANSWERS.replace(old, new))
    problems = [*follow_up_problems(sums)]
    assert any(says in problem for problem in problems), problems
    assert all(problem.startswith(str(answers_path(sums))) for problem in problems)


@pytest.mark.parametrize("text", ["", '[[answer]]\nen = ""\n', "answer = 1"])
def test_file_without_answers_is_refused(sums: Challenge, text: str) -> None:
    """Every question needs an answer."""
    answers_path(sums).write_text(text)
    with pytest.raises(PackError, match="answer") if text else contextlib.nullcontext():
        assert "has 0 answers, but prompt.md has 2 questions" in "".join(follow_up_problems(sums))


@pytest.mark.parametrize(
    ("shown", "formula", "is_right"),
    [
        ("64 MiB", "2**26", True),
        ("64MiB", "2**26", True),
        ("64 MiB", "2**26 + 2**18", True),
        ("64 MiB", "2**26 + 2**20", False),
        ("1,024", "2**10", True),
        ("12.5 %", "1 / 8", True),
        ("12 %", "1 / 8", True),
        ("12 %", "0.131", False),
        ("3.35 TB", "3.35e12", True),
        ("1e-3", "0.0014", True),
        ("1e-3", "0.0016", False),
        ("a lot", "1", False),
        ("64 miles", "1", False),
        ("64", "x + 1", False),
    ],
)
def test_figure_is_the_rounded_value_of_its_formula(
    shown: str, formula: str, is_right: bool
) -> None:
    """The last digit that is shown may be rounded. A formula has no names."""
    assert (figure_problem(shown, formula) == "") is is_right


TASK = "# Task\n\nWrite it in steps:\n\n1. The first.\n2. The second.\n\n- A rule.\n\n"


@pytest.mark.parametrize(
    ("questions", "rest"),
    [
        ("An interviewer may ask next:\n\n1. Why?\n2. How, if\n   so?\n", ""),
        ("面试官可能接着问：\n\n1. 为什么？\n2. 怎么做？\n", ""),
        ("1. Why?\n", ""),
        ("## Follow-ups\n\nNext:\n\n1. Why?\n", ""),
        ("Next:\n\n1. Why?\n\n2. How?\n\n", "A note.\n"),
    ],
)
def test_task_without_its_questions(questions: str, rest: str) -> None:
    """The last list and the line before it are left out, and everything else is kept."""
    assert without_questions(TASK + questions + rest).split() == (TASK + rest).split()
    assert without_questions("A task.\n\n- A rule.\n") == "A task.\n\n- A rule.\n"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_built_in_task_keeps_a_question(language: str) -> None:
    """The line that announces the questions is left out too."""
    for challenge in pack_reader.read_pack(pack_reader.built_in_pack()):
        prompt = pack_reader.prompt(challenge, language)
        task = without_questions(prompt)
        shown = " ".join(task.split())
        assert not [question for question in questions_of(prompt) if question in shown]
        assert not task.rstrip().endswith((":", "\uff1a"))
