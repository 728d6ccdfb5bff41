"""Tests of the checks of a pack's content."""

import shutil
from pathlib import Path

import pytest

from tests.support.diagnosis import SEED
from tests.support.grading import diagnoser_of
from tests.support.levels import GUIDED, STANDARD
from tests.support.pack_check import checked
from tests.support.paths import TINY_PACK
from trainer.diagnosis.diagnose import Diagnoser
from trainer.grading.grader import Grader
from trainer.packs import pack_reader
from trainer.packs.pack_items import FOLLOW_UPS, items, pairs
from trainer.packs.scaffold import NewPack, scaffold
from trainer.quiz.bank_check import bank_troubles
from trainer.server.pack_check import PackChecker, _without_levels, in_words_of

CONTENT = "prompt, hints, cases"  # the row of the texts and files of a challenge


@pytest.mark.thorough
def test_undeclared_twin_is_refused(tmp_path: Path) -> None:
    """Two mistakes with the same effect must be declared as twins."""
    for folder in ("challenges", "solutions"):
        shutil.copytree(pack_reader.built_in_pack() / folder / "sdpa", tmp_path / folder / "sdpa")
    path = tmp_path / "solutions" / "sdpa" / "mistakes.toml"
    before = path.read_text()
    first = before.split("[[mistake]]")[1]
    name = first.split('"')[1]
    for declared in (False, True):
        twin = first.rstrip().replace(f'id = "{name}"', 'id = "twin"') + (
            f'\ntwins = ["{name}"]\n' if declared else "\n"
        )
        path.write_text(before + "\n[[mistake]]" + twin)
        (challenge,) = pack_reader.read_pack(tmp_path)
        with Grader([tmp_path]) as fresh:
            (row,) = PackChecker(fresh, Diagnoser(fresh.workers)).rows(
                challenge, [SEED], [("mistake", "twin")]
            )
        assert row.ok == declared, row.message
        assert declared or "undeclared" in row.message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (STANDARD, "f has fewer than 2 steps"),
        (GUIDED.replace("1. First. -> [B]", "1. First."), "does not name its result"),
        (
            GUIDED.replace(
                "        raise NotImplementedError\n",
                "        '''not a docstring'''\n        raise NotImplementedError\n",
            ).replace('"""Doc of f."""', "pass"),
            "",
        ),
    ],
)
def test_stub_without_levels_is_reported(text: str, says: str) -> None:
    """Functions need steps, and steps need shapes. A string inside a function is ordinary code."""
    assert [says in sentence for sentence in _without_levels(text)] == ([True] if says else [])


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """Copy the tiny pack, so that a test can break it."""
    return Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))


@pytest.mark.thorough
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("file", "old", "new", "row", "says"),
    [
        pytest.param(
            "solutions/prefix_sum/mistakes.toml",
            "dim=0)",
            "dim=1)",
            "wrong-axis",
            "passes with seed 1",
            id="a mistake that is right",
        ),
        pytest.param(
            "challenges/prefix_sum/stub.py",
            "raise NotImplementedError",
            "return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)",
            "stub.py",
            "passes",
            id="a stub that passes",
        ),
        pytest.param(
            "solutions/prefix_sum/mistakes.toml",
            'return torch.cumsum(x, dim=-1)"\nnow = "return torch',
            'torch"\nnow = "torch',
            "matrix",
            "found 3 times",
            id="a mistake that fits in three places",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            'dtype="bfloat16"',
            'dtype="float64"',
            CONTENT,
            "has no case of dtype bfloat16",
            id="a dtype without a case",
        ),
        pytest.param(
            "challenges/prefix_sum/cases.py",
            '"backwards"',
            '"forwards"',
            CONTENT,
            "several cases named forwards",
            id="two cases with the same name",
        ),
        pytest.param(
            "challenges/prefix_sum/challenge.toml",
            "minutes = 5",
            'minutes = 5\nbuilds_on = ["sums"]',
            CONTENT,
            "builds on sums, which",
            id="an unknown prerequisite",
        ),
        pytest.param(
            "challenges/prefix_sum/prompt.md", "Write", "", CONTENT, "", id="an empty prompt"
        ),
    ],
)
def test_fault_of_a_pack_is_reported(
    pack: Path, file: str, old: str, new: str, row: str, says: str
) -> None:
    """The row of the item is not ok, and its message names the fault."""
    path = pack / file
    text = path.read_text()
    assert old in text
    path.write_text("" if file.endswith(".md") else text.replace(old, new, 1))
    found = next(
        checked_row
        for checked_row in checked(pack, 1)
        if checked_row.challenge == "prefix-sum" and checked_row.name == row and not checked_row.ok
    )
    assert says in found.message


@pytest.mark.thorough
def test_right_answer_that_fails_is_reported(pack: Path) -> None:
    """The row of another right answer that fails names the seed, the check and the case."""
    folder = pack / "solutions" / "prefix_sum" / "also_right"
    folder.mkdir(exist_ok=True)
    (folder / "forwards_only.py").write_text(
        "def prefix_sum(x, reverse=False):\n    return x.cumsum(-1)\n"
    )
    found = next(row for row in checked(pack, 1) if row.kind == "also right")
    assert not found.ok
    assert found.message.startswith("seed 1: failed: values, case 'backwards'")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> NewPack:
    """Make a new pack. No test changes it."""
    return scaffold("my-pack", tmp_path_factory.mktemp("made"))


@pytest.fixture
def pack_of_scaffold(made: NewPack, tmp_path: Path) -> Path:
    """Copy the new pack, so that a test can change it."""
    return Path(shutil.copytree(made.folder, tmp_path / "my-pack"))


@pytest.mark.thorough
@pytest.mark.parametrize("knows_other", [False, True], ids=["alone", "with the built-in pack"])
def test_pack_may_build_on_a_known_pack(
    pack_of_scaffold: Path, grader: Grader, knows_other: bool
) -> None:
    """A challenge, a topic and a question may refer to the built-in pack if it is known."""
    others = [pack_reader.built_in_pack()] if knows_other else []
    file = pack_of_scaffold / "challenges/attention_pooling/challenge.toml"
    file.write_text(file.read_text() + 'builds_on = ["gqa"]\n')
    (pack_of_scaffold / "challenges/_questions").mkdir()
    (pack_of_scaffold / "challenges/_questions/own.toml").write_text(
        'title = "Own"\n[[question]]\nid = "q"\nkind = "number"\nasks = "2?"\n'
        'explains = "{answer}"\nanswer = "2"\nchallenges = ["gqa"]\n'
    )
    challenge = pack_reader.find_challenge(pack_of_scaffold, "attention-pooling")
    checker = PackChecker(grader, diagnoser_of(grader), others)
    (row,) = checker.rows(challenge, [1], [("content", "prompt, hints, cases")])
    assert row.ok == knows_other
    assert ("builds on gqa, which no pack has" in row.message) == (not knows_other)
    troubles = bank_troubles(pack_of_scaffold, others)
    assert len(troubles) == (0 if knows_other else 2)
    assert knows_other or (
        "no file of the question bank is called attention.toml" in troubles[0]
        and "follows up 'gqa'" in troubles[1]
    )


CHALLENGE = "challenges/attention_pooling"
SOLUTIONS = "solutions/attention_pooling"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("file", "old", "new", "row", "says"),
    [
        (f"{CHALLENGE}/cases.py", '"out": "B D"', '"out": "B Q"', "readable", "Q has no size"),
        (f"{CHALLENGE}/cases.py", "shaped(1024)", "shaped(7)", CONTENT, "call of realistic()"),
        (
            f"{CHALLENGE}/challenge.toml",
            "minutes = 10",
            'minutes = 10\nforbids = ["torch.softmaxx"]',
            CONTENT,
            "torch has no operation of this name",
        ),
        (
            f"{CHALLENGE}/challenge.toml",
            "minutes = 10",
            'minutes = 10\nforbids = ["torch.softmax"]',
            "solution.py",
            "Remove the operation from `forbids`",
        ),
        (
            f"{CHALLENGE}/challenge.toml",
            "minutes = 10",
            'minutes = 10\nties = [["query", "key"]]',
            CONTENT,
            "`ties` names 'key'",
        ),
        (
            f"{CHALLENGE}/prompt.zh.md",
            "`query`",
            "`question`",
            "prompt.zh.md",
            "the first column of its tables",
        ),
        (
            f"{SOLUTIONS}/follow_up.toml",
            "the softmax gives every",
            "the softmax gives all 17",
            FOLLOW_UPS,
            "the number 17 has no formula",
        ),
        (
            f"{SOLUTIONS}/solution.py",
            "return weighted.sum(dim=1)",
            "return weighted.sum(dim=1).float()",
            CONTENT,
            "whose dtype is float64. Return the dtype of the inputs",
        ),
        (
            f"{SOLUTIONS}/mistakes.toml",
            'hint = "What is the sum of the weights?"',
            'hint = ""',
            CONTENT,
            "`hint` of mistake 'divided-by-length' is empty",
        ),
        (
            f"{SOLUTIONS}/also_right/mapped.py",
            "import torch",
            "docstring = None\nimport torch",
            CONTENT,
            "of two paragraphs",
        ),
    ],
)
def test_mistake_of_an_author_is_named_with_its_file(
    pack_of_scaffold: Path, grader: Grader, file: str, old: str, new: str, row: str, says: str
) -> None:
    """The sentence names the file of the pack, in the row of the item."""
    path = pack_of_scaffold / file
    text = path.read_text()
    assert old in text
    text = text.replace(old, new, 1)
    if new.startswith("docstring"):
        text = text[text.index("docstring") :]
    path.write_text(text)
    challenge = pack_reader.find_challenge(pack_of_scaffold, "attention-pooling")
    wanted = [item for item in items(challenge) if item[0] in ("content", "reference")]
    rows = list(PackChecker(grader, diagnoser_of(grader)).rows(challenge, [1], wanted))
    (found,) = [checked_row for checked_row in rows if checked_row.name == row]
    assert not found.ok
    assert says in found.message
    assert str(pack_of_scaffold / Path(file).parts[0]) in found.message


def test_exception_in_the_check_is_a_sentence(pack_of_scaffold: Path) -> None:
    """A line of the pack is named; otherwise the challenge and the place in the check."""
    challenge = pack_reader.find_challenge(pack_of_scaffold, "attention-pooling")
    path = challenge.folder / "cases.py"
    for file, place in ((str(path), f"{path}, line 2"), ("elsewhere.py", str(challenge.folder))):
        with pytest.raises(ZeroDivisionError) as caught:
            exec(compile("\n1 / 0", file, "exec"), {})
        sentence = in_words_of(caught.value, challenge)
        assert "ZeroDivisionError" in sentence
        assert place in sentence


SUMS = """\
import torch


def prefix_sum(x, reverse=False):
    x = x.flip(-1) if reverse else x
    total = torch.cumsum(x, dim=-1)
    return total.flip(-1) if reverse else total
"""
TWO_UNDO_EACH_OTHER = """\
[[mistake]]
id = "doubled"
was = "torch.cumsum(x, dim=-1)"
now = "2 * torch.cumsum(x, dim=-1)"
says = "Twice the sum."
hint = "How large?"

[[mistake]]
id = "halved"
was = "return total.flip(-1) if reverse else total"
now = "return 0.5 * (total.flip(-1) if reverse else total)"
says = "Half the sum."
hint = "How small?"

[[mistake]]
id = "other-direction"
was = "x = x.flip(-1) if reverse else x"
now = "x = x if reverse else x.flip(-1)"
says = "Backwards."
hint = "In which order?"
"""


def test_pair_that_passes_is_reported(pack: Path) -> None:
    """Two wrong lines are refused, unless the second line undoes the first."""
    folder = pack / "solutions" / "prefix_sum"
    (folder / "solution.py").write_text(SUMS)
    (folder / "mistakes.toml").write_text(TWO_UNDO_EACH_OTHER)
    challenge = pack_reader.find_challenge(pack, "prefix-sum")
    with Grader([pack]) as fresh:
        checker = PackChecker(fresh, Diagnoser(fresh.workers))
        rows = {row.name: row for row in checker.rows(challenge, [SEED], pairs(challenge))}
    assert {name: row.ok for name, row in rows.items()} == {
        "doubled and halved": False,
        "doubled and other-direction": True,
        "halved and other-direction": True,
    }
    assert rows["doubled and halved"].message == f"passes with seed {SEED}"
    assert rows["doubled and other-direction"].refused_by == ("values",)
