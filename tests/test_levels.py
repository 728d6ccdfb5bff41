"""The three levels of a stub come from one text and are the same code."""

import ast

import pytest

from trainer.packs import pack_reader
from trainer.packs.arithmetic import evaluate
from trainer.packs.stub_levels import LEVELS, at_level, steps
from trainer.server.pack_check import _without_levels

CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())
GUIDED = '''"""What it is."""

import torch  # stays, it is no line of its own


class A:
    """Doc.

    More.
    """

    def f(self, x="# no comment"):
        """Doc of f."""
        # 1. First. -> [B]
        # 2. Second, which
        #    goes on. -> [L]
        raise NotImplementedError
'''
STANDARD = GUIDED.replace(
    "        # 1. First. -> [B]\n        # 2. Second, which\n        #    goes on. -> [L]\n", ""
)
BLANK = """import torch  # stays, it is no line of its own


class A:
    def f(self, x="# no comment"):
        raise NotImplementedError
"""


def test_levels_of_a_text() -> None:
    """Steps go with `standard`, docstrings too with `blank`; strings and comments behind code stay."""
    assert [at_level(GUIDED, level) for level in LEVELS] == [GUIDED, STANDARD, BLANK]
    assert steps(GUIDED) == ["1. First. -> [B]", "2. Second, which goes on. -> [L]"]


@pytest.mark.parametrize("challenge", CHALLENGES, ids=[one.id for one in CHALLENGES])
def test_levels_of_every_challenge(challenge: pack_reader.Challenge) -> None:
    """Every level compiles and defines the entries; guided has shapes at its steps, blank neither a docstring nor a comment."""
    texts = {level: pack_reader.stub(challenge, level) for level in LEVELS}
    for text in texts.values():
        assert set(challenge.entry) <= {
            node.name
            for node in ast.parse(text).body
            if isinstance(node, ast.ClassDef | ast.FunctionDef)
        }
    assert len(texts["guided"]) > len(texts["standard"]) > len(texts["blank"])
    assert '"""' not in texts["blank"]
    assert "#" not in texts["blank"] + texts["standard"]
    assert list(_without_levels(texts["guided"])) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (STANDARD, "f has fewer than 2 steps"),
        (GUIDED.replace("1. First. -> [B]", "1. First."), "does not say what it makes"),
        (
            GUIDED.replace(
                "        raise NotImplementedError\n",
                "        '''not a docstring'''\n        raise NotImplementedError\n",
            ).replace('"""Doc of f."""', "pass"),
            "",
        ),
    ],
)
def test_what_a_stub_lacks(text: str, says: str) -> None:
    """A function without steps and a step without a shape are told; a string in the middle is code like any other."""
    assert [says in one for one in _without_levels(text)] == ([True] if says else [])


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("2 * a ** b // 3", 10),
        ("-a + sqrt(b * 4)", 0),
        ("bytes_of(kind) * ceil(a / 3)", 4),
        ("min(a, 3) % 2", 1),
        ("log2(8)", 3),
    ],
)
def test_formulas(formula: str, value: float) -> None:
    """Arithmetic over what is given."""
    assert (
        evaluate(
            formula, {"a": 4, "b": 2, "kind": "float16"} | ({"b": 4} if "sqrt" in formula else {})
        )
        == value
    )


@pytest.mark.parametrize(
    "formula",
    [
        "a.b",
        "__import__('os')",
        "[1]",
        "a if b else c",
        "unknown + 1",
        "1 / 0",
        "'word'",
        "f(x=1)",
        "a +",
        "open('x')",
        "True and 1",
    ],
)
def test_no_formulas(formula: str) -> None:
    """Anything else is refused in words, and nothing of it is run."""
    with pytest.raises(ValueError, match=r".+"):
        evaluate(formula, {"a": 1, "b": 2})
