"""The three levels of a stub come from one text and are the same code."""

import ast

import pytest

from tests.support.levels import GUIDED, STANDARD
from trainer.packs import pack_reader
from trainer.packs.stub_levels import LEVELS, at_level, steps
from trainer.server.pack_check import _without_levels

CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())


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
