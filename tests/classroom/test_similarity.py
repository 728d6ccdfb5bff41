"""Tests of submissions with the same text, and of pairs of similar submissions."""

import re
import subprocess
import sys

import pytest

from attn_drill.classroom import similarity
from attn_drill.classroom.similarity import LEAST_SHARE, SameText, same_text, similar_pairs
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from tests.support.rows import each_row

GQA, MHA = (
    pack_reader.find_challenge(pack_reader.built_in_pack(), name) for name in ("gqa", "mha")
)
REFERENCE = pack_reader.solution(GQA)


def renamed(source: str) -> str:
    """Return a file with other names, other comments and another layout."""
    for old, new in (("scores", "s1"), ("weights", "w1"), ("num_heads", "many"), ("mask", "m")):
        source = re.sub(rf"\b{old}\b", new, source)
    return "# my own work\n" + re.sub(r"\n\n+", "\n\n\n", source).replace("    ", "  ")


def others(challenge: Challenge) -> dict[str, str]:
    """Return our own right answers in other styles, which were written independently."""
    return {path.stem: pack_reader.read_text(path) for path in pack_reader.also_right(challenge)}


@each_row(
    "first, second, is_same",
    {
        "layout and comments": ("x = 1  # a", "x  =  1", True),
        "names": ('def f(a):\n    "x"\n    return a', "def g(b):\n  return b", True),
        "as": ("import torch as t\nt.zeros(1)", "import torch as u\nu.zeros(1)", True),
        "calls": ("import torch\ntorch.sin(1)", "import torch\ntorch.cos(1)", False),
        "another variable": ("a = b = 1; a + b", "a = b = 1; b + b", False),
        "numbers": ("x = 1", "x = 2", False),
        "messages": ("f('a')", "f('b')", True),
        "patterns of axes": ("f('a->b')", "f('b->a')", False),
        "not Python": ("x = (", "x = (\n", True),
        "other text that is not Python": ("x = (", "y = (", False),
    },
)
def test_files_with_the_same_text_are_found(first: str, second: str, is_same: bool) -> None:
    """Names that the file makes, layout and comments do not count; everything else does."""
    groups = same_text({"ann": first, "bo": second}, {})
    assert groups == ([SameText(("ann", "bo"), ())] if is_same else [])


def test_files_with_the_text_of_an_answer_are_found() -> None:
    """The answers are public. One student is enough then."""
    answers = {"solution.py": REFERENCE, "stub": pack_reader.stub(GQA)}
    sources = {"ann": renamed(REFERENCE), "bo": pack_reader.stub(GQA), **others(GQA)}
    assert same_text(sources, answers) == [
        SameText(("ann",), ("solution.py",)),
        SameText(("bo",), ("stub",)),
    ]


@pytest.mark.parametrize("challenge", [GQA, MHA], ids=lambda challenge: challenge.id)
def test_only_a_renamed_copy_is_similar(challenge: Challenge) -> None:
    """Our own answers in other styles are less similar than `LEAST_SHARE`, a copy is more."""
    pytest.importorskip("copydetect", reason="the extra `similar` is not installed")
    stubs = [pack_reader.stub(challenge)]
    independent = {"reference": pack_reader.solution(challenge), **others(challenge)}
    assert similar_pairs(independent, stubs) == []
    copy = renamed(independent["reference"]).replace("return", "x = 1\n  return", 1)
    (pair,) = similar_pairs(independent | {"copy": copy}, stubs)
    assert (pair.student, pair.other) == ("copy", "reference")
    assert pair.share > LEAST_SHARE
    assert similar_pairs(independent | {"copy": copy}, [*stubs, independent["reference"]]) == []
    assert similar_pairs({"alone": copy}, stubs) == []
    short = "import os\n\nos._exit(os.getpid() + 1234567)\n"
    assert similar_pairs({"ann": short, "bo": short}, stubs) == []


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence has the command that installs it."""
    monkeypatch.setitem(sys.modules, "copydetect", None)
    with pytest.raises(DrillError, match=r"pip install 'attn-drill\[similar\]'"):
        similarity.check_similarity()


def test_library_is_imported_only_if_needed() -> None:
    """It imports a library for pictures, which takes most of a second."""
    code = "import sys, attn_drill.export.writers; sys.exit('copydetect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
