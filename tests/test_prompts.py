"""Tests of the prompts: their examples run, their questions have answers, the numbers are right."""

import ast
from pathlib import Path

import pytest

from attn_drill.grading.case_set import load_case_set
from attn_drill.grading.content import wrong_examples
from attn_drill.model.challenge import Challenge
from attn_drill.packs import pack_reader
from attn_drill.packs.pack_reader import signatures
from attn_drill.packs.question_bank import follow_up_problems, follow_ups

CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())


@pytest.mark.sampled(10)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda challenge: challenge.id)
def test_reference_gives_the_results_of_the_example(challenge: Challenge) -> None:
    """The example of a prompt is a doctest. Translations have the same example."""
    names: dict[str, object] = {}
    exec(compile(pack_reader.solution(challenge), challenge.file_name, "exec"), names)
    assert wrong_examples(pack_reader.prompt(challenge), names) == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda challenge: challenge.id)
def test_usual_rules_of_a_task_are_graded(challenge: Challenge) -> None:
    """A task names a rule only if its cases or its interface need it."""
    cases = load_case_set(challenge, 3).cases
    arguments = {item.name for signature in signatures(challenge) for item in signature.parameters}
    is_graded = {
        "loops": any(case.probe == "vectorised" for case in cases),
        "dropout": any(case.dropout for case in cases),
        "dtypes": len({case.dtype for case in cases}) == 3,
        "mask": "mask" in arguments,
    }
    assert [rule for rule in challenge.rules if not is_graded.get(rule, True)] == []


@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda challenge: challenge.id)
def test_every_follow_up_question_has_an_answer_with_computed_numbers(challenge: Challenge) -> None:
    """Every number has a formula or a source, in both languages."""
    assert follow_ups(challenge)
    assert all(follow_up.answer for follow_up in follow_ups(challenge, "zh"))
    assert list(follow_up_problems(challenge)) == []


@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda challenge: challenge.id)
def test_every_other_answer_says_what_it_does_and_what_it_costs(challenge: Challenge) -> None:
    """The docstring has one paragraph for each."""
    for path in sorted((challenge.solutions / "also_right").glob("*.py")):
        paragraphs = docstring(path).split("\n\n")
        assert len(paragraphs) == 2, f"{path.name}: one paragraph for each"
        assert all(paragraph.rstrip().endswith(".") for paragraph in paragraphs), path.name


def docstring(path: Path) -> str:
    """Return the docstring of a file without running it."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
