"""Three levels of a stub come from one text; every stub has all levels."""

import ast

import pytest

from attn_drill.model.challenge import Challenge
from attn_drill.packs import pack_reader
from attn_drill.packs.stub_levels import LEVELS, at_level, steps
from tests.support.packs import GUIDED, STANDARD

CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())
BLANK = """import torch  # a comment after code stays


class A:
    def f(self, x="# no comment"):
        raise NotImplementedError
"""


def test_standard_has_no_steps_and_blank_has_no_docstrings() -> None:
    """Strings, and comments after code, stay at every level."""
    assert [at_level(GUIDED, level) for level in ("guided", "standard", "blank")] == [
        GUIDED,
        STANDARD,
        BLANK,
    ]
    assert steps(GUIDED) == ["1. First. -> [B]", "2. Second, which goes on. -> [L]"]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=[challenge.id for challenge in CHALLENGES])
def test_every_stub_has_four_levels(challenge: Challenge) -> None:
    """Every level compiles and defines the entries.

    The steps of `guided` have shapes, and `blank` has neither docstrings nor comments.
    """
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
