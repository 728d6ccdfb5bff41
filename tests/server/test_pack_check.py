"""Tests of the checks of a pack's content that need the grader."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from attn_drill.packs.content_check import CASES, TEXTS, Item, Row, items
from attn_drill.server._pack_check import PackChecker, in_words_of
from tests.support.grading import diagnoser_of
from tests.support.rows import each_row

CHALLENGE, SOLUTION = "challenges/attention_pooling", "solutions/attention_pooling"


def rows_of(pack: Path, grader: Grader, wanted: Sequence[Item] | None = None) -> list[Row]:
    """Check items of a new pack; by default those of its texts, cases, stub and reference."""
    challenge = pack_reader.find_challenge(pack, "attention-pooling")
    packs = [pack, pack_reader.built_in_pack()]
    few = [item for item in items(challenge) if item[0] in ("content", "stub", "reference")]
    return list(
        PackChecker(grader, diagnoser_of(grader), packs).rows(challenge, [1], wanted or few)
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("file", "pattern", "new", "says"),
    [
        (f"{CHALLENGE}/cases.py", '"out": "B D"', '"out": "B Q"', "cases.py: .*Q has no size"),
        (f"{CHALLENGE}/cases.py", r"shaped\(1024\)", "shaped(7)", "line 16: .*call of realistic()"),
        (
            f"{CHALLENGE}/cases.py",
            "yield from suites.dtypes",
            "suites.dtypes",
            "no case of dtype bfloat16",
        ),
        (
            f"{CHALLENGE}/cases.py",
            "one token a seq[a-z]*",
            "no mask",
            "several cases named no mask",
        ),
        (
            f"{CHALLENGE}/challenge.toml",
            "minutes",
            'forbids = ["torch.softmaxx"]\nminutes',
            "challenge.toml, line 4: `forbids` names .*no operation of this name",
        ),
        (
            f"{CHALLENGE}/challenge.toml",
            "minutes",
            'forbids = ["torch.softmax"]\nminutes',
            "solution.py: the answer does not pass .*Remove the operation from `forbids`",
        ),
        (
            f"{CHALLENGE}/challenge.toml",
            "minutes",
            'ties = [["query", "key"]]\nminutes',
            "line 4: `ties` names 'query', but .* Remove `ties`",
        ),
        (
            f"{CHALLENGE}/prompt.md",
            r"0\.7300",
            "0.7400",
            r"line 26: the example .* gives .*0\.7300",
        ),
        (f"{CHALLENGE}/prompt.md", r"\.round\(", ".rond(", "line 26: the example .*AttributeError"),
        (
            f"{CHALLENGE}/stub.py",
            "raise NotImplementedError",
            "return __import__('torch').softmax((x @ query / x.shape[-1] ** 0.5).masked_fill("
            "~mask if mask is not None else query.new_zeros(()).bool(), float('-inf')), -1)"
            "[:, None].matmul(x)[:, 0]",
            "stub.py: the stub passes with seed 1. Leave its work",
        ),
    ],
)
def test_broken_rule_is_one_sentence(
    pack: Path, grader: Grader, file: str, pattern: str, new: str, says: str
) -> None:
    """It names the file and the next step."""
    for path in {pack / file, pack / file.replace("prompt.md", "prompt.zh.md")}:
        text, count = re.subn(pattern, new, path.read_text(), count=1)
        assert count == 1
        path.write_text(text)
    (problem,) = [problem for row in rows_of(pack, grader) for problem in row.problems]
    assert re.search(says, problem), problem
    assert problem.startswith(str(pack))


MISTAKES = f"{SOLUTION}/mistakes.toml"
TWIN = """
[[mistake]]
id = "twin"
was = "math.sqrt(dim)"
now = "(dim)"
says = "It is divided by D."
hint = "By what?"
"""


@pytest.mark.thorough
@pytest.mark.sampled(2)
@each_row(
    "file, old, new, item, says",
    {
        "a mistake that is right": (
            MISTAKES,
            'now = "dim"',
            'now = "math.sqrt(dim) * 1"',
            ("mistake", "scale-without-root"),
            "line 11: no case refuses mistake 'scale-without-root' with seed 1. Add a case to",
        ),
        "an answer that is wrong": (
            f"{SOLUTION}/also_right/mapped.py",
            "** 0.5",
            "** 0.6",
            ("also right", "mapped.py"),
            "mapped.py: the answer does not pass with seed 1: failed: values, case 'no mask'",
        ),
        "a twin": (
            MISTAKES,
            "# Each mistake",
            TWIN.replace("twin", "older") + "# Each mistake",
            ("mistake", "older"),
            "mistake 'scale-without-root' gives the same results as 'older' in every case",
        ),
        "a declared twin": (
            MISTAKES,
            'now = "dim"',
            'now = "dim"\ntwins = ["older"]',
            ("mistake", "scale-without-root"),
            "",
        ),
        "another mistake that does not fit": (
            MISTAKES,
            'was = "math.sqrt(dim)"',
            'was = "scores"',
            ("mistake", "no-scale"),
            "",
        ),
    },
)
def test_wrong_mistake_is_named_with_its_line(
    pack: Path, grader: Grader, file: str, old: str, new: str, item: Item, says: str
) -> None:
    """A declared twin is right, and the fault of another mistake is not repeated."""
    path = pack / file
    text = path.read_text()
    assert old in text
    text = text.replace(old, new, 1)
    path.write_text(TWIN.replace("twin", "older") + text if "twins" in new else text)
    (row,) = rows_of(pack, grader, [item])
    assert row.ok == (not says), row.problems
    assert says in "".join(row.problems)


def test_exception_in_the_check_is_a_sentence(pack: Path) -> None:
    """A line of the pack is named; otherwise the challenge and the place in the check."""
    challenge = pack_reader.find_challenge(pack, "attention-pooling")
    path = challenge.folder / "cases.py"
    for file, place in ((str(path), f"{path}, line 2"), ("elsewhere.py", str(challenge.folder))):
        with pytest.raises(ZeroDivisionError) as caught:
            exec(compile("\n1 / 0", file, "exec"), {})
        sentence = in_words_of(caught.value, challenge)
        assert "ZeroDivisionError" in sentence
        assert place in sentence


def test_texts_are_checked_although_the_cases_cannot_be_used(pack: Path, grader: Grader) -> None:
    """Both faults are found in one run, each once."""
    (pack / CHALLENGE / "prompt.md").unlink()
    (pack / CHALLENGE / "cases.py").write_text("def cases(draw): ...\n")
    rows = rows_of(pack, grader, [TEXTS, CASES, ("reference", "solution.py")])
    assert [(row.name, len(row.problems)) for row in rows] == [("texts", 1), ("cases", 1)]
