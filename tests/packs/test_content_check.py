"""Misplaced files and wrong texts of a pack are named with the next step."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from attn_drill.model.challenge import Challenge
from attn_drill.packs import pack_reader
from attn_drill.packs.content_check import (
    items,
    misplaced_files,
    sample_items,
    stub_problems,
    text_problems,
)
from tests.support.packs import GUIDED, STANDARD
from tests.support.paths import TINY_PACK

BUILT_IN = pack_reader.built_in_pack()
CHALLENGES = pack_reader.read_pack(BUILT_IN)
CHALLENGE, SOLUTION = "challenges/attention_pooling", "solutions/attention_pooling"
Change = Callable[[Path], object]


def write(name: str, text: str = "") -> Change:
    """Return a function that writes a file of a pack."""

    def change(pack: Path) -> None:
        (pack / name).parent.mkdir(exist_ok=True)
        (pack / name).write_text(text)

    return change


def edit(name: str, pattern: str, new: str) -> Change:
    """Return a function that replaces the first match of a pattern in a file of a pack."""

    def change(pack: Path) -> None:
        text, count = re.subn(pattern, new, (pack / name).read_text(), count=1, flags=re.DOTALL)
        assert count == 1
        (pack / name).write_text(text)

    return change


def remove(name: str) -> Change:
    """Return a function that removes a file of a pack."""
    return lambda pack: (pack / name).unlink()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (write("challenges/notes.txt"), "challenges/notes.txt is not used"),
        (write("solutions/notes.txt"), "solutions/notes.txt is not used"),
        (write(f"{CHALLENGE}/solution.py"), "attention_pooling/solution.py is not used"),
        (write(f"{CHALLENGE}/prompt.chinese.md"), "prompt.chinese.md is not used"),
        (write(f"{SOLUTION}/also_right/notes.md"), "also_right/notes.md is not used"),
        (write("challenges/_questions/own.tml"), "own.tml is not used. Correct its name"),
        (write("solutions/old/solution.py"), "because challenges/old is missing"),
    ],
)
def test_misplaced_file_is_reported(pack: Path, change: Change, says: str) -> None:
    """Files of editors and Python, and hidden drafts, are ignored."""
    for name in ("challenges/.DS_Store", f"{SOLUTION}/__pycache__", "challenges/_draft"):
        (pack / name).mkdir()
    assert misplaced_files(pack) == []
    change(pack)
    problems = misplaced_files(pack)
    assert says in problems[0]
    assert len(problems) <= 2


def test_packs_of_this_repository_follow_the_rules(new_pack: Path) -> None:
    """Nothing is misplaced, and the texts of a new pack have no problem."""
    assert misplaced_files(BUILT_IN) == []
    assert misplaced_files(TINY_PACK) == []
    (challenge,) = pack_reader.read_pack(new_pack)
    assert text_problems(challenge, [new_pack, BUILT_IN]) == []


@pytest.mark.sampled(12)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda challenge: challenge.id)
def test_texts_of_the_built_in_pack_have_no_problem(challenge: Challenge) -> None:
    """`pack check` says the same."""
    assert text_problems(challenge, [BUILT_IN]) == []


TOML, PROMPT, CHINESE = f"{CHALLENGE}/challenge.toml", f"{CHALLENGE}/prompt.md", "prompt.zh.md"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (edit(TOML, "minutes", 'builds_on = ["gqb"]\nminutes'), "line 4: `builds_on` names 'gqb'"),
        (edit(TOML, '"attention"', '"atention"'), "line 3: `topic` is 'atention', .*\"attention\""),
        (edit(TOML, "minutes", 'rules = ["x"]\nminutes'), "line 4: `rules` names x, but the rules"),
        (remove(PROMPT), "prompt.md is missing. Add it"),
        (edit(PROMPT, "1. What.*", ""), "have follow-up questions as its last numbered list"),
        (edit(f"{CHALLENGE}/{CHINESE}", "3.0", "4.0"), "its examples differ from"),
        (edit(f"{CHALLENGE}/{CHINESE}", r"\n3\. [^\n]*", ""), "2 questions, but prompt.md has 3"),
        (edit(f"{CHALLENGE}/stub.py", ' +""".*?"""\n', ""), "no docstring gives the shapes"),
        (edit(f"{CHALLENGE}/stub.py", r" -> \[B, L\]\n", "\n"), "does not name its .*'1. Sc"),
        (edit(f"{SOLUTION}/solution.py", '^""".*?"""', ""), "solution.py has no docstring"),
        (remove(f"{SOLUTION}/solution.py"), "solution.py is missing. Add it"),
        (edit(f"{SOLUTION}/also_right/mapped.py", "\n\n", "\n"), "no docstring of two paragraphs"),
        (remove(f"{SOLUTION}/also_right/mapped.py"), "also_right has 3 files. Write at least 4"),
        (remove(f"{SOLUTION}/follow_up.toml"), "follow_up.toml is missing. Add it"),
        (edit(f"{SOLUTION}/mistakes.toml", r"((.*?hint){11}[^\n]*).*", r"\1"), "has 11 mistakes"),
        (
            edit(f"{SOLUTION}/mistakes.toml", r'hint = "[^"]*"', 'hint = ""'),
            r"line 9: `hint` is \"\". Write text in quotes of length",
        ),
        (
            edit(f"{SOLUTION}/mistakes.toml", r'was = "math.sqrt\(dim\)"', 'was = "scores"'),
            r"mistakes.toml, line 11: `was` of mistake 'scale-without-root' is found 6 times",
        ),
        (
            edit(f"{SOLUTION}/mistakes.toml", 'now = "dim"', 'now = "(dim"'),
            r"line 11: the solution with mistake 'scale-without-root' does not compile",
        ),
    ],
)
def test_broken_rule_is_one_sentence(pack: Path, change: Change, says: str) -> None:
    """It names the file, and the line in a TOML file."""
    change(pack)
    (challenge,) = pack_reader.read_pack(pack)
    (problem,) = text_problems(challenge, [pack, BUILT_IN])
    assert re.search(says, problem), problem
    assert problem.startswith(str(pack))


def test_examples_of_a_translation_may_have_other_comments(pack: Path) -> None:
    """The code of the examples is equal."""
    edit(f"{CHALLENGE}/{CHINESE}", r"(>>> query = [^\n]*)", r"\1  # 查询")(pack)
    (challenge,) = pack_reader.read_pack(pack)
    assert text_problems(challenge, [pack, BUILT_IN]) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GUIDED, ""),
        (STANDARD, "f in line 12 has fewer than 2 steps"),
        (GUIDED.replace("1. First. -> [B]", "1. First."), "does not name its result"),
        (GUIDED + '\n\nclass B:\n    """Nothing else."""\n', "below every docstring"),
    ],
)
def test_stub_without_levels_is_reported(text: str, says: str) -> None:
    """Functions need steps, steps need shapes, and every level is Python."""
    problems = list(stub_problems(text))
    assert [says in problem for problem in problems] == ([True] if says else []), problems


GQA, NORM = (pack_reader.find_challenge(BUILT_IN, name) for name in ("gqa", "rmsnorm"))


ALL_KINDS = ("content", "stub", "reference")  # kinds of which a sample has all items


def test_samples_cover_all_items() -> None:
    """Samples from consecutive starts share no mistake, and each has all items of other kinds."""
    all_items = {GQA: items(GQA), NORM: items(NORM)}
    samples = [sample_items(all_items, 5, first) for first in range(32, 37)]
    for challenge, some in all_items.items():
        counts = Counter(item for sample in samples for item in sample[challenge])
        assert counts == {item: 5 if item[0] in ALL_KINDS else 1 for item in some}
    sizes = [sum(map(len, sample.values())) for sample in samples]
    assert max(sizes) - min(sizes) <= 1
    assert sample_items(all_items, 1, 5) == all_items
